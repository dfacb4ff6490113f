"""Neighbours of millions of rows: most of them the true ones, and an honest account of how many.

1. Reduce rows to short rows, put them into fine cells (`prepared`).
2. Each row visits the few cells nearest to it and keeps a list of the most promising rows, by
   distances that short rows estimate (`nn_descent`).
3. NN-descent on these lists, in rounds: the neighbours and reverse neighbours of a row are
   compared with each other.
4. Random rows, compared with all rows (`sampled`), tell after each round how far it has come.
   Lists that are too short for the target are made longer.
5. The lists are ranked by definition. Other random rows tell the recall: they had no say in the
   search.

How much of each is in `effort`. A list is the best of all that its row was compared with, in
whatever order: the same for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.native import core
from ...core.points.duplicates import Copies, hash_points
from ...core.points.reduce import Reducer
from ...core.progress import part_of
from ...core.threads import single_threaded_blas
from .effort import TABLE
from .index import Index
from .join import Joined, join_points
from .nn_descent import CheaperExact, NNDescent
from .prepared import GraphJob, PreparedRows, prepare_rows
from .report import Clock, NeighborReport


@dataclass(frozen=True, eq=False)
class NearestRows:
    """The k nearest distinct rows of each distinct row: numbers and distances (squared for L2)."""

    order: Array  # the distinct rows
    ids: Array  # (n_distinct, k)
    distances: Array
    reducer: Reducer
    report: NeighborReport
    index: Index | None


def approximate_neighbors(job: GraphJob, hashes: Array | None = None) -> Joined:
    """First neighbours of all rows at about the target recall, the directions used, and an index.

    `hashes`: what `hash_points` gives for these rows. Of equal rows only the first is searched.
    """
    points = job.points
    with single_threaded_blas():
        hashes = hash_points(points.data, job.n_threads) if hashes is None else hashes
        copies = Copies(points, hashes)
        found: NearestRows | str
        try:
            found = search_graph(replace(job, distinct=copies.distinct))
        except CheaperExact as reason:
            found = str(reason)  # the exception itself would keep all that the search holds
        if isinstance(found, str):
            columns = TABLE.columns if job.allowance is None else job.allowance.columns
            joined = join_points(points, job.n_threads, job.reducer, job.progress, hashes, columns)
            return replace(joined, report=replace(joined.report, note=found))
    squared = np.zeros(points.n)
    ids = np.empty(points.n, dtype=np.int64)
    squared[found.order] = found.distances[:, 0]
    ids[found.order] = found.ids[:, 0]
    copies.settle(squared, ids)
    return Joined(squared, ids, found.report, copies.rows, found.reducer, found.index)


def search_graph(job: GraphJob) -> NearestRows:
    """The k nearest of the distinct rows for each of them."""
    if job.n < 2 * max(TABLE.sampled, job.k):  # the sample alone would be half of all pairs
        raise CheaperExact("few distinct rows: all distances were computed")
    clock = Clock()
    rows = prepare_rows(job, clock)
    search = NNDescent(rows, job, clock)
    search.reach_target()
    distances, ids = search.rank(part_of(job.progress, 0.95, 1))
    clock.stop("ranking")
    index = Index(rows.points, rows.reducer, rows.reduced, rows.partition, rows.head)
    report = _report(job, rows, search, clock)
    return NearestRows(rows.partition.order, ids, distances, rows.reducer, report, index)


def _report(job: GraphJob, rows: PreparedRows, search: NNDescent, clock: Clock) -> NeighborReport:
    measured = search.recall()
    return NeighborReport(
        "approximate",
        False,
        rows.points.n,
        rows.n,
        core().isa,
        len(rows.partition.starts) - 1,
        rows.reducer.n_dims,
        search.n_pairs,
        seconds=clock.seconds,
        recall=measured.recall,
        n_sampled=measured.n_rows,
        target=job.target,
        n_rounds=search.n_rounds,
        n_listed=search.lists.length,
    )
