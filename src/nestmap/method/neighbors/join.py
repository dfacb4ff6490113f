"""The exact all-first-neighbours join, and queries against the same structure.

1. Reduce rows to short rows whose distances are lower bounds (`reduce`).
2. Put them into cells (`cells`).
3. Join cells with cells, nearest first, in the compiled kernel: skip cells by the triangle
   inequality, bound the pairs that are left in `head` columns, then in all reduced columns, and
   verify the few survivors by definition.
4. Where near cells show that bounds rule out little, all pairs meet in matrix products instead
(`products`). With every pair either joined or ruled out, the result is the brute-force one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.native import core, kernels, twins
from ...core.points.duplicates import Copies, hash_points
from ...core.points.point_set import PointSet
from ...core.points.reduce import (
    MOST_COLUMNS,
    Reducer,
    ShortRows,
    fit_reducer,
    reduce_rows,
)
from ...core.progress import Share, part_of
from ...core.threads import single_threaded_blas
from .cells import Partition
from .index import QUERY_HEAD, Index, make_cells, put_into_cells
from .products import join_by_products, products_tell
from .report import Clock, FirstNeighbors, NeighborReport
from .shared import Shared

# The cost of a pair, in multiply-adds of the tile: its columns, the comparison with the limits, and
# for the pairs that pass, the look at the remaining columns, and per column of X to verify one
# (measured on AVX2).
_COMPARE_COST = 10
_REFINE_COST = 400
_VERIFY_COST = 15
_PRODUCT_COST = 100  # of a pair in a product of matrices, beside its columns
_HOPELESS = 10  # times that cost: not even near cells are worth a visit
_FIRST_HEAD = 96  # columns of the tile in the first round
# cells met in the second and third round: pairs of near cells pass a short head
_NEAR_CELLS = 12
_NEXT_CELLS = 40
_FEW_CELLS = 300  # up to so many cells the third round saves less than it takes
# share of the time that is over after a round, by the cells met in it: for progress
_SHARES = {1: 0.1, _NEAR_CELLS: 0.35, _NEXT_CELLS: 0.6}


@dataclass(frozen=True, eq=False)
class Joined:
    """First neighbours, with distances as kernels give them.

    These can be compared with those in other parts of X.
    """

    squared: Array  # L1: not squared
    ids: Array
    report: NeighborReport
    settled: Array  # rows that have copies: nothing can be nearer
    reducer: Reducer | None = None
    index: Index | None = None

    def in_metric(self, points: PointSet) -> FirstNeighbors:
        """The same in the metric's own distances."""
        return FirstNeighbors(self.ids, points.to_metric(self.squared), self.report)


def join_points(
    points: PointSet,
    n_threads: int,
    reducer: Reducer | None = None,
    progress: Share | None = None,
    hashes: Array | None = None,
    columns: int = MOST_COLUMNS,
    start: Array | None = None,
    shared: Shared | None = None,
) -> Joined:
    """First neighbours of all rows of a native metric, exact, and an index over the distinct rows.

    `hashes`: what `hash_points` gives for these rows, if the caller has it; `columns`: most reduced
    columns; `start`: another row for each row that is probably the nearest, for tight limits from
    the beginning; `shared`: where these points' short rows are taken from, if they are known.
    """
    clock = Clock()
    if core() is None:
        return _join_by_twin(points, clock)
    with single_threaded_blas():
        if shared is None:
            hashes = hash_points(points.data, n_threads) if hashes is None else hashes
            copies = Copies(points, hashes)
            clock.stop("duplicates")
            reducer = reducer or fit_reducer(points, most=min(columns, MOST_COLUMNS))
            clock.stop("directions")
            rows = _put_into_cells(points, copies, reducer, n_threads, clock)
        else:
            rows = _take_into_cells(shared, n_threads, clock)
        order = rows.partition.order
        squared, ids = _limits(points, order, start)
        work = _join(points, rows, squared, ids, n_threads, progress)
    found = np.zeros(points.n)
    found_ids = np.empty(points.n, dtype=np.int64)
    found[order] = squared
    found_ids[order] = ids
    rows.copies.settle(found, found_ids)
    head = max(work.head, min(QUERY_HEAD, rows.reducer.n_dims))
    index = Index(points, rows.reducer, rows.reduced, rows.partition, head)
    report = work.report(points, rows, clock)
    return Joined(found, found_ids, report, rows.copies.rows, rows.reducer, index)


