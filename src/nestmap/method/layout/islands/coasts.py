"""Outlines of clusters: land is where rows are near.

It belongs to the cluster that most of the nearest are of.

A raster of the plane is land within reach of a row, and drawn in again by half of that, which
closes narrow gaps. Borders between cells of different clusters are chained to closed rings and
rounded. What two clusters share is the same line for both, but for the corners where three meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.spatial import cKDTree

from ....core.arrays import Array, blocks
from ..frozen import Frozen

LINES = 400  # of the raster along the longer side of the map
# land goes as far beyond rows as 1.2 times the median distance to the tenth neighbour
_AROUND = 10
_REACH = 1.2
_DRAWN_IN = 0.5  # of the reach, afterwards
_LEAST_AREA = 4.0  # of a part or a hole that is drawn, in squares of the reach
_VOTES = 7  # nearest rows that decide whose a cell is
_QUERIES = 100_000  # at once: in between, Ctrl-C works
_ROUNDS = 3  # of averaging each corner of a ring with its neighbours
_SAMPLE = 20_000  # rows that the usual distance between neighbours is measured on


@dataclass(frozen=True, eq=False)
class Coasts(Frozen):
    """Polygons with holes and several parts, one set per cluster.

    Ring r is points[ring_starts[r]:ring_starts[r + 1]]; the rings of cluster i are starts[i] to
    starts[i + 1]. Outer rings run counter-clockwise, those around holes clockwise.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.method.layout.islands.coasts import trace_coasts
    >>> rng = np.random.default_rng(0)
    >>> two = np.concatenate([rng.random((500, 2)), rng.random((500, 2)) + [5, 0]])
    >>> coasts = trace_coasts(two, np.arange(1000) // 500, 2)
    >>> len(coasts), [len(rings) for rings in coasts], bool(0.9 < coasts.areas[0] < 2)
    (2, [1, 1], True)
    """

    starts: Array
    ring_starts: Array
    points: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> list[Array]:
        rings = range(int(self.starts[i]), int(self.starts[i + 1]))
        return [self.points[self.ring_starts[r] : self.ring_starts[r + 1]] for r in rings]

    def __iter__(self) -> Iterator[list[Array]]:
        return (self[i] for i in range(len(self)))

    @property
    def areas(self) -> Array:
        """Of each cluster, without its holes."""
        return self._sums(ring_areas(self.points, self.ring_starts))

    @property
    def centres(self) -> Array:
        """Centre of the area of each cluster: where to write its name."""
        middle = self.points.mean(axis=0)
        x, y = a = (self.points - middle).T
        b = a[:, _after(self.ring_starts, len(self.points))]
        cross = (x * b[1] - b[0] * y) / 6
        rings = np.repeat(np.arange(len(self.ring_starts) - 1), np.diff(self.ring_starts))
        moments = [
            self._sums(np.bincount(rings, cross * (a[i] + b[i]), len(self.ring_starts) - 1))
            for i in (0, 1)
        ]
        return np.asarray(middle + np.stack(moments, axis=1) / self.areas[:, None])

    def _sums(self, of_rings: Array) -> Array:
        return np.bincount(
            np.repeat(np.arange(len(self)), np.diff(self.starts)), of_rings, len(self)
        )


def _after(ring_starts: Array, n: int) -> Array:
    """The next point on the ring of each of n points."""
    after = np.arange(1, n + 1)
    after[ring_starts[1:] - 1] = ring_starts[:-1]
    return np.asarray(after)


def ring_areas(points: Array, ring_starts: Array) -> Array:
    """Area inside each ring, negative where it runs clockwise."""
    after = _after(ring_starts, len(points))
    x, y = (points - points.mean(axis=0)).T
    owners = np.repeat(np.arange(len(ring_starts) - 1), np.diff(ring_starts))
    return np.bincount(owners, (x * y[after] - x[after] * y) / 2, len(ring_starts) - 1)


def trace_coasts(positions: Array, labels: Array, n_clusters: int) -> Coasts:
    """The coasts of clusters of points in the plane; O(n log n + raster)."""
    reach = _REACH * usual_distance(positions)
    corner = positions.min(axis=0) - 1.5 * reach
    width = positions.max(axis=0) + 1.5 * reach - corner
    step = float(width.max()) / LINES
    least = 1e-12 * float(np.abs(positions).max())
    if not step > least:  # a single place, as far as its coordinates tell: a cell around it
        reach = step = max(1.0, 1000 * least)
        corner = corner - 1.5 * step
        width = width + 3.0 * step
    reach = max(reach, 1.5 * step)
    corner = corner - 2 * step
    width = width + 4 * step
    raster = _rasterise(positions, labels, corner, step, np.ceil(width / step).astype(int), reach)
    n_corners = raster.shape[1] + 1
    borders = _borders(raster)
    rings = _chain(borders, n_corners)
    corners = np.divmod(borders.starts[rings.sides], n_corners)
    points = corner + step * np.stack(corners, axis=1)
    kept = _large_rings(points, rings.starts, rings.owners, _LEAST_AREA * reach**2)
    sizes = np.diff(rings.starts)
    points = points[np.repeat(kept, sizes)]
    ring_owners = rings.owners[kept]
    ring_starts = np.concatenate([[0], np.cumsum(sizes[kept])])
    return Coasts(
        np.searchsorted(ring_owners, np.arange(n_clusters + 1)),
        ring_starts,
        _rounded(points, ring_starts),
    )


def _large_rings(points: Array, ring_starts: Array, owners: Array, least: float) -> Array:
    """Which rings to keep: not those around little, unless it is the largest of its cluster."""
    areas = np.abs(ring_areas(points, ring_starts))
    order = np.lexsort((areas, owners))
    largest = order[np.flatnonzero(np.append(owners[order][1:] != owners[order][:-1], True))]
    kept = areas >= least
    kept[largest] = True
    return kept


def usual_distance(positions: Array) -> float:
    """Median distance from a row to the tenth nearest place; of a sample, if there are many."""
    places = np.unique(positions, axis=0)
    some = places[:: max(1, len(places) // _SAMPLE)]
    if len(places) < 2:
        return 0.0
    return float(np.median(cKDTree(places).query(some, k=[min(_AROUND + 1, len(places))])[0]))


def _rasterise(
    positions: Array, labels: Array, corner: Array, step: float, shape: Array, reach: float
) -> Array:
    """Cluster of each cell, -1 for the sea, which is all around; (rows, cols)."""
    tree = cKDTree(positions)
    votes = min(_VOTES, len(positions))
    rows = int(shape[0])
    cols = int(shape[1])
    nearest = np.empty(rows * cols)
    owner = np.empty(rows * cols, dtype=np.int64)
    for part in blocks(rows * cols, 1, values=_QUERIES):
        at = np.stack(np.divmod(np.arange(part.start, part.stop), cols), axis=1)
        away, ids = tree.query(
            corner + step * (at + 0.5), k=range(1, votes + 1), distance_upper_bound=3 * reach
        )
        nearest[part] = away[:, 0]
        seen = np.append(labels, -1)[ids]
        counts = (seen[:, :, None] == seen[:, None, :]).sum(axis=2) * (seen >= 0)
        owner[part] = np.take_along_axis(seen, counts.argmax(axis=1)[:, None], axis=1)[:, 0]
    land = distance_transform_edt(np.pad((nearest <= reach).reshape(rows, cols), 1))[1:-1, 1:-1]
    return np.where(land * step > _DRAWN_IN * reach, owner.reshape(rows, cols), -1)


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges of cells that end a cluster, which is on their left.

    The corner (r, c) has the number r * (cols + 1) + c.
    """

    starts: Array  # corners
    ends: Array
    owners: Array  # clusters

    def take(self, order: Array) -> _Edges:
        return _Edges(self.starts[order], self.ends[order], self.owners[order])


def _borders(raster: Array) -> _Edges:
    """The edges that end clusters; the outermost cells are empty."""
    cols = raster.shape[1] + 1
    found: list[tuple[Array, Array, Array]] = []
    # towards the cell beyond: the side from one corner of the cell to the next, counter-clockwise
    # in (row, col)
    for way, begin, end in (
        ((-1, 0), (0, 1), (0, 0)),
        ((1, 0), (1, 0), (1, 1)),
        ((0, -1), (0, 0), (1, 0)),
        ((0, 1), (1, 1), (0, 1)),
    ):
        beyond = np.roll(raster, (-way[0], -way[1]), axis=(0, 1))
        r, c = np.nonzero((raster >= 0) & (beyond != raster))
        first, last = ((r + dr) * cols + c + dc for dr, dc in (begin, end))
        found.append((first, last, raster[r, c]))
    return _Edges(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


@dataclass(frozen=True, eq=False)
class _Rings:
    """Sides in the order of rings."""

    sides: Array
    starts: Array  # of each ring, and the end
    owners: Array  # cluster of each ring, ascending


def _chain(sides: _Edges, cols: int) -> _Rings:
    """Sides joined to rings.

    Where two parts of a cluster touch at a corner they stay apart: the side that turns left goes
    on.
    """
    order = np.lexsort((sides.starts, sides.owners))
    after = _next_sides(sides.take(order), cols).tolist()
    owners = sides.owners[order]
    n = len(after)
    ring_starts = [0]
    out = np.empty(n, dtype=np.int64)
    seen = np.zeros(n, dtype=bool)
    ring_owners = []
    filled = 0
    for side in range(n):
        if seen[side]:
            continue
        at = side
        while not seen[at]:
            seen[at] = True
            out[filled] = at
            filled += 1
            at = after[at]
        ring_starts.append(filled)
        ring_owners.append(int(owners[side]))
    return _Rings(order[out], np.array(ring_starts), np.array(ring_owners, dtype=np.int64))


def _next_sides(sides: _Edges, cols: int) -> Array:
    """For each side, sorted by cluster and start, the one that goes on from its end."""
    starts = sides.starts
    ends = sides.ends
    owners = sides.owners
    n = len(starts)
    key = owners * (starts.max(initial=0) + 1) + starts
    want = owners * (starts.max(initial=0) + 1) + ends
    after = np.searchsorted(key, want)
    twin = np.minimum(after + 1, n - 1)
    is_double = (twin > after) & (key[twin] == want)
    for side in np.flatnonzero(is_double).tolist():
        way = _way(starts[side], ends[side], cols)
        options = (after[side], after[side] + 1)
        turns = [_turn(way, _way(starts[o], ends[o], cols)) for o in options]
        after[side] = options[int(np.argmax(turns))]
    return np.asarray(after)


def _way(start: int, end: int, cols: int) -> tuple[int, int]:
    """Step in rows and columns."""
    step = int(end) - int(start)
    return (0, step) if abs(step) == 1 else (step // cols, 0)


def _turn(a: tuple[int, int], b: tuple[int, int]) -> int:
    """1 to the left, 0 straight on, -1 to the right."""
    return a[0] * b[1] - a[1] * b[0]


def _rounded(points: Array, ring_starts: Array) -> Array:
    """Corners averaged with their neighbours on the ring, a few times."""
    n = len(points)
    before = np.arange(n) - 1
    after = _after(ring_starts, n)
    before[ring_starts[:-1]] = ring_starts[1:] - 1
    for _ in range(_ROUNDS):
        points = (points[before] + 2 * points + points[after]) / 4
    return points
