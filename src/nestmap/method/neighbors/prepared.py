"""Rows as an approximate search sees them: short, in fine cells, with distances by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.native import core
from ...core.points.point_set import PointSet
from ...core.points.reduce import (
    Reducer,
    ShortRows,
    fit_reducer,
    reduce_rows,
    share_held,
)
from ...core.progress import Share, part_of
from .cells import Partition, fine_partition
from .effort import TABLE, Allowance, Effort, decide_effort
from .index import make_cells
from .report import Clock
from .shared import Shared, sample_of

# rows whose cells have panels at a time, 317 bytes each (queries need panels)
ROWS_WITH_PANELS = 100_000


@dataclass(frozen=True, eq=False)
class NeighborLists:
    """The most promising rows of each row, nearest first: as positions in cell order (-1: none)."""

    ids: Array  # int32, n x length
    # float32: not below the lower bounds, and nearer to the distances (cpp/lists.hpp)
    estimates: Array

    @classmethod
    def empty(cls, n: int, length: int) -> NeighborLists:
        return cls(
            np.full((n, length), -1, dtype=np.int32),
            np.full((n, length), np.inf, dtype=np.float32),
        )

    @property
    def length(self) -> int:
        return int(self.ids.shape[1])


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Distinct rows, reduced and put into cells; `cells` are the kernels' view of them."""

    points: PointSet
    reducer: Reducer
    reduced: ShortRows  # in cell order
    partition: Partition
    head: int  # columns by which rows choose among cells
    cells: Any
    effort: Effort
    n_threads: int

    @property
    def n(self) -> int:
        return len(self.reduced.z)

    def make_cells(self, reduced: ShortRows, partition: Partition) -> Any:
        """Cells with panels, of some rows of these points."""
        return make_cells(self.points, reduced, partition, self.head, self.n_threads)

    def cells_in_turn(self) -> Iterator[Any]:
        """All cells with panels, some at a time: those of all take as much memory as short rows."""
        starts = self.partition.starts
        order = self.partition.order
        if len(order) <= ROWS_WITH_PANELS:
            yield self.cells
            return
        ends = np.append(np.arange(0, len(order), ROWS_WITH_PANELS), len(order))
        for first, last in pairwise(np.unique(np.searchsorted(starts, ends))):
            rows = slice(starts[first], starts[last])
            part = Partition(
                order[rows], starts[first : last + 1] - starts[first], self.partition.centres
            )
            reduced = ShortRows(
                self.reduced.z[rows], self.reduced.tails[rows], self.reduced.sizes[rows]
            )
            yield self.make_cells(reduced, part)

    def rank(
        self,
        lists: NeighborLists,
        k: int,
        positions: Array | None = None,
        share: Share | None = None,
    ) -> tuple[Array, Array]:
        """Distances (squared for L2) and numbers of the k nearest listed rows, by definition.

        For some positions (None: all).
        """
        n = self.n if positions is None else len(positions)
        distances = np.empty((n, k))
        ids = np.empty((n, k), dtype=np.int64)
        core().rank_lists(
            self.cells,
            self.points.native,
            lists.ids,
            lists.estimates,
            np.empty(0, dtype=np.int64) if positions is None else positions,
            distances,
            ids,
            self.n_threads,
            share,
        )
        return distances, ids


@dataclass(frozen=True, eq=False)
class GraphJob:
    """What an approximate search is to do.

    `distinct`: rows that differ (None: all). `reducer` and `shared`: directions and short rows of
    these rows, if known. `exact_pairs` predicts what the exact join would bound, and is asked
    before lists are made longer; `sampled`: rows that are compared with all, if not the usual
    number.
    """

    points: PointSet
    target: float
    k: int = 1
    distinct: Array | None = None
    allowance: Allowance | None = None
    reducer: Reducer | None = None
    shared: Shared | None = None
    exact_pairs: Callable[[], float] = lambda: np.inf
    sampled: int | None = None
    n_threads: int = 1
    progress: Share | None = None

    @property
    def n(self) -> int:
        return self.points.n if self.distinct is None else len(self.distinct)

    def effort(self, *, is_flat: bool) -> Effort:
        """The work that the table provides for."""
        found = decide_effort(self.n, k=self.k, is_flat=is_flat, allowance=self.allowance)
        return found if self.sampled is None else replace(found, sampled=self.sampled)

    def short_rows(self, clock: Clock) -> FittedRows:
        """Short rows of the distinct rows, by as many directions as their spectrum asks for."""
        usual = self.effort(is_flat=False)
        flat = self.effort(is_flat=True)
        if self.shared is not None:
            effort = flat if self.shared.is_flat() else usual
            reducer = self.shared.leading(effort.columns)
            # not those that are shared: these lose no bit, and BLAS adds them up in any order
            reduced = reduce_rows(
                self.shared.points,
                reducer,
                self.n_threads,
                self.shared.rows,
                part_of(self.progress, 0, 0.1),
                reproducible=True,
            )
            return FittedRows(reducer, reduced, effort)
        sample = None if self.distinct is None else sample_of(self.points, self.distinct)
        reducer = self.reducer or fit_directions(self.points, sample, usual.columns, flat.columns)
        clock.stop("directions")
        reduced = reduce_rows(
            self.points,
            reducer,
            self.n_threads,
            self.distinct,
            part_of(self.progress, 0, 0.1),
            reproducible=True,
        )
        is_flat = reducer.norm == "L2" and reduced.is_flat(TABLE.leading, TABLE.flat_share)
        return FittedRows(reducer, reduced, flat if is_flat else usual)


def fit_directions(points: PointSet, rows: Array | None, usual: int, flat: int) -> Reducer:
    """As many directions as usual; other than that where the spectrum of a sample is flat.

    The sample is of rows (None: a random one).
    """
    reducer = fit_reducer(points, rows, usual)
    if flat <= usual or reducer.norm == "L1":
        return reducer
    held = share_held(points, rows, reducer, TABLE.leading)
    return reducer if held >= TABLE.flat_share else fit_reducer(points, rows, flat)


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Short rows in the order of the distinct ones, their directions, and the effort for them."""

    reducer: Reducer
    reduced: ShortRows
    effort: Effort


def prepare_rows(job: GraphJob, clock: Clock) -> PreparedRows:
    """Short rows in fine cells."""
    short = job.short_rows(clock)
    clock.stop("reduction")
    reduced = short.reduced
    partition = fine_partition(reduced.z, job.n_threads, part_of(job.progress, 0.1, 0.15))
    reduced = reduced.put_in_order(partition.order, job.n_threads)
    if job.distinct is not None:
        partition = Partition(job.distinct[partition.order], partition.starts, partition.centres)
    clock.stop("cells")
    head = max(min(TABLE.near_cells, reduced.z.shape[1]), partition.centres.shape[1])
    few = len(reduced.z) <= ROWS_WITH_PANELS
    cells = make_cells(job.points, reduced, partition, head, job.n_threads, with_panels=few)
    return PreparedRows(
        job.points, short.reducer, reduced, partition, head, cells, short.effort, job.n_threads
    )
