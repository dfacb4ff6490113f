"""The paper's zoom into unlabelled data: cluster labels on one level, then on an earlier one, then
a cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure, _finish, draw_map
from nestmap import HNNE, Hierarchy

FOCUS = {
    "glove100_200k": "guitar",
    "google_news": "guitar",
}  # a word to zoom to; else a row in the middle


def make_zoom(dataset: Any, work: Path) -> dict[str, Any]:
    """The map (a mosaic: it leaves room for names) with the labels of three levels; kept in the
    work folder.
    """
    path = work / f"zoom_{dataset.name}.npz"
    if not path.exists():
        model = HNNE(metric=dataset.metric, layout="mosaic").fit(
            np.asarray(dataset.X, dtype=np.float32)
        )
        row = _focus(dataset)
        area, inner, small = choose_levels(model.hierarchy_, row)
        labels = [model.hierarchy_.labels(level) for level in (-1, area, inner, small)]
        counts = np.array([level.n_nodes for level in model.hierarchy_.levels])
        temporary = path.with_suffix(".part.npz")
        np.savez(
            temporary,
            Y=model.embedding_,
            top=labels[0],
            area=labels[1],
            inner=labels[2],
            small=labels[3],
            levels=np.array([area, inner, small]),
            counts=counts,
            row=row,
        )
        temporary.replace(path)
    with np.load(path, allow_pickle=False) as file:
        return {k: file[k] for k in file.files}


def _focus(dataset: Any) -> int:
    wanted = FOCUS.get(dataset.name)
    if dataset.names is not None and wanted in dataset.names:
        return list(dataset.names).index(wanted)
    return len(dataset.X) // 2


def choose_levels(hierarchy: Hierarchy, row: int) -> tuple[int, int, int]:
    """Levels around a row: an area of the map, clusters inside it, and one cluster small enough to
    read.

    The area is the row's cluster on the highest level where that holds at most 3% of the rows; the
    clusters inside are of the highest level that splits it into eight or more; the small one is the
    row's cluster on the highest level where it holds at most 40 rows.
    """
    n = hierarchy.n_rows
    own = []
    for level in range(len(hierarchy.levels)):
        labels = hierarchy.labels(level)
        own.append(np.flatnonzero(labels == labels[row]))
    levels = range(len(own) - 1, -1, -1)
    area = next((a for a in levels if len(own[a]) <= max(40, 0.03 * n)), 0)
    inner = next(
        (b for b in range(area - 1, -1, -1) if len(np.unique(hierarchy.labels(b)[own[area]])) >= 8),
        0,
    )
    small = next((c for c in range(inner, -1, -1) if len(own[c]) <= 40), 0)
    return area, inner, small


def draw_zoom(dataset: Any, zoom: dict[str, Any]) -> Figure:
    """Three panels, each a part of the one before."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    Y, row = zoom["Y"], int(zoom["row"])
    members = [np.flatnonzero(zoom[k] == zoom[k][row]) for k in ("area", "small")]
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.7))
    draw_map(axes[0], Y, np.unique(zoom["top"], return_inverse=True)[1], limit=200_000)
    n_top = int(zoom["counts"][-1])
    axes[0].set_title(f"all {len(Y):,} rows, the {n_top} clusters of the top level", fontsize=9)

    boxes = [_box(Y[m]) for m in members]
    for ax, (low, high) in zip(axes[:2], boxes, strict=True):
        ax.add_patch(Rectangle(tuple(low), *(high - low), fill=False, lw=1.2, ec="black"))
    colours = np.unique(zoom["inner"], return_inverse=True)[1]
    inside = members[0]
    axes[1].scatter(*Y[inside].T, c=colours[inside] % 20, cmap="tab20", s=5, lw=0)
    n_inside = len(np.unique(colours[inside]))
    title = (
        f"one area of {len(inside):,} rows, the {n_inside} clusters of level {zoom['levels'][1]}"
    )
    axes[1].set_title(title, fontsize=9)
    near = members[1]
    axes[2].scatter(*Y[near].T, c="#c1121f", s=14, lw=0)
    axes[2].set_title(f"one cluster of level {zoom['levels'][2]}: {len(near)} rows", fontsize=9)
    if dataset.names is not None:
        for i in near:
            axes[2].annotate(
                dataset.names[i], Y[i], fontsize=7, xytext=(3, 2), textcoords="offset points"
            )
    for ax in axes[1:]:
        ax.margins(0.12)
        ax.set_xticks([])
        ax.set_yticks([])
    figure.tight_layout(pad=0.6)
    levels = " → ".join(f"{c:,}" for c in zoom["counts"])
    caption = (
        f"Zooming into {dataset.name} without labels: {levels} clusters; boxes mark the next panel."
    )
    return _finish(figure, f"zoom_{dataset.name}", caption, dpi=110)


def _box(points: Any) -> tuple[Any, Any]:
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.1 * (high - low) + 1e-9
    return low - margin, high + margin
