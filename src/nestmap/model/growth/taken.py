"""Where rows lie already: a tree of the rows around a few targets.

One of all rows takes longer than all else.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from ...core.arrays import Array

_LINES = 256  # of the grid that tells which rows are around a target
_AROUND = 3  # cells of it, on each side of the target's own


class TakenPlaces:
    """Places in the plane, asked for the nearest ones around some targets."""

    def __init__(self, places: Array, targets: Array) -> None:
        self.places = places
        self.n = len(places)
        # NumPy takes twenty times as long for both at once
        columns = [places[:, c] for c in range(places.shape[1])]
        low = np.array([column.min() for column in columns])
        self.extent = float(
            max(column.max() - least for column, least in zip(columns, low, strict=True))
        )
        width = self.extent / _LINES if self.extent > 0 else 1.0
        self.reach = _AROUND * width  # all that is so near to a target is in its cells
        wanted = np.zeros((_LINES + 1, _LINES + 1), dtype=bool)
        for row, col in np.clip(np.floor((targets - low) / width), 0, _LINES).astype(int):
            wanted[
                max(0, row - _AROUND) : row + _AROUND + 1, max(0, col - _AROUND) : col + _AROUND + 1
            ] = True
        cells = np.minimum(((places - low) * (1 / width)).astype(np.int32), _LINES)
        self.some = _tree(places[wanted[cells[:, 0], cells[:, 1]]])

    @cached_property
    def all(self) -> cKDTree:
        return _tree(self.places)

    def nearest(self, target: Array, points: Array, k: int) -> tuple[Array, Array]:
        """Distances of points to the k nearest places, (m, k), and those places, (m, k, 2).

        The points lie around one of the targets; the farther away, the longer it takes.
        """
        away = np.sqrt(((points - target) ** 2).sum(axis=1))
        if self.some.n >= k:
            found, rows = self.some.query(points, k=[*range(1, k + 1)])
            if (away + found[:, -1]).max() < (1 - 1e-9) * self.reach:
                return found, self.some.data[rows]
        found, rows = self.all.query(points, k=[*range(1, k + 1)])
        return found, self.all.data[rows]


def _tree(places: Array) -> cKDTree:
    # a few questions: it need not be a good one
    return cKDTree(places, balanced_tree=False, compact_nodes=False)
