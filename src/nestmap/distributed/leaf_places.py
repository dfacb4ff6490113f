"""Where rows lie: the client lays out the leaves, workers put the rows of each leaf around it.

The frame of a leaf needs all of its rows, so a task takes a part of the leaves. Leaves go in the
order of the tree, where those that are near each other follow each other: most of their rows are in
the same part of the search, and the task that is at home there reads them together. A task works
with the stages of one machine, in the same runs of leaves: the same bits.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..core.arrays import Array, runs
from ..core.points.point_set import make_points
from ..method.arrangement.frames import DistinctRows
from ..method.arrangement.local import Leaves, LocalArrangement, Projection
from ..method.arrangement.old import OldArrangement
from ..method.hierarchy.tree import Grouping
from ..method.layout.balls import Anchored, Placement, fit_balls, neighbors_in_map, place_rows
from ..method.preliminary.maps import RowMap
from .pages import keeps_pages
from .phases import ADVICE, Phases
from .store import BLOCK_BYTES, RowFile, Store


@dataclass(frozen=True)
class LeafFiles:
    """Leaves in the order of the tree, in files of the shared folder."""

    folder: str
    n_leaves: int
    n_items: int  # rows, of equal ones in a leaf only the first
    n_columns: int
    n_components: int
    n_around: int
    counted: bool  # items stand for several rows

    def _file(self, name: str, n: int, width: int, dtype: str) -> RowFile:
        return RowFile(os.path.join(self.folder, f"leaf-{name}"), n, width, dtype)

    @property
    def starts(self) -> RowFile:
        """Where the items of each leaf begin, and where the last ones end."""
        return self._file("starts", self.n_leaves + 1, 1, "int64")

    @property
    def items(self) -> RowFile:
        """Of each item, where the file of rows has it."""
        return self._file("items", self.n_items, 1, "int64")

    @property
    def counts(self) -> RowFile:
        """Rows that each item stands for."""
        return self._file("counts", self.n_items, 1, "float64")

    @property
    def centres(self) -> RowFile:
        return self._file("centres", self.n_leaves, self.n_columns, "float32")

    @property
    def anchors(self) -> RowFile:
        return self._file("anchors", self.n_leaves, self.n_components, "float64")

    @property
    def nearest(self) -> RowFile:
        """Distance of each anchor to the nearest other one."""
        return self._file("nearest", self.n_leaves, 1, "float64")

    @property
    def around(self) -> RowFile:
        """The leaves next to each leaf in the map."""
        return self._file("around", self.n_leaves, self.n_around, "int64")


@dataclass(frozen=True, eq=False)
class PlacedLeaves:
    """Rows of some leaves, and how these place new ones."""

    positions: Array  # of items, leaf by leaf
    scales: Array
    maps: Array
    origins: Array


@keeps_pages
def project_block(store: Store, row_map: RowMap, part: tuple[int, int]) -> None:
    """Write what a map makes of a block of rows."""
    store.numbers("coordinates", row_map.n_components, "float64").write(
        part[0], row_map(store.rows.read(*part), 1)
    )


@keeps_pages
def place_leaves(
    store: Store, source: RowFile, files: LeafFiles, leaves: tuple[int, int], cuts: Array
) -> PlacedLeaves:
    """Places of the rows of some leaves; `cuts`: where runs of leaves begin and end among them."""
    first, last = leaves
    view = store.load("leaves")
    starts = files.starts.read(first, last + 1)[:, 0]
    items = slice(int(starts[0]), int(starts[-1]))
    rows = source.take(files.items.read(items.start, items.stop)[:, 0])
    points = make_points(rows, str(view["metric"]), unit=float(view["unit"]))
    grouping = Grouping(np.arange(len(rows)), starts - starts[0])
    distinct = None
    if files.counted:
        own = grouping.order
        counts = files.counts.read(items.start, items.stop)[:, 0]
        distinct = DistinctRows(own, counts, grouping, own)
    near = Surroundings.of(files, first, last)
    project = Projection(points, view["mean"], view["directions"])
    n = last - first
    some = Leaves(project, files.n_components, near.centres, grouping, distinct, np.arange(n), cuts)
    members = np.repeat(np.arange(n), np.diff(starts))
    frames = some.frames(members, near.anchors, near.around, 1)
    nearest = files.nearest.read(first, last)[:, 0]
    alone = None if distinct is None else distinct.alone
    placement = fit_balls(
        frames, grouping, near.anchors[:n], nearest, float(view["radius"]), alone=alone
    )
    return PlacedLeaves(
        placement.settle(members, frames.offsets),
        placement.scales,
        placement.maps,
        placement.origins,
    )


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Some leaves and, behind them, those around them."""

    centres: Array
    anchors: Array
    around: Array  # of each of these leaves, by places in the two above

    @classmethod
    def of(cls, files: LeafFiles, first: int, last: int) -> Surroundings:
        """Of the leaves first to last in the order of the tree."""
        around = files.around.read(first, last)
        inside = (around >= first) & (around < last)
        others = np.unique(around[~inside])
        centres, anchors = (
            np.concatenate([file.read(first, last), file.take(others)])
            for file in (files.centres, files.anchors)
        )
        behind = last - first + np.searchsorted(others, around)
        return cls(centres, anchors, np.where(inside, around - first, behind))


