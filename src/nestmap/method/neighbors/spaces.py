"""Distances in two precisions: fast with an error bound for blocks, exact for single pairs.

Ranks and neighbours only compare distances. A space gives rough values with an error bound, and
exact values for the few pairs whose order the rough values leave open.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from ...core.arrays import Array, blocks
from ...core.native import kernels
from ...core.points.point_set import PointSet, make_points
from .metric import EUCLIDEAN, Metric, check_metric, known_metric

MAX_PLAIN_COLUMNS = 8  # up to so many, sums of differences are faster than a matrix product
_EPSILON32 = 2.0**-24  # relative rounding error of float32
_EPSILON64 = 2.0**-53  # relative rounding error of float64
_UNDERFLOW_ERROR = 2.0**-100  # absolute error of products that underflow, larger than it can be


class Space(Protocol):
    """n rows and their distances (in any units that keep the order)."""

    @property
    def n(self) -> int: ...

    def rough(self, rows: Array, block: Any) -> tuple[Array, Array]:
        """Distances of rows[i] to each row of a block (m, b), and a bound of their error (m,)."""

    def exact(self, i: Array, j: Array) -> Array:
        """Distances of the pairs (i[k], j[k]) by definition, in the units of `rough`."""


@dataclass(frozen=True, eq=False)
class FlatSpace:
    """Squared euclidean distances between rows of a few columns, as of a map."""

    data: Array

    @property
    def n(self) -> int:
        return len(self.data)

    def rough(self, rows: Array, block: Any) -> tuple[Array, Array]:
        first, *others = self.data.T
        total = first[rows, None] - first[block]
        total *= total
        for column in others:
            difference = column[rows, None] - column[block]
            difference *= difference
            total += difference
        return total, np.zeros(len(rows))

    def exact(self, i: Array, j: Array) -> Array:
        total = np.zeros(len(i))
        for column in self.data.T:
            difference = column[i] - column[j]
            total += difference * difference
        return total


@dataclass(frozen=True, eq=False)
class ProductSpace:
    """Squared distances |a|^2 + |b|^2 - 2ab of centred rows; in float32 unless sparse."""

    points: PointSet
    # any vector in the middle of the rows, and their squared distances from it, if known
    centre: Array | None = None
    squares: Array | None = None

    @property
    def n(self) -> int:
        return self.points.n

    @cached_property
    def _centre(self) -> Any:
        if self.points.is_sparse or self.centre is not None:
            return self.centre
        total = np.zeros(self.points.n_cols)
        for part in blocks(self.n, self.points.n_cols):
            total += self.points.block(part).sum(axis=0)
        return total / self.n

    @cached_property
    def _squares(self) -> Array:
        if self.squares is not None:
            return self.squares
        out = np.empty(self.n)
        for part in blocks(self.n, self.points.n_cols):
            x = self.points.block(part)
            if self.points.is_sparse:
                out[part] = np.asarray(x.multiply(x).sum(axis=1)).ravel()
            else:
                x -= self._centre
                out[part] = np.einsum("ij,ij->i", x, x)
        return out

    def _vectors(self, rows: Any) -> Any:
        x = self.points.block(rows)
        if self.points.is_sparse:
            return x
        x -= self._centre
        return x.astype(np.float32)

    def rough(self, rows: Array, block: Any) -> tuple[Array, Array]:
        product = (-2 * self._vectors(rows)) @ self._vectors(block).T
        out = product.toarray() if sparse.issparse(product) else product
        out += self._squares[block].astype(out.dtype)
        out += self._squares[rows, None].astype(out.dtype)
        extra = self.points.extra
        if extra[rows].any() or extra[block].any():
            out += ((extra[rows, None] - extra[block]) ** 2).astype(out.dtype)
        ulp = _EPSILON64 if self.points.is_sparse else _EPSILON32
        longest = np.sqrt(self._squares[block].max(initial=0.0))
        return out, product_error(self.points.n_cols, np.sqrt(self._squares[rows]), longest, ulp)

    def exact(self, i: Array, j: Array) -> Array:
        return kernels.pair_distances(self.points, i, j)


def product_error(n_cols: int, lengths: Array, longest: Any, ulp: float = _EPSILON32) -> Array:
    """Error bound of squared distances |a|^2 + |b|^2 - 2ab.

    For rows of the given lengths and others of length at most `longest`.
    """
    # a sum of c products has an error of at most c ulp of the product of the lengths; the operands
    # and the two additions add a few, and products that underflow next to nothing
    return np.asarray(
        ulp * (2 * (n_cols + 2) * lengths * longest + 8 * (lengths + longest) ** 2)
        + _UNDERFLOW_ERROR
    )


@dataclass(frozen=True, eq=False)
class OtherSpace:
    """Rows of a metric without kernels, or a matrix of distances."""

    data: Any
    metric: Metric

    @property
    def n(self) -> int:
        return int(self.data.shape[0])

    def rough(self, rows: Array, block: Any) -> tuple[Array, Array]:
        out = self.metric.between(self.data, rows, block)
        return out, 1e-12 * np.abs(out).max(axis=1)

    def exact(self, i: Array, j: Array) -> Array:
        out = np.empty(len(i))
        order = np.argsort(i, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(i[order])) + 1):
            if len(part):
                out[part] = self.metric.between(self.data, i[part[:1]], j[part])[0]
        return out


@dataclass(frozen=True, eq=False)
class SomeRows:
    """A subset of the rows of a space, numbered from 0."""

    space: Space
    rows: Array

    @property
    def n(self) -> int:
        return len(self.rows)

    def rough(self, rows: Array, block: Any) -> tuple[Array, Array]:
        return self.space.rough(self.rows[rows], self.rows[block])

    def exact(self, i: Array, j: Array) -> Array:
        return self.space.exact(self.rows[i], self.rows[j])


def make_space(data: Any, metric: Any) -> Space:
    """The space of validated rows under a metric."""
    metric = check_metric(metric, data)
    if metric == EUCLIDEAN and not sparse.issparse(data) and data.shape[1] <= MAX_PLAIN_COLUMNS:
        return FlatSpace(np.ascontiguousarray(data, dtype=np.float64))
    if metric.has_kernels:
        return space_of(make_points(data, metric.name))
    return OtherSpace(data, metric)


def space_of(points: PointSet) -> Space:
    """The space of points of a metric with kernels."""
    if points.norm == "L1":
        return OtherSpace(points.data, known_metric(points.metric))
    return ProductSpace(points)
