"""Dimension reduction with distances that are lower bounds of the true ones.

For euclidean distances: coordinates along p orthonormal directions, plus the norm of what they
leave out. By the triangle inequality (Cauchy-Schwarz) the distance between two such short rows is
at most the distance between the rows. The directions are about the principal components of a
sample: they decide only how tight the bounds are, never the result. For manhattan distances: sums
of groups of columns, since |sum of differences| <= sum of |differences|.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array, blocks
from ..exact import bits_for, gram, product, rounded, slices
from ..native import kernels
from ..progress import Share
from ..threads import map_blocks
from .point_set import PointSet

_VARIANCE_KEPT = 0.97  # share of the variance of the sample that the kept directions hold
MOST_COLUMNS = 256  # reduced columns of a row, at most, for exact bounds: 1.2 kB with tails
ALL_COLUMNS = 128  # data with at most so many keep all of them: bounds are distances
# columns that are reordered at a time: one cache line of float32, or more while they are few values
MOVED = 16
_VALUES_PER_MOVE = 8_000_000  # 32 MB
_VALUES_PER_TASK = 130_000  # float64 values of a block of a thread: 1 MB
_SAMPLE_VALUES = 4_000_000  # numbers in the sample of rows that directions are fitted on, at most
_SAMPLE_ROWS = 2000  # rows of that sample, for few columns
_MIN_SAMPLE_ROWS = 64  # rows of that sample, for many columns


@dataclass(frozen=True, eq=False)
class Reducer:
    """An affine map to short rows: directions (L2) or groups of columns (L1)."""

    mean: Array
    directions: Array  # n_cols x n_kept; 0/1 memberships for L1
    norm: str

    @property
    def n_dims(self) -> int:
        """Columns of the short rows, padded to a multiple of 16."""
        return -(-int(self.directions.shape[1]) // 16) * 16


@dataclass(frozen=True, eq=False)
class ShortRows:
    """Rows in a few columns; cpp/cells.hpp has the meaning of each array."""

    z: Array  # float32, n x n_dims
    tails: Array  # float32, n x n_dims / 8
    sizes: Array  # float32, n

    def take(self, order: Array, n_threads: int) -> ShortRows:
        z = _take(self.z, order, n_threads, aligned_empty(len(order), self.z.shape[1]))
        return ShortRows(z, _take(self.tails, order, n_threads), self.sizes[order])

    def put_in_order(self, order: Array, n_threads: int) -> ShortRows:
        """Reorder all rows in place, some columns at a time."""
        n, dims = self.z.shape
        width = min(dims, max(1, _VALUES_PER_MOVE // (n * MOVED)) * MOVED)
        before = np.empty((n, width), dtype=np.float32)
        for first in range(0, dims, width):
            columns = self.z[:, first : first + width]
            kept = before[:, : columns.shape[1]]

            def keep(part: slice, columns: Array = columns, kept: Array = kept) -> None:
                kept[part] = columns[part]

            def move(part: slice, columns: Array = columns, kept: Array = kept) -> None:
                columns[part] = kept[order[part]]

            for step in (keep, move):
                map_blocks(step, blocks(n, width, values=100_000), n_threads)
        return ShortRows(self.z, _take(self.tails, order, n_threads), self.sizes[order])

    def is_flat(self, leading: int, share: float) -> bool:
        """Whether the leading columns hold less than a share of the squares (L2)."""
        if self.z.shape[1] <= leading:
            return False
        rest = float(np.square(self.tails[:, leading // 8 - 1], dtype=np.float64).sum())
        return rest > (1 - share) * float(self.sizes.sum(dtype=np.float64))


def _take(values: Array, order: Array, n_threads: int, out: Array | None = None) -> Array:
    """values[order], by several threads."""
    taken = np.empty((len(order), values.shape[1]), dtype=values.dtype) if out is None else out
    map_blocks(
        lambda part: np.take(values, order[part], axis=0, out=taken[part], mode="clip"),
        blocks(len(taken), taken.shape[1], values=800_000),
        n_threads,
    )
    return taken


def aligned_empty(n: int, width: int) -> Array:
    """An (n, width) float32 array that starts on a cache line."""
    raw = np.empty(n * width + 16, dtype=np.float32)
    skip = -(raw.ctypes.data // 4) % 16
    return raw[skip : skip + n * width].reshape(n, width)


def sample_size(n: int, n_cols: int) -> int:
    """Rows that directions are fitted on."""
    return min(n, _SAMPLE_ROWS, max(_MIN_SAMPLE_ROWS, _SAMPLE_VALUES // n_cols))


def fit_reducer(points: PointSet, rows: Array | None = None, most: int = MOST_COLUMNS) -> Reducer:
    """At most `most` directions from sampled rows (None: random); O(sample · n_cols · n_dims)."""
    rng = np.random.default_rng(0)
    sample = points.block(_random_rows(points, rng) if rows is None else rows)
    mean = np.zeros(points.n_cols) if points.is_sparse else sample.mean(axis=0)
    if not points.is_sparse:
        sample -= mean
    if points.norm == "L1":
        return Reducer(mean, _column_groups(sample, most), "L1")
    return Reducer(mean, _principal_directions(sample, rng, most), "L2")


def _random_rows(points: PointSet, rng: np.random.Generator) -> Array:
    size = sample_size(points.n, points.n_cols)
    return (
        np.sort(rng.choice(points.n, size, replace=False))
        if size < points.n
        else np.arange(points.n)
    )


def share_held(points: PointSet, rows: Array | None, reducer: Reducer, leading: int) -> float:
    """Share of the variance of sampled rows (None: random ones) along the leading directions."""
    x = points.block(_random_rows(points, np.random.default_rng(0)) if rows is None else rows)
    x = x if points.is_sparse else x - reducer.mean
    held = float(row_squares(product(x, reducer.directions[:, :leading])).sum())
    total = float(row_squares(x).sum())
    return held / total if total > 0 else 1.0


def _principal_directions(sample: Array, rng: np.random.Generator, most: int) -> Array:
    """About the leading principal directions, exactly orthonormal, up to the share of variance."""
    n_cols = sample.shape[1]
    total = float(row_squares(sample).sum())
    if n_cols <= min(ALL_COLUMNS, max(most, 64)) and not sparse.issparse(sample):
        return with_signs(_eigenvectors(gram(sample))[1].T)
    most = min(most, n_cols, sample.shape[0])  # a few rows span no more directions
    if sample.shape[0] <= 2 * most:
        left = _eigenvectors(product(sample, sample.T))[1][:most]
        basis = kernels.orthonormal(product(sample.T, left.T, 1).T)
    else:
        basis = rng.random((most, n_cols)) - 0.5
        for _ in range(2):  # block power iteration; a few digits will do
            scores = product(sample, basis.T, 1)
            basis = kernels.orthonormal(product(sample.T, scores, 1).T)
    scores = product(sample, basis.T)
    values, rotation = _eigenvectors(gram(scores))
    share = np.cumsum(values) / total if total > 0 else np.ones(most)
    keep = min(most, -(-(int(np.searchsorted(share, _VARIANCE_KEPT)) + 1) // 16) * 16)
    return with_signs(kernels.orthonormal(product(rotation[:keep], basis)).T)


def _eigenvectors(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix, the largest first, and eigenvectors as rows."""
    values, vectors = kernels.eigenvectors(matrix[None])
    return values[0, ::-1], vectors[0, ::-1]


