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
from functools import cached_property
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.native import core, kernels, twins
from ...core.points.duplicates import Copies, hash_points
from ...core.points.point_set import PointSet, make_points
from ...core.points.reduce import (
    MOST_COLUMNS,
    Reducer,
    ShortRows,
    fit_reducer,
    reduce_rows,
    rounding_slack,
)
from ...core.progress import Share, part_of
from ...core.threads import single_threaded_blas
from .cells import Partition, group_by_centre, number_of_cells, partition_rows
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
_MUCH = 10  # times that cost: bounds rule out so little that not even near cells are worth a visit
_FIRST_HEAD = 96
# pairs of near cells pass a short head: they meet in rounds with longer ones
_NEAR_CELLS = 12
_NEXT_CELLS = 40
_FEW_CELLS = 300  # up to here a round for the next cells saves less than it takes
# columns of the tile for new rows, at least: joins choose fewer, since their limits are soon low
_QUERY_HEAD = 24
_HUGE = 1e15
_FAR_UNIT = 2.0**-333  # in which squares of the largest values that are allowed stay in range
# of the time, about, that is over after a round
_SHARES = {1: 0.1, _NEAR_CELLS: 0.35, _NEXT_CELLS: 0.6}


@dataclass(frozen=True, eq=False)
class Index:
    """Rows that can be asked for the nearest of them; built once, queried often."""

    points: PointSet
    reducer: Reducer | None = None
    reduced: ShortRows | None = None  # in cell order
    partition: Partition | None = None
    head: int = 0

    @cached_property
    def native_cells(self) -> Any:
        assert self.reduced is not None and self.partition is not None
        return make_cells(self.points, self.reduced, self.partition, self.head, 1)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "native_cells"}

    def query(self, data: Any, n_threads: int) -> tuple[Array, Array]:
        """Nearest row (ties: the lowest) and distance for each row of data; exact.

        A row's answer does not depend on the other rows of the batch.
        """
        queries = make_points(data, self.points.metric, self.points, n_threads)
        if core() is None or self.reduced is None:
            return self._by_brute_force(data)
        huge = _huge_rows(queries)
        if len(huge):
            ids = np.empty(queries.n, dtype=np.int64)
            distances = np.empty(queries.n)
            rest = np.setdiff1d(np.arange(queries.n), huge)
            ids[huge], distances[huge] = self._by_brute_force(data[huge])
            if len(rest):
                ids[rest], distances[rest] = self.query(data[rest], n_threads)
            return ids, distances
        ids, squared = self.nearest(queries, n_threads)
        return ids, self.points.to_metric(squared)

    def nearest(
        self, queries: PointSet, n_threads: int, limits: Array | None = None
    ) -> tuple[Array, Array]:
        """The same for points in the same unit; distances as kernels give them (squared for L2).

        `limits`: distances to beat or to reach, -1 is the answer where no row does.
        """
        if core() is None or self.reduced is None:
            squared, ids = twins.nearest(
                queries, self.points, norm=queries.norm, exclude_self=False
            )
            if limits is None:
                return ids, squared
            return np.where(squared <= limits, ids, -1), np.minimum(squared, limits)
        assert self.reducer is not None and self.partition is not None
        short = reduce_rows(queries, self.reducer, n_threads)
        groups = group_by_centre(short.z, self.partition.centres, n_threads)
        filled = np.concatenate([[0], groups.starts[1:][np.diff(groups.starts) > 0]])
        groups = Partition(groups.order, filled, groups.centres)
        short = short.take(groups.order, n_threads)
        cells = make_cells(queries, short, groups, self.head, n_threads)
        squared = np.full(queries.n, np.inf) if limits is None else limits[groups.order]
        found = np.full(queries.n, -1, dtype=np.int64)
        core().query(
            cells, queries.native, self.native_cells, self.points.native, squared, found, n_threads
        )
        ids = np.empty_like(found)
        distances = np.empty_like(squared)
        ids[groups.order] = found
        distances[groups.order] = squared
        return ids, distances

    def nearest_others(self, rows: Array, n_threads: int) -> Array:
        """For some rows of the index: exact distance, as kernels give it, of the nearest other."""
        if core() is None or self.reduced is None or self.partition is None:
            found: Array = twins.nearest(
                self.points, self.points, norm=self.points.norm, exclude_self=True
            )[0][rows]
            return found
        at = np.argsort(self.partition.order)[np.searchsorted(np.sort(self.partition.order), rows)]
        starts = np.append(np.arange(0, len(rows), 48), len(rows)).astype(np.int64)
        groups = Partition(rows, starts, self.partition.centres)
        cells = make_cells(
            self.points, self.reduced.take(at, n_threads), groups, self.head, n_threads
        )
        squared = np.full(len(rows), np.inf)
        ids = np.full(len(rows), -1, dtype=np.int64)
        native = self.points.native  # the same: rows do not find themselves
        core().query(cells, native, self.native_cells, native, squared, ids, n_threads)
        return squared

    def _by_brute_force(self, data: Any) -> tuple[Array, Array]:
        queries = make_points(data, self.points.metric, self.points)
        ids = np.empty(queries.n, dtype=np.int64)
        distances = np.empty(queries.n)
        huge = _huge_rows(queries)
        for some, unit in (
            (np.setdiff1d(np.arange(queries.n), huge), queries.unit),
            (huge, _FAR_UNIT),
        ):
            if len(some):
                asked = make_points(data[some], queries.metric, self.points)
                rows, asked = (
                    replace(each, unit=unit, scale=np.broadcast_to(unit, each.n))
                    if unit != each.unit
                    else each
                    for each in (self.points, asked)
                )
                squared, ids[some] = twins.nearest(asked, rows, norm=asked.norm, exclude_self=False)
                distances[some] = asked.to_metric(squared)
        return ids, distances


