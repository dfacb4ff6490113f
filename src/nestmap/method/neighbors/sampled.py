"""Sampled rows and their true neighbours: what an approximate search knows of its own recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array, blocks
from ...core.exact import product
from ...core.native import core, kernels
from ...core.points.reduce import rounding_slack
from ...core.threads import map_blocks
from .cells import Partition
from .effort import TABLE
from .prepared import NeighborLists, PreparedRows
from .scan import nearest_ids
from .spaces import ProductSpace, SomeRows, Space, space_of

_QUERIES_PER_CELL = 48  # sampled rows that are put into one cell of queries: three panels
# rows of a trial: pairs of these with so many others tell whether bounds are of use
_TRIAL_ROWS = 32
_TRIAL_OTHERS = 2048
_WITHIN_SHARE = 0.1  # of pairs within the bounds: above, matrix products are the faster way


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Random rows and the distances of their k true neighbours.

    Every second one steers the search; the others, which have no say in it, tell the recall.
    """

    rows: PreparedRows
    positions: Array
    distances: Array  # (n_sampled, k), as kernels give them

    @classmethod
    def choose(
        cls, rows: PreparedRows, lists: NeighborLists, k: int, target: float, number: int
    ) -> SampledRows:
        """Rows drawn at random, compared with all rows, starting from what their lists hold."""
        size = min(rows.n, number)
        positions = np.sort(np.random.default_rng(2).choice(rows.n, size, replace=False))
        if _share_within(rows, lists, positions, k) > _WITHIN_SHARE or (
            k > 1 and rows.points.norm == "L1"
        ):
            most = max(TABLE.sampled_lists, int(2 / (1 - target)))
            positions = positions[:: -(-len(positions) // most)]
            return cls(rows, positions, _by_products(rows, positions, k))
        if k > 1:
            return cls(rows, positions, _within_bounds(rows, lists, positions, k))
        return cls(rows, positions, _by_queries(rows, lists, positions))

    @property
    def n_steering(self) -> int:
        """Sampled neighbours of the rows that steer."""
        return self.distances[::2].size

    def steering_recall(self, lists: NeighborLists) -> float:
        """Recall of the rows that steer."""
        return self._recall(lists, slice(0, None, 2))

    def measured(self, lists: NeighborLists, *, steered: bool) -> MeasuredRecall:
        """Recall of the rows that did not steer; of all if no round was made."""
        which = slice(1, None, 2) if steered else slice(None)
        return MeasuredRecall(self._recall(lists, which), len(self.positions[which]))

    def _recall(self, lists: NeighborLists, which: slice) -> float:
        positions = np.ascontiguousarray(self.positions[which])
        k = self.distances.shape[1]
        found = self.rows.rank(lists, k, positions)[0]
        return float(np.mean(found <= self.distances[which, -1:]))


@dataclass(frozen=True)
class MeasuredRecall:
    """Share of true neighbours among those found, and the rows that it was measured on."""

    recall: float
    n_rows: int


def _by_products(rows: PreparedRows, positions: Array, k: int) -> Array:
    """Distances of true neighbours, by matrix products with all rows."""
    # by their numbers in X: in cell order too many of a block would be near at once
    everyone = np.sort(rows.partition.order)
    sampled = rows.partition.order[positions]
    space = SomeRows(_space(rows), everyone)
    ids = nearest_ids(space, np.searchsorted(everyone, sampled), k, rows.n_threads)
    pairs = np.repeat(sampled, k), everyone[ids].ravel()
    return kernels.pair_distances(rows.points, *pairs).reshape(ids.shape)


def _space(rows: PreparedRows) -> Space:
    """All distances, with what the reduction knows already."""
    points = rows.points
    if points.norm == "L1":
        return space_of(points)
    squares = np.zeros(points.n)
    squares[rows.partition.order] = rows.reduced.sizes  # with the extra coordinate
    squares -= np.square(points.extra)
    return ProductSpace(points, None if points.is_sparse else rows.reducer.mean, squares)


def _by_queries(rows: PreparedRows, lists: NeighborLists, positions: Array) -> Array:
    """The same for one neighbour, by exact queries that start from the lists."""
    listed, listed_ids = rows.rank(lists, 1, positions)
    distances = listed[:, 0].copy()
    ids = listed_ids[:, 0].copy()
    starts = np.append(np.arange(0, len(positions), _QUERIES_PER_CELL), len(positions))
    groups = Partition(
        rows.partition.order[positions], starts.astype(np.int64), rows.partition.centres
    )
    queries = rows.make_cells(rows.reduced.take(positions, rows.n_threads), groups)
    native = rows.points.native
    for cells in rows.cells_in_turn():
        core().query(queries, native, cells, native, distances, ids, rows.n_threads)
    return distances[:, None]


def _within_bounds(rows: PreparedRows, lists: NeighborLists, positions: Array, k: int) -> Array:
    """The same by distances of those rows only that may be nearer than listed ones (L2)."""
    z = rows.reduced.z
    rest = rows.reduced.tails[:, -1:]
    sizes = rows.reduced.sizes[:, None]
    farthest = rows.rank(lists, k, positions)[0][:, -1]
    limits = np.nextafter(farthest.astype(np.float32), np.float32(np.inf))
    order = rows.partition.order
    margin = np.float32(1 - rounding_slack(z.shape[1], rows.points.n_cols))
    ones = np.ones((len(z), 1), dtype=np.float32)
    parts = [-2 * z[positions], -2 * rest[positions], ones[positions], margin * sizes[positions]]
    right = np.hstack(parts).T

    def look(part: slice) -> tuple[Array, Array]:
        bounds = np.hstack([z[part], rest[part], margin * sizes[part], ones[part]]) @ right
        near, which = np.divmod(np.flatnonzero(bounds <= limits), len(positions))
        near += part.start
        others = near != positions[which]
        near = near[others]
        which = which[others]
        distances = kernels.pair_distances(rows.points, order[positions[which]], order[near])
        return which, distances

    found = map_blocks(look, blocks(len(z), len(positions), values=500_000), rows.n_threads)
    which, distances = (np.concatenate(column) for column in zip(*found, strict=True))
    by_row = np.lexsort((distances, which))
    begins = np.searchsorted(which[by_row], np.arange(len(positions)))
    return np.asarray(distances[by_row][begins[:, None] + np.arange(k)])


def _share_within(rows: PreparedRows, lists: NeighborLists, positions: Array, k: int) -> float:
    """Of pairs of rows: how many short rows do not tell to be farther apart than neighbours."""
    some = np.ascontiguousarray(positions[:: max(1, len(positions) // _TRIAL_ROWS)])
    others = np.random.default_rng(5).integers(0, rows.n, _TRIAL_OTHERS)
    x = rows.reduced.z
    rest = rows.reduced.tails[:, -1]
    if rows.points.norm == "L1":
        bounds = np.abs(x[some, None] - x[others]).sum(axis=2)
        bounds += np.abs(rest[some, None] - rest[others])
    else:
        products = product(x[some], x[others].T) + np.outer(rest[some], rest[others])
        sizes = rows.reduced.sizes
        bounds = sizes[some, None] + sizes[others] - 2 * products
    return float(np.mean(bounds <= rows.rank(lists, k, some)[0][:, -1:]))
