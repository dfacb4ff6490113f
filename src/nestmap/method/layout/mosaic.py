"""The mosaic: a space-filling layout in the plane.

Every node owns a convex region. From the top down, a region is drawn in by a margin and divided
among the node's children by a power diagram: area by number of rows, sites at the children's
arrangement. Rows lie at the centres of the last polygons. A cluster's rows stay inside its region
on every level, by construction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...core.arrays import Array, blocks
from ...core.exact import exp, log, turn
from ...core.habits import refuse_habits
from ...core.native import kernels
from ...core.native.mosaic import INSIDE, root
from ...core.progress import Progress
from ...core.rotations import turned
from ...core.threads import map_blocks
from ..arrangement import Arrangement
from ..arrangement.frames import DistinctRows, Frames, apply_maps, frame_offsets, scatter
from ..hierarchy.tree import Grouping, Hierarchy, Level
from ..preliminary.build import Preliminary
from .audit import Audit, audit_regions
from .balls import lengths, neighbors_in_map
from .base import LayoutInput, LayoutSettings
from .frozen import Frozen, PerNode
from .regions import Regions

# moves of sites to the centres of their polygons (Lloyd): cells get rounder, and the arrangement
# is a little less faithful
LLOYD_ROUNDS = 1
# largest share by which regions shrink, from the leaves up; the last one for all levels above
MARGINS = (0.4, 0.2, 0.1, 0.05)
_VALUES_PER_TASK = 400_000  # float64 values of a thread: 3 MB, which stay in its cache
_SUPERELLIPSE_POWER = 3.0  # of the outline: 2 is an ellipse, larger is more of a box
# variance of a flat group along its short axis, as a share of that along its long one
_MIN_FLATNESS = 1e-4
# of a group that can be scaled to its region, where the whole map is about 1
_MIN_VARIANCE = 1e-300


class Mosaic(LayoutSettings):
    """Settings of the mosaic, whose regions fill the picture, area by number of rows; 2-D only.

    It has none so far.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE, Mosaic
    >>> HNNE(layout=Mosaic()).fit(load_digits().data).layout_.kind
    'mosaic'
    """

    kind = "mosaic"
    seconds_per_row = 1.5e-5

    @refuse_habits
    def __init__(self) -> None:
        pass

    def lay(self, given: LayoutInput) -> MosaicLayout:
        found = lay_mosaic(
            given.hierarchy,
            given.arrangement,
            given.preliminary,
            first_equal=given.first_equal,
            n_threads=given.n_threads,
            progress=given.progress,
        )
        return given.origin.onto_old(found)


@dataclass(frozen=True, eq=False)
class RegionPlacement(PerNode):
    """Leaf regions that place new rows: centre + spread @ (map @ z - origin), inside the region."""

    regions: Regions
    spreads: Array  # (n_nodes, 2, 2)
    maps: Array  # (n_nodes, 2, p), or (n_nodes, 1, 1): the identity
    origins: Array  # (n_nodes, 2): where the maps take the means

    @property
    def anchors(self) -> Array:
        """Where leaves lie."""
        return self.regions.centres

    def place(self, parents: Array, z: Array | None) -> Array:
        """Positions of members with coordinates z (None: of centres), in their nodes' regions."""
        steps = apply_maps(
            self.spreads, parents, frame_offsets(self.maps, self.origins, parents, z)
        )
        reach = self.regions.reach(parents, steps)
        shrink = np.where(reach < 1 / INSIDE, INSIDE * reach, 1.0)
        return np.asarray(self.regions.centres[parents] + shrink[:, None] * steps)


@dataclass(frozen=True, eq=False)
class MosaicLayout(Frozen):
    """The map: positions of all rows, and the regions of all levels (fine to coarse)."""

    positions: Array  # (n_rows, 2) float64
    regions: tuple[Regions, ...]
    leaf: RegionPlacement
    arrangement: str
    kind: str = "mosaic"
    has_room: ClassVar[bool] = False
    start: ClassVar[Array | None] = None
    short_rows: ClassVar[Array | None] = None
    piece_unit: ClassVar[str] = ""

    def keep(self, rows: Array, nodes: list[Array], hierarchy: Hierarchy) -> MosaicLayout:
        """The same without the other rows and nodes (per level); `hierarchy`: what is left."""
        regions = tuple(each.take(own) for each, own in zip(self.regions, nodes, strict=True))
        leaf = replace(self.leaf.take(nodes[0]), regions=regions[0])
        return replace(self, positions=self.positions[rows], regions=regions, leaf=leaf)

    def moved(self, factor: float, shift: Array) -> MosaicLayout:
        """Scale and move the layout."""
        regions = tuple(each.scaled(factor).shifted(shift) for each in self.regions)
        leaf = replace(self.leaf, regions=regions[0], spreads=self.leaf.spreads * factor)
        return replace(self, positions=self.positions * factor + shift, regions=regions, leaf=leaf)

    def outlines(self, level: int) -> Regions:
        """The regions of a level: 0 the finest, -1 the top."""
        return self.regions[level]

    def grown(self, positions: Array, leaf: Any, hierarchy: Hierarchy) -> MosaicLayout:
        """The same with more rows, which have joined leaves."""
        return replace(self, positions=positions)

    def check_promise(self, hierarchy: Hierarchy, n_threads: int) -> Audit:
        """Rows and finer regions inside their region."""
        return audit_regions(hierarchy, self.positions, self.regions, n_threads)


