"""In how many connected pieces the clusters lie on a map.

Rows of a cluster are in one piece if steps between near rows of that cluster connect them; near are
the eight nearest other spots of the map, in either direction. Rows at one spot count once, with
their number.

Where rows lie in balls around their leaves, the eight nearest are those of the ball. So leaves
stand for their rows there. In maps of balls or regions for all levels (descent, mosaic) nothing is
measured: a cluster has its own there, and the audit tells which rows lie in another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from ...core.arrays import Array, blocks
from ...core.points.point_set import power_of_two
from ..hierarchy import Hierarchy, HierarchySummary
from ..hierarchy.summary import summarize_levels
from ..neighbors.graph import neighbor_graph
from .base import Layout
from .frozen import Frozen

N_LINKS = 8  # nearest other rows (or leaves) of the map that each one is connected to
MAX_ROWS = 1_000_000  # of more, leaves stand for their rows
# a place is a piece with at least one in 20 of the rows of its cluster, and at least five rows
CLUSTER_ROWS_PER_PLACE_ROW = 20
MIN_PLACE_ROWS = 5
_MAX_TREE_COLUMNS = 8  # components up to which a k-d tree is fast
_ROWS_PER_QUERY = 100_000  # of a k-d tree; Ctrl-C works between two queries


@dataclass(frozen=True, eq=False)
class Pieces(Frozen):
    """The pieces that the clusters of a level lie in."""

    level: int
    of_point: Array  # the piece of each row, or of each leaf where leaves stand for their rows
    owner: Array  # the cluster of each piece
    rows: Array  # rows of each piece
    largest: Array  # the largest piece of each cluster; of equal ones the leftmost
    n_rows: Array  # rows of each cluster

    @property
    def whole(self) -> float:
        """Share of the rows that lie in the largest piece of their cluster."""
        return float(self.rows[self.largest].sum() / self.n_rows.sum())

    @cached_property
    def n_places(self) -> Array:
        """In how many places each cluster lies: 1 is whole but for stray rows, 0 is scattered.

        A place is a piece that holds at least 5% of the cluster's rows, and five rows unless it is
        the largest.
        """
        is_place = self.rows * CLUSTER_ROWS_PER_PLACE_ROW >= self.n_rows[self.owner]
        small = self.rows < MIN_PLACE_ROWS
        small[self.largest] = False
        return np.bincount(self.owner[is_place & ~small], minlength=len(self.n_rows))

    @property
    def n_split(self) -> int:
        """Clusters that do not lie in one place: in several, or scattered."""
        return int((self.n_places != 1).sum())


def piece_unit(n_rows: int, layout: Layout | None = None) -> str:
    """The points that pieces consist of: 'rows' or 'leaves', '' where nothing is measured.

    No layout: of bare positions.
    """
    unit = "rows" if layout is None else layout.piece_unit
    return "leaves" if unit == "rows" and n_rows > MAX_ROWS else unit


def find_pieces(
    hierarchy: Hierarchy, positions: Array, n_threads: int = 1, *, unit: str = "rows"
) -> Iterator[Pieces]:
    """The pieces of each level on a map of the rows, fine to coarse.

    O(n log n) for the neighbours, O(n) per level.

    The order of the rows and the number of threads make no difference. `unit`: as `piece_unit`
    tells. Leaves lie at the mean place of their rows; level 0 is left out then. In more than eight
    dimensions, 95% of the neighbours are found.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap import build_hierarchy
    >>> tree = build_hierarchy(np.repeat([[0.0], [9.0]], 30, axis=0))  # two clusters of 30 rows
    >>> here = np.arange(30.0)
    >>> there = here + 1000 * (here < 10)  # a map that tears ten rows of the second away
    >>> pieces = next(find_pieces(tree, np.concatenate([here + 100, there])[:, None]))
    >>> pieces.n_places.tolist(), pieces.rows[pieces.largest].tolist(), round(pieces.whole, 3)
    ([1, 2], [30, 20], 0.833)
    """
    if not unit:
        return
    leaf = hierarchy.levels[0]
    positions = positions * power_of_two(positions, n_threads)
    if unit == "rows":
        first = 0
        points = positions
        node = leaf.members
        weights = np.ones(len(positions))
    else:
        first = 1
        points = _centres(hierarchy, positions)
        node = np.arange(leaf.n_nodes)
        weights = leaf.sizes
    spots = _Spots.of(points, n_threads)
    for k, level in enumerate(hierarchy.levels):
        if k:
            node = level.members[node]
        if k >= first:
            yield _pieces_of(k, spots, node, weights, level.sizes)


def summarize_map(hierarchy: Hierarchy, layout: Layout, n_threads: int = 1) -> HierarchySummary:
    """The table of the levels, with how whole the clusters are on the map."""
    table = summarize_levels(hierarchy, n_threads)
    unit = piece_unit(hierarchy.n_rows, layout)
    rows = list(table.levels)
    for pieces in find_pieces(hierarchy, layout.positions, n_threads, unit=unit):
        k = pieces.level
        rows[k] = replace(rows[k], whole=pieces.whole, n_split=pieces.n_split)
    return replace(table, levels=tuple(rows), measured_on=unit)


def _centres(hierarchy: Hierarchy, positions: Array) -> Array:
    """Mean position of the rows of each leaf, rounded: the order of the sum has no effect."""
    leaf = hierarchy.levels[0]
    sums = [np.bincount(leaf.members, column, leaf.n_nodes) for column in positions.T]
    return (np.stack(sums, axis=1) / leaf.sizes[:, None]).astype(np.float32).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Spots(Frozen):
    """Distinct positions, sorted by coordinates: the order of the points makes no difference."""

    of_point: Array
    first: Array  # a point at each spot
    near: Array  # (n_spots, 9): the nearest spots; a spot may be among its own

    @classmethod
    def of(cls, points: Array, n_threads: int) -> _Spots:
        order = np.lexsort(points.T[::-1])
        points = points[order]
        is_new = np.ones(len(points), dtype=bool)
        is_new[1:] = (points[1:] != points[:-1]).any(axis=1)
        of_point = np.empty(len(points), dtype=np.int64)
        of_point[order] = np.cumsum(is_new) - 1
        return cls(of_point, order[is_new], _nearest(points[is_new], n_threads))


def _nearest(places: Array, n_threads: int) -> Array:
    """The eight nearest others of each of some distinct places, and perhaps itself."""
    n = len(places)
    if n == 1:
        return np.zeros((1, 1), dtype=np.int32)
    if places.shape[1] > _MAX_TREE_COLUMNS:
        return neighbor_graph(places, min(N_LINKS, n - 1), n_jobs=n_threads).ids.astype(np.int32)
    tree = cKDTree(places)
    near = np.empty((n, min(N_LINKS + 1, n)), dtype=np.int32)
    for part in blocks(n, 1, values=_ROWS_PER_QUERY):
        own = tree.indices[part]  # in the order of the tree: consecutive queries share the cache
        near[own] = tree.query(places[own], near.shape[1], workers=n_threads)[1]
    return near


def _pieces_of(level: int, spots: _Spots, node: Array, weights: Array, n_rows: Array) -> Pieces:
    """The pieces of one level; `node`: the cluster of each point."""
    cells = _ClusterSpots.of(spots, node, len(n_rows))
    graph = _links(spots, cells, len(n_rows))
    n_pieces, of_cell = connected_components(graph, directed=False)
    of_point = of_cell[cells.of_point]
    owner = np.empty(n_pieces, dtype=np.int64)
    owner[of_cell] = cells.cluster
    rows = np.bincount(of_point, weights, n_pieces).astype(np.int64)
    by_size = np.lexsort((-rows, owner))  # pieces are numbered from left to right
    is_first = np.ones(n_pieces, dtype=bool)
    is_first[1:] = owner[by_size[1:]] != owner[by_size[:-1]]
    return Pieces(level, of_point, owner, rows, by_size[is_first], n_rows)


@dataclass(frozen=True, eq=False)
class _ClusterSpots:
    """Points of one cluster at one position are a cell."""

    of_point: Array
    spot: Array  # of each cell: its position
    cluster: Array

    @classmethod
    def of(cls, spots: _Spots, node: Array, n_nodes: int) -> _ClusterSpots:
        """`node`: the cluster of each point, of n_nodes."""
        own = node[spots.first]
        if np.array_equal(own[spots.of_point], node):  # equal rows are in one cluster
            return cls(spots.of_point, np.arange(len(own)), own)
        keys, of_point = np.unique(spots.of_point * n_nodes + node, return_inverse=True)
        return cls(of_point, keys // n_nodes, keys % n_nodes)


def _links(spots: _Spots, cells: _ClusterSpots, n_nodes: int) -> sparse.csr_matrix:
    """Links between cells of one cluster at near spots."""
    spot = cells.spot
    cluster = cells.cluster
    near = spots.near[spot]
    if len(spot) == len(spots.near):
        same = cluster[near] == cluster[:, None]
    else:
        keys = spot * n_nodes + cluster
        wanted = near.astype(np.int64) * n_nodes + cluster[:, None]
        near = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        same = keys[near] == wanted
    ends = np.concatenate([[0], np.cumsum(same.sum(axis=1))])
    return sparse.csr_matrix(
        (np.ones(ends[-1], dtype=np.int8), near[same], ends), shape=(len(spot), len(spot))
    )
