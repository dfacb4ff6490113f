"""Embed scikit-learn's digits, print what came out, and draw two layouts: the islands and the mosaic."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from nestmap import HNNE
from nestmap.metrics import map_quality


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    out = parser.parse_args().out
    X, y = load_digits(return_X_y=True)

    start = time.perf_counter()
    model = HNNE().fit(X)
    fitted = time.perf_counter()
    model.transform(X[:1] + 0.5)
    placed = time.perf_counter()

    tree = model.hierarchy_
    print(f"{tree}")
    for k in range(tree.n_levels):
        print(f"  level {k}: {tree.level_sizes[k]:4d} clusters")
    print(f"fit {fitted - start:.2f} s, one new row {1e3 * (placed - fitted):.1f} ms")
    for stage, seconds in model.neighbor_report_.seconds.items():
        print(f"  {stage}: {1e3 * seconds:.0f} ms")
    print(f"neighbours: {model.neighbor_report_}")
    print(model.relayout(layout="descent", radius=0.2).audit())
    mosaic = model.relayout(layout="mosaic")
    for name, each in (("islands", model), ("mosaic", mosaic)):
        print(f"\n{name}\n{map_quality(X, each.embedding_, y)}")
    print(f"\nwrote {draw(model, mosaic, y, out)}")


def draw(islands: HNNE, mosaic: HNNE, y: np.ndarray, out: Path) -> Path:
    """Two layouts of one hierarchy, with coasts or borders; digits written on clusters."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import PathPatch

    level = -2
    labels = islands.hierarchy_.labels(level)
    n = len(np.unique(labels))
    colours = plt.get_cmap("turbo")(np.random.default_rng(1).permutation(n) / max(1, n - 1))
    figure, axes = plt.subplots(1, 2, figsize=(15, 7.4), layout="constrained")
    for axis, model in zip(axes, (islands, mosaic), strict=True):
        outlines = model.layout_.outlines(level)
        for node in range(n):
            rings = outlines[node] if model is islands else [outlines[node]]
            axis.add_patch(PathPatch(as_path(rings), fc=(*colours[node][:3], 0.15), ec="#444444", lw=0.8))
        axis.scatter(*model.embedding_.T, c=colours[labels], s=7, linewidths=0)
        for node, place in enumerate(outlines.centres):
            axis.annotate(
                name_cluster(y[labels == node]), place, ha="center", va="center", fontsize=10, weight="bold",
                bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": colours[node], "alpha": 0.8},
            )  # fmt: skip
        axis.set_title(f"layout={model.layout_.kind!r}", fontsize=13)
        axis.set_aspect("equal")
        axis.axis("off")
    figure.suptitle(
        f"1,797 handwritten digits, {n} clusters of one level, named by the digits they hold (labels were not used)"
    )
    out.mkdir(parents=True, exist_ok=True)
    path = out / "digits.png"
    temporary = out / ".digits.png"
    figure.savefig(temporary, dpi=110)
    temporary.replace(path)
    plt.close(figure)
    return path


def as_path(rings: list[np.ndarray]) -> Any:
    """Rings as matplotlib draws them: those that run the other way are holes."""
    from matplotlib.path import Path as Outline

    closed = [np.vstack([ring, ring[:1]]) for ring in rings]
    codes = [[Outline.MOVETO, *[Outline.LINETO] * (len(ring) - 2), Outline.CLOSEPOLY] for ring in closed]
    return Outline(np.concatenate(closed), np.concatenate(codes))


def name_cluster(digits: np.ndarray) -> str:
    """The digits that make up more than 15% of a cluster, most frequent first."""
    digit, count = np.unique(digits, return_counts=True)
    order = np.argsort(-count)[:3]
    return " ".join(str(digit[i]) for i in order if count[i] > 0.15 * len(digits))


if __name__ == "__main__":
    main()
