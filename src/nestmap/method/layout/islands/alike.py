"""Islands that go on from an older map: no large picture to find, so only the last steps are made.

Each row (or leaf) begins where it lay, new ones beside what they are most like. The old place of a
row attracts it as a neighbour would that lies there: rows whose neighbours are the same stay,
others may go. What is left of a small allowance for moves in the end is spent on quality: old
places let go of their rows.
"""

from __future__ import annotations

import numpy as np

from ....core.arrays import Array
from ....core.native import kernels
from ....core.progress import Progress
from ...arrangement.old import OldPlaces
from ...hierarchy.tree import Hierarchy
from ..balls import Placement, lengths
from ..similarity import align, spread
from .ground import Ground, IslandsInput, onto_old
from .items import Items
from .layout import IslandsLayout, first_level
from .leaps import Leaps
from .leaves import RowPlacement, fit_leaves
from .optimise import Homes
from .schedule import SCHEDULE, Phase, count_steps, cut, node_phases, row_phases
from .steps import PartStart, in_item_order, jitter, optimise_parts, snap

# Weights of old places; those of neighbours add up to about 1. At 10 times these weights, local
# neighbourhoods degrade.
ROW_TIE = 0.013
LEAF_TIE = 0.1
# median move, as a share of the spread, up to which ties are let go for the last steps
ALLOWANCE = 0.018
# share of new rows for which ALLOWANCE holds: of fewer it is less in proportion
_NEW_SHARE = 0.1
_LEAPING_PARTS = 3  # of the four parts of the steps: nodes leap before them


def lay_alike(given: IslandsInput, places: OldPlaces, scale: float) -> IslandsLayout:
    """As `lay_islands`, from places in an older map of the same detail and tightness.

    The map lies on it.

    `scale`: of the old map to t-SNE's units for the new rows.
    """
    ground = Ground.of(given)
    settled = _settle_rows if given.detail == "rows" else _settle_nodes
    return settled(ground, places, scale)


def _settle_rows(ground: Ground, places: OldPlaces, scale: float) -> IslandsLayout:
    given = ground.given
    lay = scale * ground.some(places.rows)
    ties = ROW_TIE * ground.some(places.known)
    given.progress.begin(f"islands: {len(lay)} rows from where they lay")
    phases = row_phases(len(lay), given.tightness)
    found = settle(ground.base, lay, ties, phases, given.n_threads, given.progress)
    found = ground.every(found)
    onto = onto_old(found, places, -1)
    first = _means(given.hierarchy, -1, onto.turned(found))
    positions = onto(found)
    leaf = fit_leaves(
        given.hierarchy, given.arrangement, positions, ground.distinct, given.n_threads
    )
    return ground.finish(leaf, positions, first, onto.factor)


def _settle_nodes(ground: Ground, places: OldPlaces, scale: float) -> IslandsLayout:
    given = ground.given
    k = max(ground.base.level, 0)
    ties = LEAF_TIE * places.counts[k] / given.hierarchy.levels[k].sizes
    given.progress.begin(f"islands: {len(ties)} nodes of level {k} from where they lay")
    phases = node_phases(k, given.tightness)
    lay = scale * places.nodes[k]
    found = settle(ground.items(k), lay, ties, phases, given.n_threads, given.progress)
    onto = onto_old(found, places, k)
    first = _means(given.hierarchy, k, onto.turned(found))
    positions = onto(found)
    leaf: Placement | RowPlacement
    for below in reversed(range(k + 1)):
        members = ground.place_members(below, positions, SCHEDULE.ball if below else given.radius)
        positions = members.positions
        leaf = members.placement
    return ground.finish(leaf, positions, first, onto.factor)


def _means(hierarchy: Hierarchy, k: int, positions: Array) -> Array:
    """Of the items of level k (-1: rows), the means below the nodes of the first level."""
    weights = np.ones(len(positions)) if k < 0 else hierarchy.levels[k].sizes.astype(np.float64)
    for level in hierarchy.levels[k + 1 : first_level(hierarchy) + 1]:
        group = level.grouping
        positions = kernels.group_means(positions, group.order, group.starts, weights, 1)
        weights = level.sizes.astype(np.float64)
    return np.asarray(positions)


def settle(
    items: Items,
    places: Array,
    ties: Array,
    phases: tuple[Phase, ...],
    n_threads: int,
    progress: Progress,
) -> Array:
    """Positions of items after some steps from where they lay, in t-SNE's units; float64."""
    centred = places - places.mean(axis=0)
    attraction = items.attraction
    order = items.order
    if len(places) < 3 or attraction is None:
        return np.asarray(centred)
    begin = snap(centred)[order]
    apart = jitter(np.arange(len(begin)))
    leaps = Leaps.of(attraction, apart, n_threads)
    tied = _Tied(leaps, begin.astype(np.float32), ties[order].astype(np.float32))
    begin = np.where(tied.known[:, None], begin, leaps.better(begin, tied.known).places)
    parts = cut(phases, part_ends(count_steps(phases)))
    found = optimise_parts(
        begin + apart, items.masses, attraction, parts, tied.begin, n_threads, progress.share
    )
    return in_item_order(found, items)


def part_ends(n_steps: int) -> tuple[int, ...]:
    """After which steps parts end: a sixth, a sixth, a third, a third."""
    return n_steps // 6, n_steps // 3, 2 * n_steps // 3, n_steps


class _Tied:
    """Ties to old places while the steps go on: nodes that leap lose theirs."""

    def __init__(self, leaps: Leaps, homes: Array, ties: Array) -> None:
        self.leaps = leaps
        self.homes = homes
        self.ties = ties
        self.known = ties > 0
        self.allowance = ALLOWANCE * min(1.0, float((~self.known).mean()) / _NEW_SHARE)

    def begin(self, number: int, here: Array) -> PartStart:
        """What a part of the steps starts from: leaps, but before the last part, ties let go."""
        if number < _LEAPING_PARTS:
            leapt = self.leaps.leap(here)
            here = leapt.positions
            self.ties = np.where(leapt.nodes, np.float32(0), self.ties)
        else:
            share = share_kept(here[self.known], self.homes[self.known], self.allowance)
            self.ties = self.ties * np.float32(share)
        return PartStart(here, Homes(self.homes, self.ties))


def share_kept(here: Array, homes: Array, allowance: float) -> float:
    """What is left of the ties in the last steps.

    The median move is to come to what is allowed, or to stay as it is.

    Without ties it about doubles; in between, it is taken to grow in proportion.
    """
    if len(here) == 0:
        return 1.0
    here = here.astype(np.float64)
    homes = homes.astype(np.float64)
    move = float(np.median(lengths(align(here, homes)(here) - homes)))
    return min(1.0, max(0.0, 2 - allowance * spread(homes) / move)) if move > 0 else 1.0
