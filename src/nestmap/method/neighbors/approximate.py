"""Neighbours of millions of rows: most of them the true ones, and an honest account of how many.

1. Reduce rows to short rows, put them into fine cells (`cells`).
2. Each row looks into the few cells nearest to it and keeps a list of the most promising rows, by
   distances that short rows estimate.
3. Descent on the graph of these lists, in rounds: rows that a row lists, and rows that list it,
   meet each other.
4. Random rows, compared with all rows, tell after each round how far it has come. Lists that are
   too short for the target are made longer.
5. The lists are ranked by definition. Other random rows tell the recall: they had no say in the
   search.

A list is the best of all that its row has met, in whatever order: the same for any number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks
from ...core.native import core, kernels
from ...core.points.duplicates import Copies, hash_points
from ...core.points.point_set import PointSet
from ...core.points.reduce import (
    ALL_COLUMNS,
    Reducer,
    ShortRows,
    fit_directions,
    for_single,
    reduce_rows,
    rounding_slack,
)
from ...core.progress import Share, part_of
from ...core.threads import map_blocks, single_threaded_blas
from .cells import USUAL_COLUMNS, Partition, fine_partition
from .join import Index, Joined, join_points, make_cells
from .report import Clock, NeighborReport
from .scan import nearest_ids
from .shared import Shared, sample_of
from .spaces import ProductSpace, SomeRows, Space, space_of

_LEAST_DISTINCT = 2000  # rows: of fewer the exact neighbours are found at once
# cells that each row looks into, for a low target, and for k > 1, where 8 would find 0.89 of images
# and need a round
_PROBES = 6
_FEW_PROBES = 3
_MANY_PROBES = 10
# a target below: fewer cells, and a quarter of the sample, which would cost as much as the search
_LOW = 0.7
_LEAST = 0.35  # a target below: no more columns than usual, even if they say little
# a target above: long lists from the beginning, where rows are hard to tell apart
_NEARLY_ALL = 0.99
# a target below: fewer columns. They rank candidates less well, and rounds on them take less time
_HIGH = 0.9
_FEW_COLUMNS = 64
LISTED = 64  # nearest cells that a cell's rows choose from
LENGTHS = (64, 32, 16, 8)  # rows kept per row, at most; more are tried if fewer will not do
# at first: the most, and for a low target
FIRST_LENGTH = 24
_USUAL_LENGTH = 16
_SHORT_LENGTH = 8
MOST_LISTED = LENGTHS[0]
# entries of a row's list, and rows that list it, that meet in a round: more make rounds slow. Lists
# for k > 1 are long, and a round on fewer entries finds nearly as much
_PARTNERS = 24
_FEW_PARTNERS = 16
_FEW_ROWS = (2_007_874, 3_227_848, 5_425_531)  # up to so many rows, lists may be of these lengths
_SPARE = 17  # more than are wanted: short rows do not tell the whole truth
# columns by which rows choose among cells, or those that cells were made by, if these are more
_HEAD = 64
# random rows: for first neighbours, and for all of k
_SAMPLED = 1000
_SAMPLED_LISTS = 256
# share of pairs within the bounds: then a product of matrices finds true neighbours faster,
_MANY = 0.1
# and of wide rows fewer are sampled: it would cost as much as rounds
_SAMPLED_VALUES = 400_000
_LEAST_SAMPLED = 256
# rows whose cells have panels at a time, for the sample, or all along
PACKED = 500_000
_FEW_PACKED = 100_000
# share of entries that are fresh: below, the next round brings about half as much as the last
_SETTLED = 0.25
_STILL = 0.002  # the same: below, all is found that rounds will find
# of recall: a round that brings less, or half of what a high target leaves, is the last one
_GAIN = 0.005
_MOST_ROUNDS = 30
# of what visits miss, the share that rounds on lists of a length miss in the end: word vectors, the
# hardest data, and rows of so many columns that they tell more (embeddings)
_MISSED = {8: 0.55, 16: 0.25, 24: 0.12, 32: 0.07, 48: 0.04, 64: 0.03}
_MISSED_OF_MANY = {8: 0.5, 16: 0.21, 24: 0.09, 32: 0.032, 48: 0.008, 64: 0.005}
_AT_ONCE = 48  # entries: lists are made longer only if these turn out to be too few
_EASY = 0.25  # where visits miss less than this share, rounds find more of it (images)
# of all rounds with lists of length k: so many pairs of the exact join, times k^2, per row
_DESCENT_COST = 16


class CheaperExact(Exception):
    """Longer lists would cost more than all pairs."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The most promising rows of each row, and estimated distances, ascending.

    Rows are positions in cell order (-1: none).
    """

    ids: Array  # int32, n x k
    # float32: not below the lower bounds, and nearer to the distances (cpp/lists.hpp)
    estimates: Array

    @classmethod
    def empty(cls, n: int, k: int) -> Candidates:
        return cls(np.full((n, k), -1, dtype=np.int32), np.full((n, k), np.inf, dtype=np.float32))


@dataclass(frozen=True, eq=False)
class NearestRows:
    """The k nearest distinct rows of each distinct row: numbers and distances (squared for L2)."""

    order: Array  # the distinct rows
    ids: Array  # (n_distinct, k)
    distances: Array
    reducer: Reducer
    report: NeighborReport
    index: Index | None


def approximate_neighbors(
    points: PointSet,
    n_threads: int,
    target: float,
    reducer: Reducer | None = None,
    progress: Share | None = None,
    hashes: Array | None = None,
    columns: int = 64,
    longest: int = MOST_LISTED,
    exact_pairs: Callable[[], float] = lambda: np.inf,
    n_sampled: int = _SAMPLED,
    most_columns: int = 0,
) -> Joined:
    """First neighbours of all rows at about the target recall, the directions used, and an index.

    `hashes`: what `hash_points` gives for these rows; `columns`: reduced columns that are kept per
    row, or `most_columns`, where few directions say little; `longest`: rows that are listed per
    row, at most; `exact_pairs` predicts what the exact join would bound, and is asked before lists
    are made longer. `n_sampled` random rows steer the search and tell the recall.
    """
    with single_threaded_blas():
        hashes = hash_points(points.data, n_threads) if hashes is None else hashes
        copies = Copies(points, hashes)
        found: NearestRows | str
        try:
            found = search_graph(
                points,
                copies.distinct,
                1,
                n_threads,
                target,
                reducer,
                progress,
                columns,
                longest,
                exact_pairs,
                n_sampled=n_sampled,
                most_columns=most_columns,
            )
        except CheaperExact as reason:
            found = str(reason)  # the exception itself would keep all that the search holds
        if isinstance(found, str):
            joined = join_points(points, n_threads, reducer, progress, hashes, columns)
            return replace(joined, report=replace(joined.report, note=found))
    squared = np.zeros(points.n)
    ids = np.empty(points.n, dtype=np.int64)
    squared[found.order] = found.distances[:, 0]
    ids[found.order] = found.ids[:, 0]
    copies.settle(squared, ids)
    return Joined(squared, ids, found.report, copies.rows, found.reducer, found.index)


def search_graph(
    points: PointSet,
    distinct: Array | None,
    k: int,
    n_threads: int,
    target: float,
    reducer: Reducer | None = None,
    progress: Share | None = None,
    columns: int = 64,
    longest: int = MOST_LISTED,
    exact_pairs: Callable[[], float] = lambda: np.inf,
    n_sampled: int = _SAMPLED,
    most_columns: int = 0,
    shared: Shared | None = None,
) -> NearestRows:
    """The k nearest of the distinct rows (None: all) for each; `shared`: short rows, if known."""
    clock = Clock()
    n = points.n if distinct is None else len(distinct)
    if n < max(_LEAST_DISTINCT, 2 * k):
        raise CheaperExact("few distinct rows: all distances were computed")
    if k == 1 and target < _HIGH:
        columns = min(columns, _FEW_COLUMNS)
    if target < _LEAST:
        most_columns = columns
    if shared is not None:
        reducer, reduced = shared.leading(columns, most_columns, n_threads)
    else:
        sample = None if distinct is None else sample_of(points, distinct)
        reducer = reducer or fit_directions(points, sample, columns, most_columns)
        single = for_single(points, reducer)
        reducer = single or reducer
        share = part_of(progress, 0, 0.1)
        clock.stop("directions")
        reduced = reduce_rows(
            points, reducer, n_threads, distinct, share, single=single is not None
        )
    clock.stop("reduction")
    partition = fine_partition(reduced.z, n_threads, part_of(progress, 0.1, 0.15))
    reduced = reduced.put_in_order(partition.order, n_threads)
    if distinct is not None:
        partition = Partition(distinct[partition.order], partition.starts, partition.centres)
    clock.stop("cells")
    longest = min(longest, longest_list(n))
    length = long_lists(k) if k > 1 else min(longest, first_length(target, is_hard(partition)))
    search = _Search(
        points, reduced, partition, reducer.mean, k, length, n_threads, clock, progress
    )
    search.reach(target, longest, exact_pairs, n_sampled)
    distances, ids = search.rank(np.empty(0, dtype=np.int64), part_of(progress, 0.95, 1))
    clock.stop("ranking")
    recall, n_told = search.recall()
    report = NeighborReport(
        "approximate",
        False,
        points.n,
        n,
        core().isa,
        len(partition.starts) - 1,
        reducer.n_dims,
        search.n_pairs,
        seconds=clock.seconds,
        recall=recall,
        n_sampled=n_told,
        target=target,
        n_rounds=search.n_rounds,
        n_listed=search.lists.ids.shape[1],
    )
    index = Index(points, reducer, reduced, partition, search.head)
    return NearestRows(partition.order, ids, distances, reducer, report, index)


def graph_bytes(length: int) -> int:
    """Memory per row of lists and of the descent on them (cpp/graph.hpp)."""
    return 56 + 12 * length + min(length, _PARTNERS)


def longest_list(n: int) -> int:
    """The longest lists that n rows may have: of very many, long ones take long and much memory."""
    return next((k for k, most in zip(LENGTHS, _FEW_ROWS, strict=False) if n <= most), LENGTHS[-1])


def long_lists(k: int) -> int:
    """Rows kept per row where k are wanted, and some to spare: a multiple of 8, as vectors are."""
    return min(MOST_LISTED, -(-(k + _SPARE) // 8) * 8)


def is_hard(partition: Partition) -> bool:
    """Whether a few columns do not tell near rows from others: word vectors, other embeddings."""
    return bool(partition.centres.shape[1] > USUAL_COLUMNS)


def first_length(target: float, hard: bool) -> int:
    """Rows kept per row at first, where one is wanted."""
    if target < (_LOW if hard else _HIGH):
        return _SHORT_LENGTH
    if not hard or target < _HIGH:
        return _USUAL_LENGTH
    return FIRST_LENGTH if target <= _NEARLY_ALL else _AT_ONCE


def _wider(values: Array, width: int, filling: float) -> Array:
    """The same with more columns."""
    out = np.full((len(values), width), filling, dtype=values.dtype)
    out[:, : values.shape[1]] = values
    return out


def _length_for(recall: float, target: float, missed: dict[int, float]) -> int:
    """The length of lists whose rounds should reach the target, by what visits have found."""
    left = (1 - recall) * min(1.0, (1 - recall) / _EASY)
    return min(
        (length for length, share in missed.items() if share * left <= 1 - target), default=_AT_ONCE
    )


def _longer(length: int, recall: float, target: float, missed: dict[int, float]) -> int:
    """The same by the recall that rounds are expected to reach on lists of a length."""
    left = (1 - recall) / float(np.interp(length, list(missed), list(missed.values())))
    will_do = (
        more for more, share in missed.items() if more > length and share * left <= 1 - target
    )
    return min(will_do, default=MOST_LISTED)


class _Search:
    """Visits to cells, then rounds of descent, until random rows say that it is enough."""

    def __init__(
        self,
        points: PointSet,
        reduced: ShortRows,
        partition: Partition,
        mean: Array,
        k: int,
        length: int,
        n_threads: int,
        clock: Clock,
        progress: Share | None,
    ) -> None:
        self.points = points
        self.reduced = reduced
        self.partition = partition
        self.mean = mean
        self.k = k
        self.n_threads = n_threads
        self.clock = clock
        self.progress = progress
        self.head = max(min(_HEAD, reduced.z.shape[1]), partition.centres.shape[1])
        few = len(reduced.z) <= _FEW_PACKED
        self.cells = make_cells(points, reduced, partition, self.head, n_threads, with_panels=few)
        self.lists = Candidates.empty(len(reduced.z), length)
        self.n_pairs = self.n_rounds = 0
        self.target = 0.0
        self.sample = np.empty(0, dtype=np.int64)
        self.truth = np.empty((0, k))

    def reach(
        self, target: float, longest: int, exact_pairs: Callable[[], float], n_sampled: int
    ) -> None:
        """Visit cells, then improve the graph to the target, or as far as it can be."""
        self.target = target
        self._visit(_MANY_PROBES if self.k > 1 else _FEW_PROBES if target < _LOW else _PROBES)
        self.sample = self._choose_sample(target, n_sampled)
        recall = self._steer()
        filled = True
        missed = _MISSED_OF_MANY if self.reduced.z.shape[1] > ALL_COLUMNS else _MISSED
        length = min(longest, _length_for(recall, target, missed))
        if self.k == 1 and recall < target <= _HIGH and not is_hard(self.partition):
            self._shorten(length)
        self._lengthen(length, target, exact_pairs)
        graph = self._graph()
        # that no sampled row is missed tells nothing of a target so high: then until rounds
        # bring nothing
        unsure = (1 - target) * self.truth[::2].size < 1
        while self.n_rounds < _MOST_ROUNDS:
            if recall >= target and not (unsure and graph.n_fresh() > _STILL * self.lists.ids.size):
                break
            self._improve(graph)
            before = recall
            recall = self._steer()
            gain = recall - before
            length = self.lists.ids.shape[1]
            if recall >= target or not filled or graph.n_fresh() > _SETTLED * self.lists.ids.size:
                filled = True
                continue
            if recall + gain < target and length < longest:  # the rounds to come will not do
                del graph  # before a larger one takes its place
                length = min(longest, _longer(length, recall + gain, target, missed))
                self._lengthen(length, target, exact_pairs)
                # a first round fills them, the second one tells
                graph = self._graph()
                filled = False
            elif gain < min(_GAIN, (1 - target) / 2):
                break

    def _shorten(self, length: int) -> None:
        """Drop entries after the first ones: rounds take less time."""
        if length >= self.lists.ids.shape[1]:
            return
        self.lists = Candidates(
            *(np.ascontiguousarray(a[:, :length]) for a in (self.lists.ids, self.lists.estimates))
        )

    def _lengthen(self, length: int, target: float, exact_pairs: Callable[[], float]) -> None:
        """Make room for more entries per row, if rounds on such lists cost less than all pairs."""
        if length <= self.lists.ids.shape[1]:
            return
        if len(self.lists.ids) * _DESCENT_COST * length**2 > exact_pairs():
            raise CheaperExact(f"target_recall={target:g} would have taken longer than all pairs")
        # first one, then the other: not all four at a time
        ids = self.lists.ids
        estimates = self.lists.estimates
        self.lists = Candidates.empty(0, length)
        ids = _wider(ids, length, -1)
        self.lists = Candidates(ids, _wider(estimates, length, np.inf))

    def _improve(self, graph: Any) -> None:
        self.n_pairs += graph.improve(self.n_threads, self._share_of_round())
        self.n_rounds += 1
        self.clock.stop("descent")

    def _graph(self) -> Any:
        most = min(_FEW_PARTNERS if self.k > 1 else _PARTNERS, self.lists.ids.shape[1])
        return core().Graph(self.cells, self.lists.ids, self.lists.estimates, most)

    def _share_of_round(self) -> Share | None:
        """How many rounds it will take is not known: each has half of what is left."""
        left = 0.5**self.n_rounds
        return part_of(self.progress, 0.95 - 0.6 * left, 0.95 - 0.3 * left)

    def _visit(self, probes: int) -> None:
        """Lists from the row's own cell and those nearest to it."""
        n_cells = len(self.partition.starts) - 1
        near = np.empty((n_cells, min(LISTED, n_cells)), dtype=np.int32)
        core().near_cells(self.cells, near, self.n_threads, part_of(self.progress, 0.15, 0.2))
        self.clock.stop("near cells")
        last = min(probes, near.shape[1])
        share = part_of(self.progress, 0.2, 0.35)
        self.n_pairs += core().probe(
            self.cells, near, 0, last, self.lists.ids, self.lists.estimates, self.n_threads, share
        )
        self.clock.stop("visits")

    def _choose_sample(self, target: float, n_sampled: int) -> Array:
        """Random rows: every second one steers the search, the others tell the recall."""
        n = len(self.reduced.z)
        size = min(
            n, _SAMPLED_LISTS if self.k > 1 else n_sampled if target >= _LOW else n_sampled // 4
        )
        return np.sort(np.random.default_rng(2).choice(n, size, replace=False))

    def _steer(self) -> float:
        """Recall of the rows that steer; the first time, sampled rows are compared with all."""
        if len(self.truth) == 0:
            self.truth = self._compare_with_all()
        recall = self._recall_of(slice(0, None, 2))
        self.clock.stop("sample")
        return recall

    def recall(self) -> tuple[float, int]:
        """Recall of the rows that did not steer, and their number; of all if visits were enough."""
        which = slice(1, None, 2) if self.n_rounds else slice(None)
        return self._recall_of(which), len(self.sample[which])

    def _recall_of(self, which: slice) -> float:
        found = self.rank(np.ascontiguousarray(self.sample[which]))[0]
        return float(np.mean(found <= self.truth[which, -1:]))

    def _compare_with_all(self) -> Array:
        """Distances of the sample's true neighbours."""
        if self._share_within() > _MANY or (self.k > 1 and self.points.norm == "L1"):
            most = max(
                _LEAST_SAMPLED, _SAMPLED_VALUES // self.points.n_cols, int(2 / (1 - self.target))
            )
            self.sample = self.sample[:: -(-len(self.sample) // most)]
            # by their numbers in X: in cell order too many of a block would be near at once
            everyone = np.sort(self.partition.order)
            rows = self.partition.order[self.sample]
            space = SomeRows(self._space(), everyone)
            ids = nearest_ids(space, np.searchsorted(everyone, rows), self.k, self.n_threads)
            pairs = np.repeat(rows, self.k), everyone[ids].ravel()
            return kernels.pair_distances(self.points, *pairs).reshape(ids.shape)
        if self.k > 1:
            return self._compare_within_bounds()
        # where the search starts
        found, ids = (column[:, 0].copy() for column in self.rank(self.sample))
        queries = self.reduced.take(self.sample, self.n_threads)
        starts = np.append(np.arange(0, len(self.sample), 48), len(self.sample)).astype(np.int64)
        groups = Partition(self.partition.order[self.sample], starts, self.partition.centres)
        asking = make_cells(self.points, queries, groups, self.head, self.n_threads)
        native = self.points.native
        for cells in self._cells_in_turn():
            core().query(asking, native, cells, native, found, ids, self.n_threads)
        return found[:, None]

    def _cells_in_turn(self) -> Iterator[Any]:
        """All cells with panels, some at a time: those of all take as much memory as short rows."""
        starts = self.partition.starts
        order = self.partition.order
        if len(order) <= _FEW_PACKED:
            yield self.cells
            return
        ends = np.unique(
            np.searchsorted(starts, np.append(np.arange(0, len(order), PACKED), len(order)))
        )
        for first, last in pairwise(ends):
            rows = slice(starts[first], starts[last])
            some = Partition(
                order[rows], starts[first : last + 1] - starts[first], self.partition.centres
            )
            reduced = ShortRows(
                self.reduced.z[rows], self.reduced.tails[rows], self.reduced.sizes[rows]
            )
            yield make_cells(self.points, reduced, some, self.head, self.n_threads)

    def _compare_within_bounds(self) -> Array:
        """The same, by distances of those rows only that may be nearer than listed ones."""
        z = self.reduced.z
        rest = self.reduced.tails[:, -1:]
        sizes = self.reduced.sizes[:, None]
        limits = np.nextafter(
            self.rank(self.sample)[0][:, -1].astype(np.float32), np.float32(np.inf)
        )
        order = self.partition.order
        margin = np.float32(1 - rounding_slack(z.shape[1], self.points.n_cols))
        ours = self.sample
        ones = np.ones((len(z), 1), dtype=np.float32)
        right = np.hstack([-2 * z[ours], -2 * rest[ours], ones[ours], margin * sizes[ours]]).T

        def look(part: slice) -> tuple[Array, Array]:
            bounds = np.hstack([z[part], rest[part], margin * sizes[part], ones[part]]) @ right
            rows, which = np.divmod(np.flatnonzero(bounds <= limits), len(ours))
            rows += part.start
            rows, which = rows[rows != ours[which]], which[rows != ours[which]]
            return which, kernels.pair_distances(self.points, order[ours[which]], order[rows])

        found = map_blocks(look, blocks(len(z), len(ours), values=500_000), self.n_threads)
        which, away = (np.concatenate(column) for column in zip(*found, strict=True))
        by_row = np.lexsort((away, which))
        begins = np.searchsorted(which[by_row], np.arange(len(ours)))
        return np.asarray(away[by_row][begins[:, None] + np.arange(self.k)])

    def _share_within(self) -> float:
        """Of pairs of rows: how many short rows do not tell to be farther apart than neighbours."""
        some = self.sample[:: max(1, len(self.sample) // 32)]
        others = np.random.default_rng(5).integers(0, len(self.reduced.z), 2048)
        x = self.reduced.z
        rest = self.reduced.tails[:, -1]
        sizes = self.reduced.sizes
        if self.points.norm == "L1":
            away = np.abs(x[some, None] - x[others]).sum(axis=2) + np.abs(
                rest[some, None] - rest[others]
            )
        else:
            products = x[some] @ x[others].T + np.outer(rest[some], rest[others])
            away = sizes[some, None] + sizes[others] - 2 * products
        return float(np.mean(away <= self.rank(np.ascontiguousarray(some))[0][:, -1:]))

    def _space(self) -> Space:
        """All distances, with what the reduction knows already."""
        if self.points.norm == "L1":
            return space_of(self.points)
        squares = np.zeros(self.points.n)
        squares[self.partition.order] = self.reduced.sizes  # with the extra coordinate
        squares -= np.square(self.points.extra)
        return ProductSpace(self.points, None if self.points.is_sparse else self.mean, squares)

    def rank(self, positions: Array, share: Share | None = None) -> tuple[Array, Array]:
        """Distances (squared for L2) and numbers of the k nearest listed rows.

        For some positions (none: all).
        """
        n = len(positions) or len(self.reduced.z)
        found = np.empty((n, self.k))
        ids = np.empty((n, self.k), dtype=np.int64)
        core().rank_lists(
            self.cells,
            self.points.native,
            self.lists.ids,
            self.lists.estimates,
            positions,
            found,
            ids,
            self.n_threads,
            share,
        )
        return found, ids
