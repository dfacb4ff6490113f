"""Borders of parts, where neighbours belong to different ones: how far away the guests of a part may live.

The approximate search of a part meets its guests, too, so a pair of rows is found if any part holds both. How far is
far enough is told by a sample: neighbours in it, drawn nearer to what they would be among all rows.
"""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from .._points.point_set import PointSet, make_points
from ..neighbors.join import join_points
from .division import MOST_MEMBERS, Division

_SAMPLED = 20_000
_FEWER = 4  # times fewer rows tell how distances grow


def reach_of_guests(division: Division, points: PointSet, share: float) -> float:
    """The least margin of guests at which this share of neighbours is expected to meet, as far as there is room."""
    z, near = _likely_neighbors(division, points)
    margins, others = (division.margins(x, division.cells_of(x)) for x in (z, near))
    needed = np.maximum(margins, others).min(axis=1)  # to meet in the part that is best for it
    most = min(len(z) - 1, int(MOST_MEMBERS * len(z) / division.n_parts))
    room = np.partition(margins, most, axis=0)[most].min()
    enough = np.sort(needed)[min(len(z) - 1, int(share * len(z)))]  # -inf if they share their part anyway
    return float(max(0.0, min(enough, room)))


def _likely_neighbors(division: Division, points: PointSet) -> tuple[Array, Array]:
    """Leading coordinates of random rows, and where a first neighbour of each may lie."""
    rng = np.random.default_rng(6)
    rows = rng.choice(points.n, min(points.n, _SAMPLED), replace=False)
    some, few = (
        make_points(np.asarray(points.data[which]), points.metric, unit=points.unit)
        for which in (rows, rows[: -(-len(rows) // _FEWER)])
    )
    found, sparse = (join_points(each, 1, division.reducer) for each in (some, few))
    far = sparse.squared > 0
    ratio = np.median(found.squared[: few.n][far] / sparse.squared[far]) if far.any() else 1.0
    ratio = ratio if points.norm == "L1" else np.sqrt(ratio)
    nearer = np.float32(ratio ** (np.log(points.n / some.n) / np.log(_FEWER)))
    z = division.short(some)
    return z, z + nearer * (z[found.ids] - z)
