"""The search of one level in parts: rows are spread, neighbours joined, other parts asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.points.point_set import PointSet
from ..core.points.reduce import Reducer
from ..method.neighbors import FirstNeighbors
from ..method.neighbors.choice import Search
from ..method.neighbors.report import Clock, NeighborReport
from ..method.run import Run
from .best import Best
from .borders import divide_for_guests
from .division import Division, divide
from .merge import Merge
from .phases import ADVICE, Phases, in_order
from .store import BLOCK_BYTES, Store
from .tasks import (
    NOTHING,
    PartNeighbors,
    Sorted,
    ask_part,
    join_part,
    sort_block,
    spread_block,
)

_N_SAMPLED = 1000  # rows that tell the recall
# of the share of neighbours that may be missed: those that no part holds together with their row,
# and those that the search of a part does not find
_MISSED_BY_PARTS = 0.5
_MISSED_IN_PARTS = 1.0
_ATTEMPTS = 2


@dataclass(frozen=True, eq=False)
class SearchedItems:
    """What is searched: points, the keys that decide ties, and the hashes that find copies."""

    points: PointSet
    keys: Array
    hashes: Array


@dataclass(frozen=True, eq=False)
class MergeableNeighbors:
    """First neighbours, and what joins the items to nodes on the workers."""

    neighbors: FirstNeighbors
    merge: Merge


@dataclass(frozen=True, eq=False)
class _Searched:
    """What a search of all parts found, and its recall on sampled rows."""

    division: Division
    best: Best
    reports: list[NeighborReport]
    recall: float = 1.0
    n_sampled: int = 0


@dataclass(frozen=True, eq=False)
class _Rooms:
    """Offsets at which the rows of each block are written to the file of parts."""

    starts: Array  # of parts, guests not counted
    begins: Array  # of parts, with their guests
    own: Array  # per block and part, where its first own row goes
    guests: Array  # per block and part, where its first guest goes

    @property
    def n_members(self) -> int:
        return int(self.begins[-1])

    @classmethod
    def of(cls, own: Sequence[Array], hosts: Sequence[Array], n_parts: int) -> _Rooms:
        """`own`, `hosts`: per block, the parts of its rows, and of its guests."""
        n_own = np.array([np.bincount(each, minlength=n_parts) for each in own])
        n_guests = np.array([np.bincount(each, minlength=n_parts) for each in hosts])
        all_own = n_own.sum(axis=0)
        starts = np.concatenate([[0], np.cumsum(all_own)])
        begins = np.concatenate([[0], np.cumsum(all_own + n_guests.sum(axis=0))])
        return cls(
            starts,
            begins,
            begins[:-1] + np.cumsum(n_own, axis=0) - n_own,
            begins[:-1] + all_own + np.cumsum(n_guests, axis=0) - n_guests,
        )


@dataclass(frozen=True, eq=False)
class LevelSearch:
    """The search of one level's items."""

    phases: Phases
    store: Store
    name: str
    search: Search
    own: bool  # store, which goes with the level

    def find(
        self, items: SearchedItems, n_parts: int, reducer: Reducer | None, run: Run
    ) -> MergeableNeighbors:
        """First neighbours, and what can join the items to nodes."""
        clock = Clock()
        search = self._exact if self.search.method == "exact" else self._approximate
        done = search(items, n_parts, reducer, clock)
        report = self._report(done, items.points.n, clock)
        best = done.best
        division = done.division
        if not self.own:
            self._keep_places(division, best.order)
        ids, distances = best.by_rows()
        neighbors = FirstNeighbors(ids, items.points.to_metric(distances), report)
        merge = Merge(
            self.phases,
            self.store,
            self.name,
            division,
            f"parts, reach {division.reach!r}",
            best.order,
            best.ids,
            run,
            self.own,
        )
        return MergeableNeighbors(neighbors, merge)

    def _exact(
        self, items: SearchedItems, n_parts: int, reducer: Reducer | None, clock: Clock
    ) -> _Searched:
        """Each row in its part, then in all parts that bounds do not rule out."""
        division = divide(items.points, n_parts, self.search.columns, reducer)
        division, best = self._spread(division, items.keys, items.hashes)
        clock.stop("parts")
        found = self._join(division, best, self.search)
        clock.stop("join")
        self._ask(best, found)
        clock.stop("other parts")
        return _Searched(division, best, [each.report for each in found])

    def _keep_places(self, division: Division, order: Array) -> None:
        """Write where the parts have each row: it is read there again when it gets its place."""
        at = np.empty_like(order)
        at[order] = np.arange(len(order)) + np.repeat(
            division.begins[:-1] - division.starts[:-1], np.diff(division.starts)
        )
        self.store.found_at.create().write(0, at)

    def _approximate(
        self, items: SearchedItems, most_parts: int, reducer: Reducer | None, clock: Clock
    ) -> _Searched:
        """Parts with guests; more guests, and a closer look, if sampled rows say it was too little.

        Every second sampled row has this say, and if it comes to that, the others tell the recall.
        """
        points = items.points
        target = self.search.target_recall
        rng = np.random.default_rng(2)
        sample = np.sort(rng.choice(points.n, min(points.n, _N_SAMPLED), replace=False))
        tells = slice(None)
        missed = 1 - target
        before = None
        for attempt in range(_ATTEMPTS):
            share = 1 - _MISSED_BY_PARTS * missed
            division, borders = divide_for_guests(
                points, most_parts, self.search.columns, reducer, share
            )
            division = replace(division, reach=borders.reach(division, share))
            reducer = division.reducer
            clock.stop("borders")
            division, best = self._spread(division, items.keys, items.hashes, before)
            places = best.places(sample)
            self.store.save("sample", places=places, rows=np.asarray(points.data[sample]))
            clock.stop("parts")
            aim = 1 - _MISSED_IN_PARTS * missed
            found = self._join(division, best, replace(self.search, target_recall=aim))
            clock.stop("join")
            hits = best.squared[places] <= np.min([each.truth for each in found], axis=0)
            if attempt == _ATTEMPTS - 1 or not _is_below(hits[::2], target):
                break
            tells = slice(1, None, 2)
            missed = missed / 2
            before = best
        told = hits[tells]
        reports = [each.report for each in found]
        return _Searched(division, best, reports, float(np.mean(told)), len(told))

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
        rooms = _Rooms.of(own, [each.hosts for each in found], n_parts)
        store.parted.create(more=rooms.n_members - store.n)
        arguments = [
            (store, version, *each)
            for each in zip(parts, futures, rooms.own, rooms.guests, strict=True)
        ]
        spread = self.phases.submit("spread", spread_block, arguments)
        what = f"{self.name}: dividing {store.n} rows into {n_parts} parts"
        order = np.argsort(np.concatenate(own), kind="stable")
        best = Best.of(order, keys) if best is None else best.ordered(order)
        self._write_keys(best, own, found, parts, hashes)
        in_order(self.phases.results("spread", what, spread, ADVICE), len(parts))
        self._count("sort", store.n)
        self._count("spread", store.n + rooms.n_members)
        self.phases.shuffled += rooms.n_members * store.rows.row_bytes
        lows = np.min([each.lows for each in found], axis=0)
        highs = np.max([each.highs for each in found], axis=0)
        division = replace(
            division, starts=rooms.starts, begins=rooms.begins, lows=lows, highs=highs
        )
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

    def _report(self, done: _Searched, n: int, clock: Clock) -> NeighborReport:
        """One account of all parts."""
        search = self.search
        reports = done.reports

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
            done.division.reducer.n_dims,
            total("n_pairs_bounded"),
            total("n_pairs_refined"),
            total("n_pairs_verified"),
            total("n_pairs_multiplied"),
            clock.seconds,
            done.recall,
            done.n_sampled,
            1.0 if exact else search.target_recall,
            max(each.n_rounds for each in reports),
            max(each.n_listed for each in reports),
            search.exact_pairs,
            f"{len(reports)} parts on a cluster",
        )


def _is_below(hits: Array, target: float) -> bool:
    """Whether a share of hits is below the target by more than luck."""
    share = float(np.mean(hits))
    return bool(share + 2 * np.sqrt(share * (1 - share) / len(hits)) < target)
