"""Convex polygons, one per node of a level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.arrays import Array, blocks
from ...core.exact import turn
from ...core.native import kernels
from ...core.points.point_set import power_of_two
from ...core.threads import map_blocks
from .frozen import Frozen

_VERTICES_PER_TASK = 400_000  # about, of the polygons of a thread
_MAX_COORDINATE = 2.0**200  # products of four coordinates from its inverse up to it stay in range

Moments = tuple[Array, Array, Array]  # areas, centres, covariances


@dataclass(frozen=True, eq=False)
class Regions(Frozen):
    """Polygon i is points[starts[i]:starts[i + 1]], counter-clockwise.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.method.layout.regions import Regions
    >>> square = Regions(np.array([0, 4]), np.array([[0.0, 0], [2, 0], [2, 2], [0, 2]]))
    >>> len(square), square.areas.tolist(), square.centres.tolist()
    (1, [4.0], [[1.0, 1.0]])
    """

    starts: Array
    points: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> Array:
        return np.asarray(self.points[self.starts[i] : self.starts[i + 1]])

    def __iter__(self) -> Iterator[Array]:
        return (self[i] for i in range(len(self)))

    def take(self, own: Array) -> Regions:
        """Some of the polygons."""
        sizes = np.diff(self.starts)[own]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return Regions(
            starts,
            self.points[np.arange(starts[-1]) + np.repeat(self.starts[own] - starts[:-1], sizes)],
        )

    @cached_property
    def _in_range(self) -> tuple[Array, float]:
        """The points scaled so that products of four coordinates stay in range, and the factor."""
        unit = power_of_two(self.points)
        return (
            (self.points, 1.0)
            if 1 / _MAX_COORDINATE < unit < _MAX_COORDINATE
            else (self.points * unit, unit)
        )

    def moments(self, n_threads: int = 1) -> Moments:
        """Areas, centres and covariances of a uniform density on each polygon; measured once."""
        known: Moments | None = self.__dict__.get("_moments")
        if known is not None:
            return known
        areas = np.empty(len(self))
        centres = np.empty((len(self), 2))
        second = np.empty((len(self), 2, 2))
        points, unit = self._in_range

        def measure(part: slice) -> None:
            areas[part], centres[part], second[part] = self._measure(points, part)

        map_blocks(measure, blocks(len(self), 8, values=_VERTICES_PER_TASK), n_threads)
        if unit != 1:
            with np.errstate(over="ignore", under="ignore"):  # an area may be beyond all numbers
                areas = areas / unit / unit
                centres = centres / unit
                second = second / unit / unit
        return self._remember(areas, centres, second)

    def _remember(self, areas: Array, centres: Array, covariances: Array) -> Moments:
        for values in (areas, centres, covariances):
            values.setflags(write=False)
        self.__dict__["_moments"] = areas, centres, covariances
        return areas, centres, covariances

    def _measure(self, points: Array, part: slice) -> Moments:
        """Moments of some polygons as sums over their sides."""
        n = part.stop - part.start
        sides = self._sides(np.arange(part.start, part.stop))
        row = sides.polygon
        origin = np.zeros((n, 2))
        origin[row] = points[self.starts[:-1][part][row]]  # an empty polygon has no corner
        a = points[sides.start] - origin[row]
        b = points[sides.end] - origin[row]
        t = _cross(a, b) / 2
        areas = np.bincount(row, t, n)
        safe = np.where(areas > 0, areas, 1.0)
        total = a + b
        mean = np.stack([np.bincount(row, t * total[:, i], n) / (3 * safe) for i in (0, 1)], axis=1)
        second = np.empty((n, 2, 2))
        for i, j in ((0, 0), (0, 1), (1, 1)):
            products = a[:, i] * a[:, j] + b[:, i] * b[:, j] + total[:, i] * total[:, j]
            second[:, i, j] = (
                np.bincount(row, t * products, n) / (12 * safe) - mean[:, i] * mean[:, j]
            )
            second[:, j, i] = second[:, i, j]
        return areas, origin + mean, second

    @classmethod
    def measured(
        cls, starts: Array, points: Array, areas: Array, centres: Array, covariances: Array
    ) -> Regions:
        """Polygons whose moments are known."""
        found = cls(starts, points)
        found._remember(areas, centres, covariances)
        return found

    @property
    def areas(self) -> Array:
        return self.moments()[0]

    @property
    def centres(self) -> Array:
        return self.moments()[1]

    @property
    def covariances(self) -> Array:
        """Of a uniform density on each polygon."""
        return self.moments()[2]

    def shrunk(self, factors: Array, n_threads: int = 1) -> Regions:
        """Each polygon scaled about its centre."""
        areas, centres, covariances = self.moments(n_threads)
        counts = np.diff(self.starts)
        middle = np.repeat(centres, counts, axis=0)
        points = self.points - middle
        points *= np.repeat(factors, counts)[:, None]
        points += middle
        found = Regions(self.starts, points)
        squares = factors * factors
        # known: not again
        found._remember(areas * squares, centres, covariances * squares[:, None, None])
        return found

    def scaled(self, factor: float) -> Regions:
        """All polygons in another unit."""
        found = Regions(self.starts, self.points * factor)
        if 1 / _MAX_COORDINATE < factor < _MAX_COORDINATE:
            areas, centres, covariances = self.moments()
            found._remember(areas * factor**2, centres * factor, covariances * factor**2)
        return found

    def shifted(self, by: Array) -> Regions:
        """All polygons elsewhere."""
        found = Regions(self.starts, self.points + by)
        areas, centres, covariances = self.moments()
        found._remember(areas.copy(), centres + by, covariances.copy())
        return found

    def reach(self, ids: Array, steps: Array) -> Array:
        """Distance from the centre of polygon ids[k] to its border along each step, in steps."""
        out = np.full(len(ids), np.inf)
        points, unit = self._in_range
        centres = self.centres[ids] * unit
        steps = steps * unit
        for part in blocks(len(ids), 8, values=_VERTICES_PER_TASK):
            sides = self._sides(ids[part])
            row = sides.polygon
            edge = points[sides.end] - points[sides.start]
            to = points[sides.start] - centres[part][row]
            towards = _cross(steps[part][row], edge)
            distance = _cross(to, edge)
            times = np.divide(
                distance, towards, out=np.full_like(distance, np.inf), where=towards > 0
            )
            np.minimum.at(out[part], row, times)
        return np.asarray(np.maximum(out, 0))

    def outside(self, ids: Array, points: Array, n_threads: int = 1) -> Array:
        """How far each point lies outside polygon ids[k] (negative: inside)."""
        corners, unit = self._in_range
        return kernels.outside(self.starts, corners, ids, points * unit, n_threads) / unit

    def _sides(self, ids: Array) -> _Sides:
        """All sides of some polygons."""
        first = self.starts[ids]
        counts = self.starts[ids + 1] - self.starts[ids]
        ends = np.cumsum(counts)
        row = np.repeat(np.arange(len(ids)), counts)
        vertex = np.repeat(first - (ends - counts), counts) + np.arange(len(row))
        after = vertex + 1
        after[ends[counts > 0] - 1] = first[counts > 0]
        return _Sides(row, vertex, after)


@dataclass(frozen=True, eq=False)
class _Sides:
    """Sides of some polygons."""

    polygon: Array  # place of each side's polygon among those that were asked for
    start: Array  # vertex
    end: Array


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])


def circles(centres: Array, radii: Array, n_points: int = 32) -> Regions:
    """Circles as polygons."""
    ring = np.stack(turn(np.arange(n_points) / n_points), axis=1)
    points = radii[:, None, None] * ring
    points += centres[:, None]
    return Regions(np.arange(len(centres) + 1) * n_points, points.reshape(-1, 2))
