"""Balls around nodes that their members move into: one step of the descent, for all layouts.

The ball's radius is a fraction of the distance from the node (the anchor) to the nearest other
anchor of its level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from ...core.arrays import Array, blocks
from ...core.exact import turn
from ...core.points.point_set import make_points
from ...core.threads import map_blocks
from ..arrangement import Arrangement
from ..arrangement.frames import DistinctRows, Frames, frame_offsets
from ..arrangement.local import N_TURN_NEIGHBORS
from ..hierarchy.tree import Grouping, Hierarchy
from ..neighbors.join import join_points
from .frozen import PerNode

_MAX_TREE_COLUMNS = 8  # components up to which a k-d tree is fast
_ROWS_PER_QUERY = 100_000  # of a k-d tree; Ctrl-C works between two queries
_VALUES_PER_TASK = 400_000  # float64 values of a thread: 3 MB, which stay in its cache
_ONE_PLACE = 2.0**-30  # of the radius above: anchors closer than this are apart by rounding only
_MIN_EXTENT = 1e-150  # of a group that can be scaled to its ball; the whole map has about 1


@dataclass(frozen=True, eq=False)
class Placement(PerNode):
    """Anchors of one level, and how they place what is below them.

    A member with coordinates z (of the arrangement) goes to anchor + scale * (map @ z - origin),
    where scale puts the group's farthest member onto the ball.
    """

    anchors: Array  # (n_nodes, d)
    nearest: Array  # (n_nodes,) distance to the nearest other anchor; inf for a single anchor
    radii: Array  # (n_nodes,)
    scales: Array  # (n_nodes,)
    maps: Array  # (n_nodes, d, p), or (n_nodes, 1, 1): the identity
    origins: Array  # (n_nodes, d): where the maps take the centres

    def place(self, parents: Array, z: Array | None) -> Array:
        """Positions of members with coordinates z (None: at anchors), inside their nodes' balls."""
        return self.settle(parents, frame_offsets(self.maps, self.origins, parents, z))

    def settle(self, parents: Array, offsets: Array, n_threads: int = 1) -> Array:
        """Positions of members that are offset so from their nodes, cut off at the balls."""
        out = np.empty(offsets.shape)

        def move(part: slice) -> None:
            own = parents[part]
            scale = self.scales[own]
            radius = self.radii[own]
            shift = scale[:, None] * offsets[part]
            length = scale * lengths(offsets[part])
            # the farthest training member lies on the sphere
            outside = length > radius * (1 + 1e-9)
            shift[outside] *= (radius[outside] / length[outside])[:, None]
            np.add(self.anchors[own], shift, out=out[part])

        map_blocks(move, blocks(len(offsets), offsets.shape[1], values=_VALUES_PER_TASK), n_threads)
        return out

    def scaled(self, factor: float) -> Placement:
        """The placement with the map in another unit."""
        anchors, nearest, radii, scales = (
            a * factor for a in (self.anchors, self.nearest, self.radii, self.scales)
        )
        return Placement(anchors, nearest, radii, scales, self.maps, self.origins)

    def shifted(self, by: Array) -> Placement:
        """The placement with the map moved."""
        return replace(self, anchors=self.anchors + by)


@dataclass(frozen=True, eq=False)
class Anchored:
    """A level whose nodes have positions, from which those of the members below follow."""

    hierarchy: Hierarchy
    level: int
    arrangement: Arrangement
    anchors: Array
    radius: float  # of a ball, as a fraction of the distance to the nearest other anchor
    # radius of the ball of a single anchor, which keeps clear of nothing; 0: as its members lie
    size: float = 0.0
    distinct: DistinctRows | None = None  # level 0: where some rows are equal
    n_threads: int = 1


PlaceRows = Callable[[Anchored], tuple[Placement, Array]]  # as `place_rows`


def make_placement(own: Anchored) -> tuple[Placement, Frames]:
    """How the anchors of a level place what is below them, and the frames of their members."""
    nearest, around = neighbors_in_map(own.anchors, own.n_threads)
    frames = own.arrangement.frames(own.hierarchy, own.level, own.anchors, around)
    alone = None if own.distinct is None else own.distinct.alone
    grouping = own.hierarchy.levels[own.level].grouping
    return fit_balls(frames, grouping, own.anchors, nearest, own.radius, own.size, alone), frames


def fit_balls(
    frames: Frames,
    grouping: Grouping,
    anchors: Array,
    nearest: Array,
    radius: float,
    size: float = 0.0,
    alone: Array | None = None,
) -> Placement:
    """Balls that hold the members of some nodes of a level, each node by itself.

    `nearest`: distance to the nearest other anchor of the level, `size`: of `Anchored`, `alone`:
    leaves whose rows are all equal.
    """
    extent = grouping.maximum(lengths(frames.offsets))
    extent[extent < _MIN_EXTENT] = 0.0
    if alone is not None:
        extent[alone] = 0.0  # what they are offset by is rounding
    radii = radius * nearest
    if len(nearest) == 1 and np.isinf(nearest[0]):  # the only one of its level
        radii = np.full(1, size) if size > 0 else extent
    scales = np.divide(radii, extent, out=np.zeros_like(extent), where=extent > 0)
    return Placement(anchors, nearest, radii, scales, *frames.kept())


