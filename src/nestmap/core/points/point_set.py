"""Rows as a metric sees them.

Euclidean, cosine and correlation distances are euclidean distances between rows that were centred
and scaled one by one; manhattan is another norm of the same differences. A `PointSet` keeps the
user's array as it is, with three numbers per row: row i stands for the vector (scale[i] * (x_i -
centre[i]), extra[i]). Rows that cannot be normalised (all zero under cosine, constant under
correlation) become the unit vector of the extra coordinate: distance 1 to every other row, to the
last bit, and 0 to each other. docs/explain/exactness.md says what "by definition" means to the
last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, blocks
from ..input.validate import largest_value
from ..native import core
from ..threads import map_blocks

NATIVE_METRICS = ("euclidean", "cosine", "manhattan", "correlation")
# spread of a row, as a share of its mean: below it the row is constant, but for rounding
_CONSTANT_SPREAD = 1e-14
_MIN_SQUARE = 2.0**-900  # a smaller sum of squares has lost digits to underflow
# of a row that can be scaled to length 1: the factor of shorter ones would overflow
_MIN_LENGTH = 2.0**-1000
# relative error, per column, of two distances by matrix product (docs/explain/exactness.md)
_PRODUCT_ERROR = 8 * 2.0**-53
# multiplies subnormal rows: 2^-1074 becomes 2^-954, and no square that is let in exceeds 2^906
_SUBNORMAL_SCALE = 2.0**120


@dataclass(frozen=True, eq=False)
class PointSet:
    """Rows in the space of a native metric."""

    data: Any  # uint8, int8, float16, float32 or float64, C-contiguous, perhaps a memmap; or CSR
    scale: Array  # views of one number where all rows have the same
    centre: Array
    extra: Array
    metric: str
    unit: float  # a power of two near 1 / max|data|: keeps squares in range, changes no digit
    # uint64: of rows at the same distance the one with the lowest key is taken
    keys: Array | None = None

    @property
    def n(self) -> int:
        return int(self.data.shape[0])

    @property
    def n_cols(self) -> int:
        return int(self.data.shape[1])

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.data))

    @property
    def norm(self) -> str:
        return "L1" if self.metric == "manhattan" else "L2"

    def block(self, rows: Any, out: Array | None = None) -> Any:
        """The vectors of some rows in float64, without the extra coordinate (CSR if sparse)."""
        x = self.data[rows]
        if self.is_sparse:
            x = x.astype(np.float64)
            x.data *= np.repeat(self.scale[rows], np.diff(x.indptr))
            return x
        out = np.empty(x.shape) if out is None else out[: len(x)]
        if self.metric == "correlation":
            x = np.subtract(x, self.centre[rows, None], out=out, dtype=np.float64)
        scale = self.unit if self.metric in ("euclidean", "manhattan") else self.scale[rows, None]
        return np.multiply(x, scale, out=out, dtype=np.float64)

    @cached_property
    def native(self) -> Any:
        """The compiled module's handle on these rows (no copy)."""
        affine = [
            np.ascontiguousarray(a[:1]) if a.strides == (0,) else a
            for a in (self.scale, self.centre, self.extra)
        ]
        if self.is_sparse:
            rows = core().csr_rows(
                self.data.data, self.data.indices, self.data.indptr, self.n_cols, *affine
            )
        else:
            data = np.asarray(self.data)
            rows = core().dense_rows(
                data.view(np.uint16) if data.dtype == np.float16 else data, *affine
            )
        if self.keys is not None:
            rows.set_keys(self.keys)
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "native"}

    def to_metric(self, distances: Array) -> Array:
        """From what kernels return (squared L2, or L1) to the metric's own distances."""
        if self.metric == "euclidean":
            return np.asarray(np.sqrt(distances) / self.unit)
        if self.metric == "manhattan":
            return np.asarray(distances / self.unit)
        return np.asarray(distances / 2)  # |a - b|^2 = 2 (1 - cos) for unit vectors

    # --- what the NumPy twins need -------------------------------------------------------------

    def rough_distances(self, rows: slice, other: PointSet, norm: str) -> tuple[Array, Array]:
        """Distances of some rows to all rows of other by matrix product, and an error margin.

        The nearest row by definition is within the margin of the nearest found here: the margin
        covers the rounding errors of both distances.
        """
        a = self.block(rows)
        b = other.block(slice(None))
        margin = _PRODUCT_ERROR * (self.n_cols + 8)
        if norm == "L1":
            from sklearn.metrics.pairwise import manhattan_distances  # dense rows or sparse ones

            distances = manhattan_distances(a, b)
            nearest = np.partition(distances, min(1, other.n - 1), axis=1)[:, :2].max(
                axis=1, keepdims=True
            )
            return distances, margin * nearest  # the second: the first may be the row itself
        if self.is_sparse:
            na = np.asarray(a.multiply(a).sum(axis=1))
            nb = np.asarray(b.multiply(b).sum(axis=1)).T
            product = (a @ b.T).toarray()
        else:
            centre = b.mean(axis=0)
            a = a - centre
            b = b - centre
            na = (a * a).sum(axis=1, keepdims=True)
            nb = (b * b).sum(axis=1)[None, :]
            product = a @ b.T
        distances = na + nb - 2 * product + (self.extra[rows, None] - other.extra) ** 2
        return distances, margin * (na + nb.max())

    def pair_distances(self, i: Array, other: PointSet, j: Array, norm: str) -> Array:
        """Distances of row i[k] to row j[k] of other, by definition."""
        out = np.empty(len(i))
        for part in blocks(len(i), self.n_cols):
            diff = self.block(i[part]) - other.block(j[part])
            total = (
                abs(diff)
                if norm == "L1"
                else diff.multiply(diff)
                if self.is_sparse
                else diff * diff
            ).sum(axis=1)
            apart = self.extra[i[part]] != other.extra[j[part]]  # at distance 1, not up to rounding
            out[part] = np.where(apart, 2.0, np.asarray(total).ravel())
        return out


