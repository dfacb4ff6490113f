"""What the kernels of the approximate search compute, in plain NumPy: the oracle of the tests.

Rows are `CellRows` in cell order: cell c holds the positions starts[c] to starts[c + 1]. A list
holds, for each row, positions of promising rows (-1: none) and their estimated distances (inf:
none), ascending; squared for L2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array


@dataclass(frozen=True, eq=False)
class CellRows:
    """Reduced rows in cell order, with the norm of the residual as a last column."""

    x: Array  # (n, columns + 1) float64
    starts: Array
    norm: str

    @property
    def centres(self) -> Array:
        return np.stack(
            [self.x[a:b].mean(axis=0) for a, b in zip(self.starts, self.starts[1:], strict=False)]
        )

    @property
    def cell_of(self) -> Array:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def distances(self, a: Array, b: Array) -> Array:
        """Of each row of a to each row of b."""
        difference = a[:, None] - b
        return np.asarray((np.abs(difference) if self.norm == "L1" else difference**2).sum(axis=2))

    def estimates(self, a: Array, b: Array) -> Array:
        """The same for L1.

        For L2 more than that, as if the residuals of two rows made an angle of 60 degrees.
        """
        return self.distances(a, b) + (0 if self.norm == "L1" else np.outer(a[:, -1], b[:, -1]))


def near_cells(rows: CellRows, m: int) -> Array:
    """The m cells nearest to each cell by their centres, itself first."""
    away = rows.distances(rows.centres, rows.centres)
    np.fill_diagonal(away, -1)
    return np.argsort(away, axis=1, kind="stable")[:, :m]


def probe(
    rows: CellRows, near: Array, first: int, last: int, ids: Array, estimates: Array
) -> tuple[Array, Array]:
    """Lists after each row has met the cells that rank `first` to `last` for it, of those listed.

    Rank 0 is the row's own cell; the others rank by the distance of their centres from the row.
    """
    ids = ids.copy()
    estimates = estimates.copy()
    centres = rows.centres
    for i, cell in enumerate(rows.cell_of):
        away = rows.distances(rows.x[i : i + 1], centres[near[cell]])[0]
        away[0] = -1
        met = [
            np.arange(rows.starts[c], rows.starts[c + 1])
            for c in near[cell][np.argsort(away)[first:last]]
        ]
        _improve(rows, i, np.concatenate([np.empty(0, dtype=int), *met]), ids, estimates)
    return ids, estimates


class Graph:
    """NN-descent: neighbours and reverse neighbours of a row are compared with each other."""

    def __init__(self, rows: CellRows, ids: Array, estimates: Array, max_candidates: int) -> None:
        self.rows = rows
        self.ids = ids.copy()
        self.estimates = estimates.copy()
        self.max_candidates = max_candidates
        # entries that have not been in a local join
        self.new = ids >= 0
        self.round = 0

    def improve(self) -> None:
        """One round: a local join around each row, in which each new one meets all others."""
        listed = self.ids >= 0
        sampled_new = self._first(self.new)
        sampled_old = self._first(~self.new & listed)
        self.new &= ~sampled_new
        new = self._candidates(sampled_new, np.ones(len(listed), dtype=bool))
        has_join = np.array([len(rows) > 0 for rows in new])
        old = self._candidates(sampled_old, has_join)
        compared: list[set[int]] = [set() for _ in listed]
        for some, rest in zip(new, old, strict=True):
            everybody = {*some, *rest}
            for a in some:
                for b in everybody - {a}:
                    compared[a].add(b)
                    compared[b].add(a)
        before = self.ids.copy()
        was_new = self.new.copy()
        for i, others in enumerate(compared):
            _improve(self.rows, i, np.array(sorted(others), dtype=int), self.ids, self.estimates)
            still = {int(id): bool(flag) for id, flag in zip(before[i], was_new[i], strict=True)}
            self.new[i] = [still.get(int(id), True) and id >= 0 for id in self.ids[i]]
        self.round += 1

    def _first(self, entries: Array) -> Array:
        """The first `max_candidates` of the entries of each row."""
        return np.asarray(entries & (np.cumsum(entries, axis=1) <= self.max_candidates))

    def _candidates(self, entries: Array, wanted: Array) -> list[set[int]]:
        """The neighbours in these entries, and a sample of the reverse ones."""
        out: list[set[int]] = [set(self.ids[i][entries[i]].tolist()) for i in range(len(entries))]
        reverse: list[list[int]] = [[] for _ in out]
        for i, neighbors in enumerate(out):
            for j in neighbors:
                reverse[j].append(i)
        for i, rows in enumerate(reverse):
            by_priority = sorted(rows, key=lambda j: (priority(i, j, self.round), j))
            out[i] = {*out[i], *by_priority[: self.max_candidates]}
        return [rows if want else set() for rows, want in zip(out, wanted, strict=True)]


def priority(a: int, b: int, round: int) -> int:
    """Of a pair in the sampling of a round: from 0 to 2^32, symmetric in a and b."""
    mask = 2**64 - 1
    x = ((min(a, b) << 32 | max(a, b)) + 0x9E3779B97F4A7C15 * (round + 1)) & mask
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & mask
    return x >> 32


def _improve(rows: CellRows, i: int, met: Array, ids: Array, estimates: Array) -> None:
    """The best of a row's list and of the rows that it has met."""
    pool = np.unique(np.concatenate([met, ids[i][ids[i] >= 0]]))
    pool = pool[pool != i]
    away = rows.estimates(rows.x[i : i + 1], rows.x[pool])[0]
    best = np.argsort(away, kind="stable")[: ids.shape[1]]
    ids[i] = -1
    estimates[i] = np.inf
    ids[i, : len(best)] = pool[best]
    estimates[i, : len(best)] = away[best]


def rank_lists(distance: Array, ids: Array, k: int) -> tuple[Array, Array]:
    """The k nearest rows of each list by the distances (n x n) between rows; ties: lower number."""
    found = np.take_along_axis(distance, np.maximum(ids, 0), axis=1)
    found[ids < 0] = np.inf
    best = np.lexsort((ids, found), axis=1)[:, :k]
    return np.take_along_axis(found, best, axis=1), np.take_along_axis(ids, best, axis=1)