def _huge_rows(queries: PointSet) -> Array:
    """Rows whose short rows would overflow float32: 1e15 times larger than what was indexed."""
    if queries.metric not in ("euclidean", "manhattan"):
        return np.empty(0, dtype=np.int64)
    values = queries.data.data if queries.is_sparse else queries.data
    if values.size == 0 or kernels.largest(values) * queries.unit < _HUGE:
        return np.empty(0, dtype=np.int64)
    most = abs(queries.data).max(axis=1)
    return np.flatnonzero(
        np.asarray(most.todense() if queries.is_sparse else most).ravel() * queries.unit >= _HUGE
    )


def build_index(
    points: PointSet, n_threads: int, reducer: Reducer | None = None, rows: Array | None = None
) -> Index:
    """An index over some rows of a point set (None: all)."""
    if core() is None:
        return Index(points)
    with single_threaded_blas():
        reducer = reducer or fit_reducer(points)
        reduced, partition = _put_into_cells(
            reduce_rows(points, reducer, n_threads, rows), n_threads
        )
        if rows is not None:
            partition = Partition(rows[partition.order], partition.starts, partition.centres)
    return Index(points, reducer, reduced, partition, min(_QUERY_HEAD, reducer.n_dims))


def _put_into_cells(reduced: ShortRows, n_threads: int) -> tuple[ShortRows, Partition]:
    """Cells of short rows, and the rows in cell order."""
    partition = partition_rows(reduced.z, number_of_cells(len(reduced.z)), n_threads)
    return reduced.put_in_order(partition.order, n_threads), partition


def make_cells(
    points: PointSet,
    reduced: ShortRows,
    partition: Partition,
    head: int,
    n_threads: int,
    with_panels: bool = True,
) -> Any:
    return core().Cells(
        reduced.z,
        reduced.tails,
        reduced.sizes,
        partition.order,
        partition.starts,
        head,
        rounding_slack(head, points.n_cols),
        points.norm,
        with_panels,
        n_threads,
    )


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
        squared, ids = twins.nearest(points, points, norm=points.norm, exclude_self=True)
        report = NeighborReport(
            "exact", True, points.n, points.n, "numpy", seconds=clock.stop("brute force")
        )
        return Joined(squared, ids, report, np.empty(0, dtype=np.int64), None, Index(points))
    with single_threaded_blas():
        distinct: Array | None
        if shared is not None:
            copies = shared.copies
            distinct = shared.rows
            reducer = shared.reducer
            reduced = shared.take()
        else:
            copies = Copies(
                points, hash_points(points.data, n_threads) if hashes is None else hashes
            )
            distinct = copies.distinct
            clock.stop("duplicates")
            reducer = reducer or fit_reducer(points, most=min(columns, MOST_COLUMNS))
            clock.stop("directions")
            reduced = reduce_rows(points, reducer, n_threads, distinct)
        clock.stop("reduction")
        reduced, partition = _put_into_cells(reduced, n_threads)
        if distinct is not None:
            partition = Partition(distinct[partition.order], partition.starts, partition.centres)
        clock.stop("cells")
        squared, ids = _limits(points, partition.order, start)
        counts, head = _join(points, reducer, reduced, partition, squared, ids, n_threads, progress)
    found = np.zeros(points.n)
    found_ids = np.empty(points.n, dtype=np.int64)
    found[partition.order] = squared
    found_ids[partition.order] = ids
    copies.settle(found, found_ids)
    bounded, refined, verified, multiplied = (int(c) for c in counts)
    report = NeighborReport(
        "exact",
        True,
        points.n,
        len(partition.order),
        core().isa,
        len(partition.starts) - 1,
        reducer.n_dims,
        bounded,
        refined,
        verified,
        multiplied,
        clock.stop("join"),
    )
    index = Index(points, reducer, reduced, partition, max(head, min(_QUERY_HEAD, reducer.n_dims)))
    return Joined(found, found_ids, report, copies.rows, reducer, index)


def _join(
    points: PointSet,
    reducer: Reducer,
    reduced: ShortRows,
    partition: Partition,
    squared: Array,
    ids: Array,
    n_threads: int,
    progress: Share | None,
) -> tuple[Array, int]:
    """Own cells, then near cells, then all: each round starts from the limits of the one before.

    Where the caller has brought limits, the first round is that of near cells. Improves the
    distances and ids of what was found, and returns counts of pairs and the last head.
    """
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
                    points, reducer.mean, partition.order, squared, ids, n_threads, share
                )
                counts[3] = n * (n - 1) // 2
                break
        cells = make_cells(points, reduced, partition, head, n_threads)
        share = part_of(progress, over, over := _SHARES.get(n_visit, 1.0))
        counts[:3] += core().self_join(
            cells, points.native, n_visit, done, squared, ids, n_threads, share
        )
        before = n_visit
    return counts, head


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
    if costs.min() < (_MUCH if near else 1) * (points.n_cols + _PRODUCT_COST):
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
