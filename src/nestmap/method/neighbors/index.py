"""Rows in cells that can be asked for the nearest of them: exact queries, for new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.native import core, kernels, twins
from ...core.points.point_set import PointSet, make_points
from ...core.points.reduce import Reducer, ShortRows, fit_reducer, reduce_rows, rounding_slack
from ...core.threads import single_threaded_blas
from .cells import Partition, group_by_centre, number_of_cells, partition_rows

# columns of the tile for new rows, at least: joins choose fewer, since their limits are soon low
QUERY_HEAD = 24
_QUERIES_PER_CELL = 48  # three panels
# times the largest indexed value: short rows of larger ones would overflow float32
_HUGE = 1e15
_FAR_UNIT = 2.0**-333  # in which squares of the largest values that are allowed stay in range


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
        starts = np.append(np.arange(0, len(rows), _QUERIES_PER_CELL), len(rows)).astype(np.int64)
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
        reduced, partition = put_into_cells(
            reduce_rows(points, reducer, n_threads, rows), n_threads
        )
        if rows is not None:
            partition = Partition(rows[partition.order], partition.starts, partition.centres)
    return Index(points, reducer, reduced, partition, min(QUERY_HEAD, reducer.n_dims))


def put_into_cells(reduced: ShortRows, n_threads: int) -> tuple[ShortRows, Partition]:
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