@dataclass(frozen=True, eq=False)
class _JoinRows:
    """What is joined: short rows of the distinct rows, in cell order."""

    copies: Copies
    reducer: Reducer
    reduced: ShortRows
    partition: Partition


def _put_into_cells(
    points: PointSet, copies: Copies, reducer: Reducer, n_threads: int, clock: Clock
) -> _JoinRows:
    reduced = reduce_rows(points, reducer, n_threads, copies.distinct)
    clock.stop("reduction")
    reduced, partition = put_into_cells(reduced, n_threads)
    if copies.distinct is not None:
        partition = replace(partition, order=copies.distinct[partition.order])
    clock.stop("cells")
    return _JoinRows(copies, reducer, reduced, partition)


def _take_into_cells(shared: Shared, n_threads: int, clock: Clock) -> _JoinRows:
    """The same of short rows that the search of a graph has made."""
    reduced, partition = put_into_cells(shared.take(), n_threads)
    partition = replace(partition, order=shared.rows[partition.order])
    clock.stop("cells")
    return _JoinRows(shared.copies, shared.reducer, reduced, partition)


def _join_by_twin(points: PointSet, clock: Clock) -> Joined:
    """By all distances, without kernels."""
    squared, ids = twins.nearest(points, points, norm=points.norm, exclude_self=True)
    seconds = clock.stop("brute force")
    report = NeighborReport("exact", True, points.n, points.n, "numpy", seconds=seconds)
    return Joined(squared, ids, report, np.empty(0, dtype=np.int64), None, Index(points))


@dataclass(frozen=True, eq=False)
class _JoinWork:
    """Pairs that were bounded, refined, verified and multiplied, and the last head."""

    counts: Array
    head: int

    def report(self, points: PointSet, rows: _JoinRows, clock: Clock) -> NeighborReport:
        bounded, refined, verified, multiplied = (int(count) for count in self.counts)
        return NeighborReport(
            "exact",
            True,
            points.n,
            len(rows.partition.order),
            core().isa,
            len(rows.partition.starts) - 1,
            rows.reducer.n_dims,
            bounded,
            refined,
            verified,
            multiplied,
            clock.stop("join"),
        )


def _join(
    points: PointSet,
    rows: _JoinRows,
    squared: Array,
    ids: Array,
    n_threads: int,
    progress: Share | None,
) -> _JoinWork:
    """Own cells, then near cells, then all: each round starts from the limits of the one before.

    Where the caller has brought limits, the first round is that of near cells. Improves the
    distances and ids of what was found.
    """
    reduced = rows.reduced
    partition = rows.partition
    n = len(reduced.z)
    n_cells = len(partition.starts) - 1
    done = core().PairSet(n_cells)
    counts = np.zeros(4, dtype=np.int64)
    head = min(_FIRST_HEAD, reduced.z.shape[1])
    before = 0
    over = 0.0
    for n_visit in _rounds(n_cells, started=bool((ids >= 0).all())):
        if n_visit > 1:
            costs, heads = _head_costs(reduced, partition, squared, points, before, n_visit)
            head = int(heads[np.argmin(costs)])
            if _are_products_cheaper(points, reduced, partition, squared, costs, n_visit):
                share = part_of(progress, over, 1)
                counts[2] += join_by_products(
                    points, rows.reducer.mean, partition.order, squared, ids, n_threads, share
                )
                counts[3] = n * (n - 1) // 2
                break
        cells = make_cells(points, reduced, partition, head, n_threads)
        share = part_of(progress, over, over := _SHARES.get(n_visit, 1.0))
        counts[:3] += core().self_join(
            cells, points.native, n_visit, done, squared, ids, n_threads, share
        )
        before = n_visit
    return _JoinWork(counts, head)


