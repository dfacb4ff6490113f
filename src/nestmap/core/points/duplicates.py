"""Equal rows: found by a hash of their values, so that the search meets each of them once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, blocks
from ..input.validate import dense_block
from ..native import kernels, twins
from ..threads import map_blocks
from .point_set import PointSet


def hash_points(data: Any, n_threads: int) -> Array:
    """A 64-bit number per row, equal for rows of equal values, dense or CSR, of any type."""
    if not sparse.issparse(data):
        out = np.empty(data.shape[0], dtype=np.uint64)

        def hash_block(part: slice) -> None:
            out[part] = kernels.hash_rows(dense_block(data, part), 1)

        map_blocks(hash_block, blocks(len(out), data.shape[1], values=1_000_000), n_threads)
        return out
    sums = np.zeros(data.nnz + 1, dtype=np.uint64)
    for part in blocks(data.nnz, 1):
        sums[1:][part] = twins.hash_values(data.data[part], data.indices[part])
    np.cumsum(sums, out=sums)
    return np.asarray(sums[data.indptr[1:]] - sums[data.indptr[:-1]])


def first_equal(hashes: Array, rows: Array) -> Array | None:
    """For each row the first row that equals it; None if all rows differ.

    `hashes` are those of `hash_points` in ascending order, `rows` the rows that they belong to; of
    equal hashes the lowest row comes first.

    Examples
    --------
    >>> first_equal(np.array([3, 7, 7, 7, 9]), np.array([4, 0, 2, 3, 1])).tolist()
    [0, 1, 0, 0, 4]
    """
    at = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1  # equal to the one before
    if len(at) == 0:
        return None
    first = np.arange(len(rows))
    # where a run of equal ones begins, in `at`
    starts = np.flatnonzero(np.diff(at, prepend=-1) != 1)
    first[rows[at]] = np.repeat(rows[at[starts] - 1], np.diff(np.append(starts, len(at))))
    return first


class Copies:
    """Which rows are equal.

    Attributes
    ----------
    distinct : array of int, or None
        The first of each set of equal rows, ascending; None if all rows differ.
    """

    def __init__(self, points: PointSet, hashes: Array) -> None:
        order = np.argsort(hashes, kind="stable")
        same = np.zeros(len(order), dtype=bool)  # position in `order`: equal to the one before
        ordered = hashes[order]
        at = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
        # guards against two rows that share a hash by accident
        same[at] = points.pair_distances(order[at - 1], points, order[at], points.norm) == 0
        self._rows = order[_in_a_run(same)]
        self._starts = np.flatnonzero(~same[_in_a_run(same)])
        self.n = len(order)

    @property
    def rows(self) -> Array:
        """All rows that equal another one."""
        return self._rows

    @property
    def distinct(self) -> Array | None:
        if len(self._rows) == 0:
            return None
        keep = np.ones(self.n, dtype=bool)
        keep[np.delete(self._rows, self._starts)] = False
        return np.flatnonzero(keep)

    @property
    def first(self) -> Array:
        """For each row the first that equals it."""
        first = np.arange(self.n)
        first[self._rows] = np.repeat(
            self._rows[self._starts], np.diff(np.append(self._starts, len(self._rows)))
        )
        return first

    def settle(self, distances: Array, ids: Array) -> None:
        """Rows with copies have them as neighbours: distance 0, the lowest other one."""
        if len(self._rows) == 0:
            return
        sizes = np.diff(np.append(self._starts, len(self._rows)))
        first = np.repeat(self._rows[self._starts], sizes)
        second = np.repeat(self._rows[self._starts + 1], sizes)
        distances[self._rows] = 0.0
        ids[self._rows] = np.where(self._rows == first, second, first)


def _in_a_run(same: Array) -> Array:
    """Positions in sorted order of rows that equal the one before or after them."""
    return np.asarray(same | np.append(same[1:], False))
