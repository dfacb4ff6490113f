"""The mosaic: a space-filling layout in the plane.

Every node owns a convex region. From the top down, a region is drawn in a little (the gap) and divided
among the node's children: polygons of a power diagram, area by number of rows, sites at the children's arrangement.
Rows lie at the centres of the last polygons. A cluster's rows stay inside its region on every level, by construction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._native import kernels
from .._native.mosaic import INSIDE, root
from .._native.twins import Array, blocks
from .._parallel import map_blocks
from .._progress import Progress
from ..arrangement import Arrangement, Frames, apply_maps, scatter
from ..hierarchy import Grouping, Hierarchy
from .descent import lengths, neighbors_in_map
from .regions import Regions

ROUNDS = 1  # of moving sites to the centres of their polygons: rounder polygons, for a little of the arrangement
GAPS = (0.4, 0.2, 0.1, 0.05)  # how far regions are drawn in, from leaves upwards; the last one for all above
_PIECE = 400_000  # values that a thread works on: they stay in its cache
_CORNERS = 3.0  # the outline is a superellipse: 2 is an ellipse, larger is more of a box


@dataclass(frozen=True, eq=False)
class Tiles:
    """Leaf regions, and how they place new rows: centre + spread @ map @ (z - mean), inside the region."""

    regions: Regions
    spreads: Array  # (n_nodes, 2, 2)
    maps: Array  # (n_nodes, 2, p), or (n_nodes, 1, 1): the identity
    centres: Array  # (n_nodes, p)

    def place(self, parents: Array, z: Array) -> Array:
        """Positions of members with coordinates z below the given nodes, inside their regions."""
        steps = z - self.centres[parents]
        if self.maps.shape[1:] != (1, 1):
            steps = apply_maps(self.maps, parents, steps)
        steps = apply_maps(self.spreads, parents, steps)
        reach = self.regions.reach(parents, steps)
        shrink = np.where(reach < 1 / INSIDE, INSIDE * reach, 1.0)
        return np.asarray(self.regions.centres[parents] + shrink[:, None] * steps)


@dataclass(frozen=True, eq=False)
class Mosaic:
    """The map: positions of all rows, and the regions of all levels (fine to coarse)."""

    positions: Array  # (n_rows, 2) float64
    regions: tuple[Regions, ...]
    leaf: Tiles
    arrangement: str
    kind: str = "mosaic"

    def outlines(self, level: int) -> Regions:
        """The regions of a level: 0 the finest, -1 the top."""
        return self.regions[level]


def lay_mosaic(
    hierarchy: Hierarchy,
    arrangement: Arrangement,
    tops: Array,
    spread: Array,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Mosaic:
    """Regions and positions; O(n log n). `tops`: where the top nodes lie; `spread`: of all rows, per axis."""
    progress = progress or Progress(0)
    top = hierarchy.levels[-1]
    all_in_one = Grouping.of(np.zeros(top.n_nodes, dtype=np.int64), 1)
    anchors, polygons = kernels.divide_regions(
        outline(spread), all_in_one, tops, top.sizes.astype(np.float64), ROUNDS, n_threads
    )
    regions: list[Regions] = []
    for k in reversed(range(hierarchy.n_levels)):
        level = hierarchy.levels[k]
        progress.begin(f"layout: members of {level.n_nodes} nodes of level {k}")
        _, around = neighbors_in_map(anchors, n_threads)
        frames = arrangement.frames(hierarchy, k, anchors, around)
        gap = gaps(frames.centres, around, GAPS[min(k, len(GAPS) - 1)], n_threads)
        regions.insert(0, polygons.shrunk(1 - gap))
        shares = hierarchy.levels[k - 1].sizes.astype(np.float64) if k else np.ones(len(frames.offsets))
        # rows stay where their arrangement puts them: it counts for more than round polygons, which nobody draws
        anchors, polygons = kernels.divide_regions(
            regions[0], level.grouping, frames.offsets, shares, ROUNDS if k else 0, n_threads, want_polygons=k > 0
        )
    return Mosaic(anchors, tuple(regions), _tiles(regions[0], frames, hierarchy), arrangement.kind)


def outline(spread: Array, n_points: int = 96) -> Regions:
    """The border of the whole map: as wide and high as the preliminary embedding is, within a factor of two."""
    largest = spread.max() if spread.max() > 0 else 1.0
    half = 2 * np.maximum(spread, largest / 2)
    turn = 2 * np.pi * np.arange(n_points) / n_points
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    ring = np.sign(ring) * np.abs(ring) ** (2 / _CORNERS)
    return Regions(np.array([0, n_points]), ring * half)


def gaps(centres: Array, around: Array, typical: float, n_threads: int = 1) -> Array:
    """How far each region is drawn in: more where its neighbours in the map are more different from it.

    The distance to the most similar neighbour, relative to the median of the level, from half to
    one and a half times the typical gap.
    """
    if around.shape[1] == 0:
        return np.full(len(centres), typical)
    nearest = np.empty(len(centres))

    def look(part: slice) -> None:
        ways = (centres[other] - centres[part] for other in around[part].T)
        nearest[part] = np.min([lengths(way.astype(np.float64)) for way in ways], axis=0)

    map_blocks(look, blocks(len(centres), centres.shape[1], values=_PIECE), n_threads)
    middle = np.median(nearest)
    relative = nearest / middle if middle > 0 else np.ones(len(nearest))
    return np.asarray(np.minimum(typical * np.clip(relative, 0.5, 1.5), 0.9))


def _tiles(regions: Regions, frames: Frames, hierarchy: Hierarchy) -> Tiles:
    """The affine map of each leaf that its rows' sites came from, for new rows."""
    leaf = hierarchy.levels[0]
    covariances = scatter(frames.offsets, leaf.members, leaf.n_nodes) / leaf.sizes[:, None, None]
    spreads = root(regions.covariances, 1e-4, False) @ root(covariances, 1e-4, True)
    return Tiles(regions, spreads, frames.maps, frames.centres)