def lay_mosaic(
    hierarchy: Hierarchy,
    arrangement: Arrangement,
    preliminary: Preliminary,
    *,
    first_equal: Array | None = None,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> MosaicLayout:
    """Regions and positions; O(n log n).

    Parameters
    ----------
    preliminary : Preliminary
        Says where the nodes of the top level lie, and how wide and high the map is.
    first_equal : ndarray of shape (n_rows,), optional
        For each row the first row that equals it: they are one site, and get one place. None if all
        rows differ.
    """
    progress = progress or Progress(0)
    top = hierarchy.levels[-1]
    all_in_one = Grouping.of(np.zeros(top.n_nodes, dtype=np.int64), 1)
    whole = outline(preliminary.rows.std(axis=0))
    sizes = top.sizes.astype(np.float64)
    anchors, polygons = kernels.divide_regions(
        whole, all_in_one, preliminary.nodes[-1], sizes, LLOYD_ROUNDS, n_threads
    )
    regions: list[Regions] = []
    for k in reversed(range(hierarchy.n_levels)):
        level = hierarchy.levels[k]
        progress.begin(f"layout: members of {level.n_nodes} nodes of level {k}")
        _, around = neighbors_in_map(anchors, n_threads)
        frames = arrangement.frames(hierarchy, k, anchors, around)
        margin = margins(frames.centres, around, MARGINS[min(k, len(MARGINS) - 1)], n_threads)
        regions.insert(0, polygons.shrunk(1 - margin, n_threads))
        if k:
            shares = hierarchy.levels[k - 1].sizes.astype(np.float64)
            anchors, polygons = kernels.divide_regions(
                regions[0], level.grouping, frames.offsets, shares, LLOYD_ROUNDS, n_threads
            )
    leaf = hierarchy.levels[0]
    distinct = DistinctRows.of(leaf, first_equal)
    positions = _row_positions(regions[0], leaf, frames, distinct, n_threads)
    positions = positions if first_equal is None else positions[first_equal]
    spreads = _leaf_spreads(regions[0], leaf, frames, distinct)
    factor = 1 / preliminary.unit  # back to the units of the rows
    in_units = tuple(each.scaled(factor) for each in regions)
    placement = RegionPlacement(in_units[0], spreads * factor, *frames.kept())
    return MosaicLayout(positions * factor, in_units, placement, arrangement.kind)


def _row_positions(
    regions: Regions, leaf: Level, frames: Frames, distinct: DistinctRows | None, n_threads: int
) -> Array:
    """Rows at the centres of their cells of the leaves; equal rows share one larger cell.

    Without Lloyd rounds: nobody draws these cells, so the arrangement counts for more.
    """
    grouping = leaf.grouping
    offsets = frames.offsets
    shares = np.ones(len(frames.offsets))
    if distinct is not None:
        grouping = distinct.grouping
        offsets = offsets[distinct.rows]
        shares = distinct.counts
    centres, _ = kernels.divide_regions(
        regions, grouping, offsets, shares, 0, n_threads, want_polygons=False
    )
    return centres if distinct is None else centres[distinct.of_row]


def outline(spread: Array, n_points: int = 96) -> Regions:
    """The border of the whole map: of the preliminary embedding's size, within a factor of two."""
    largest = spread.max() if spread.max() > 0 else 1.0
    half = 2 * np.maximum(spread, largest / 2)
    ring = np.stack(turn(np.arange(n_points) / n_points), axis=1)
    ring = np.sign(ring) * exp(2 / _SUPERELLIPSE_POWER * log(np.maximum(np.abs(ring), 1e-300)))
    return Regions(np.array([0, n_points]), ring * half)


def margins(centres: Array, around: Array, typical: float, n_threads: int = 1) -> Array:
    """The share by which each region shrinks: more where its neighbours in the map differ more.

    The distance to the most similar neighbour, relative to the median of the level, from half to
    one and a half times the typical margin.
    """
    if around.shape[1] == 0:
        return np.full(len(centres), typical)
    nearest = np.empty(len(centres))

    def look(part: slice) -> None:
        ways = (centres[other] - centres[part] for other in around[part].T)
        nearest[part] = np.min([lengths(way.astype(np.float64)) for way in ways], axis=0)

    map_blocks(look, blocks(len(centres), centres.shape[1], values=_VALUES_PER_TASK), n_threads)
    middle = np.median(nearest)
    relative = nearest / middle if middle > 0 else np.ones(len(nearest))
    return np.asarray(np.minimum(typical * np.clip(relative, 0.5, 1.5), 0.9))


def _leaf_spreads(
    regions: Regions, leaf: Level, frames: Frames, distinct: DistinctRows | None
) -> Array:
    """The linear map behind each leaf's sites, for new rows; zero for leaves without extent."""
    covariances = scatter(frames.offsets, leaf.members, leaf.n_nodes) / leaf.sizes[:, None, None]
    spreads = turned(
        root(regions.covariances, _MIN_FLATNESS, False), root(covariances, _MIN_FLATNESS, True)
    )
    spreads[covariances[:, 0, 0] + covariances[:, 1, 1] < _MIN_VARIANCE] = 0.0
    if distinct is not None:
        spreads[distinct.alone] = 0.0  # what their rows are offset by is rounding
    return spreads
