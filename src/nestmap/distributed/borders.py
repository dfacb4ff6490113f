"""Borders of parts: how far beyond its border a part copies rows of others, its guests.

Guests are halo rows: the approximate search of a part includes them, so a pair of neighbours is
found if any part holds both. A sample decides how wide the halo must be and how many parts there
must be so that each has room for it: distances to neighbours in the sample are scaled to what they
would be among all rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.points.point_set import PointSet, make_points
from ..core.points.reduce import Reducer
from ..method.neighbors.join import join_points
from .division import MOST_MEMBERS, Division, divide

_N_SAMPLED = 20_000
_TIMES_FEWER = 4  # times fewer rows tell how distances grow
# of the largest part, in parts of average size
_MEMBERS_TRIED = (1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, MOST_MEMBERS)


@dataclass(frozen=True, eq=False)
class Borders:
    """Random rows, and where a first neighbour of each may lie: their leading coordinates."""

    rows: Array
    near: Array
    most: float  # share of all rows that a part has room for

    def reach(self, division: Division, share: float) -> float:
        """The smallest halo in which this share of neighbours is found, or what memory allows."""
        margins, needed = self._margins(division)
        most = min(len(needed) - 1, int(self.most * len(needed)))
        room = np.partition(margins, most, axis=0)[most].min()
        return float(max(0.0, min(_enough(needed, share), room)))

    def has_room(self, division: Division, share: float) -> bool:
        """Whether all parts have memory for the halo in which this share of neighbours is found."""
        margins, needed = self._margins(division)
        members = np.count_nonzero(margins <= _enough(needed, share), axis=0)
        return bool(members.max() <= self.most * len(needed))

    def _margins(self, division: Division) -> tuple[Array, Array]:
        """Margins of the rows, and the least one at which each and its neighbour share a part."""
        margins, others = (
            division.margins(x, division.cells_of(x)) for x in (self.rows, self.near)
        )
        return margins, np.maximum(margins, others).min(axis=1)


def _enough(needed: Array, share: float) -> float:
    # -inf: they share theirs
    return float(max(0.0, np.sort(needed)[min(len(needed) - 1, int(share * len(needed)))]))


def divide_for_guests(
    points: PointSet, most_parts: int, columns: int, reducer: Reducer | None, share: float
) -> tuple[Division, Borders]:
    """The fewest parts, up to `most_parts`, whose halos find this share of neighbours.

    Of `most_parts` parts each would have room for `MOST_MEMBERS` times its own rows.
    """
    borders = None
    for n_parts in dict.fromkeys(
        max(2, -int(-most_parts * members // MOST_MEMBERS)) for members in _MEMBERS_TRIED
    ):
        division = divide(points, n_parts, columns, reducer)
        reducer = division.reducer
        borders = borders or Borders(
            *_likely_neighbors(division, points), MOST_MEMBERS / most_parts
        )
        if borders.has_room(division, share):
            break
    assert borders is not None
    return division, borders


def _likely_neighbors(division: Division, points: PointSet) -> tuple[Array, Array]:
    """Leading coordinates of random rows, and where a first neighbour of each may lie."""
    rng = np.random.default_rng(6)
    rows = rng.choice(points.n, min(points.n, _N_SAMPLED), replace=False)
    some, few = (
        make_points(np.asarray(points.data[which]), points.metric, unit=points.unit)
        for which in (rows, rows[: -(-len(rows) // _TIMES_FEWER)])
    )
    found, sparse = (join_points(each, 1, division.reducer) for each in (some, few))
    far = sparse.squared > 0
    ratio = np.median(found.squared[: few.n][far] / sparse.squared[far]) if far.any() else 1.0
    ratio = ratio if points.norm == "L1" else np.sqrt(ratio)
    nearer = np.float32(ratio ** (np.log(points.n / some.n) / np.log(_TIMES_FEWER)))
    z = division.short(some)
    return z, z + nearer * (z[found.ids] - z)