def with_signs(directions: Array) -> Array:
    """Directions with signs that do not depend on LAPACK: signs decide how members are mirrored."""
    # no direction of real data is orthogonal to it
    generic = np.sin(1.0 + np.arange(len(directions)))
    along = (generic[:, None] * directions).sum(axis=0)
    return np.ascontiguousarray(np.where(along < 0, -directions, directions))


def _column_groups(sample: Array, most: int) -> Array:
    """0/1 memberships of columns in groups: neighbours along the leading principal directions."""
    n_cols = sample.shape[1]
    n_groups = min(n_cols, most)
    members = np.zeros((n_cols, n_groups))
    members[np.arange(n_cols), np.arange(n_cols) * n_groups // n_cols] = 1
    spread = np.abs(product(sample, members)).mean(axis=0)
    return np.ascontiguousarray(members[:, np.argsort(-spread, kind="stable")])


def reduce_rows(
    points: PointSet,
    reducer: Reducer,
    n_threads: int,
    rows: Array | None = None,
    progress: Share | None = None,
    reproducible: bool = False,
) -> ShortRows:
    """Short rows of the given rows (all: None), in blocks; O(n · n_cols · n_dims).

    `reproducible`: factors are rounded to some 20 bits first, so that sums have the same bits on
    every machine. They lose no more than the margin for rounding usually allows; that is not
    proved, so it is for searches that prove nothing.
    """
    n = points.n if rows is None else len(rows)
    dims = reducer.n_dims
    z = aligned_empty(n, dims)
    tails = np.empty((n, dims // 8), dtype=np.float32)
    sizes = np.empty(n, dtype=np.float32)
    parts = blocks(n, max(points.n_cols, dims), values=_VALUES_PER_TASK)
    project = _projection(points, reducer, parts[0].stop, reproducible)

    def reduce_block(part: slice) -> None:
        which: Any = part if rows is None else rows[part]
        x, short = project(which)
        extra = points.extra[which]
        z[part] = short
        if reducer.norm == "L1":
            sums = short.reshape(-1, dims // 8, 8).sum(axis=2)
            tails[part] = (sums.sum(axis=1, keepdims=True) - sums.cumsum(axis=1)) + extra[:, None]
            sizes[part] = np.asarray(abs(x).sum(axis=1)).ravel() + extra
            return
        size = row_squares(x) + extra**2
        np.multiply(short, short, out=short)
        held = short.reshape(-1, dims // 8, 8).sum(axis=2).cumsum(axis=1)
        tails[part] = np.sqrt(np.maximum(size[:, None] - held, 0))
        sizes[part] = size

    map_blocks(reduce_block, parts, n_threads, progress)
    return ShortRows(z, tails, sizes)


def _projection(
    points: PointSet, reducer: Reducer, most: int, reproducible: bool
) -> Callable[[Any], tuple[Any, Array]]:
    """A function from up to `most` rows to those rows, centred, and their coordinates.

    The arrays are used again.
    """
    scratch = _Scratch(most, 0 if points.is_sparse else points.n_cols, reducer.n_dims)
    kept = reducer.directions.shape[1]
    bits = bits_for(points.n_cols)
    directions = rounded(reducer.directions, bits) if reproducible else reducer.directions

    def project(which: Any) -> tuple[Any, Array]:
        x = points.block(which, scratch.rows)
        short = scratch.short[: x.shape[0]]
        if points.is_sparse:  # the mean is 0 there
            x = _on_grid(x, bits) if reproducible else x
            short[:, :kept] = x @ directions
            return x, short
        x = np.subtract(x, reducer.mean, out=scratch.rows[: len(x)])
        if reproducible:
            (whole,), unit = slices(x, 1, 1, bits)
            x = np.multiply(whole, unit, out=x)
        np.matmul(x, directions, out=short[:, :kept])
        return x, short

    return project


def _on_grid(x: Any, bits: int) -> Any:
    """Values of sparse rows, which are about 1 at most, as multiples of 2**-bits."""
    return x._with_data(np.rint(x.data * 2.0**bits) * 2.0**-bits, copy=False)


class _Scratch(threading.local):
    """Buffers that each thread reuses: page faults of new ones cost more than the arithmetic."""

    def __init__(self, n: int, n_cols: int, dims: int) -> None:
        self.rows = np.empty((n, n_cols))
        self.short = np.zeros((n, dims))


def row_squares(x: Any) -> Array:
    """Squared norm of each row, dense or sparse."""
    if sparse.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1)).ravel()
    return np.asarray((x * x).sum(axis=1))


def rounding_slack(head: int, n_cols: int) -> float:
    """The margin for rounding in a tile of `head` columns, relative to the sizes of two short rows.

    The first term covers sums of `head` products in float32 and the additions over the other
    columns, the second tails, whose square roots may lose half of the digits of float64.
    docs/explain/exactness.md derives both.
    """
    return (head + 80) * 2.0**-23 + 8 * float(np.sqrt((n_cols + 64) * 2.0**-53))
