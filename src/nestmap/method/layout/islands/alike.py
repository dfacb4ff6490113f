"""Islands that go on from an older map: no large picture to find, so only the last steps are made.

Each row (or leaf) begins where it lay, new ones beside what they are most like. The old place of a
row attracts it as a neighbour would that lies there: rows whose neighbours are the same stay,
others may go. What is left of a small allowance for moves in the end is spent on quality: old
places let go of their rows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ....core.arrays import Array
from ....core.native import kernels
from ....core.progress import Progress, part_of
from ...arrangement import Arrangement, DistinctRows, OldPlaces
from ...hierarchy.tree import Hierarchy
from ...neighbors.item_graph import ItemGraph
from ...preliminary import Preliminary
from ..descent import Placement, lengths
from ..similarity import align, spread
from .items import Items, base_items, node_items, node_ranks
from .lay import BALL, first_level, jitter, node_phases, onto_old, place_members, row_phases, snap
from .layout import IslandsLayout
from .leaps import WORTH, Neighbors, better_places
from .leaves import RowPlacement, fit_leaves
from .optimise import Homes, Phase, optimise

# Weights of old places; those of neighbours add up to about 1. Of ten times as much,
# maps lose what is near.
ROW_TIE = 0.013
LEAF_TIE = 0.1
# Median move, as a share of the spread, up to which ties are let go for the last steps, and the
# share of new rows for which that holds: of fewer it is less in proportion. Room is made
# for those who come.
ALLOWANCE = 0.018
_MANY_NEW = 0.1
_LEAPS = 3  # parts of the steps before which nodes may leap


def lay_alike(
    hierarchy: Hierarchy,
    arrangement: Arrangement,
    preliminary: Preliminary,
    graph: ItemGraph | None,
    places: OldPlaces,
    *,
    scale: float,
    row_keys: Array,
    radius: float,
    detail: str,
    tightness: float,
    first_equal: Array | None,
    n_threads: int,
    progress: Progress,
) -> IslandsLayout:
    """As `lay_islands`, from places in an older map of the same detail and tightness.

    The map lies on it.

    `scale`: of the old map to t-SNE's units for the new rows.
    """
    distinct = DistinctRows.of(hierarchy.levels[0], first_equal)
    ranks = node_ranks(hierarchy, preliminary)
    base = base_items(hierarchy, graph, preliminary.rows, ranks, row_keys, distinct, n_threads)
    leaf: Placement | RowPlacement
    if detail == "rows":
        some = slice(None) if distinct is None else distinct.rows
        lay = scale * places.rows[some]
        ties = ROW_TIE * places.known[some]
        progress.begin(f"islands: {len(lay)} rows from where they lay")
        found = settle(base, lay, ties, row_phases(len(lay), tightness), n_threads, progress)
        found = found if distinct is None else found[distinct.of_row]
        onto = onto_old(found, places, -1)
        first = _means(hierarchy, -1, onto.turned(found))
        positions = onto(found)
        leaf = fit_leaves(hierarchy, arrangement, positions, distinct, n_threads)
    else:
        k = max(base.level, 0)
        ties = LEAF_TIE * places.counts[k] / hierarchy.levels[k].sizes
        items = node_items(hierarchy, k, ranks, base)
        progress.begin(f"islands: {len(ties)} nodes of level {k} from where they lay")
        phases = node_phases(k, tightness)
        found = settle(items, scale * places.nodes[k], ties, phases, n_threads, progress)
        onto = onto_old(found, places, k)
        first = _means(hierarchy, k, onto.turned(found))
        positions = onto(found)
        for below in reversed(range(k + 1)):
            ball = BALL if below else radius
            leaf, positions, _ = place_members(
                hierarchy, below, arrangement, positions, ball, distinct, n_threads
            )
    if first_equal is not None:
        positions = positions[first_equal]
    parents = tuple(level.members for level in hierarchy.levels)
    return IslandsLayout(
        positions,
        leaf,
        first,
        parents,
        detail,
        tightness,
        radius,
        arrangement.kind,
        unit=onto.factor,
    )


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
    ties = ties[order].astype(np.float32)
    homes = begin.astype(np.float32)
    known = ties > 0
    everybody = np.ones(len(begin), dtype=bool)
    neighbors = Neighbors.of(attraction, n_threads)
    begin = np.where(
        known[:, None], begin, better_places(neighbors, begin, known, n_threads).places
    )
    apart = jitter(np.arange(len(begin)))
    begin = begin + apart
    allowance = ALLOWANCE * min(1.0, float((~known).mean()) / _MANY_NEW)
    done = 0.0
    total = sum(phase.n_steps for phase in phases)
    for number, part in enumerate(cut(phases)):
        if number < _LEAPS:
            better = better_places(neighbors, begin, everybody, n_threads)
            leap = better.times > WORTH
            begin = np.where(leap[:, None], better.places + apart, begin)
            ties = np.where(leap, np.float32(0), ties)
        else:
            ties = ties * np.float32(share_kept(begin[known], homes[known], allowance))
        end = done + sum(phase.n_steps for phase in part) / total
        told = part_of(progress.share, done, end)
        done = end
        begin = optimise(begin, items.masses, attraction, part, n_threads, told, Homes(homes, ties))
    return np.asarray(begin, dtype=np.float64)[items.rank]


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


def cut(phases: tuple[Phase, ...]) -> list[tuple[Phase, ...]]:
    """The same steps in four parts: a sixth, a sixth, a third, a third.

    Nodes leap before each of the first three.
    """
    total = sum(phase.n_steps for phase in phases)
    parts = []
    for begin, end in pairwise([0, total // 6, total // 3, 2 * total // 3, total]):
        part = []
        at = 0
        for phase in phases:
            n_steps = min(end, at + phase.n_steps) - max(begin, at)
            at += phase.n_steps
            if n_steps > 0:
                part.append(replace(phase, n_steps=n_steps))
        parts.append(tuple(part))
    return parts
