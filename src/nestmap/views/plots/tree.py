"""The hierarchy as an icicle: one band per level, one box per cluster, as wide as it has rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.describe import Facts
from ...method.hierarchy import Hierarchy
from .backend import clear, load_matplotlib, new_axes, size_in_points
from .colors import Theme, color_levels, get_theme
from .text import choose_names, measure_text

_FONT = 8  # points
_MOST_LINES = 3  # of a name
_MOST_WORDS = 12  # of a name; longer ones are not cut into lines
_MOST_CLUSTERS = 4000  # of a level that is drawn: finer levels are left out
_FEW_BOXES = 150  # of a level, with lines between them


def plot_tree(
    model: Any,
    *,
    labels: Any = True,
    theme: str = "light",
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the levels of a hierarchy as an icicle, in the colours of the map.

    Parameters
    ----------
    model : HNNE, FINCH or Hierarchy
    labels : optional
        As in `plot`: what `describe` gives for one level or several, a dict of level to names, or
        False. True: the numbers of the clusters, where there is room.
    theme : {'light', 'dark'}
    title : str, optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
        Rows of the data along x, levels along y, the top level at the top.

    Examples
    --------
    >>> import nestmap
    >>> from sklearn.datasets import load_digits
    >>> axes = nestmap.plot_tree(nestmap.HNNE().fit(load_digits().data))
    """
    load_matplotlib()
    look = get_theme(theme)
    tree: Hierarchy = getattr(model, "hierarchy_", model)
    if not isinstance(tree, Hierarchy):
        raise TypeError(
            "plot_tree draws the levels of a fitted model, "
            f"as in nestmap.plot_tree(HNNE().fit(X)); got {type(model).__name__}"
        )
    shown = [k for k, n in enumerate(tree.level_sizes) if n <= _MOST_CLUSTERS] or [
        tree.n_levels - 1
    ]
    colors = color_levels(tree, shown[0], look)
    axes = new_axes(look, 11, 0.9 + 0.75 * len(shown)) if ax is None else ax
    clear(axes, look, title)
    axes.set_xlim(0, tree.n_rows)
    axes.set_ylim(-0.02, len(shown) + 0.02)
    starts = place_nodes(tree)
    default = getattr(model, "label_level_", None)
    for band, k in enumerate(shown):
        _draw_band(axes, band, starts[k], tree.levels[k].sizes, colors[k], look)
        _name_band(axes, band, k, len(starts[k]), k == default, look)
    if ax is None:
        axes.figure.subplots_adjust(left=0.2)
    _write_labels(axes, tree, labels, shown, starts, colors)
    return axes


def _draw_band(
    axes: Any, band: int, left: Array, width: Array, colors: Array, theme: Theme
) -> None:
    """The boxes of one level."""
    from matplotlib.collections import PolyCollection

    corners = np.stack([left, left + width], axis=1)
    line = 0.6 if len(left) < _FEW_BOXES else 0.0
    boxes = [[(a, band), (b, band), (b, band + 0.96), (a, band + 0.96)] for a, b in corners]
    axes.add_collection(
        PolyCollection(boxes, facecolors=colors, edgecolors=theme.background, linewidths=line)
    )


def _name_band(
    axes: Any, band: int, level: int, n_clusters: int, is_default: bool, theme: Theme
) -> None:
    """What is said beside a band."""
    axes.annotate(
        f"level {level}: {n_clusters:,} clusters {'(labels_)' if is_default else ''}",
        (0, band + 0.5),
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=9,
        color=theme.text,
        weight="bold" if is_default else "normal",
        annotation_clip=False,
    )


def place_nodes(tree: Hierarchy) -> list[Array]:
    """Where each node begins along the rows, on each level: children side by side below parents."""
    starts: list[Array] = []
    parents = np.zeros(1, dtype=np.int64)
    for k in reversed(range(tree.n_levels)):
        level = tree.levels[k]
        above = (
            np.zeros(level.n_nodes, dtype=np.int64)
            if k == tree.n_levels - 1
            else tree.levels[k + 1].members
        )
        order = np.lexsort((-level.sizes, above))
        before = np.cumsum(level.sizes[order]) - level.sizes[order]
        first = np.searchsorted(above[order], np.arange(len(parents)))
        begin = np.empty(level.n_nodes, dtype=np.int64)
        begin[order] = before - before[first][above[order]] + parents[above[order]]
        starts.insert(0, begin)
        parents = begin
    return starts


def _write_labels(
    axes: Any,
    tree: Hierarchy,
    labels: Any,
    shown: list[int],
    starts: list[Array],
    colors: dict[int, Array],
) -> None:
    """Names inside the boxes that are wide enough."""
    if labels is True:
        labels = {k: [str(i) for i in range(tree.level_sizes[k])] for k in shown}
    across, up = size_in_points(axes)
    unit = tree.n_rows / across
    height = 0.96 * up / np.ptp(axes.get_ylim())
    for names in choose_names(tree, labels, (shown[0], None), Facts()):
        if names.level not in shown:
            continue
        left = starts[names.level]
        width = tree.levels[names.level].sizes
        for i in np.flatnonzero(width > 12 * unit).tolist():
            text, angle = fit_text(names.names[i], width[i] / unit - 3, height - 3)
            dark = colors[names.level][i] @ [0.299, 0.587, 0.114] < 0.55
            axes.text(
                left[i] + width[i] / 2,
                shown.index(names.level) + 0.48,
                text,
                fontsize=_FONT,
                ha="center",
                va="center",
                color="white" if dark else "black",
                parse_math=False,
                rotation=angle,
                linespacing=1.1,
            )


def fit_text(text: str, width: float, height: float) -> tuple[str, int]:
    """A text in as few lines as fit into a box, and its angle.

    The box is in points; the text is level or else upright, and '' if no lines fit.
    """
    words = [
        word.replace("\0", " ")
        for word in " ".join(text.split()).replace(" / ", "\0/ ").split(" ")
        if word
    ]
    for angle, (room, depth) in ((0, (width, height)), (90, (height, width))):
        for n_lines in range(
            1, min(len(words), _MOST_LINES if len(words) <= _MOST_WORDS else 1) + 1
        ):
            lines = min(_splits(words, n_lines), key=lambda lines: max(map(len, lines)))
            if (
                n_lines * 1.2 * _FONT <= depth
                and max(measure_text(line, _FONT)[0] for line in lines) <= room
            ):
                return "\n".join(lines), angle
    return "", 0


def _splits(words: list[str], n_lines: int) -> list[list[str]]:
    """All ways to cut words into so many lines."""
    if n_lines == 1:
        return [[" ".join(words)]]
    return [
        [" ".join(words[:k]), *rest]
        for k in range(1, len(words) - n_lines + 2)
        for rest in _splits(words[k:], n_lines - 1)
    ]
