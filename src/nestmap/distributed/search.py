"""First neighbours of rows that no worker has room for: part by part, then across parts, merged as a minimum.

The result is the minimum by (distance, key, row), whatever the parts are and in whatever order tasks end. It is that
of one machine where every part that bounds do not rule out is asked ("exact"). The approximate search asks the parts
of a row's nearest cells; sampled rows, compared with all parts, tell its recall.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._points.duplicates import hash_points
from .._points.point_set import NATIVE_METRICS, PointSet, make_points
from .._points.reduce import Reducer
from .._run import Run
from ..neighbors import FirstNeighbors, Found
from ..neighbors.choice import Search, decide
from ..neighbors.join import ALL_CELLS
from ..neighbors.report import Clock, NeighborReport
from .division import LISTED, Division, divide, number_of_parts, per_row
from .phases import Phases, in_order
from .store import Store
from .tasks import (
    NEAR_CELLS,
    Answers,
    PartNeighbors,
    Sorted,
    ask_part,
    join_part,
    near_part,
    sort_block,
    spread_block,
)

BLOCK_BYTES = 32_000_000  # of rows that are sorted at a time
_SAMPLED = 1000  # rows that tell the recall
_VISITED = 16  # cells that a row looks into, where it asks, at first
_MOST_ROUNDS = 2  # of asking
_COLUMNS = 128  # reduced columns that the approximate search makes use of
_ADVICE = "give a smaller max_memory=, the bytes that a task may take, or workers more memory"


@dataclass(frozen=True, eq=False)
class ClusterSearch:
    """Searches rows, and nodes of levels that are too many for one worker, on the workers of a client."""

    phases: Phases
    store: Store  # of the rows
    room: int  # bytes of a part's working memory
    n_parts: int  # of the rows, about

    def __call__(
        self, metric: Any, run: Run, k: int, items: Any, keys: Array, hashes: Array | None, reducer: Reducer | None
    ) -> Found | None:
        """First neighbours of the items below level k; None if one machine has room for them (see `Finder`)."""
        if self._parts(items, "approximate") < 2:  # whatever the method
            return None
        search = decide(items, metric, run.search(k))
        n_parts = self._parts(items, search.method)
        if n_parts < 2:
            return None
        if search.method != "exact":
            search = replace(search, columns=min(search.columns, _COLUMNS), n_listed=min(search.n_listed, LISTED))
        store = self.store
        if k:
            store = store.beside(f"level-{k}", items)
            hashes = hash_points(items, run.n_threads)
        assert hashes is not None
        level = _Level(self.phases, store, f"level {k}", search)
        points = make_points(items, metric, n_threads=run.n_threads)
        found = level.find(points, keys, hashes, divide(points, n_parts, search.columns, reducer))
        if k:
            store.remove()
        return found

    def _parts(self, items: Any, method: str) -> int:
        n, width = items.shape
        return number_of_parts(n, per_row(n, width, items.dtype, method), self.room)


@dataclass(frozen=True, eq=False)
class _Level:
    """The search of one level's items."""

    phases: Phases
    store: Store
    name: str
    search: Search

    def find(self, points: PointSet, keys: Array, hashes: Array, division: Division) -> Found:
        clock, search = Clock(), self.search
        division, order = self._spread(division)
        self.store.keys.create().write(0, np.stack([keys[order], hashes[order]], axis=1))
        for phase, times in (("sort", 1), ("spread", 2), ("join", 1)):
            self._count(phase, times * self.store.n)
        clock.stop("parts")
        best, reports, asks = self._join(division, order, keys)
        clock.stop("join")
        recall = self._ask(division, best, asks)
        clock.stop("other parts")
        report = _report(reports, division, points.n, search, recall, clock)
        ids, distances = best.by_rows()
        return Found(FirstNeighbors(ids, points.to_metric(distances), report), None, division.reducer)

    def _count(self, phase: str, n_rows: int) -> None:
        """Rows that the tasks of a phase read and write."""
        moved = self.phases.moved
        moved[phase] = moved.get(phase, 0) + n_rows * self.store.rows.row_bytes

    def _spread(self, division: Division) -> tuple[Division, Array]:
        """Rows written part by part; the division with its boxes, and the rows in the order of parts."""
        store, n_parts = self.store, division.n_parts
        step = max(1, BLOCK_BYTES // store.rows.row_bytes)  # from the first row on, whatever the chunks were
        parts = [(a, min(store.n, a + step)) for a in range(0, store.n, step)]
        division.save(store)
        futures = self.phases.submit("sort", sort_block, [(store, "cells", part) for part in parts])
        results = self.phases.results("sort", f"{self.name}: sorting {store.n} rows", futures, _ADVICE, keep=True)
        found: list[Sorted] = in_order(results, len(parts))
        own = [division.part_of_cell[each.cells] for each in found]
        counts = np.array([np.bincount(each, minlength=n_parts) for each in own])
        starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        places = starts[:-1] + np.cumsum(counts, axis=0) - counts
        store.parted.create()
        arguments = [(store, "cells", *each) for each in zip(parts, futures, places, strict=True)]
        spread = self.phases.submit("spread", spread_block, arguments)
        what = f"{self.name}: dividing {store.n} rows into {n_parts} parts"
        in_order(self.phases.results("spread", what, spread, _ADVICE), len(parts))
        lows = np.min([each.lows for each in found], axis=0)
        highs = np.max([each.highs for each in found], axis=0)
        division = replace(division, starts=starts, lows=lows, highs=highs)
        division.save(store)
        return division, np.argsort(np.concatenate(own), kind="stable")

    def _join(
        self, division: Division, order: Array, keys: Array
    ) -> tuple[Best, list[NeighborReport], dict[int, list[Array]]]:
        """First neighbours inside parts, and the rows that ask each part."""
        sizes = np.diff(division.starts)
        filled = np.flatnonzero(sizes)
        tasks = [(self.store, "parts", int(p), self.search) for p in filled]
        futures = self.phases.submit("join", join_part, tasks)
        what = f"{self.name}: first neighbours in {len(filled)} parts"
        best, reports = Best.of(order, keys), []
        asks: dict[int, list[Array]] = {int(p): [] for p in filled}
        found: list[PartNeighbors] = in_order(self.phases.results("join", what, futures, _ADVICE), len(tasks))
        for p, each in zip(filled, found, strict=True):
            part = slice(division.starts[p], division.starts[p + 1])
            best.squared[part], best.ids[part] = each.squared, each.ids
            reports.append(each.report)
            for q, rows in each.asks.items():
                asks[q].append(rows)
        return best, reports, asks

    def _ask(self, division: Division, best: Best, asks: dict[int, list[Array]]) -> tuple[float, int]:
        """Rows ask other parts; the recall, and how many sampled rows tell it (exact: none).

        Approximate: every second sampled row tells whether rows have to ask more parts, and look farther there.
        """
        if self.search.method == "exact":
            self._ask_once(division, best, asks, ALL_CELLS, np.empty(0, dtype=np.int64))
            return 1.0, 0
        n, target = len(best.ids), self.search.target_recall
        sample = np.sort(np.random.default_rng(2).choice(n, min(n, _SAMPLED), replace=False))
        steers, tells = sample[::2], sample
        truth, n_cells, n_visit = np.empty(0), NEAR_CELLS, _VISITED
        for again in range(_MOST_ROUNDS):
            found = self._ask_once(division, best, asks, n_visit, sample if again == 0 else sample[:0])
            truth = found if again == 0 else truth
            if np.mean(best.squared[steers] <= truth[::2]) >= target or again == _MOST_ROUNDS - 1:
                break
            tells = sample[1::2]
            n_cells, n_visit = 2 * n_cells, 2 * n_visit
            asks = self._near(division, best, n_cells)
        truth = truth if len(tells) == len(sample) else truth[1::2]
        return float(np.mean(best.squared[tells] <= truth)), len(tells)

    def _ask_once(
        self, division: Division, best: Best, asks: dict[int, list[Array]], n_visit: int, sample: Array
    ) -> Array:
        """Rows ask parts for what is nearer than they have; distances of the true neighbours of sampled rows."""
        asked = [p for p, rows in asks.items() if rows or len(sample)]
        if len(sample):
            self.store.save("sample", rows=sample, limits=best.squared[sample])
        for p in asked:
            rows = np.concatenate([np.empty(0, dtype=np.int64), *asks[p]])
            self.store.save(f"ask-{p}", rows=rows, limits=best.squared[rows])
        n_asked = sum(len(rows) for p in asked for rows in asks[p]) + len(sample) * len(asked)
        self._count("ask", len(best.ids) + n_asked)
        truth, sampled = best.squared[sample], len(sample) > 0
        futures = self.phases.submit("ask", ask_part, [(self.store, "parts", p, n_visit, sampled) for p in asked])
        what = f"{self.name}: neighbours across {len(asked)} parts"
        for _, found in self.phases.results("ask", what, futures, _ADVICE) if asked else ():
            best.offer(found)
            truth = np.minimum(truth, found.truth) if sampled else truth
        return truth

    def _near(self, division: Division, best: Best, n_cells: int) -> dict[int, list[Array]]:
        """Rows that ask each part, if each row asks the parts of more of its nearest cells."""
        filled = [int(p) for p in np.flatnonzero(np.diff(division.starts))]
        for p in filled:
            self.store.save(f"limits-{p}", limits=best.squared[division.starts[p] : division.starts[p + 1]])
        self._count("near", len(best.ids))
        futures = self.phases.submit("near", near_part, [(self.store, "parts", p, n_cells) for p in filled])
        asks: dict[int, list[Array]] = {p: [] for p in filled}
        what = f"{self.name}: which parts are near"
        for found in in_order(self.phases.results("near", what, futures, _ADVICE), len(filled)):
            for q, rows in found.items():
                asks[q].append(rows)
        return asks


@dataclass(frozen=True, eq=False)
class Best:
    """The best neighbour of each row so far, by places in the order of parts."""

    order: Array
    keys: Array
    squared: Array
    ids: Array

    @classmethod
    def of(cls, order: Array, hashes: Array) -> Best:
        return cls(order, hashes[order], np.full(len(order), np.inf), np.full(len(order), -1, dtype=np.int64))

    def offer(self, found: Answers) -> None:
        """Take what is nearer; of equal distances the lowest key, then the first row."""
        rows, ids = found.rows, found.ids
        old = self.ids[rows]
        nearer = (found.squared < self.squared[rows]) | (old < 0)
        tie = (found.squared == self.squared[rows]) & ~nearer
        key, old_key = self.keys[ids], self.keys[old]
        tie &= (key < old_key) | ((key == old_key) & (self.order[ids] < self.order[old]))
        take = nearer | tie
        self.squared[rows[take]], self.ids[rows[take]] = found.squared[take], ids[take]

    def by_rows(self) -> tuple[Array, Array]:
        """Neighbours and distances in the order of X."""
        ids, squared = np.empty_like(self.ids), np.empty_like(self.squared)
        ids[self.order], squared[self.order] = self.order[self.ids], self.squared
        return ids, squared


def _report(
    reports: list[NeighborReport], division: Division, n: int, search: Search, recall: tuple[float, int], clock: Clock
) -> NeighborReport:
    """One account of all parts."""

    def total(name: str) -> int:
        return sum(getattr(each, name) for each in reports)

    exact = search.method == "exact"
    return NeighborReport(
        search.method, exact, n, total("n_distinct"), reports[0].backend, total("n_cells"),
        division.reducer.n_dims, total("n_pairs_bounded"), total("n_pairs_refined"), total("n_pairs_verified"),
        clock.seconds, *recall, 1.0 if exact else search.target_recall, max(each.n_rounds for each in reports),
        max(each.n_listed for each in reports), search.exact_pairs, f"{len(reports)} parts on a cluster",
    )  # fmt: skip


def is_searched(metric: Any, method: str) -> bool:
    """Whether parts can be searched: metrics with kernels, where neighbours are not given."""
    return method in ("exact", "approximate") and isinstance(metric, str) and metric in NATIVE_METRICS
