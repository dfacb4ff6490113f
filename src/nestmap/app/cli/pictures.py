"""`nestmap plot`, and the picture of `nestmap fit --plot`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.work.replacing import temporary
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.naming import names_for_map
from ...views.plots import plot, plot_tree
from ...views.plots.backend import load_matplotlib
from ...views.plots.colors import get_theme
from ...views.plots.map import coarser_level
from ...views.plots.rows import QUALITIES
from ..runs.folder import Run
from .output import check_output
from .talk import Talk

SUFFIXES = (".png", ".svg", ".pdf")
# of a square picture; others have about its area
_INCHES = 9.0
_DPI = 150
# height of a picture, in widths
_FLATTEST = 0.5
_TALLEST = 1.6
_LABELS = ("names", "numbers", "none")


@dataclass(frozen=True, eq=False)
class Shadow:
    """The first two axes of a map in more dimensions."""

    embedding_: Array
    hierarchy_: Hierarchy
    label_level_: int


def check_picture(path: str, force: bool) -> None:
    """Raise early where a picture cannot be drawn or written."""
    check_output(path, force, SUFFIXES, stdout=False)
    load_matplotlib()


def run_plot(options: Namespace) -> None:
    """`nestmap plot`."""
    talk = Talk(options.quiet)
    run = Run(options.run)
    check_picture(options.output, options.force)
    model: Any = run.model(
        options.dims or (2 if any(each["dims"] == 2 for each in run.record["maps"]) else None)
    )
    if model.n_components == 1:
        raise ValueError(f"{options.run}: a map of one dimension is no picture; fit with --dims 2")
    X = _training_rows(options, run)
    known = run.record.get("metadata", ())
    color = int(options.color) if _is_level(options.color, known) else options.color
    by_column = isinstance(color, str) and color not in QUALITIES
    metadata = run.rows().metadata if by_column or options.labels not in _LABELS else None
    outlines = not options.no_outlines
    if model.n_components > 2 and not options.tree:
        talk.note(f"the picture shows x and y of {model.n_components} dimensions")
        model = Shadow(model.embedding_[:, :2], model.hierarchy_, model.label_level_)
        outlines = False
    draw_map(
        options.output,
        model,
        run.names(),
        color=color,
        labels=options.labels,
        level=options.level,
        metadata=metadata,
        X=X,
        outlines=outlines,
        theme=options.theme,
        title=options.title,
        point_size=options.point_size,
        legend=not options.no_legend,
        size=options.size,
        dpi=options.dpi,
        tree=options.tree,
    )
    talk.note(f"wrote {options.output}")


def _training_rows(options: Namespace, run: Run) -> Any:
    """The rows that were mapped, where the colour is measured on them."""
    if options.color not in QUALITIES:
        return None
    if options.data is None:
        raise ValueError(
            f"--color {options.color} is measured on the rows that were mapped: give --data FILE"
        )
    from .commands import read_again

    for name in ("format", "key", "columns", "label"):
        setattr(options, name, None)
    options.missing = "error"
    options.text = False
    return read_again(options, run).X


def _is_level(color: str | None, columns: Sequence[str]) -> bool:
    """A number is a level, unless a column is called so."""
    return color is not None and color.removeprefix("-").isdigit() and color not in columns


def draw_map(
    path: str,
    model: Any,
    names: Mapping[int, Sequence[str]],
    *,
    color: int | str | None = None,
    labels: str = "names",
    level: int | None = None,
    size: tuple[float, float] | None = None,
    dpi: float = _DPI,
    theme: str = "light",
    title: str | None = None,
    tree: bool = False,
    point_size: float | None = None,
    **options: Any,
) -> None:
    """Draw a map, or the tree, to a file, which is whole or absent; same bits for the same map."""
    load_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=size or ((11, 4.5) if tree else _shape_of(model)),
        facecolor=get_theme(theme).background,
    )
    top = 0.95 if title else 0.99
    if tree:
        axes = figure.add_axes((0.2, 0.01, 0.79, top - 0.01))
        plot_tree(model, labels=dict(names) or True, theme=theme, title=title, ax=axes)
    else:
        axes = figure.add_axes((0.01, 0.01, 0.98, top - 0.01))
        own = level if level is not None else color if isinstance(color, int) else None
        given = _labels(labels, names, model, own)
        plot(
            model,
            color,
            labels=given,
            level=level,
            theme=theme,
            title=title,
            ax=axes,
            size=point_size,
            **options,
        )
    kind = Path(path).suffix[1:]
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with temporary(Path(path)) as part, rc_context({"svg.hashsalt": "nestmap"}):
        figure.savefig(part, format=kind, dpi=dpi, metadata=dates)


def _shape_of(model: Any) -> tuple[float, float]:
    """Inches of a picture that is as flat or tall as the map."""
    width, height = np.ptp(model.embedding_, axis=0)
    ratio = float(np.clip(height / max(width, 1e-12), _FLATTEST, _TALLEST))
    return _INCHES / ratio**0.5, _INCHES * ratio**0.5


def _labels(labels: str, names: Mapping[int, Sequence[str]], model: Any, level: int | None) -> Any:
    """What `plot` takes: names of the run at up to two levels, a column, numbers or nothing."""
    if labels not in _LABELS:
        return labels
    tree: Hierarchy = model.hierarchy_
    fine = int(model.label_level_) if level is None else tree.check_level(level)
    if labels == "numbers":
        return {fine: [str(i) for i in range(tree.level_sizes[fine])]}
    coarse = coarser_level(tree, fine)
    chosen = {k: names[k] for k in (fine, fine if coarse is None else coarse) if k in names}
    return False if labels == "none" else names_for_map(tree, chosen) if chosen else True
