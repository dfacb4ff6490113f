"""Coarse to fine: optimise one level, put its children around it, and so on to leaves or rows.

The large picture is decided where there are few enough items: a few rows themselves, else the nodes
of a level. They begin where the preliminary embedding puts them, each drawn to its neighbours
(`smooth`), so that clusters begin as clumps; then attraction falls from six times t-SNE's to its
own. A few rows less or more change little in that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....core.arrays import Array
from ....core.progress import Progress, Share, part_of
from ....core.threads import Beside
from ...arrangement import Arrangement, DistinctRows, Frames, OldPlaces
from ...hierarchy.tree import Hierarchy
from ...neighbors.item_graph import FEW_ROWS, ItemGraph
from ...preliminary import Preliminary
from ..descent import Anchored, Placement, PlaceRows, make_placement, place_rows, separate
from ..similarity import Similarity, align
from .forces import EVENLY
from .graph import Attraction, part_clusters, smooth
from .items import Items, base_items, node_items, node_ranks
from .layout import IslandsLayout
from .leaps import WORTH, Neighbors, better_places
from .leaves import RowPlacement, fit_leaves, fit_rows
from .optimise import Phase, optimise

# at most, of the level that decides the large picture: the leaves of up to 100,000 rows
FIRST_NODES = 20_000
# From this share of the final extent: clumps that overlap part while they are near each other.
_SMALL = 0.2
FIRST_PHASES = (Phase(60, 6.0), Phase(50, 4.0, rate=1.0), Phase(50, 2.0, rate=1.0))
_SETTLE = Phase(50, rate=1.0)  # what follows them
NODE_STEPS = 50
# of a few rows, after the first phases, and of many
FEW_ROW_STEPS = 150
ROW_STEPS = 100
# times the attraction in the first of these steps: rows cross borders before they spread
_CLOSER = 2.0
_FAST = 4.0  # rate of all but the last steps of many rows: few steps have to do
_CLOSER_LEAPT = 1.5  # the same for rows that leap: there is less to draw together
# Times the attraction in the last steps: room between rows of different clusters. A few rows fill
# the map without it. at last; many rows: before that
LOOSER = 0.8
_LOOSE = 0.9
# up to and from which the factor is 1 and LOOSER
_TIGHT_ROWS = 2000
_LOOSE_ROWS = 8000
# a level with fewer times as many nodes as the last one that was optimised is passed over
_WORTH = 2.0
BALL = 0.45  # of the distance to the nearest other node: where children start
# standard deviation of t-SNE's own equilibrium, per root of the number of nodes
_SPREAD = 45.0 / 70_000**0.5
# where nodes start is rounded: rounding errors, which depend on the order of the rows, end here
_SNAP = 1 / 32
_JITTER = 0.01  # keeps nodes apart that start on one spot, where the map is about 100 wide

DETAILS = ("auto", "leaves", "rows")


def lay_islands(
    hierarchy: Hierarchy,
    arrangement: Arrangement,
    preliminary: Preliminary,
    graph: ItemGraph | None,
    *,
    row_keys: Array,
    radius: float = 1 / 3,
    detail: str = "leaves",
    tightness: float = 1.0,
    start: Array | None = None,
    places: OldPlaces | None = None,
    first_equal: Array | None = None,
    place: PlaceRows | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> IslandsLayout:
    """t-SNE's forces on the hierarchy, coarse to fine; linear in the rows, given neighbours.

    Parameters
    ----------
    preliminary : Preliminary
        Says where the nodes of the first level begin: the lowest one with at most 3000 nodes.
    graph : ItemGraph or None
        Neighbours of the rows, or (detail="leaves") of the nodes of a level; None if all rows are
        equal.
    row_keys : ndarray of shape (n_rows,), uint64
        Hashes of the rows: they decide in which order items are added up.
    radius : float
        Of a leaf's ball, as a fraction of the distance to the nearest other leaf (detail="leaves").
    detail : {'leaves', 'rows'}
    tightness : float
        Attraction in the last phases, in t-SNE's units: more makes islands smaller and seas wider.
    start : ndarray, optional
        Positions of the first level, optimised: `IslandsLayout.first` of another layout of the same
        hierarchy.
    places : OldPlaces, optional
        Of an older map that the new one is to be turned and scaled onto.
    first_equal : ndarray of shape (n_rows,), optional
        For each row the first row that equals it: they get one place. None if all rows differ.
    place : callable, optional
        Another `place_rows`, which gives the same (detail="leaves").
    """
    progress = progress or Progress(0)
    distinct = DistinctRows.of(hierarchy.levels[0], first_equal)
    ranks = node_ranks(hierarchy, preliminary)
    base = base_items(hierarchy, graph, preliminary.rows, ranks, row_keys, distinct, n_threads)
    ground = _Ground(
        hierarchy, arrangement, preliminary, base, ranks, distinct, n_threads, progress
    )
    leaf: Placement | RowPlacement
    if detail == "rows":
        is_few = start is None and len(base.rank) <= FEW_ROWS
        rows = _lay_few_rows(ground, tightness) if is_few else _lay_rows(ground, tightness, start)
        onto = onto_old(rows.positions, places, -1)
        start = rows.start
        positions = onto(rows.positions)
        if rows.frames is None:
            leaf = fit_leaves(hierarchy, arrangement, positions, distinct, n_threads)
        else:
            leaf = fit_rows(rows.frames, positions, hierarchy.levels[0], distinct, n_threads)
    else:
        start, positions = _lay_nodes(ground, detail, tightness, start)
        onto = onto_old(positions, places, 0)
        leaves = Anchored(
            hierarchy, 0, arrangement, onto(positions), radius, 1.0, distinct, n_threads
        )
        leaf, positions = (place or place_rows)(leaves)
    if first_equal is not None:
        positions = positions[first_equal]
    parents = tuple(level.members for level in hierarchy.levels)
    start = onto.turned(start)
    return IslandsLayout(
        positions,
        leaf,
        start,
        parents,
        detail,
        tightness,
        radius,
        arrangement.kind,
        unit=onto.factor,
    )


@dataclass(frozen=True, eq=False)
class _Ground:
    """What islands are made on."""

    hierarchy: Hierarchy
    arrangement: Arrangement
    preliminary: Preliminary
    base: Items
    ranks: list[Array]  # of the nodes, per level
    distinct: DistinctRows | None
    n_threads: int
    progress: Progress

    def some(self, of_rows: Array) -> Array:
        """What belongs to rows, of equal ones to the first alone."""
        return of_rows if self.distinct is None else of_rows[self.distinct.rows]

    def clusters(self, k: int) -> Array | None:
        """Of `labels_`, for the nodes of level k; None if these are coarser.

        k = -1: the rows, of equal ones the first.

        The paper's are none to keep together: neighbours are often in another one.
        """
        tree = self.hierarchy
        if tree.kind != "graph" or k > tree.default_level():
            return None
        if k < 0:
            return self.some(tree.labels(tree.default_level()))
        return tree.climb(np.arange(tree.levels[k].n_nodes), tree.default_level(), k)

    def every(self, of_some: Array) -> Array:
        """The way back: for all rows."""
        return of_some if self.distinct is None else of_some[self.distinct.of_row]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Where rows lie."""

    positions: Array
    start: Array  # of the first level; empty if rows were laid out at once
    frames: Frames | None = None  # of the leaves, if rows began around these


