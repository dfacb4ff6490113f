"""What colours mean: a legend or a colour bar in a corner where the map is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from .colors import Theme
from .rows import RowColors

_MAX_LETTERS = 32  # letters of a name in the legend
_WIDEST_LEGEND = 0.45  # of the axes: a legend that is wider lies over the map
_LEGEND_GAP = 0.015  # of the axes, around a legend
_CORNERS = {
    "upper right": (1, 1),
    "upper left": (0, 1),
    "lower right": (1, 0),
    "lower left": (0, 0),
}
_BAR_SIZE = (0.30, 0.085)  # a colour bar with its words, in widths and heights of the axes

Box = tuple[float, float, float, float]  # left, right, bottom, top in units of the map


def draw_key(axes: Any, rows: RowColors, positions: Array, theme: Theme) -> Box | None:
    """Draw a legend for categories, a colour bar for numbers; returns the part of the map it takes.

    It goes to the first corner without any of `positions`. If there is none, the map makes room:
    the limits of the axes grow.
    """
    if rows.limits is not None:
        corner = _find_corner(
            axes, positions, _BAR_SIZE, ("lower right", "lower left", "upper right", "upper left")
        )
        _draw_bar(axes, rows.limits, rows, corner, theme)
        return _box(axes, _BAR_SIZE, corner)
    if not rows.entries:
        return None
    measured = _draw_legend(axes, rows, "upper right", theme)
    size = _size_of(axes, measured)
    corner = _find_corner(axes, positions, size, tuple(_CORNERS))
    if corner != "upper right":
        measured.remove()
        _draw_legend(axes, rows, corner, theme)
    return _box(axes, size, corner)


def _find_corner(
    axes: Any, positions: Array, size: tuple[float, float], corners: tuple[str, ...]
) -> str:
    for corner in corners:
        left, right, bottom, top = _box(axes, size, corner)
        x, y = positions.T
        if not ((x >= left) & (x <= right) & (y >= bottom) & (y <= top)).any():
            return corner
    if size[0] <= _WIDEST_LEGEND:
        _make_room(axes, size, corners[0])
    return corners[0]


def _make_room(axes: Any, size: tuple[float, float], corner: str) -> None:
    """Limits beyond which there is only the key: beside the map, or below it if it is flat."""
    right, top = _CORNERS[corner]
    beside = size[0] < size[1]
    factor = 1 / (1 - (size[0] if beside else size[1]) - _LEGEND_GAP)
    for own, (get, put), at in (
        (0, (axes.get_xlim, axes.set_xlim), right),
        (1, (axes.get_ylim, axes.set_ylim), top),
    ):
        low, high = get()
        more = (factor - 1) * (high - low)
        share = float(at) if beside == (own == 0) else 0.5  # on the side of the key, or on both
        put(low - (1 - share) * more, high + share * more)


def _box(axes: Any, size: tuple[float, float], corner: str) -> Box:
    x0, x1 = axes.get_xlim()
    y0, y1 = axes.get_ylim()
    at = np.array(_CORNERS[corner])
    left, bottom = at * (1 - np.array(size))
    width = x1 - x0
    height = y1 - y0
    return (
        x0 + left * width,
        x0 + (left + size[0]) * width,
        y0 + bottom * height,
        y0 + (bottom + size[1]) * height,
    )


def _size_of(axes: Any, drawn: Any) -> tuple[float, float]:
    """Of a legend with the gap around it, in widths and heights of the axes."""
    found = drawn.get_window_extent().transformed(axes.transAxes.inverted())
    return float(found.width) + 2 * _LEGEND_GAP, float(found.height) + 2 * _LEGEND_GAP


def _draw_legend(axes: Any, rows: RowColors, corner: str, theme: Theme) -> Any:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], marker="o", ls="", ms=7, mec="none", color=rows.colors[code], label=_entry(name)
        )
        for name, code in rows.entries
    ]
    drawn = axes.legend(
        handles=handles,
        title=_cut(rows.title) or None,
        loc=corner,
        framealpha=0.8,
        labelcolor=theme.text,
        facecolor=theme.background,
        edgecolor="none",
        fontsize=9,
    )
    drawn.get_title().set_color(theme.text)
    for text in (drawn.get_title(), *drawn.get_texts()):
        text.set_parse_math(False)  # a name with dollars is a name
    drawn.set_zorder(10)
    return drawn


def _entry(name: str) -> str:
    """As a legend shows it: matplotlib leaves out names that begin with an underscore."""
    return f" {_cut(name)}" if name.startswith("_") else _cut(name) or "(empty)"


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_LETTERS else f"{name[: _MAX_LETTERS - 1]}…"


def _draw_bar(
    axes: Any, limits: tuple[float, float], rows: RowColors, corner: str, theme: Theme
) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    right, top = _CORNERS[corner]
    left = 0.70 if right else 0.03
    bottom = 1 - _BAR_SIZE[1] + 0.02 if top else 0.02
    place = axes.inset_axes((left, bottom, 0.27, 0.016), zorder=10)
    scale = ScalarMappable(Normalize(*limits), ListedColormap(rows.colors[:-1]))
    bar = axes.figure.colorbar(scale, cax=place, orientation="horizontal", extend="both")
    bar.ax.xaxis.set_ticks_position("top")
    bar.ax.xaxis.set_label_position("top")
    bar.set_label(rows.title, color=theme.text, fontsize=9, parse_math=False)
    bar.ax.tick_params(colors=theme.text, labelsize=8)
    bar.outline.set_visible(False)
