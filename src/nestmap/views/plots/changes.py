"""Two maps beside each other, and where clusters went."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import is_outside
from ...method.layout.similarity import align
from ...model.comparison import Change, Comparison, compare
from .backend import choose_frame, clear, frame_map, limits, new_axes, size_in_points
from .beyond import mark_beyond
from .colors import Theme, base_colors, get_theme, parse
from .flows import draw_bars

_MAX_ROWS = 30_000  # rows that are drawn of each map
_WIDEST_FLOW = 9.0  # of a flow, in points of paper: that of all common rows
# share of the common rows of a flow that is shown, within and between changes
_LEAST_SHARE_WITHIN = 0.002
_LEAST_SHARE_BETWEEN = 0.02


def plot_changes(
    old: Any,
    new: Any,
    level: int = -1,
    *,
    ids: Any = None,
    frame: str = "most",
    theme: str = "light",
    axes: Any = None,
) -> Any:
    """Draw an old and a new map side by side; flows show where the clusters of a level went.

    Where one of the two has no map in the plane, FINCH's say, bars stand for the clusters, as high
    as they have rows, and bands for their common rows.

    Clusters of one change have one colour, on both sides. Rows of clusters that are gone are grey
    in the old map, those of clusters that are born black (white on dark) in the new one.

    Parameters
    ----------
    old, new : HNNE, FINCH or Hierarchy
        Fitted to data that share rows.
    level : int
        Of the old hierarchy; the new level with about as many clusters is its partner.
    ids : pair of sequences, optional
        As in `compare`.
    frame : {'most', 'all'}
        As in `plot`.
    theme : {'light', 'dark'}
    axes : pair of matplotlib Axes, optional

    Returns
    -------
    pair of matplotlib Axes

    Examples
    --------
    >>> import nestmap
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> before, after = nestmap.HNNE().fit(X[:1500]), nestmap.HNNE().fit(X)
    >>> axes = nestmap.plot_changes(before, after)
    """
    look = get_theme(theme)
    found = compare(old, new, ids=ids)
    if len(found.old_rows) == 0:
        raise ValueError(
            "plot_changes: the two fits have no row in common; give ids=(old names, new names)"
        )
    before, after = (getattr(model, "hierarchy_", model) for model in (old, new))
    told = found.levels[before.check_level(level)]
    labels = before.labels(told.old_level), after.labels(told.new_level)
    colors = _colors(told.changes, (told.n_old, told.n_new), look)
    places = (
        found.old_places
        if found.old_places is not None and found.old_places.shape[1] == 2
        else None
    )
    axes = new_axes(look, 4.5 if places is None else 6.5, 6.8, 2) if axes is None else axes
    for side, name in enumerate(("old", "new")):
        clear(axes[side], look, f"{name}: {len(labels[side]):,} rows, {len(colors[side])} clusters")
    if places is None:
        draw_bars(axes, labels, (found.old_rows, found.new_rows), told.changes, colors, look)
        return axes
    onto_old = align(new.embedding_[found.new_rows], places)
    maps = old.embedding_, onto_old(new.embedding_)
    shown = choose_frame(np.concatenate(maps), frame)
    for side in range(2):
        frame_map(axes[side], np.array([shown.low, shown.high]))
        _draw(axes[side], maps[side], colors[side], labels[side], look)
    _draw_flows(axes, found, labels, told.changes, colors[0])
    return axes


def _colors(
    changes: tuple[Change, ...], sizes: tuple[int, int], theme: Theme
) -> tuple[Array, Array]:
    """The colour of each old and each new cluster."""
    lasting = [change for change in changes if change.old and change.new]
    base = base_colors(max(1, len(lasting)), theme)
    old = np.tile(parse(theme.quiet), (sizes[0], 1))
    new = np.tile(parse(theme.text), (sizes[1], 1))
    for color, change in zip(base, lasting, strict=False):
        old[[*change.old]] = color
        new[[*change.new]] = color
    return old, new


def _draw(axes: Any, positions: Array, colors: Array, labels: Array, theme: Theme) -> None:
    n = min(len(positions), _MAX_ROWS)
    outside = is_outside(positions, limits(axes))
    some = np.random.RandomState(0).permutation(len(positions))[:n]
    some = some[~outside[some]]
    width, height = size_in_points(axes)
    area = float(np.clip(15 * width * height / 400_000 * (1800 / n) ** 0.55, 0.35, 30))
    axes.scatter(
        *positions[some].T,
        c=colors[labels[some]],
        s=area,
        alpha=0.8,
        linewidths=0,
        rasterized=n > 5000,
        zorder=3,
    )
    if outside.any():
        mark_beyond(axes, positions[outside], colors, labels[outside], theme)


def _draw_flows(
    axes: Any,
    found: Comparison,
    labels: tuple[Array, Array],
    changes: tuple[Change, ...],
    colors: Array,
) -> None:
    """Lines between middles of clusters, as wide as the share of common rows that they carry.

    Few rows that went to another change are not shown.
    """
    from matplotlib.patches import ConnectionPatch

    assert found.old_places is not None and found.new_places is not None
    a = labels[0][found.old_rows]
    b = labels[1][found.new_rows]
    shown = limits(axes[0])
    together = {(i, j) for change in changes for i in change.old for j in change.new}
    pairs, number = np.unique(np.stack([a, b], axis=1), axis=0, return_inverse=True)
    number = number.reshape(-1)  # NumPy 2.0 gives a column
    for n, share in enumerate(np.bincount(number) / len(number)):
        i, j = map(int, pairs[n])
        if share < (_LEAST_SHARE_WITHIN if (i, j) in together else _LEAST_SHARE_BETWEEN):
            continue
        ends = [
            np.clip(np.median(places[number == n], axis=0), shown.low, shown.high)
            for places in (found.old_places, found.new_places)
        ]
        flow = ConnectionPatch(
            ends[0],
            ends[1],
            "data",
            "data",
            axesA=axes[0],
            axesB=axes[1],
            color=colors[i],
            alpha=0.35,
            linewidth=0.6 + _WIDEST_FLOW * share**0.5,
            zorder=2,
            connectionstyle="arc3,rad=-0.08",
        )
        axes[1].figure.add_artist(flow)
