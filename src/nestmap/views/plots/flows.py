"""Clusters as bars and their common rows as bands between them: two hierarchies without maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...model.comparison import Change
from .colors import Theme

_SHARE_OF_GAPS = 0.25  # of the height, for the gaps between all bars of a side
_BAR_WIDTH = 0.08  # of a bar, in widths of the axes; its inner edge is in the middle of them
_LEAST_NAMED_HEIGHT = 0.018  # height of the lowest bar with a number beside it
_LEAST_SHOWN_SHARE = 0.0005  # share of the common rows below which a band is left out
_POINTS_PER_EDGE = 30  # points along a band


def draw_bars(
    axes: Any,
    labels: tuple[Array, Array],
    rows: tuple[Array, Array],
    changes: tuple[Change, ...],
    colors: tuple[Array, Array],
    theme: Theme,
) -> None:
    """A bar per cluster, its height by rows; clusters of one change are at about one height.

    Parameters
    ----------
    labels : cluster of each row, on either side
    rows : the common rows, on either side
    """
    most = max(map(len, labels))
    bars = [
        _stack(
            [i for change in changes for i in (change.new if side else change.old)],
            labels[side],
            most,
        )
        for side in range(2)
    ]
    _draw_bands(axes, bars, labels, rows, colors[0], most)
    for side, ends in enumerate(bars):
        _draw_side(axes[side], side, ends, colors[side], np.bincount(labels[side]), theme)


def _draw_side(
    axes: Any, side: int, ends: tuple[Array, Array], colors: Array, counts: Array, theme: Theme
) -> None:
    """The bars of the old clusters (side 0) or the new ones, with numbers and `counts` of rows."""
    low, high = ends
    left = 0.5 if side else 0.5 - _BAR_WIDTH
    axes.patch.set_visible(False)  # it would lie over the bands
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.bar(left, high - low, _BAR_WIDTH, low, align="edge", color=colors, linewidth=0, zorder=3)
    for i in np.flatnonzero(high - low > _LEAST_NAMED_HEIGHT):
        axes.text(
            0.5 + (1.3 if side else -1.3) * _BAR_WIDTH,
            (low[i] + high[i]) / 2,
            f"{i}   {counts[i]:,} rows" if side else f"{counts[i]:,} rows   {i}",
            color=theme.text,
            fontsize=9,
            va="center",
            ha="left" if side else "right",
        )


def _stack(order: list[int], labels: Array, most: int) -> tuple[Array, Array]:
    """Lower and upper ends of the bars of one side, the first on top, in heights of the axes."""
    sizes = np.bincount(labels) / most * (1 - _SHARE_OF_GAPS)
    gap = (1 - sizes.sum()) / (len(sizes) + 1)
    high = np.empty(len(sizes))
    high[order] = 1 - gap - np.cumsum(np.append(0, sizes[order][:-1] + gap))
    return high - sizes, high


def _draw_bands(
    axes: Any,
    bars: list[tuple[Array, Array]],
    labels: tuple[Array, Array],
    rows: tuple[Array, Array],
    colors: Array,
    most: int,
) -> None:
    """A band from each old to each new cluster, as wide as common rows; from either bar's top."""
    from matplotlib.patches import Polygon

    figure = axes[0].figure
    boxes = [each.get_position() for each in axes]
    ends = [(box.x0 + box.x1) / 2 for box in boxes]
    pairs = np.stack([labels[0][rows[0]], labels[1][rows[1]]], axis=1)
    pairs, counts = np.unique(pairs, axis=0, return_counts=True)
    used = [bars[0][1].copy(), bars[1][1].copy()]
    for n in np.lexsort(
        (-bars[1][1][pairs[:, 1]], -bars[0][1][pairs[:, 0]])
    ):  # from the top: bands cross the least
        pair = pairs[n]
        width = counts[n] / most * (1 - _SHARE_OF_GAPS)
        tops = [used[side][pair[side]] for side in range(2)]
        for side in range(2):
            used[side][pair[side]] -= width
        if counts[n] < _LEAST_SHOWN_SHARE * counts.sum():
            continue
        upper = [box.y0 + top * box.height for box, top in zip(boxes, tops, strict=True)]
        lower = [high - width * box.height for high, box in zip(upper, boxes, strict=True)]
        band = Polygon(
            _outline_band(ends, upper, lower),
            color=colors[pair[0]],
            alpha=0.4,
            linewidth=0,
            transform=figure.transFigure,
            zorder=0,
        )
        figure.add_artist(band)


def _outline_band(ends: list[float], upper: list[float], lower: list[float]) -> Array:
    """Points around a band that leaves both bars level: along its upper edge, back on the other."""
    along = np.linspace(0, 1, _POINTS_PER_EDGE)
    blend = along * along * (3 - 2 * along)
    x = ends[0] + along * (ends[1] - ends[0])
    edges = [a + blend * (b - a) for a, b in (upper, lower)]
    return np.concatenate([np.stack([x, edges[0]], 1), np.stack([x, edges[1]], 1)[::-1]])
