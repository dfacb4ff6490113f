"""Hierarchical point translation: from the top level down, members move into a ball around their node.

The ball's radius is a fraction of the distance from the node (the anchor) to the nearest other
anchor of its level. With a fraction of 0.2 no descendant ever leaves the ball of a third of that
distance (Lemma 1), so nothing crosses over to another cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .._native.twins import Array
from ..arrangement import N_AROUND, Arrangement, apply_maps
from ..hierarchy import Hierarchy
from ..neighbors.join import join_points
from ..neighbors.points import make_points
from .regions import Regions, circles

_TREE_COLUMNS = 8  # up to here a k-d tree is fast


@dataclass(frozen=True, eq=False)
class Placement:
    """Anchors of one level, and how they place what is below them.

    A member with coordinates z (of the arrangement) goes to anchor + scale * map @ (z - centre), where
    scale puts the group's farthest member onto the ball.
    """

    anchors: Array  # (n_nodes, d)
    nearest: Array  # (n_nodes,) distance to the nearest other anchor; inf for a single anchor
    radii: Array  # (n_nodes,)
    scales: Array  # (n_nodes,)
    maps: Array  # (n_nodes, d, p), or (n_nodes, 1, 1): the identity
    centres: Array  # (n_nodes, p)

    def place(self, parents: Array, z: Array) -> Array:
        """Positions of members with coordinates z below the given nodes, inside their balls."""
        return self.shift(parents, self._move(parents, z - self.centres[parents]))

    def shift(self, parents: Array, shift: Array) -> Array:
        """Positions of members that lie this far from their anchors, cut off at the balls."""
        length = np.sqrt((shift * shift).sum(axis=1))
        radius = self.radii[parents]
        outside = length > radius * (1 + 1e-9)  # the farthest training member lies on the sphere
        shift[outside] *= (radius[outside] / length[outside])[:, None]
        return np.asarray(self.anchors[parents] + shift)

    def _move(self, parents: Array, offsets: Array) -> Array:
        if self.maps.shape[1:] != (1, 1):
            offsets = apply_maps(self.maps, parents, offsets)
        return np.asarray(self.scales[parents, None] * offsets)


@dataclass(frozen=True, eq=False)
class Layout:
    """The map: positions of all rows, and the placements of all levels (fine to coarse)."""

    positions: Array  # (n_rows, d) float64
    placements: tuple[Placement, ...]
    radius: float
    arrangement: str
    kind: str = "descent"

    @property
    def leaf(self) -> Placement:
        """What places new rows."""
        return self.placements[0]

    def outlines(self, level: int) -> Regions:
        """The balls of a level as polygons, of a third of the distance to the nearest other anchor (2-D only)."""
        if self.positions.shape[1] != 2:
            raise ValueError(f"outlines are for maps in 2-D; this one has {self.positions.shape[1]} dimensions")
        place = self.placements[level]
        return circles(place.anchors, np.where(np.isinf(place.nearest), place.radii, place.nearest / 3))


def descend(
    hierarchy: Hierarchy, arrangement: Arrangement, tops: Array, *, radius: float, n_threads: int = 1
) -> Layout:
    """Section 3.3; O(n log n). `tops`: where the nodes of the top level lie."""
    anchors = tops.copy()
    placements: list[Placement] = []
    for k in reversed(range(hierarchy.n_levels)):
        level = hierarchy.levels[k]
        if placements:
            anchors = _separate(anchors, hierarchy.levels[k + 1].members, placements[0])
        nearest, around = neighbors_in_map(anchors, n_threads)
        frames = arrangement.frames(hierarchy, k, anchors, around)
        extent = level.grouping.maximum(np.sqrt((frames.offsets * frames.offsets).sum(axis=1)))
        # a single anchor has no neighbour to keep clear of: its members stay where they are
        radii = np.where(np.isinf(nearest), extent, radius * nearest)
        scales = np.divide(radii, extent, out=np.zeros_like(extent), where=extent > 0)
        placements.insert(0, Placement(anchors, nearest, radii, scales, frames.maps, frames.centres))
        anchors = placements[0].shift(level.members, frames.offsets * scales[level.members, None])
    return Layout(anchors, tuple(placements), radius, arrangement.kind)


def neighbors_in_map(anchors: Array, n_threads: int) -> tuple[Array, Array]:
    """Distance from each anchor to the nearest other one, and the few nearest others; exact.

    Beyond eight dimensions the nearest other is the only one listed.
    """
    n, d = anchors.shape
    if n == 1:
        return np.full(1, np.inf), np.empty((1, 0), dtype=np.int64)
    if d > _TREE_COLUMNS:
        found = join_points(make_points(np.ascontiguousarray(anchors), "euclidean"), n_threads)[0]
        return found.distances, found.ids[:, None]
    distances, ids = cKDTree(anchors).query(anchors, k=min(N_AROUND + 1, n), workers=n_threads)
    return distances[:, 1], ids[:, 1:]


def _separate(anchors: Array, parents: Array, above: Placement) -> Array:
    """Anchors that fell on the same spot (equal centroids, flat projections) move a little apart.

    Otherwise their distance, and with it everything below them, would be zero.
    """
    _, spot, count = np.unique(anchors, axis=0, return_inverse=True, return_counts=True)
    if count.max() == 1:
        return anchors
    anchors = anchors.copy()
    spot = spot.ravel()
    order = np.argsort(spot, kind="stable")
    for s, start in zip(np.flatnonzero(count > 1), np.cumsum(np.append(0, count))[:-1][count > 1], strict=True):
        nodes = order[start : start + count[s]]
        parent = parents[nodes[0]]
        step = 0.25 * above.radii[parent]
        turn = 2 * np.pi * np.arange(len(nodes)) / len(nodes)
        if anchors.shape[1] == 1:
            anchors[nodes, 0] += step * np.linspace(-1, 1, len(nodes))
        else:
            anchors[nodes, 0] += step * np.cos(turn)
            anchors[nodes, 1] += step * np.sin(turn)
        away = anchors[nodes] - above.anchors[parent]
        length = np.linalg.norm(away, axis=1, keepdims=True)
        limit = above.radii[parent]
        anchors[nodes] = above.anchors[parent] + away * np.minimum(1, limit / np.maximum(length, 1e-300))
    return anchors