def place_rows(own: Anchored) -> tuple[Placement, Array]:
    """How leaves place their rows, and where these lie."""
    placement, frames = make_placement(own)
    return placement, placement.settle(
        own.hierarchy.levels[0].members, frames.offsets, own.n_threads
    )


def neighbors_in_map(anchors: Array, n_threads: int) -> tuple[Array, Array]:
    """Distance from each anchor to the nearest other one, and the few nearest others; exact.

    Beyond eight dimensions the nearest other is the only one listed.
    """
    n, d = anchors.shape
    if n == 1:
        return np.full(1, np.inf), np.empty((1, 0), dtype=np.int64)
    if d > _MAX_TREE_COLUMNS:
        points = make_points(np.ascontiguousarray(anchors), "euclidean", n_threads=n_threads)
        found = join_points(points, n_threads).in_metric(points)
        return found.distances, found.ids[:, None]
    tree = cKDTree(anchors)
    nearest = np.empty(n)
    around = np.empty((n, min(N_TURN_NEIGHBORS, n - 1)), dtype=np.int64)
    for part in blocks(n, 1, values=_ROWS_PER_QUERY):
        own = tree.indices[part]  # neighbours one after the other: what they need is in the cache
        _, ids = tree.query(anchors[own], k=around.shape[1] + 1, workers=n_threads)
        nearest[own] = lengths(anchors[own] - anchors[ids[:, 1]])
        around[own] = ids[:, 1:]
    return nearest, around


def lengths(vectors: Array) -> Array:
    """Euclidean norm of each row."""
    return np.asarray(np.sqrt((vectors * vectors).sum(axis=1)))


def separate(anchors: Array, parents: Array, above: Placement) -> Array:
    """Move coinciding anchors (equal centroids, flat projections) slightly apart.

    Otherwise their distance, and with it everything below them, would be zero.
    """
    return _move_apart(anchors, parents, above.anchors[parents], above.radii[parents])


def separate_top(anchors: Array, extent: float) -> Array:
    """The same without balls above them; `extent`: of what lies below, if anchors do not tell."""
    size = max(float(np.ptp(anchors, axis=0).max()), extent)
    one = np.zeros(len(anchors), dtype=np.int64)
    limits = np.full(len(anchors), size)
    nodes, starts = _coincident(anchors, one, anchors[:1], limits)
    if len(nodes) == 0:
        return anchors
    spots = np.delete(anchors, np.delete(nodes, starts), axis=0)  # one anchor of each spot
    if len(spots) > 1:
        limits = cKDTree(spots).query(anchors, k=2)[0][:, 1]
    return _move_apart(anchors, one, anchors, limits)


def _move_apart(anchors: Array, parents: Array, middles: Array, limits: Array) -> Array:
    """Coinciding anchors on a circle, no farther than their limit from their middle."""
    nodes, starts = _coincident(anchors, parents, middles, limits)
    if len(nodes) == 0:
        return anchors
    anchors = anchors.copy()
    count = np.diff(np.append(starts, len(nodes)))
    # of each node's spot
    first = np.repeat(starts, count)
    count = np.repeat(count, count)
    rank = np.arange(len(nodes)) - first
    limit = limits[nodes[first]]
    middle = middles[nodes[first]]
    if anchors.shape[1] == 1:
        anchors[nodes, 0] += 0.25 * limit * (2 * rank / (count - 1) - 1)
    else:
        cosine, sine = turn(rank / count)
        anchors[nodes, 0] += 0.25 * limit * cosine
        anchors[nodes, 1] += 0.25 * limit * sine
    away = anchors[nodes] - middle
    shrink = np.minimum(1, limit / np.maximum(lengths(away), 1e-300))
    anchors[nodes] = middle + away * shrink[:, None]
    return anchors


def _coincident(
    anchors: Array, parents: Array, middles: Array, limits: Array
) -> tuple[Array, Array]:
    """Coinciding anchors of one parent, grouped by position, and where each group starts."""
    cells = limits * _ONE_PLACE
    nodes = _close_in_one_column(anchors[:, 0], cells)
    if len(nodes) == 0:
        return nodes, nodes
    away = anchors[nodes] - np.broadcast_to(middles, anchors.shape)[nodes]
    unit = np.where(cells > 0, cells, 1.0)[nodes]
    columns = np.column_stack([parents[nodes], np.rint(away / unit[:, None])])
    order, starts = _runs(np.lexsort(columns.T[::-1]), columns)
    return nodes[order], starts


def _close_in_one_column(first: Array, cells: Array) -> Array:
    """Nodes with another one in the same cell of the first column, or next to it: few."""
    order = np.argsort(first, kind="stable")
    close = np.diff(first[order]) <= np.maximum(cells[order[1:]], cells[order[:-1]])
    shared = np.zeros(len(first), dtype=bool)
    shared[1:] = close
    shared[:-1] |= close
    return np.sort(order[shared])


def _runs(order: Array, values: Array) -> tuple[Array, Array]:
    """Sorted rows that equal another one, and where each run of equal ones starts."""
    as_before = np.zeros(len(order), dtype=bool)
    as_before[1:] = (values[order[1:]] == values[order[:-1]]).all(axis=1)
    shared = as_before.copy()
    shared[:-1] |= as_before[1:]
    return order[shared], np.flatnonzero(~as_before[shared])
