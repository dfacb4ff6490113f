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
from ..hierarchy import Hierarchy
from ..neighbors.join import join_points
from ..neighbors.points import make_points
from ..preliminary import Preliminary
from .inflate import apply_maps, inflation_maps


@dataclass(frozen=True, eq=False)
class Placement:
    """Anchors of one level, and how they place what is below them.

    A member with preliminary coordinates z goes to anchor + map @ (z - centre), where map scales
    the group's farthest member onto the ball.
    """

    anchors: Array  # (n_nodes, d)
    nearest: Array  # (n_nodes,) distance to the nearest other anchor; inf for a single anchor
    radii: Array  # (n_nodes,)
    maps: Array  # (n_nodes, d, d), or (n_nodes, 1, 1): a plain factor
    centres: Array  # (n_nodes, d) preliminary coordinates

    def place(self, parents: Array, z: Array) -> Array:
        """Positions of members with preliminary coordinates z below the given nodes, inside their balls."""
        shift = self._move(parents, z - self.centres[parents])
        length = np.sqrt((shift * shift).sum(axis=1))
        radius = self.radii[parents]
        outside = length > radius * (1 + 1e-9)  # the farthest training member lies on the sphere
        shift[outside] *= (radius[outside] / length[outside])[:, None]
        return np.asarray(self.anchors[parents] + shift)

    def _move(self, parents: Array, offsets: Array) -> Array:
        if self.maps.shape[1:] == (1, 1):
            return np.asarray(self.maps[parents, 0] * offsets)
        return apply_maps(self.maps, parents, offsets)


@dataclass(frozen=True, eq=False)
class Layout:
    """The map: positions of all rows, and the placements of all levels (fine to coarse)."""

    positions: Array  # (n_rows, d) float64
    placements: tuple[Placement, ...]
    radius: float
    inflated: bool


def descend(
    hierarchy: Hierarchy, preliminary: Preliminary, *, radius: float, inflate: bool, n_threads: int = 1
) -> Layout:
    """Section 3.3; O(n log n). `inflate` needs two or three components."""
    anchors = preliminary.nodes[-1].copy()
    placements: list[Placement] = []
    for k in reversed(range(hierarchy.n_levels)):
        level = hierarchy.levels[k]
        z = preliminary.nodes[k - 1] if k else preliminary.rows
        offsets = z - preliminary.nodes[k][level.members]
        placement = _placement(
            anchors, preliminary.nodes[k], offsets, hierarchy, k, radius, inflate, n_threads, placements
        )
        placements.insert(0, placement)
        anchors = placement.place(level.members, z)
    return Layout(anchors, tuple(placements), radius, inflate)


def _placement(
    anchors: Array,
    centres: Array,
    offsets: Array,
    hierarchy: Hierarchy,
    k: int,
    radius: float,
    inflate: bool,
    n_threads: int,
    above: list[Placement],
) -> Placement:
    level = hierarchy.levels[k]
    if above:
        anchors = _separate(anchors, hierarchy.levels[k + 1].members, above[0])
    nearest = nearest_other(anchors, n_threads)
    if inflate:
        maps = inflation_maps(offsets, level.members, level.grouping)
        moved = apply_maps(maps, level.members, offsets)
    else:
        maps = np.ones((level.n_nodes, 1, 1))
        moved = offsets
    extent = level.grouping.maximum(np.sqrt((moved * moved).sum(axis=1)))
    # a single anchor has no neighbour to keep clear of: its members stay where they are
    radii = np.where(np.isinf(nearest), extent, radius * nearest)
    factor = np.divide(radii, extent, out=np.zeros_like(extent), where=extent > 0)
    return Placement(anchors, nearest, radii, maps * factor[:, None, None], centres)


def nearest_other(anchors: Array, n_threads: int) -> Array:
    """Distance from each anchor to the nearest other one, exact."""
    n, d = anchors.shape
    if n == 1:
        return np.full(1, np.inf)
    if d <= 8:
        return np.asarray(cKDTree(anchors).query(anchors, k=2, workers=n_threads)[0][:, 1])
    return join_points(make_points(np.ascontiguousarray(anchors), "euclidean"), n_threads)[0].distances


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