def _lay_few_rows(ground: _Ground, tightness: float) -> _Rows:
    """Rows that are few enough to decide the large picture themselves."""
    begin = ground.some(ground.preliminary.rows)
    ground.progress.begin(f"islands: {len(begin)} rows")
    clusters = ground.clusters(-1)
    then = row_phases(len(begin), tightness)
    found = find_places(ground.base, begin, clusters, then, ground.n_threads, ground.progress)
    return _Rows(ground.every(found), np.empty((0, 2)))


def _lay_rows(ground: _Ground, tightness: float, start: Array | None) -> _Rows:
    """Rows around leaves that nodes above have placed."""
    hierarchy = ground.hierarchy
    n_threads = ground.n_threads
    # frames of leaves are fitted meanwhile: steps of few nodes leave threads idle
    beside = n_threads if len(ground.base.rank) > FIRST_NODES else 1
    with Beside(lambda share: ground.arrangement.prepared(hierarchy), beside) as preparing:
        start, positions = _lay_nodes(ground, "rows", tightness, start)
        arrangement = preparing.result()
    _, positions, frames = place_members(
        hierarchy, 0, arrangement, positions, BALL, ground.distinct, n_threads
    )
    own = ground.some(positions)
    ground.progress.begin(f"islands: {len(own)} rows")
    leap = len(own) > FEW_ROWS
    own = improve(
        ground.base,
        own,
        row_phases(len(own), tightness, leap),
        n_threads,
        ground.progress,
        leap=leap,
    )
    return _Rows(ground.every(own), start, frames)


