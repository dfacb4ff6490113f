"""What the kernels of the approximate search compute, in plain NumPy: documentation and oracle of the tests.

Rows are `ShortRows` in cell order: cell c holds the positions starts[c] to starts[c + 1]. A list holds, for each row,
positions of promising rows (-1: none) and the distances of their short rows (inf: none), ascending; squared for L2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array


@dataclass(frozen=True, eq=False)
class ShortRows:
    """Short rows with the norm of what they leave out as a last column."""

    x: Array  # (n, columns + 1) float64
    starts: Array
    norm: str

    @property
    def centres(self) -> Array:
        return np.stack([self.x[a:b].mean(axis=0) for a, b in zip(self.starts, self.starts[1:], strict=False)])

    @property
    def cell_of(self) -> Array:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def distances(self, a: Array, b: Array) -> Array:
        """Of each row of a to each row of b."""
        difference = a[:, None] - b
        return np.asarray((np.abs(difference) if self.norm == "L1" else difference**2).sum(axis=2))


def near_cells(rows: ShortRows, m: int) -> Array:
    """The m cells nearest to each cell by their centres, itself first."""
    away = rows.distances(rows.centres, rows.centres)
    np.fill_diagonal(away, -1)
    return np.argsort(away, axis=1, kind="stable")[:, :m]


def probe(rows: ShortRows, near: Array, first: int, last: int, ids: Array, bounds: Array) -> tuple[Array, Array]:
    """Lists after each row has met the cells that rank `first` to `last` for it among the listed ones.

    Rank 0 is the row's own cell; the others rank by the distance of their centres from the row.
    """
    ids, bounds = ids.copy(), bounds.copy()
    centres = rows.centres
    for i, cell in enumerate(rows.cell_of):
        away = rows.distances(rows.x[i : i + 1], centres[near[cell]])[0]
        away[0] = -1
        met = [np.arange(rows.starts[c], rows.starts[c + 1]) for c in near[cell][np.argsort(away)[first:last]]]
        _improve(rows, i, np.concatenate([np.empty(0, dtype=int), *met]), ids, bounds)
    return ids, bounds


def repair(rows: ShortRows, known: Array, ids: Array, bounds: Array) -> tuple[Array, Array]:
    """Lists after each row has met the rows that the rows known to it know."""
    ids, bounds = ids.copy(), bounds.copy()
    for i in range(len(ids)):
        through = known[i][known[i] >= 0]
        met = known[through].ravel()
        _improve(rows, i, met[met >= 0], ids, bounds)
    return ids, bounds


def _improve(rows: ShortRows, i: int, met: Array, ids: Array, bounds: Array) -> None:
    """The best of a row's list and of the rows that it has met."""
    pool = np.unique(np.concatenate([met, ids[i][ids[i] >= 0]]))
    pool = pool[pool != i]
    away = rows.distances(rows.x[i : i + 1], rows.x[pool])[0]
    best = np.argsort(away, kind="stable")[: ids.shape[1]]
    ids[i], bounds[i] = -1, np.inf
    ids[i, : len(best)], bounds[i, : len(best)] = pool[best], away[best]


def verify_lists(distance: Array, ids: Array) -> tuple[Array, Array]:
    """The nearest row of each list by the distances (n x n) between rows themselves, ties to the lower number."""
    found = np.take_along_axis(distance, np.maximum(ids, 0), axis=1)
    found[ids < 0] = np.inf
    best = np.lexsort((ids, found), axis=1)[:, 0]
    each = np.arange(len(ids))
    return found[each, best], ids[each, best]
