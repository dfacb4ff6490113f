"""Convex polygons, one per node of a level: the countries, states and towns of a map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._native.twins import Array, blocks


@dataclass(frozen=True, eq=False)
class Regions:
    """Polygon i is points[starts[i]:starts[i + 1]], counter-clockwise.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.layout import Regions
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

    @cached_property
    def _owner(self) -> Array:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def _next(self) -> Array:
        """Index of the vertex after each vertex."""
        after = np.arange(1, len(self.points) + 1)
        filled = np.diff(self.starts) > 0
        after[self.starts[1:][filled] - 1] = self.starts[:-1][filled]
        return after

    @cached_property
    def _moments(self) -> tuple[Array, Array, Array]:
        n, owner = len(self), self._owner
        origin = self.points[self.starts[:-1]]
        a, b = self.points - origin[owner], self.points[self._next] - origin[owner]
        t = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2
        areas = np.bincount(owner, t, n)
        safe = np.where(areas > 0, areas, 1.0)
        total = a + b
        mean = np.stack([np.bincount(owner, t * total[:, i], n) / (3 * safe) for i in (0, 1)], axis=1)
        second = np.empty((n, 2, 2))
        for i in (0, 1):
            for j in (0, 1):
                products = a[:, i] * a[:, j] + b[:, i] * b[:, j] + total[:, i] * total[:, j]
                second[:, i, j] = np.bincount(owner, t * products, n) / (12 * safe) - mean[:, i] * mean[:, j]
        return areas, origin + mean, second

    @property
    def areas(self) -> Array:
        return self._moments[0]

    @property
    def centres(self) -> Array:
        return self._moments[1]

    @property
    def covariances(self) -> Array:
        """Of a uniform density on each polygon."""
        return self._moments[2]

    def shrunk(self, factors: Array) -> Regions:
        """Each polygon scaled about its centre."""
        middle = self.centres[self._owner]
        return Regions(self.starts, middle + factors[self._owner, None] * (self.points - middle))

    def reach(self, ids: Array, steps: Array) -> Array:
        """How many times each step fits between the centre of polygon ids[k] and its border."""
        out = np.empty(len(ids))
        for part, row, vertex in self._sides(ids):
            edge = self.points[self._next[vertex]] - self.points[vertex]
            step = steps[part][row]
            to = self.points[vertex] - self.centres[ids[part]][row]
            towards = step[:, 0] * edge[:, 1] - step[:, 1] * edge[:, 0]
            distance = to[:, 0] * edge[:, 1] - to[:, 1] * edge[:, 0]
            times = np.divide(distance, towards, out=np.full_like(distance, np.inf), where=towards > 0)
            found = np.full(part.stop - part.start, np.inf)
            np.minimum.at(found, row, times)
            out[part] = np.maximum(found, 0)
        return out

    def outside(self, ids: Array, points: Array) -> Array:
        """How far each point lies outside polygon ids[k] (negative: inside)."""
        out = np.empty(len(ids))
        for part, row, vertex in self._sides(ids):
            edge = self.points[self._next[vertex]] - self.points[vertex]
            away = points[part][row] - self.points[vertex]
            length = np.sqrt((edge * edge).sum(axis=1))
            cross = away[:, 0] * edge[:, 1] - away[:, 1] * edge[:, 0]
            distance = np.divide(cross, length, out=np.full_like(cross, -np.inf), where=length > 0)
            found = np.full(part.stop - part.start, -np.inf)
            np.maximum.at(found, row, distance)
            out[part] = found
        return out

    def _sides(self, ids: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of ids with all their sides: (block, position in it, vertex at the start of the side)."""
        for part in blocks(len(ids), 16):
            counts = np.diff(self.starts)[ids[part]]
            row = np.repeat(np.arange(len(counts)), counts)
            first = np.concatenate([[0], np.cumsum(counts)[:-1]])
            yield part, row, np.repeat(self.starts[ids[part]] - first, counts) + np.arange(len(row))


def circles(centres: Array, radii: Array, n_points: int = 32) -> Regions:
    """Circles as polygons."""
    turn = 2 * np.pi * np.arange(n_points) / n_points
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points = centres[:, None] + radii[:, None, None] * ring
    return Regions(np.arange(len(centres) + 1) * n_points, points.reshape(-1, 2))
