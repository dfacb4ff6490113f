"""Rows of a map, and at its edge marks and counts for those that lie further out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import SIDES, Edge, Frame, is_outside, project_to_edge
from .backend import limits, unit_of
from .colors import Theme
from .key import Box
from .label_boxes import place_boxes
from .rows import RowColors
from .text import measure_text, write_text

_MARKERS = ("<", ">", "v", "^")  # outwards, in the order of SIDES
_MARK_AREA = 20.0  # square points
_STRIP = 10.0  # points: the width of the edge that marks take
_SLOT = 6.0  # points along the edge: rows nearer to each other have one mark
_FONT_SIZE = 8.0


def draw_rows(
    axes: Any,
    positions: Array,
    rows: RowColors,
    draw: Callable[[Any, Array, RowColors], None],
    theme: Theme,
    key: Box | None,
) -> list[Box]:
    """Draw rows within the axes by `draw`, the others as marks; the boxes where something stands.

    `key`: where the legend is.
    """
    taken = [] if key is None else [key]
    outside = is_outside(positions, limits(axes))
    if not outside.any():
        draw(axes, positions, rows)
        return taken
    draw(axes, positions[~outside], replace(rows, codes=rows.codes[~outside]))
    return taken + mark_beyond(
        axes, positions[outside], rows.colors, rows.codes[outside], theme, taken
    )


def mark_beyond(
    axes: Any,
    positions: Array,
    colors: Array,
    codes: Array,
    theme: Theme,
    taken: Sequence[Box] = (),
) -> list[Box]:
    """Mark rows beyond the axes, coloured colors[codes], and count them per side; boxes taken."""
    shown = limits(axes)
    edge = project_to_edge(positions, shown)
    unit = unit_of(axes)
    marks = _Marks.of(edge, codes, shown, _SLOT * unit)
    inset = _STRIP / 2 * unit
    places = np.clip(marks.places, shown.low + inset, shown.high - inset)
    strips = []
    for side in np.unique(marks.sides).tolist():
        own = marks.sides == side
        axes.scatter(
            *places[own].T,
            c=colors[marks.codes[own]],
            s=_MARK_AREA,
            marker=_MARKERS[side],
            edgecolors=theme.background,
            linewidths=0.4,
            zorder=6,
            label=f"_beyond {SIDES[side]}",
        )
        strips.append(_strip(shown, side, _STRIP * unit))
    counts = np.bincount(edge.sides, minlength=len(SIDES))
    return strips + _write_counts(axes, counts, marks, theme, taken)


@dataclass(frozen=True, eq=False)
class _Marks:
    """Marks on the edge: each for rows that lie in about the same direction."""

    sides: Array
    places: Array
    codes: Array

    @classmethod
    def of(cls, edge: Edge, codes: Array, shown: Frame, slot: float) -> _Marks:
        """One in the middle of each slot of the edge with rows, in their most common colour."""
        side = edge.sides
        axis = side // 2
        along = np.take_along_axis(edge.places, 1 - axis[:, None], axis=1)[:, 0]
        first = shown.low[1 - axis]
        slots = np.floor((along - first) / slot).astype(np.int64) * len(SIDES) + side
        pairs, counts = np.unique(np.stack([slots, codes], axis=1), axis=0, return_counts=True)
        pairs = pairs[np.lexsort((pairs[:, 1], -counts, pairs[:, 0]))]
        pairs = pairs[np.unique(pairs[:, 0], return_index=True)[1]]
        side = pairs[:, 0] % len(SIDES)
        axis = side // 2
        middle = shown.low[1 - axis] + (pairs[:, 0] // len(SIDES) + 0.5) * slot
        across = np.where(side % 2 == 0, shown.low[axis], shown.high[axis])
        is_upright = axis[:, None] == 0
        places = np.where(
            is_upright, np.stack([across, middle], axis=1), np.stack([middle, across], axis=1)
        )
        return cls(side, places, pairs[:, 1])


def _strip(shown: Frame, side: int, width: float) -> Box:
    """The part of the axes along one side."""
    low = shown.low.copy()
    high = shown.high.copy()
    axis = side // 2
    if side % 2:
        low[axis] = high[axis] - width
    else:
        high[axis] = low[axis] + width
    return (float(low[0]), float(high[0]), float(low[1]), float(high[1]))


def told_beyond(n: int) -> str:
    """How many rows a picture does not show."""
    return f"{n:,} {'row' if n == 1 else 'rows'} further out"


def _write_counts(
    axes: Any, counts: Array, marks: _Marks, theme: Theme, taken: Sequence[Box]
) -> list[Box]:
    """How many rows lie beyond each side: where it is free if possible, but in any case."""
    shown = limits(axes)
    unit = unit_of(axes)
    strip = _STRIP * unit
    low = shown.low + strip
    high = shown.high - strip
    found: list[Box] = []
    for side in np.flatnonzero(counts).tolist():
        is_upright = side < 2  # at the left and at the right
        text = told_beyond(counts[side])
        size = np.array(measure_text(text, _FONT_SIZE))[:: -1 if is_upright else 1] * unit
        at = np.median(marks.places[marks.sides == side], axis=0)
        at = np.clip(at, low + size / 2, high - size / 2)
        placed = place_boxes(
            at[None], size[None], (low[0], high[0], low[1], high[1]), [*taken, *found]
        )
        centre = placed.centres[0]
        turn = 90 if is_upright else 0
        write_text(axes, text, centre, theme, fontsize=_FONT_SIZE, rotation=turn, zorder=9)
        corners = np.stack([centre - size / 2, centre + size / 2]).tolist()
        found.append((corners[0][0], corners[1][0], corners[0][1], corners[1][1]))
    return found
