"""The part of a map that pictures show: nearly all rows, unless showing all costs little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array
from .numbers import chosen

SIDES = ("left", "right", "bottom", "top")
_FLATTEST_BOX = 1e-9  # longer sides: a line has an upper and a lower edge, too


@dataclass(frozen=True)
class FramingNumbers:
    """When rows are left out of a picture, and how many of them."""

    shown: float = chosen(
        0.995, "share of the rows", "that a picture shows at least", "all but one in 200"
    )
    reach: float = chosen(
        0.3,
        "longer sides of the box of nearly all rows",
        "beyond it, in which rows still count as the map's own",
        "like whiskers of a box plot: thinning edges and islands off the coast stay",
    )
    saved: float = chosen(
        1 / 3,
        "share of the picture",
        "that must be gained, or nothing is left out",
        "below, an island of few rows that is a cluster would be lost for little",
    )
    few: int = chosen(
        3,
        "rows",
        "of a small map that may be left out, where they are more than its share",
        "a single row far out makes a dot of all others",
    )
    fewest: int = chosen(20, "rows", "of a map for each one of these few", "5% at most")
    saved_by_few: float = chosen(
        0.9, "share of the picture", "that these few must leave empty", "about 4 times as long"
    )
    flattest: float = chosen(
        0.5, "longer sides", "that a picture is wide at least", "as `nestmap plot` shapes them"
    )


FRAMING = FramingNumbers()


@dataclass(frozen=True, eq=False)
class Frame:
    """A box of a map: its lowest and highest coordinates, and the number of rows outside."""

    low: Array
    high: Array
    n_outside: int


def whole_frame(positions: Array) -> Frame:
    """The box of all rows."""
    return Frame(positions.min(axis=0), positions.max(axis=0), 0)


def find_frame(positions: Array) -> Frame:
    """The box that a picture of a map shows.

    Around the core (per axis the shortest stretch with 99.5% of the rows), the box grows until it
    holds 99.5% of the rows, and reaches on to those that are near. If all rows together take
    little more room, it holds all. Time O(n), the same for any order of the rows.

    Parameters
    ----------
    positions : ndarray of shape (n_rows, n_dimensions)
        Finite; one row at least.

    Examples
    --------
    >>> square = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=2).reshape(-1, 2)
    >>> find_frame(square).high.tolist()
    [29.0, 29.0]
    >>> frame = find_frame(np.vstack([square, [[900.0, 5.0]]]))
    >>> frame.high.tolist(), frame.n_outside
    ([29.0, 29.0], 1)
    """
    rows = np.asarray(positions, dtype=np.float64)
    n = len(rows)
    whole = whole_frame(rows)
    room = _room(whole)
    if not room.all():  # all rows lie in one place
        return whole
    share = n - int(np.ceil(FRAMING.shown * n))
    few = min(FRAMING.few, n // FRAMING.fewest)
    tries = [(share, FRAMING.saved)]
    if few > share:
        tries.insert(0, (few, FRAMING.saved_by_few))
    for n_left_out, least_saved in tries:
        found = _frame_without(rows, n_left_out) if n_left_out else whole
        if np.prod(_room(found) / room) <= 1 - least_saved:
            return found
    return whole


def _frame_without(rows: Array, n_left_out: int) -> Frame:
    """The box of all rows but so many at most."""
    core = np.array([_shortest(axis, len(rows) - n_left_out) for axis in rows.T])
    unit = float((core[:, 1] - core[:, 0]).max())
    away = np.zeros(len(rows))
    for axis, (low, high) in zip(rows.T, core, strict=True):
        np.maximum(away, low - axis, out=away)
        np.maximum(away, axis - high, out=away)
    last = len(rows) - n_left_out - 1
    limit = max(float(np.partition(away, last)[last]), FRAMING.reach * unit)
    inside = away <= limit if unit > 0 else np.ones(len(rows), dtype=bool)
    own = rows[inside]
    return Frame(own.min(axis=0), own.max(axis=0), len(rows) - len(own))


def _shortest(values: Array, n_inside: int) -> tuple[float, float]:
    """The shortest stretch of an axis with so many values, the lowest of equally short ones."""
    spare = len(values) - n_inside
    ordered = np.partition(values, (spare, n_inside - 1))
    lowest = np.sort(ordered[: spare + 1])
    highest = np.sort(ordered[n_inside - 1 :])
    best = int(np.argmin(highest - lowest))
    return float(lowest[best]), float(highest[best])


def _room(frame: Frame) -> Array:
    """Sides of a picture with this box: one that is long and narrow has room beside the map."""
    sides = frame.high - frame.low
    return np.asarray(np.maximum(sides, FRAMING.flattest * sides.max()))


def is_outside(positions: Array, frame: Frame) -> Array:
    """Which rows lie outside a box."""
    return np.asarray(((positions < frame.low) | (positions > frame.high)).any(axis=1))


@dataclass(frozen=True, eq=False)
class Edge:
    """Where rows outside a box of the plane are seen from its middle.

    `sides`: places in `SIDES`; `places`: on the edge of the box, (n_rows, 2); `distances`: from the
    middle, 1 on the edge.
    """

    sides: Array
    places: Array
    distances: Array


def project_to_edge(positions: Array, frame: Frame) -> Edge:
    """The edge of a box in the direction of rows outside it.

    Examples
    --------
    >>> rows = np.array([[9.0, 3], [0, -5]])
    >>> edge = project_to_edge(rows, Frame(np.array([-1.0, -1]), np.array([1.0, 1]), 2))
    >>> [SIDES[side] for side in edge.sides], edge.places.round(2).tolist()
    (['right', 'bottom'], [[1.0, 0.33], [0.0, -1.0]])
    """
    middle = frame.low / 2 + frame.high / 2
    half = frame.high / 2 - frame.low / 2
    half = np.maximum(half, _FLATTEST_BOX * half.max())
    away = np.asarray(positions, dtype=np.float64) - middle
    beyond = np.abs(away) / half
    axis = beyond.argmax(axis=1)
    is_high = np.take_along_axis(away, axis[:, None], axis=1)[:, 0] > 0
    distances = beyond.max(axis=1)
    return Edge(2 * axis + is_high, middle + away / distances[:, None], distances)
