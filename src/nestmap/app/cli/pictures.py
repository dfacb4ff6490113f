"""`nestmap plot`, and the picture of `nestmap fit --plot`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.work.replacing import temporary
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.naming import names_for_map
from ...views.plots import plot, plot_tree
from ...views.plots.backend import choose_frame, load_matplotlib
from ...views.plots.colors import get_theme
from ...views.plots.map import coarser_level
from ...views.plots.rows import QUALITIES
from ..runs.folder import RunFolder
from .output import check_output
from .reading import read_again
from .talk import Talk

SUFFIXES = (".png", ".svg", ".pdf")
_INCHES = 9.0  # of a side of a square picture; others have about its area
_INCHES_OF_TREE = (11, 4.5)
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


@dataclass(frozen=True, eq=False)
class Picture:
    """How a map is drawn.

    Attributes
    ----------
    color : int, str or None
        A level, a column, or a quality.
    labels : str
        'names' of the run, 'numbers', 'none', or a column to name clusters by.
    level : int, optional
        Whose clusters are outlined and named.
    inches : pair of float, optional
        Width and height; default: as flat or tall as the map.
    dpi : float
    is_tree : bool
        Draw the tree instead of the map.
    frame, theme, title
        As in `nestmap.plot`.
    details : dict
        Further keywords of `nestmap.plot`.
    """

    color: int | str | None = None
    labels: str = "names"
    level: int | None = None
    inches: tuple[float, float] | None = None
    dpi: float = _DPI
    is_tree: bool = False
    frame: str = "most"
    theme: str = "light"
    title: str | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def top(self) -> float:
        """Where the axes end, as a share of the height: below the title if there is one."""
        return 0.95 if self.title else 0.99


def check_picture(path: str, force: bool) -> None:
    """Raise early where a picture cannot be drawn or written."""
    check_output(path, force, SUFFIXES, stdout=False)
    load_matplotlib()


def run_plot(options: Namespace) -> None:
    """`nestmap plot`."""
    talk = Talk(options.quiet)
    run = RunFolder(options.run)
    check_picture(options.output, options.force)
    model: Any = run.model(
        options.dims or (2 if any(each["dims"] == 2 for each in run.record["maps"]) else None)
    )
    if model.n_components == 1:
        raise ValueError(f"{options.run}: a map of one dimension is no picture; fit with --dims 2")
    is_plane = model.n_components == 2
    if not is_plane and not options.tree:
        talk.note(f"the picture shows x and y of {model.n_components} dimensions")
        model = Shadow(model.embedding_[:, :2], model.hierarchy_, model.label_level_)
    draw_map(options.output, model, run.names(), _picture_of(options, run, is_plane))
    talk.note(f"wrote {options.output}")


def _picture_of(options: Namespace, run: RunFolder, is_plane: bool) -> Picture:
    """What was asked for; coasts only where the map is in the plane."""
    X = _training_rows(options, run)
    known = run.record.get("metadata", ())
    color = int(options.color) if _is_level(options.color, known) else options.color
    by_column = isinstance(color, str) and color not in QUALITIES
    metadata = run.rows().metadata if by_column or options.labels not in _LABELS else None
    return Picture(
        color=color,
        labels=options.labels,
        level=options.level,
        inches=options.size,
        dpi=options.dpi,
        is_tree=options.tree,
        frame=options.frame,
        theme=options.theme,
        title=options.title,
        details={
            "metadata": metadata,
            "X": X,
            "outlines": is_plane and not options.no_outlines,
            "size": options.point_size,
            "legend": not options.no_legend,
        },
    )


def _training_rows(options: Namespace, run: RunFolder) -> Any:
    """The rows that were mapped, where the colour is measured on them."""
    if options.color not in QUALITIES:
        return None
    if options.data is None:
        raise ValueError(
            f"--color {options.color} is measured on the rows that were mapped: give --data FILE"
        )
    as_fitted = dict.fromkeys(("format", "key", "label", "missing"))
    asked = Namespace(**vars(options) | as_fitted)
    return read_again(asked, run, run.model(options.dims).encoder_).given


def _is_level(color: str | None, columns: Sequence[str]) -> bool:
    """A number is a level, unless a column is called so."""
    return color is not None and color.removeprefix("-").isdigit() and color not in columns


def draw_map(path: str, model: Any, names: Mapping[int, Sequence[str]], picture: Picture) -> None:
    """Draw a map, or the tree, to a file, which is whole or absent; same bits for the same map."""
    load_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=picture.inches or (_INCHES_OF_TREE if picture.is_tree else _shape(model, picture)),
        facecolor=get_theme(picture.theme).background,
    )
    if picture.is_tree:
        _draw_tree(figure, model, names, picture)
    else:
        _draw_rows(figure, model, names, picture)
    kind = Path(path).suffix[1:]
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with temporary(Path(path)) as part, rc_context({"svg.hashsalt": "nestmap"}):
        figure.savefig(part, format=kind, dpi=picture.dpi, metadata=dates)


def _draw_tree(
    figure: Any, model: Any, names: Mapping[int, Sequence[str]], picture: Picture
) -> None:
    axes = figure.add_axes((0.2, 0.01, 0.79, picture.top - 0.01))
    plot_tree(model, labels=dict(names) or True, theme=picture.theme, title=picture.title, ax=axes)


def _draw_rows(
    figure: Any, model: Any, names: Mapping[int, Sequence[str]], picture: Picture
) -> None:
    axes = figure.add_axes((0.01, 0.01, 0.98, picture.top - 0.01))
    is_level = picture.level is None and isinstance(picture.color, int)
    level: Any = picture.color if is_level else picture.level
    plot(
        model,
        picture.color,
        labels=_labels(picture.labels, names, model, level),
        level=picture.level,
        frame=picture.frame,
        theme=picture.theme,
        title=picture.title,
        ax=axes,
        **picture.details,
    )


def _shape(model: Any, picture: Picture) -> tuple[float, float]:
    """Inches of a picture that is as flat or tall as what it shows of the map."""
    shown = choose_frame(model.embedding_, picture.frame)
    width, height = shown.high - shown.low
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
