"""Coarse to fine: optimise one level, put its children around it, and so on to leaves or rows.

The large picture is decided where there are few enough items: a few rows themselves, else the nodes
of a level. They begin where the preliminary embedding puts them, each drawn to its neighbours
(`smooth`), so that clusters begin as clumps; then attraction falls from six times t-SNE's to its
own (`schedule`). A few rows less or more change little in that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import Array
from ....core.threads import Beside
from ...arrangement.frames import Frames
from ...arrangement.old import OldPlaces
from ...neighbors.item_graph import FEW_ROWS
from ..balls import Anchored, Placement
from .ground import Ground, IslandsInput, onto_old
from .layout import IslandsLayout, first_level
from .leaves import RowPlacement, fit_leaves, fit_rows
from .schedule import SCHEDULE, Phase, node_phases, row_phases
from .steps import find_places, improve


def lay_islands(given: IslandsInput) -> IslandsLayout:
    """t-SNE's forces on the hierarchy, coarse to fine; linear in the rows, given neighbours."""
    ground = Ground.of(given)
    start = given.origin.start
    places = given.origin.places
    if given.detail == "rows":
        return _finish_rows(ground, _lay_all_rows(ground, start), places)
    nodes = _lay_nodes(ground, start)
    onto = onto_old(nodes.leaves, places, 0)
    leaves = Anchored(
        given.hierarchy,
        0,
        given.arrangement,
        onto(nodes.leaves),
        given.radius,
        1.0,
        ground.distinct,
        given.n_threads,
    )
    leaf, positions = given.place(leaves)
    return ground.finish(leaf, positions, onto.turned(nodes.first), onto.factor)


@dataclass(frozen=True, eq=False)
class _RowPlaces:
    """Where rows lie."""

    positions: Array
    first: Array  # of the first level; empty if rows were laid out at once
    frames: Frames | None = None  # of the leaves, if rows began around these


@dataclass(frozen=True, eq=False)
class _NodePlaces:
    """Where the nodes of the first level lie, before `tightness`, and the leaves."""

    first: Array
    leaves: Array


def _finish_rows(ground: Ground, rows: _RowPlaces, places: OldPlaces | None) -> IslandsLayout:
    """The map of rows that are laid out, perhaps turned onto an older one."""
    given = ground.given
    onto = onto_old(rows.positions, places, -1)
    positions = onto(rows.positions)
    leaf: Placement | RowPlacement
    if rows.frames is None:
        leaf = fit_leaves(
            given.hierarchy, given.arrangement, positions, ground.distinct, given.n_threads
        )
    else:
        leaves = given.hierarchy.levels[0]
        leaf = fit_rows(rows.frames, positions, leaves, ground.distinct, given.n_threads)
    return ground.finish(leaf, positions, onto.turned(rows.first), onto.factor)


def _lay_all_rows(ground: Ground, start: Array | None) -> _RowPlaces:
    is_few = start is None and len(ground.base.rank) <= FEW_ROWS
    return _lay_few_rows(ground) if is_few else _lay_many_rows(ground, start)


def _lay_few_rows(ground: Ground) -> _RowPlaces:
    """Rows that are few enough to decide the large picture themselves."""
    given = ground.given
    begin = ground.some(given.preliminary.rows)
    given.progress.begin(f"islands: {len(begin)} rows")
    then = row_phases(len(begin), given.tightness)
    found = find_places(
        ground.base, begin, ground.clusters(-1), then, given.n_threads, given.progress
    )
    return _RowPlaces(ground.every(found), np.empty((0, 2)))


def _lay_many_rows(ground: Ground, start: Array | None) -> _RowPlaces:
    """Rows around leaves that nodes above have placed."""
    given = ground.given
    # frames of leaves are fitted meanwhile: steps of few nodes leave threads idle
    beside = given.n_threads if len(ground.base.rank) > SCHEDULE.first_nodes else 1
    with Beside(lambda share: given.arrangement.prepared(given.hierarchy), beside) as preparing:
        nodes = _lay_nodes(ground, start)
        arrangement = preparing.result()
    members = ground.place_members(0, nodes.leaves, SCHEDULE.ball, arrangement)
    own = ground.some(members.positions)
    given.progress.begin(f"islands: {len(own)} rows")
    leap = len(own) > FEW_ROWS
    phases = row_phases(len(own), given.tightness, leap)
    own = improve(ground.base, own, phases, given.n_threads, given.progress, leap=leap)
    return _RowPlaces(ground.every(own), nodes.first, members.frames)


def _lay_nodes(ground: Ground, start: Array | None) -> _NodePlaces:
    """From the first level, whose `start` may be known, to the leaves."""
    given = ground.given
    hierarchy = given.hierarchy
    progress = given.progress
    n_threads = given.n_threads
    first = first_level(hierarchy) if start is None else hierarchy.level_sizes.index(len(start))
    items = ground.items(first)
    if start is None:
        begin = given.preliminary.nodes[first]
        progress.begin(f"islands: {len(begin)} nodes of level {first}")
        start = find_places(items, begin, ground.clusters(first), (), n_threads, progress)
    positions = start
    if given.tightness != 1:
        tight = (Phase(SCHEDULE.node_steps, given.tightness),)
        positions = improve(items, start, tight, n_threads, progress, rescale=False)
    done = len(positions)
    for k in reversed(range(first + 1)):
        n_nodes = hierarchy.levels[k].n_nodes
        if k >= ground.base.level and _is_worth(k, first, n_nodes, done, given.detail):
            progress.begin(f"islands: {n_nodes} nodes of level {k}")
            done = n_nodes
            phases = node_phases(k, given.tightness)
            positions = improve(ground.items(k), positions, phases, n_threads, progress)
        if k:
            positions = ground.place_members(k, positions, SCHEDULE.ball).positions
    return _NodePlaces(start, positions)


def _is_worth(k: int, first: int, n_nodes: int, done: int, detail: str) -> bool:
    """Whether a level is optimised at the small perplexity; `done`: nodes of the last one that was.

    Leaves are not if rows come next: these find their places as well from where the level above has
    put them.
    """
    if k == 0 and detail == "rows":
        return False
    if k == first:
        return k == 0
    return (SCHEDULE.worth if k else 1) * done <= n_nodes
