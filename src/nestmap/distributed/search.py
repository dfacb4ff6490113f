"""First neighbours of rows that no worker has room for: by part, then across, as a minimum.

The result is the minimum by (distance, key, row), whatever the parts are and in whatever order
tasks end. It is that of one machine where every part that bounds do not rule out is asked
("exact"). In the approximate search rows near a border are guests of the parts beyond; sampled
rows, compared with all parts, tell its recall.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.nearest import is_nearer
from ..core.points.duplicates import hash_points
from ..core.points.point_set import PointSet, make_points
from ..core.points.reduce import Reducer
from ..method.neighbors import FirstNeighbors, Found
from ..method.neighbors.choice import Search, decide
from ..method.neighbors.metric import Metric
from ..method.neighbors.report import Clock, NeighborReport
from ..method.run import Run
from .borders import divide_for_guests
from .division import LISTED, Division, divide, number_of_parts, per_row
from .merge import PER_ITEM, Merge
from .phases import ADVICE, Phases, in_order
from .store import BLOCK_BYTES, Store
from .tasks import (
    NOTHING,
    Answers,
    PartNeighbors,
    Sorted,
    ask_part,
    join_part,
    sort_block,
    spread_block,
)

_SAMPLED = 1000  # rows that tell the recall
# times what may be missed: neighbours that meet in no part, and those not found in one
_MEETING = 0.5
_FOUND = 1.0
_ATTEMPTS = 2
_COLUMNS = 128  # reduced columns that the approximate search makes use of


@dataclass(frozen=True, eq=False)
class ClusterSearch:
    """Searches rows, and nodes of levels too many for one worker, on the workers of a client."""

    phases: Phases
    store: Store  # of the rows
    room: int  # bytes of a part's working memory
    n_parts: int  # of the rows, about
    unit: float  # of the rows, as `power_of_two` finds it

    def __call__(
        self,
        metric: Metric,
        run: Run,
        k: int,
        items: Any,
        keys: Array,
        hashes: Array | None,
        reducer: Reducer | None,
    ) -> Found | None:
        """First neighbours of items below level k; None if one machine has room (see `Finder`)."""
        if self._parts(items, "approximate") < 2:  # whatever the method
            return None
        search = decide(items, metric.name, run.search(k))
        n_parts = self._parts(items, search.method)
        if n_parts < 2:
            return None
        if search.method != "exact":
            search = replace(
                search, columns=min(search.columns, _COLUMNS), n_listed=min(search.n_listed, LISTED)
            )
        store = self.store
        if k:
            store = store.beside(f"level-{k}", items)
            hashes = hash_points(items, run.n_threads)
        assert hashes is not None
        level = _Level(self.phases, store, f"level {k}", search, store is not self.store)
        unit = None if k else self.unit
        points = make_points(items, metric.name, n_threads=run.n_threads, unit=unit)
        found, merge = level.find(points, keys, hashes, n_parts, reducer, run)
        if PER_ITEM * store.n > self.room:
            return replace(found, merge=merge)
        merge.close()
        return found

    def _parts(self, items: Any, method: str) -> int:
        n, width = items.shape
        return number_of_parts(n, per_row(n, width, items.dtype, method), self.room, method)


@dataclass(frozen=True, eq=False)
class _Level:
    """The search of one level's items."""

    phases: Phases
    store: Store
    name: str
    search: Search
    own: bool  # store, which goes with the level

    def find(
        self,
        points: PointSet,
        keys: Array,
        hashes: Array,
        n_parts: int,
        reducer: Reducer | None,
        run: Run,
    ) -> tuple[Found, Merge]:
        """First neighbours, and what can join the items to nodes."""
        clock = Clock()
        if self.search.method == "exact":
            division = divide(points, n_parts, self.search.columns, reducer)
            division, best = self._spread(division, keys, hashes)
            clock.stop("parts")
            found = self._join(division, best, self.search)
            clock.stop("join")
            self._ask(best, found)
            clock.stop("other parts")
            recall = 1.0, 0
        else:
            division, best, found, recall = self._approximate(
                points, keys, hashes, n_parts, reducer, clock
            )
        report = _report(
            [each.report for each in found], division, points.n, self.search, recall, clock
        )
        if not self.own:
            self._keep_places(division, best.order)
        ids, distances = best.by_rows()
        neighbors = FirstNeighbors(ids, points.to_metric(distances), report)
        version = f"parts, reach {division.reach!r}"
        merge = Merge(
            self.phases,
            self.store,
            self.name,
            division,
            version,
            best.order,
            best.ids,
            run,
            self.own,
        )
        return Found(neighbors, None, division.reducer), merge

    def _keep_places(self, division: Division, order: Array) -> None:
        """Write where the parts have each row: it is read there again when it gets its place."""
        at = np.empty_like(order)
        at[order] = np.arange(len(order)) + np.repeat(
            division.begins[:-1] - division.starts[:-1], np.diff(division.starts)
        )
        self.store.found_at.create().write(0, at)

    def _approximate(
        self,
        points: PointSet,
        keys: Array,
        hashes: Array,
        most_parts: int,
        reducer: Reducer | None,
        clock: Clock,
    ) -> tuple[Division, Best, list[PartNeighbors], tuple[float, int]]:
        """Parts with guests; more, and a closer look, if sampled rows say it was not enough.

        Every second sampled row has this say, and if it comes to that, the others tell the recall.
        """
        target = self.search.target_recall
        tells = slice(None)
        rows = np.sort(
            np.random.default_rng(2).choice(points.n, min(points.n, _SAMPLED), replace=False)
        )
        missed = 1 - target
        before = None
        for attempt in range(_ATTEMPTS):
            share = 1 - _MEETING * missed
            division, borders = divide_for_guests(
                points, most_parts, self.search.columns, reducer, share
            )
            division, reducer = (
                replace(division, reach=borders.reach(division, share)),
                division.reducer,
            )
            clock.stop("borders")
            division, best = self._spread(division, keys, hashes, before)
            places = best.places(rows)
            self.store.save("sample", places=places, rows=np.asarray(points.data[rows]))
            clock.stop("parts")
            found = self._join(
                division, best, replace(self.search, target_recall=1 - _FOUND * missed)
            )
            clock.stop("join")
            hits = best.squared[places] <= np.min([each.truth for each in found], axis=0)
            if attempt == _ATTEMPTS - 1 or not _is_below(hits[::2], target):
                break
            tells = slice(1, None, 2)
            missed = missed / 2
            before = best
        return division, best, found, (float(np.mean(hits[tells])), len(hits[tells]))

    def _count(self, phase: str, n_rows: int) -> None:
        """Rows that the tasks of a phase read and write."""
        moved = self.phases.moved
        moved[phase] = moved.get(phase, 0) + n_rows * self.store.rows.row_bytes

    def _spread(
        self, division: Division, keys: Array, hashes: Array, best: Best | None = None
    ) -> tuple[Division, Best]:
        """Rows written part by part; the division with its boxes, and the rows in its order."""
        store = self.store
        n_parts = division.n_parts
        # from the first row on, whatever the chunks were
        step = max(1, BLOCK_BYTES // store.rows.row_bytes)
        parts = [(a, min(store.n, a + step)) for a in range(0, store.n, step)]
        version = f"cells, reach {division.reach!r}"
        division.save(store)
        futures = self.phases.submit("sort", sort_block, [(store, version, part) for part in parts])
        results = self.phases.results(
            "sort", f"{self.name}: sorting {store.n} rows", futures, ADVICE, keep=True
        )
        found: list[Sorted] = in_order(results, len(parts))
        own = [division.part_of_cell[each.cells] for each in found]
        n_own, n_guests = (
            np.array([np.bincount(each, minlength=n_parts) for each in of])
            for of in (own, [f.hosts for f in found])
        )
        sizes = n_own.sum(axis=0) + n_guests.sum(axis=0)
        begins = np.concatenate([[0], np.cumsum(sizes)])
        first = begins[:-1] + np.cumsum(n_own, axis=0) - n_own
        first_guests = begins[:-1] + n_own.sum(axis=0) + np.cumsum(n_guests, axis=0) - n_guests
        store.parted.create(more=int(begins[-1]) - store.n)
        arguments = [
            (store, version, *each)
            for each in zip(parts, futures, first, first_guests, strict=True)
        ]
        spread = self.phases.submit("spread", spread_block, arguments)
        what = f"{self.name}: dividing {store.n} rows into {n_parts} parts"
        order = np.argsort(np.concatenate(own), kind="stable")
        best = Best.of(order, keys) if best is None else best.ordered(order)
        self._write_keys(best, own, found, parts, hashes)
        in_order(self.phases.results("spread", what, spread, ADVICE), len(parts))
        self._count("sort", store.n)
        self._count("spread", store.n + int(begins[-1]))
        self.phases.shuffled += int(begins[-1]) * store.rows.row_bytes
        starts = np.concatenate([[0], np.cumsum(n_own.sum(axis=0))])
        lows = np.min([each.lows for each in found], axis=0)
        highs = np.max([each.highs for each in found], axis=0)
        division = replace(division, starts=starts, begins=begins, lows=lows, highs=highs)
        division.save(store)
        return division, best

    def _write_keys(
        self,
        best: Best,
        own: list[Array],
        found: list[Sorted],
        parts: list[tuple[int, int]],
        hashes: Array,
    ) -> None:
        """Keys, hashes and places of the members of each part."""
        guests = [
            each.guests.astype(np.int64) + part[0] for each, part in zip(found, parts, strict=True)
        ]
        members = np.concatenate([np.arange(self.store.n), *guests])
        members = members[
            np.argsort(np.concatenate([*own, *(each.hosts for each in found)]), kind="stable")
        ]
        places = best.places(members)
        file = self.store.keys.create(more=len(members) - self.store.n)
        file.write(
            0, np.stack([best.keys[places], hashes[members], places.astype(np.uint64)], axis=1)
        )

    def _join(self, division: Division, best: Best, search: Search) -> list[PartNeighbors]:
        """First neighbours inside parts."""
        sizes = np.diff(division.begins)
        filled = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]  # the largest first
        version = f"parts, reach {division.reach!r}"
        futures = self.phases.submit(
            "join", join_part, [(self.store, version, int(p), search) for p in filled]
        )
        what = f"{self.name}: first neighbours in {len(filled)} parts"

        def take(each: PartNeighbors) -> PartNeighbors:
            best.offer(each.found)
            # neighbours of all parts at once would take more than anything else
            return replace(each, found=NOTHING)

        found = in_order(self.phases.results("join", what, futures, ADVICE), len(filled), take)
        self._count("join", int(division.begins[-1]))
        return found

    def _ask(self, best: Best, found: list[PartNeighbors]) -> None:
        """Rows ask other parts for what is nearer than they have."""
        asks: dict[int, list[Array]] = {}
        for each in found:
            for p, rows in each.asks.items():
                asks.setdefault(p, []).append(rows)
        for p, lists in asks.items():
            rows = np.concatenate(lists)
            self.store.save(f"ask-{p}", rows=rows, limits=best.squared[rows])
        if not asks:
            return
        n_asked = sum(len(rows) for lists in asks.values() for rows in lists)
        self._count("ask", len(best.ids) + n_asked)
        self.phases.shuffled += n_asked * self.store.rows.row_bytes
        futures = self.phases.submit(
            "ask", ask_part, [(self.store, "parts, reach -1.0", p) for p in asks]
        )
        what = f"{self.name}: neighbours across {len(asks)} parts"
        for _, answers in self.phases.results("ask", what, futures, ADVICE):
            best.offer(answers)