def place_bytes(row_bytes: int, n_components: int, n_columns: int) -> int:
    """What a task takes for each row that it places, about: row, offsets, a share in a frame."""
    return row_bytes + 24 * n_components + n_columns


@dataclass(frozen=True, eq=False)
class PlacesOnWorkers:
    """Projects rows and puts them around their leaves, on the workers of a client."""

    phases: Phases
    store: Store

    def project(self, row_map: RowMap) -> Array:
        """What a map makes of the rows: a file of the shared folder, mapped."""
        store = self.store
        file = store.numbers("coordinates", row_map.n_components, "float64").create()
        step = max(1, BLOCK_BYTES // store.rows.row_bytes)
        parts = [(a, min(store.n, a + step)) for a in range(0, store.n, step)]
        futures = self.phases.submit(
            "project", project_block, [(store, row_map, part) for part in parts]
        )
        for _ in self.phases.results("project", f"coordinates of {store.n} rows", futures, ADVICE):
            pass
        self.phases.moved["project"] = store.n * (store.rows.row_bytes + file.row_bytes)
        return np.asarray(file.mapped("r+"))

    def place(self, own: Anchored) -> tuple[Placement, Array]:
        """As `place_rows`. Other frames than those of rows, or of a single leaf, are made here."""
        local = (
            own.arrangement.fresh
            if isinstance(own.arrangement, OldArrangement)
            else own.arrangement
        )
        anchors = own.anchors
        radius = own.radius
        distinct = own.distinct
        if not isinstance(local, LocalArrangement) or len(anchors) == 1:
            return place_rows(own)
        source = self._source()
        leaves, homes = source.by_home(local.leaves(own.hierarchy))
        nearest, around = neighbors_in_map(anchors, own.n_threads)
        starts = np.concatenate([[0], np.cumsum(np.diff(leaves.grouping.starts)[leaves.along])])
        points = local.project.points
        n = len(anchors)
        self.store.save(
            "leaves",
            metric=np.array(points.metric),
            unit=points.unit,
            mean=local.project.mean,
            directions=local.project.directions,
            radius=radius,
        )
        files = LeafFiles(
            self.store.folder,
            n,
            int(starts[-1]),
            leaves.centres.shape[1],
            anchors.shape[1],
            around.shape[1],
            distinct is not None,
        )
        _write(files, leaves, starts, anchors, nearest, around)
        found = self._place(files, source, leaves, starts, homes)
        placement = Placement(
            anchors, nearest, radius * nearest, found.scales, found.maps, found.origins
        )
        return placement, found.positions if distinct is None else found.positions[distinct.of_row]

    def _place(
        self, files: LeafFiles, source: Source, leaves: Leaves, starts: Array, homes: Array
    ) -> PlacedLeaves:
        """What the tasks give, in order of rows and leaves; `homes`: the home part of each run."""
        each = place_bytes(self.store.rows.row_bytes, files.n_components, files.n_columns)
        most = max(1, BLOCK_BYTES // each)
        tasks = []
        for first, last in pairwise(
            [*np.flatnonzero(np.diff(homes, prepend=-1)).tolist(), len(homes)]
        ):
            cuts = leaves.cuts[first : last + 1]
            tasks += [
                cuts[run.start : run.stop + 1] for run in runs(starts[cuts] - starts[cuts[0]], most)
            ]
        for cuts in tasks:
            self._write_items(files, source, leaves, slice(cuts[0], cuts[-1]), int(starts[cuts[0]]))
        arguments = [
            (self.store, source.file, files, (int(cuts[0]), int(cuts[-1])), cuts - cuts[0])
            for cuts in tasks
        ]
        futures = self.phases.submit("place", place_leaves, arguments)
        n = files.n_leaves
        d = files.n_components
        out = PlacedLeaves(
            np.empty((files.n_items, d)),
            np.empty(n),
            np.empty((n, d, files.n_columns), dtype=np.float16),
            np.empty((n, d)),
        )
        for i, found in self.phases.results(
            "place", f"places of {self.store.n} rows", futures, ADVICE
        ):
            own = leaves.along[tasks[i][0] : tasks[i][-1]]
            out.positions[leaves.grouping.items_of(own)] = found.positions
            out.scales[own] = found.scales
            out.maps[own] = found.maps
            out.origins[own] = found.origins
        return out

    def _source(self) -> Source:
        if not self.store.has_parts:
            return Source(self.store.rows, None, np.zeros(1, dtype=np.int64))
        begins = self.store.load("division")["begins"]
        return Source(self.store.parted, self.store.found_at.mapped()[:, 0], begins[:-1])

    def _write_items(
        self, files: LeafFiles, source: Source, leaves: Leaves, part: slice, first: int
    ) -> None:
        """Where the rows of a task are, how many each stands for; counts those from other parts."""
        items = leaves.grouping.items_of(leaves.along[part])
        at = source.at(leaves, items)
        phases = self.phases
        row_bytes = self.store.rows.row_bytes
        files.items.write(first, at)
        if leaves.distinct is not None:
            files.counts.write(first, leaves.distinct.counts[items])
        n_moved = len(at) if source.places is None else source.home(at)[1]
        phases.moved["place"] = phases.moved.get("place", 0) + len(at) * row_bytes
        phases.shuffled += n_moved * row_bytes


@dataclass(frozen=True, eq=False)
class Source:
    """The file that rows are read from when they get their places."""

    file: RowFile
    places: Array | None  # of each row of X, where the file has it; None: it is in the order of X
    begins: Array  # of parts, in the file

    def at(self, leaves: Leaves, items: Array) -> Array:
        """Where the file has some items."""
        rows = items if leaves.distinct is None else leaves.distinct.rows[items]
        return np.asarray(rows if self.places is None else self.places[rows])

    def home(self, at: Array) -> tuple[int, int]:
        """The part that most of some rows are in, and how many are not."""
        counts = np.bincount(np.searchsorted(self.begins, at, side="right"))
        return int(counts.argmax()), len(at) - int(counts.max())

    def by_home(self, leaves: Leaves) -> tuple[Leaves, Array]:
        """The same leaves, their runs by the part that most of their rows are in; and these parts.

        Runs stay as they are, so frames do, too.
        """
        runs_ = [leaves.along[a:b] for a, b in pairwise(leaves.cuts.tolist())]
        homes = np.array(
            [self.home(self.at(leaves, leaves.grouping.items_of(run)))[0] for run in runs_]
        )
        order = np.argsort(homes, kind="stable")
        cuts = np.concatenate([[0], np.cumsum([len(runs_[r]) for r in order])])
        return replace(leaves, along=np.concatenate([runs_[r] for r in order]), cuts=cuts), homes[
            order
        ]


def _write(
    files: LeafFiles, leaves: Leaves, starts: Array, anchors: Array, nearest: Array, around: Array
) -> None:
    """What tasks read of leaves, and room for what they read of rows."""
    along = leaves.along
    rank = np.empty_like(leaves.along)
    rank[along] = np.arange(len(along))
    files.starts.create().write(0, starts)
    files.centres.create().write(0, leaves.centres[along])
    files.anchors.create().write(0, anchors[along])
    files.nearest.create().write(0, nearest[along])
    files.around.create().write(0, rank[around[along]])
    files.items.create()
    if files.counted:
        files.counts.create()