def _lay_nodes(
    ground: _Ground, detail: str, tightness: float, start: Array | None
) -> tuple[Array, Array]:
    """From the first level, whose `start` may be known, to the leaves: where both lie."""
    hierarchy = ground.hierarchy
    base = ground.base
    ranks = ground.ranks
    n_threads = ground.n_threads
    progress = ground.progress
    first = first_level(hierarchy) if start is None else level_of(hierarchy, start)
    items = node_items(hierarchy, first, ranks, base)
    if start is None:
        begin = ground.preliminary.nodes[first]
        progress.begin(f"islands: {len(begin)} nodes of level {first}")
        start = find_places(items, begin, ground.clusters(first), (), n_threads, progress)
    positions = start
    if tightness != 1:
        phases: tuple[Phase, ...] = (Phase(NODE_STEPS, tightness),)
        positions = improve(items, start, phases, n_threads, progress, rescale=False)
    done = len(positions)
    for k in reversed(range(first + 1)):
        level = hierarchy.levels[k]
        if k >= base.level and _is_worth(k, first, level.n_nodes, done, detail):
            progress.begin(f"islands: {level.n_nodes} nodes of level {k}")
            done = level.n_nodes
            phases = node_phases(k, tightness)
            items = node_items(hierarchy, k, ranks, base)
            positions = improve(items, positions, phases, n_threads, progress)
        if k:
            _, positions, _ = place_members(
                hierarchy, k, ground.arrangement, positions, BALL, None, n_threads
            )
    return start, positions


def onto_old(positions: Array, places: OldPlaces | None, k: int) -> Similarity:
    """What takes nodes of level k (-1: the rows) onto their places in an older map, if any."""
    if places is None:
        return Similarity(np.eye(2), np.zeros(2), 1.0)
    lay, known = places.on_level(k)
    return align(positions[known], lay[known])


def place_members(
    hierarchy: Hierarchy,
    k: int,
    arrangement: Arrangement,
    positions: Array,
    ball: float,
    distinct: DistinctRows | None,
    n_threads: int,
) -> tuple[Placement, Array, Frames]:
    """The members of level k around their nodes as arranged: how, where, and their frames."""
    placement, frames = make_placement(
        Anchored(hierarchy, k, arrangement, positions, ball, 1.0, distinct, n_threads)
    )
    members = hierarchy.levels[k].members
    positions = placement.settle(members, frames.offsets, n_threads)
    return placement, separate(positions, members, placement) if k else positions, frames


def _is_worth(k: int, first: int, n_nodes: int, done: int, detail: str) -> bool:
    """Whether a level is optimised at the small perplexity; `done`: nodes of the last one that was.

    Leaves are not if rows come next: these find their places as well from where the level above has
    put them.
    """
    if k == 0 and detail == "rows":
        return False
    if k == first:
        return k == 0
    return (_WORTH if k else 1) * done <= n_nodes


def first_level(hierarchy: Hierarchy) -> int:
    """The lowest level with at most 20,000 nodes, or the top."""
    few = [k for k, n in enumerate(hierarchy.level_sizes) if n <= FIRST_NODES]
    return few[0] if few else hierarchy.n_levels - 1


def level_of(hierarchy: Hierarchy, places: Array) -> int:
    """The level whose nodes have these places."""
    return hierarchy.level_sizes.index(len(places))


def node_phases(k: int, tightness: float) -> tuple[Phase, ...]:
    """Steps of level k; leaves, which no rows will refine then, are given room as rows are."""
    return (Phase(NODE_STEPS, tightness if k else LOOSER * tightness),)