def _rounds(n_cells: int, started: bool) -> list[int]:
    """How many of the nearest cells each cell has met after each round."""
    rounds = [1, _NEAR_CELLS]
    if started:  # limits are low from the beginning
        rounds = [_NEAR_CELLS] if n_cells <= _FEW_CELLS else [_NEAR_CELLS, _NEXT_CELLS]
    return [*(n for n in rounds if n < n_cells), n_cells]


def _limits(points: PointSet, order: Array, start: Array | None) -> tuple[Array, Array]:
    """Distances to beat or to reach, and whose they are, of the rows in cell order."""
    if start is None:
        return np.full(len(order), np.inf), np.full(len(order), -1, dtype=np.int64)
    ids = start[order].astype(np.int64)
    return kernels.pair_distances(points, order, ids), ids


def _are_products_cheaper(
    points: PointSet,
    reduced: ShortRows,
    partition: Partition,
    limits: Array,
    costs: Array,
    n_visit: int,
) -> bool:
    """Whether to leave the cells, by what a pair costs: of the few near cells, or of all left."""
    if points.norm != "L2" or points.is_sparse:
        return False
    near = n_visit == _NEAR_CELLS
    n_cells = len(partition.starts) - 1
    if n_visit == _NEXT_CELLS:
        costs = _head_costs(reduced, partition, limits, points, _NEAR_CELLS, n_cells)[0]
    if costs.min() < (_HOPELESS if near else 1) * (points.n_cols + _PRODUCT_COST):
        return False
    some = np.random.default_rng(1).integers(0, len(limits), 1024)
    return products_tell(points.n_cols, np.sqrt(reduced.sizes[some]), limits[some])


def _head_costs(
    reduced: ShortRows,
    partition: Partition,
    limits: Array,
    points: PointSet,
    before: int,
    n_visit: int,
) -> tuple[Array, Array]:
    """What a pair of a round costs by leading columns (from a sample), and these numbers."""
    a, b = _sample_pairs(partition, before, n_visit)
    difference = reduced.z[a]
    tails = reduced.tails[a]
    for apart, others in ((difference, reduced.z[b]), (tails, reduced.tails[b])):
        apart -= others
        (np.square if points.norm == "L2" else np.abs)(apart, out=apart)
    bounds = difference.reshape(len(a), -1, 8).sum(axis=2).cumsum(axis=1) + tails
    passing = (bounds <= np.maximum(limits[a], limits[b])[:, None]).mean(axis=0)
    heads = np.arange(8, reduced.z.shape[1] + 1, 8)
    verified = _VERIFY_COST * points.n_cols * passing[-1]
    return heads + 1 + _COMPARE_COST + _REFINE_COST * passing + verified, heads


def _sample_pairs(
    partition: Partition, before: int, n_visit: int, n: int = 4096
) -> tuple[Array, Array]:
    """Positions of random pairs of rows.

    From cells that meet when as many as `n_visit` do, but not `before`.
    """
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, partition.starts[-1], (2, n))
    if n_visit < len(partition.starts) - 1:
        centres = partition.centres
        starts = partition.starts
        filled = np.flatnonzero(np.diff(starts))
        some = rng.choice(filled, min(64, len(filled)), replace=False)
        apart = ((centres[some, None] - centres[filled]) ** 2).sum(axis=2)
        close = filled[np.argsort(apart, axis=1)[:, min(before, len(filled) - 1) : n_visit]]
        cell = rng.integers(0, len(some), n)
        other = close[cell, rng.integers(0, close.shape[1], n)]
        a = rng.integers(starts[some[cell]], starts[some[cell] + 1])
        b = rng.integers(starts[other], starts[other + 1])
    return a, b
