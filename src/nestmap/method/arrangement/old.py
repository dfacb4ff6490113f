"""Positions in an older map, and frames that are rotated to match it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.rotations import turned
from ..hierarchy.tree import Hierarchy
from .frames import Frames, apply_maps, sum_products
from .local import LocalArrangement, MetricMap, nearest_orthogonal

_MAX_LINKS_FOLLOWED = 4  # first-neighbour links from a new row to one of the old map


@dataclass(frozen=True, eq=False)
class OldPlaces:
    """Positions in an older map; rows that are new get that of a first neighbour or parent."""

    rows: Array  # (n_rows, d)
    known: Array  # (n_rows,) bool: was in the old map
    nodes: tuple[Array, ...]  # per level: means of the known rows below each node
    counts: tuple[Array, ...]  # per level: known rows below each node

    @classmethod
    def of(cls, hierarchy: Hierarchy, positions: Array, known: Array) -> OldPlaces:
        """From the positions of the known rows (others are not read); O(n)."""
        total: Array = np.where(known[:, None], positions, 0.0)
        count: Array = known.astype(np.float64)
        places = []
        counts = []
        for level in hierarchy.levels:
            total = np.stack(
                [np.bincount(level.members, column, level.n_nodes) for column in total.T], axis=1
            )
            count = np.bincount(level.members, count, level.n_nodes)
            places.append(total / np.maximum(count, 1)[:, None])
            counts.append(count)
        above = (total.sum(axis=0) / count.sum())[None]
        parents = np.zeros(len(count), dtype=np.int64)
        for k in reversed(range(hierarchy.n_levels)):
            above = places[k] = _guess(hierarchy, k + 1, places[k], counts[k] > 0, above[parents])
            parents = hierarchy.levels[k].members
        rows = _guess(hierarchy, 0, positions, known, above[parents])
        return cls(rows, known, tuple(places), tuple(counts))

    def on_level(self, k: int) -> tuple[Array, Array]:
        """Places of the nodes of level k (-1: of the rows), and whether they tell anything."""
        return (self.rows, self.known) if k < 0 else (self.nodes[k], self.counts[k] > 0)


def _guess(hierarchy: Hierarchy, k: int, places: Array, known: Array, around: Array) -> Array:
    """Places of items that links[k] connect: unknown ones at their first neighbour, or parent."""
    if known.all():
        return places
    at = np.arange(len(known))
    if k < len(hierarchy.links):
        for _ in range(_MAX_LINKS_FOLLOWED):
            at = np.where(known[at], at, hierarchy.links[k].ids[at])
    return np.where(known[at, None], places[at], around)


@dataclass(frozen=True, eq=False)
class OldArrangement:
    """Each node's own principal components, turned until members lie as in an older map.

    Frames of leaves, and of nodes whose members were not there, stay turned towards their
    neighbours: with leaves turned as they were, a map of USPS lost .009 of its recall.
    """

    fresh: LocalArrangement
    places: OldPlaces
    kind: str = "local"

    @property
    def transform(self) -> MetricMap:
        return self.fresh.transform

    def prepared(self, hierarchy: Hierarchy) -> OldArrangement:
        """As `LocalArrangement.prepared`."""
        return replace(self, fresh=self.fresh.prepared(hierarchy))

    def frames(self, hierarchy: Hierarchy, k: int, anchors: Array, around: Array) -> Frames:
        """Frames of level k."""
        found = self.fresh.frames(hierarchy, k, anchors, around)
        level = hierarchy.levels[k]
        if k == 0:
            return found
        way = self.places.nodes[k - 1] - self.places.nodes[k][level.members]
        weights = self.places.counts[k - 1]
        turns = nearest_orthogonal(
            sum_products(way * weights[:, None], found.offsets, level.members, level.n_nodes)
        )
        maps = turned(turns, found.maps).astype(found.maps.dtype)
        return Frames(apply_maps(turns, level.members, found.offsets), maps, found.centres)