def row_phases(n: int, tightness: float, leap: bool = False) -> tuple[Phase, ...]:
    """Steps for n rows. `leap`: rows leap in the first ones."""
    if n <= FEW_ROWS:
        between = np.log(n / _TIGHT_ROWS) / np.log(_LOOSE_ROWS / _TIGHT_ROWS)
        last = float(np.interp(between, [0, 1], [1.0, LOOSER]))
        return (Phase(FEW_ROW_STEPS, last * tightness),)
    third = ROW_STEPS // 3
    close = Phase(ROW_STEPS // 6, _CLOSER_LEAPT, _FAST) if leap else Phase(third, _CLOSER, _FAST)
    phases = (close, Phase(ROW_STEPS - third - close.n_steps, _LOOSE, _FAST), Phase(third, LOOSER))
    return tuple(replace(phase, exaggeration=tightness * phase.exaggeration) for phase in phases)


def find_places(
    items: Items,
    begin: Array,
    clusters: Array | None,
    then: tuple[Phase, ...],
    n_threads: int,
    progress: Progress,
) -> Array:
    """Places of items that no level above has placed, from preliminary coordinates; float64.

    `clusters` of the items: their links with others are weaker at first, so that each comes to lie
    in one piece; `then`: phases that follow the first ones.
    """
    n = len(begin)
    order = items.order
    if n < 3 or items.attraction is None:
        return spread_out(begin, n)
    parted = (
        items.attraction if clusters is None else part_clusters(items.attraction, clusters[order])
    )
    near = snap(_SMALL * spread_out(smooth(parted, begin[order]), n)) + jitter(np.arange(n))
    settled = (_SETTLE, *then)
    n_first, n_then = (sum(phase.n_steps for phase in phases) for phases in (FIRST_PHASES, settled))
    share = n_first / (n_first + n_then)
    found = optimise(
        near, items.masses, parted, FIRST_PHASES, n_threads, part_of(progress.share, 0, share)
    )
    found = optimise(
        found, items.masses, items.attraction, settled, n_threads, part_of(progress.share, share, 1)
    )
    return np.asarray(found - found.mean(axis=0, dtype=np.float64), dtype=np.float64)[items.rank]


def improve(
    items: Items,
    positions: Array,
    phases: tuple[Phase, ...],
    n_threads: int,
    progress: Progress,
    rescale: bool = True,
    leap: bool = False,
) -> Array:
    """Positions of one level after gradient descent on its neighbour graph; float64.

    `leap`: items may leap in the first phase.
    """
    n = len(positions)
    if n < 3 or items.attraction is None:
        return spread_out(positions, n)
    begin = snap(spread_out(positions, n) if rescale else positions) + jitter(items.rank)
    go = _leap_and_optimise if leap else optimise
    found = go(
        begin[items.order], items.masses, items.attraction, phases, n_threads, progress.share
    )
    return np.asarray(found - found.mean(axis=0, dtype=np.float64), dtype=np.float64)[items.rank]


def _leap_and_optimise(
    positions: Array,
    masses: Array,
    attraction: Attraction,
    phases: tuple[Phase, ...],
    n_threads: int,
    share: Share | None,
) -> Array:
    """As `optimise`.

    Before the first phase, in the middle of it and after it, nodes leap to better places.
    """
    close, *rest = phases
    half = close.n_steps // 2
    first = (replace(close, n_steps=half),), (replace(close, n_steps=close.n_steps - half),)
    neighbors = Neighbors.of(attraction, n_threads)
    everybody = np.ones(len(positions), dtype=bool)
    apart = jitter(np.arange(len(positions)))
    done = 0.0
    total = sum(phase.n_steps for phase in phases)
    for part in (*first, tuple(rest)):
        better = better_places(neighbors, positions, everybody, n_threads)
        positions = np.where(better.times[:, None] > WORTH, better.places + apart, positions)
        end = done + sum(phase.n_steps for phase in part) / total
        told = part_of(share, done, end)
        done = end
        positions = optimise(positions, masses, attraction, part, n_threads, told)
    return positions


def spread_out(positions: Array, n: int) -> Array:
    """Centred, and as wide as t-SNE's equilibrium for n nodes would be."""
    centred = positions - positions.mean(axis=0)
    size = float(np.sqrt((centred**2).mean()))
    return np.asarray(centred * (_SPREAD * n**0.5 / size) if size > 0 else centred)


def snap(positions: Array) -> Array:
    """Rounded: what differs in the last bits begins at the same place."""
    return np.asarray(np.round(positions / _SNAP) * _SNAP)


def jitter(rank: Array) -> Array:
    """A small offset for each rank, (n, 2): points that cover a square evenly."""
    return np.asarray(_JITTER * (rank[:, None] * EVENLY % 1 - 0.5))