def make_points(
    data: Any,
    metric: str,
    like: PointSet | None = None,
    n_threads: int = 1,
    keys: Array | None = None,
    unit: float | None = None,
) -> PointSet:
    """A PointSet of validated rows; `like`: the set to compare these rows with, or its `unit`."""
    data = data if like is None else _stored_like(data, like.data)
    n = data.shape[0]
    zeros = np.broadcast_to(0.0, n)
    if metric in ("euclidean", "manhattan"):
        if unit is None:
            unit = like.unit if like is not None else power_of_two(data, n_threads)
        return PointSet(data, np.broadcast_to(unit, n), zeros, zeros, metric, unit, keys)
    centre = zeros
    length = np.empty(n)
    if metric == "correlation":
        centre = np.empty(n)

    def measure(rows: slice) -> None:
        x = data[rows].astype(np.float64)
        if metric == "correlation":
            mean = x.mean(axis=1)
            mean += (x - mean[:, None]).mean(axis=1)  # what the first sum has lost
            centre[rows] = mean
            x -= mean[:, None]
        length[rows] = _row_lengths(x)

    map_blocks(measure, blocks(n, data.shape[1], values=500_000), n_threads)
    flat = length <= _CONSTANT_SPREAD * np.abs(centre) * np.sqrt(data.shape[1])
    if (length[~flat] < _MIN_LENGTH).any():
        return make_points(data * _SUBNORMAL_SCALE, metric, None, n_threads, keys)
    scale = np.divide(1.0, length, out=np.zeros(n), where=~flat)
    return PointSet(data, scale, centre, flat.astype(np.float64), metric, 1.0, keys)


def _row_lengths(x: Any) -> Array:
    """Euclidean norm of each row (float64 or CSR); tiny rows are lifted before they are squared."""
    squares = _sums_of_squares(x)
    lengths = np.sqrt(squares)
    tiny = np.flatnonzero(squares < _MIN_SQUARE)
    if len(tiny) == 0:
        return lengths
    x = x[tiny]
    if sparse.issparse(x):
        exponent = np.frexp(abs(x).max(axis=1).toarray().ravel())[1]
        x.data = np.ldexp(x.data, -np.repeat(exponent, np.diff(x.indptr)))
    else:
        exponent = np.frexp(np.abs(x).max(axis=1))[1]
        x = np.ldexp(x, -exponent[:, None])
    lengths[tiny] = np.ldexp(np.sqrt(_sums_of_squares(x)), exponent)
    return lengths


def _sums_of_squares(x: Any) -> Array:
    """Sum of squares of each row, in the same order on every instruction set."""
    return np.asarray((x.multiply(x) if sparse.issparse(x) else x * x).sum(axis=1)).ravel()


def _stored_like(data: Any, other: Any) -> Any:
    """Convert rows to the storage of the others: dense, or CSR with the same types."""
    if not sparse.issparse(other):
        return data.toarray() if sparse.issparse(data) else data
    data = sparse.csr_matrix(data, dtype=other.dtype)
    if data.indices.dtype == other.indices.dtype:
        return data
    kind = other.indices.dtype
    out = sparse.csr_matrix(data.shape, dtype=data.dtype)
    out.data = data.data
    out.indices = data.indices.astype(kind)
    out.indptr = data.indptr.astype(kind)
    return out


def power_of_two(data: Any, n_threads: int = 1) -> float:
    """The power of two that brings the largest absolute value into [0.5, 1); 1 for all zeros.

    At most 2^1023, the largest there is: the largest of subnormal numbers is brought as close to
    0.5 as that goes.
    """
    largest = largest_value(data.data if sparse.issparse(data) else data, n_threads)
    return 1.0 if largest == 0 else float(2.0 ** min(1023, -int(np.frexp(largest)[1])))
