"""What the compiled kernels compute, in plain NumPy: documentation, oracle and fall-back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import BLOCK_VALUES, Array, blocks, runs
from ..nearest import nearest_of_each


def project(x: Array, mean: Array, basis: Array) -> Array:
    """z[i, c] = sum over k of (x[i, k] - mean[k]) * basis[c, k]; O(n · cols · dims).

    Summed row by row, not by a matrix product: a row alone gives the bits that it gives in a batch.
    """
    z = np.empty((len(x), len(basis)))
    for rows in blocks(len(x), x.shape[1]):
        centred = x[rows] - mean
        for c, direction in enumerate(basis):
            z[rows, c] = add_eight(centred * direction)
    return z


def add_eight(values: Array) -> Array:
    """Sums along the last axis as kernels add them up: eight running sums, then these."""
    n = values.shape[-1]
    whole = n // 8 * 8
    lanes = values[..., :whole].reshape(*values.shape[:-1], n // 8, 8)
    s = lanes.sum(axis=-2) + values.dtype.type(0)  # as from 0: never -0
    s[..., : n - whole] += values[..., whole:]
    return np.asarray(
        ((s[..., 0] + s[..., 4]) + (s[..., 2] + s[..., 6]))
        + ((s[..., 1] + s[..., 5]) + (s[..., 3] + s[..., 7]))
    )


def dot(a: Array, b: Array) -> float:
    """The product of two vectors, as kernels add it up."""
    return float(add_eight(a * b))


def group_means(x: Array, order: Array, starts: Array, weights: Array) -> Array:
    """Weighted mean of rows order[starts[g]:starts[g + 1]] for each group g, summed in float64."""
    means = np.empty((len(starts) - 1, x.shape[1]), dtype=x.dtype)
    for part in runs(starts, BLOCK_VALUES // max(1, x.shape[1])):
        rows = order[starts[part.start] : starts[part.stop]]
        first = starts[part] - starts[part.start]
        w = weights[rows]
        sums = np.add.reduceat(x[rows] * w[:, None], first, axis=0)
        means[part] = sums / np.add.reduceat(w, first)[:, None]
    return means


def largest(values: Array) -> float:
    """Largest absolute value; NaN if any value is NaN, 0 for none."""
    if values.size == 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        return max(float(values.max()), -float(values.min()))


def hash_rows(x: Array) -> Array:
    """A 64-bit number per row, equal for equal rows: the sum of the `hash_values` of its values."""
    out = np.zeros(len(x), dtype=np.uint64)
    for k in range(x.shape[1]):
        out += hash_values(x[:, k], np.uint64(k))
    return out


def hash_values(values: Array, columns: Any) -> Array:
    """A 64-bit number per value and its column, 0 for 0; of the value as a double."""
    step = np.uint64(0x9E3779B97F4A7C15)
    odd = np.uint64(0xBF58476D1CE4E5B9)
    with np.errstate(over="ignore"):
        key = (np.asarray(columns).astype(np.uint64) + np.uint64(1)) * step
        bits = (np.ascontiguousarray(values, dtype=np.float64).view(np.uint64) ^ key) * odd
        bits = (bits ^ (bits >> np.uint64(32))) * step
    return np.where(values == 0, np.uint64(0), bits ^ (bits >> np.uint64(29)))


def count_within(values: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """How many values of row i are < lower[i, c], and how many <= upper[i, c]; O(n · cols · c)."""
    below = np.empty(lower.shape, dtype=np.int64)
    upto = np.empty(lower.shape, dtype=np.int64)
    for c in range(lower.shape[1]):
        below[:, c] = np.count_nonzero(values < lower[:, c, None], axis=1)
        upto[:, c] = np.count_nonzero(values <= upper[:, c, None], axis=1)
    return below, upto


def nearest(queries: Any, rows: Any, *, norm: str, exclude_self: bool) -> tuple[Array, Array]:
    """Each query's nearest row by brute force: distance and index; ties: lower key, then index.

    Squared euclidean distances for norm "L2", manhattan for "L1"; O(n · m · cols) time, O(block)
    memory. `queries` and `rows` are `PointSet`s: rows as the metric sees them.
    """
    distances = np.empty(queries.n)
    ids = np.empty(queries.n, dtype=np.int64)
    for block in blocks(queries.n, max(rows.n, rows.n_cols)):
        approx, margin = queries.rough_distances(block, rows, norm)
        if exclude_self:
            approx[np.arange(block.stop - block.start), np.arange(block.start, block.stop)] = np.inf
        near = approx <= approx.min(axis=1, keepdims=True) + margin
        i, j = np.nonzero(near)
        exact = queries.pair_distances(i + block.start, rows, j, norm)
        first = nearest_of_each(i, exact, j, None if rows.keys is None else rows.keys[j])
        distances[block] = exact[first]
        ids[block] = j[first]
    return distances, ids