def _is_below(hits: Array, target: float) -> bool:
    """Whether a share of hits is below the target by more than luck."""
    share = float(np.mean(hits))
    return bool(share + 2 * np.sqrt(share * (1 - share) / len(hits)) < target)


@dataclass(frozen=True, eq=False)
class Best:
    """The best neighbour of each row so far, by places in the order of parts."""

    order: Array
    keys: Array
    squared: Array
    ids: Array

    @classmethod
    def of(cls, order: Array, hashes: Array) -> Best:
        return cls(
            order,
            hashes[order],
            np.full(len(order), np.inf),
            np.full(len(order), -1, dtype=np.int64),
        )

    def places(self, rows: Array) -> Array:
        """Where rows of X are."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(len(found))
        return found[rows]

    def offer(self, found: Answers) -> None:
        """Take what is nearer; of equal distances the lowest key, then the first row."""
        rows = found.rows
        ids = found.ids
        old = self.ids[rows]
        first = np.where(old < 0, -1, self.order[old])
        take = is_nearer(
            found.squared,
            self.keys[ids],
            self.order[ids],
            np.where(old < 0, np.inf, self.squared[rows]),
            self.keys[old],
            first,
        )
        self.squared[rows[take]] = found.squared[take]
        self.ids[rows[take]] = ids[take]

    def ordered(self, order: Array) -> Best:
        """The same in the order of other parts."""
        at = self.places(order)
        new = Best(order, self.keys[at], self.squared[at], self.ids[at])
        return replace(new, ids=np.where(new.ids < 0, -1, new.places(self.order[new.ids])))

    def by_rows(self) -> tuple[Array, Array]:
        """Neighbours and distances in the order of X."""
        ids = np.empty_like(self.ids)
        squared = np.empty_like(self.squared)
        ids[self.order] = self.order[self.ids]
        squared[self.order] = self.squared
        return ids, squared


def _report(
    reports: list[NeighborReport],
    division: Division,
    n: int,
    search: Search,
    recall: tuple[float, int],
    clock: Clock,
) -> NeighborReport:
    """One account of all parts."""

    def total(name: str) -> int:
        return sum(getattr(each, name) for each in reports)

    exact = search.method == "exact"
    return NeighborReport(
        search.method,
        exact,
        n,
        total("n_distinct"),
        reports[0].backend,
        total("n_cells"),
        division.reducer.n_dims,
        total("n_pairs_bounded"),
        total("n_pairs_refined"),
        total("n_pairs_verified"),
        total("n_pairs_multiplied"),
        clock.seconds,
        *recall,
        1.0 if exact else search.target_recall,
        max(each.n_rounds for each in reports),
        max(each.n_listed for each in reports),
        search.exact_pairs,
        f"{len(reports)} parts on a cluster",
    )


def is_searched(metric: Metric, method: str) -> bool:
    """Whether parts can be searched: metrics with kernels, where neighbours are not given."""
    return method in ("exact", "approximate") and metric.has_kernels
