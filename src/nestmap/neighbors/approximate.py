"""First neighbours of millions of rows: most of them the true ones, and an honest account of how many.

1. Reduce rows to short rows, put them into fine cells (`cells`).
2. Each row looks into the cells nearest to it and keeps a list of the most promising rows.
3. Each row asks the rows of its list for theirs: neighbours of neighbours.
4. A random sample, compared with all rows, tells the recall. Below the target, more cells are visited: the
   sample also tells how many it takes.
5. The lists are verified by definition, and bounds tell which rows are proved to be exact.
Every list has one writer, so the result is the same for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from .._native import core
from .._parallel import single_threaded_blas
from .._points.duplicates import Copies, hash_points
from .._points.point_set import PointSet
from .._points.reduce import Reducer, ShortRows, fit_reducer, reduce_rows
from .._progress import Share, part_of
from .cells import Partition, fine_partition
from .join import join_points, make_cells
from .report import Clock, FirstNeighbors, NeighborReport

_LEAST_DISTINCT = 2000  # rows: of fewer the exact neighbours are found at once
_FIRST_PROBES = 6
_LISTED = 256  # nearest cells that a cell's rows choose from, at first
MOST_LISTED = 2048
LIST_EXACT, LIST_LOSSY = 8, 16  # rows kept per row: more where short rows say less about the distance
_ASKED = 8  # rows of a list that are asked for theirs
_COMPARE_COST, _SETTLE_COST = 10, 300  # of a pair, in multiply-adds: against the limit, and if it passes (AVX2)
_NEARLY = 1.1  # times the least cost
_SAMPLE_PAIRS, _MOST_SAMPLED, _LEAST_SAMPLED = 8_000_000_000, 1000, 500
_MARGIN = 0.005  # above the target, for which visits are planned
_THROUGH_NEIGHBORS = 0.2  # share of neighbours in other cells that asking finds, until it is measured
_MOST_VISITED = 0.995  # of the sample's true neighbours in cells visited: what is missed then is missed by the lists
_STEP = 2.5  # times the cells at most, before measuring again
_CHOICE = 6  # times as many cells are listed as are visited: near a row is not always near its cell
_WORTHWHILE = 1.1  # times the cells: fewer more are not worth a round
_WORTH = 0.01  # gain of recall for which neighbours are asked once more


@dataclass(frozen=True, eq=False)
class Candidates:
    """The most promising rows of each row: positions in cell order (-1: none), and bounds, ascending."""

    ids: Array  # int32, n x k
    bounds: Array  # float32

    @classmethod
    def empty(cls, n: int, k: int) -> Candidates:
        return cls(np.full((n, k), -1, dtype=np.int32), np.full((n, k), np.inf, dtype=np.float32))


def list_length(reducer: Reducer) -> int:
    """Rows kept per row."""
    lossless = reducer.directions.shape[1] >= reducer.directions.shape[0]
    return LIST_EXACT if lossless else LIST_LOSSY


def approximate_neighbors(
    points: PointSet,
    n_threads: int,
    target: float,
    reducer: Reducer | None = None,
    progress: Share | None = None,
    hashes: Array | None = None,
    columns: int = 64,
) -> tuple[FirstNeighbors, Reducer | None]:
    """First neighbours of all rows at about the target recall, and the directions that were used.

    `columns`: reduced columns that are kept per row; `hashes`: what `hash_points` gives for these rows.
    """
    clock = Clock()
    with single_threaded_blas():
        copies = Copies(points, hash_points(points.data, n_threads) if hashes is None else hashes)
        distinct = copies.distinct
        clock.stop("duplicates")
        if distinct is not None and len(distinct) < _LEAST_DISTINCT:  # nothing to approximate
            neighbors, index = join_points(points, n_threads, reducer, progress, hashes, columns)
            return neighbors, index.reducer
        reducer = reducer or fit_reducer(points, most=columns)
        clock.stop("directions")
        reduced = reduce_rows(points, reducer, n_threads, distinct, part_of(progress, 0, 0.1))
        clock.stop("reduction")
        partition = fine_partition(reduced.z, n_threads, part_of(progress, 0.1, 0.15))
        reduced = reduced.take(partition.order, n_threads)
        if distinct is not None:
            partition = Partition(distinct[partition.order], partition.starts, partition.centres)
        clock.stop("cells")
        search = _Search(points, reduced, partition, list_length(reducer), n_threads, clock, progress)
        search.reach(target)
        squared, ids, proved = search.finish()
    found, found_ids = np.zeros(points.n), np.empty(points.n, dtype=np.int64)
    found[partition.order], found_ids[partition.order] = squared, ids
    n_copies = points.n - len(partition.order)
    copies.settle(found, found_ids)
    report = NeighborReport(
        "approximate", False, points.n, len(partition.order), core().isa, len(partition.starts) - 1,
        reducer.n_dims, search.n_pairs, seconds=clock.seconds,
        proved=(proved + n_copies) / points.n, recall=search.recall, n_sampled=len(search.sample),
        target=target, n_probes=search.n_probes,
    )  # fmt: skip
    return FirstNeighbors(found_ids, points.to_metric(found), report), reducer


def _choose_head(reduced: ShortRows, partition: Partition, norm: str, k: int) -> int:
    """The number of leading columns that bounds pairs of near rows at the least cost, by a sample of cells."""
    rng = np.random.default_rng(4)
    n_cells = len(partition.starts) - 1
    passing = []
    for cell in rng.choice(n_cells, min(64, n_cells), replace=False):
        rows = np.arange(partition.starts[cell], partition.starts[cell + 1])
        if len(rows) < 2:
            continue
        some = rng.choice(rows, min(4, len(rows)), replace=False)
        steps = np.abs(reduced.z[some, None] - reduced.z[rows]).reshape(len(some), len(rows), -1, 8)
        rest = np.abs(reduced.tails[some, None] - reduced.tails[rows])
        steps, rest = (steps, rest) if norm == "L1" else (steps**2, rest**2)
        bounds = steps.sum(axis=3).cumsum(axis=2) + rest
        # what a list will hold after some cells: about half of it comes from the row's own one
        limit = np.sort(bounds[:, :, -1], axis=1)[:, min(len(rows) - 1, k // 2)]
        passing.append((bounds <= limit[:, None, None]).mean(axis=(0, 1)))
    heads = np.arange(8, reduced.z.shape[1] + 1, 8)
    if not passing:
        return int(heads[-1])
    costs = heads + 1 + _COMPARE_COST + _SETTLE_COST * np.mean(passing, axis=0)
    return int(heads[np.argmax(costs <= _NEARLY * costs.min())])  # fewer columns take less memory


class _Search:
    """Rounds of visiting cells and asking neighbours, until a sample says that it is enough."""

    def __init__(
        self, points: PointSet, reduced: ShortRows, partition: Partition, k: int, n_threads: int, clock: Clock,
        progress: Share | None,
    ) -> None:  # fmt: skip
        self.points, self.reduced, self.partition = points, reduced, partition
        self.n_threads, self.clock, self.progress = n_threads, clock, progress
        self.head = _choose_head(reduced, partition, points.norm, k)
        self.cells = make_cells(points, reduced, partition, self.head, n_threads)
        self.lists = Candidates.empty(len(reduced.z), k)
        self.n_probes = self.n_pairs = 0
        self.recall, self.asked, self.listed_anew = 0.0, False, False
        self._list_cells(_LISTED)
        self.sample = self._choose_sample()
        self.truth = np.empty(0)
        self.ranks = np.empty(0)

    @property
    def n_cells(self) -> int:
        return len(self.partition.starts) - 1

    def reach(self, target: float) -> None:
        """Visit and ask until the sample's recall is at least the target, or nothing more can be done about it."""
        shares = iter(((0.4, 0.7), (0.7, 0.85), (0.85, 0.95)))
        self._visit(_FIRST_PROBES, 0.2, 0.4)
        self._measure()
        while self.recall < target:
            n_probes = self._enough_probes(target)
            if n_probes > self.n_probes:  # as long as the sample says that asking will not do
                self._visit(n_probes, *next(shares, (0.95, 0.97)))
                self._measure()
                continue
            before = self.recall
            self._ask()
            if self.recall - before < _WORTH and self._enough_probes(target) <= self.n_probes:
                break

    def _enough_probes(self, target: float) -> int:
        """Cells to visit for the target; 0 if those visited will do, or more would find next to nothing."""
        n_probes = self._predict(target)
        if n_probes > self.near.shape[1] // _CHOICE and self.near.shape[1] < min(self.n_cells, MOST_LISTED):
            self._list_cells(min(MOST_LISTED, 4 * self.near.shape[1]))
            self.listed_anew = True
            self._rank()
            n_probes = self._predict(target)
        return n_probes if n_probes >= _WORTHWHILE * self.n_probes else 0

    def _predict(self, target: float) -> int:
        """The sample tells where its true neighbours are: how many cells have to be visited to see enough of them.

        Of those in cells that were visited a share is found (lists are short, and short rows not the whole
        truth), and of the others as well, through neighbours.
        """
        visited = self.ranks < self.n_probes
        inside = float(self.hits[visited].mean()) if visited.any() else 1.0
        outside = float(self.hits[~visited].mean()) if self.asked and not visited.all() else _THROUGH_NEIGHBORS
        if inside <= outside + 0.05:
            return 0
        wanted = np.clip((target + _MARGIN - outside) / (inside - outside), 0, max(target, _MOST_VISITED))
        ranks = np.sort(self.ranks)
        at = min(len(ranks) - 1, int(np.ceil(wanted * len(ranks))))
        return int(min(ranks[at] + 1, self.near.shape[1], _STEP * self.n_probes))

    def _list_cells(self, n: int) -> None:
        """The cells that rows choose from."""
        self.near = np.empty((self.n_cells, min(n, self.n_cells)), dtype=np.int32)
        self.beyond = np.empty(self.n_cells)
        core().near_cells(self.cells, self.near, self.beyond, self.n_threads, part_of(self.progress, 0.15, 0.2))
        self.clock.stop("near cells")

    def _visit(self, n_probes: int, start: float, stop: float) -> None:
        n_probes = min(n_probes, self.near.shape[1])
        share = part_of(self.progress, start, stop)
        # with more cells to choose from, other ones may rank first: all but the row's own are visited again
        first = min(1, self.n_probes) if self.listed_anew else self.n_probes
        self.listed_anew = False
        self.n_pairs += core().probe(
            self.cells, self.near, first, n_probes, self.lists.ids, self.lists.bounds, self.n_threads, share
        )
        self.n_probes = n_probes
        self.clock.stop("visits")

    def _ask(self) -> None:
        known = self.lists.ids[:, :_ASKED].copy()  # as they were before
        core().repair(self.cells, known, self.lists.ids, self.lists.bounds, self.n_threads, None)
        self.clock.stop("neighbours of neighbours")
        self.asked = True
        self._measure()

    def _choose_sample(self) -> Array:
        n = len(self.reduced.z)
        size = min(n, _MOST_SAMPLED, max(_LEAST_SAMPLED, min(n // 400, _SAMPLE_PAIRS // n)))
        return np.sort(np.random.default_rng(2).choice(n, size, replace=False))

    def _measure(self) -> None:
        """Recall of the sample; the first time by comparing it with all rows."""
        found, ids = self._verify(self.sample)
        if len(self.truth) == 0:
            self.truth, neighbors = self._compare_with_all(found.copy(), ids)
            at = np.flatnonzero(np.isin(self.partition.order, neighbors))
            at = at[np.argsort(self.partition.order[at])]
            self.neighbors = at[np.searchsorted(self.partition.order[at], neighbors)]
            self._rank()
        self.hits = found <= self.truth
        self.recall = float(np.mean(self.hits))
        self.clock.stop("sample")

    def _compare_with_all(self, found: Array, ids: Array) -> tuple[Array, Array]:
        """Distances and numbers of the sample's true neighbours; what was found is where the search starts."""
        queries = self.reduced.take(self.sample, self.n_threads)
        starts = np.append(np.arange(0, len(self.sample), 48), len(self.sample)).astype(np.int64)
        groups = Partition(self.partition.order[self.sample], starts, self.partition.centres)
        cells = make_cells(self.points, queries, groups, self.head, self.n_threads)
        native = self.points.native
        core().query(cells, native, self.cells, native, found, ids, self.n_threads)
        return found, ids

    def _rank(self) -> None:
        """How many listed cells are nearer to each sampled row than the cell of its true neighbour."""
        centres = np.empty((self.n_cells, self.cells.width), dtype=np.float32)
        self.cells.centres(centres)
        own = np.searchsorted(self.partition.starts, self.sample, side="right") - 1
        theirs = np.searchsorted(self.partition.starts, self.neighbors, side="right") - 1
        head = self.cells.width - 1
        rows = np.column_stack([self.reduced.z[self.sample, :head], self.reduced.tails[self.sample, head // 8 - 1]])
        self.ranks = np.full(len(own), np.inf)
        for i, (row, cell, other) in enumerate(zip(rows, own, theirs, strict=True)):
            listed = self.near[cell]
            away = self._norm(centres[listed] - row)
            if cell == other:
                self.ranks[i] = 0
            elif (listed == other).any():
                self.ranks[i] = np.count_nonzero(away[1:] < away[listed == other]) + 1  # the first is its own

    def _norm(self, difference: Array) -> Array:
        if self.points.norm == "L1":
            return np.asarray(np.abs(difference).sum(axis=1))
        return np.asarray((difference * difference).sum(axis=1))

    def _verify(self, positions: Array, share: Share | None = None) -> tuple[Array, Array]:
        n = len(positions) or len(self.reduced.z)
        found, ids = np.empty(n), np.empty(n, dtype=np.int64)
        core().verify_lists(
            self.cells, self.points.native, self.lists.ids, self.lists.bounds, positions, found, ids,
            self.n_threads, share,
        )  # fmt: skip
        return found, ids

    def finish(self) -> tuple[Array, Array, int]:
        """Distances (squared for L2), row numbers, and how many rows are proved."""
        if self.listed_anew:  # a proof counts the first cells of the list as visited
            self._visit(self.n_probes, 0.95, 0.97)
        found, ids = self._verify(np.empty(0, dtype=np.int64), part_of(self.progress, 0.97, 1))
        self.clock.stop("verification")
        proved = np.empty(len(found), dtype=np.uint8)
        core().prove(
            self.cells, self.near, self.beyond, self.n_probes, self.lists.ids, self.lists.bounds, found, proved,
            self.n_threads, None,
        )  # fmt: skip
        self.clock.stop("proof")
        return found, ids, int(proved.sum())
