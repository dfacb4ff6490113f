"""The kernels as the rest of the library calls them: compiled if there is a build, else the twin."""

from __future__ import annotations

import numpy as np

from . import core, twins
from .twins import Array


def project(x: Array, mean: Array, basis: Array, n_threads: int) -> Array:
    """Coordinates of the rows of x along the rows of basis, in float64 (see the twin)."""
    if (native := core()) is None:
        return twins.project(x, mean, basis)
    z = np.empty((len(x), len(basis)))
    native.project(x, mean, np.ascontiguousarray(basis), z, n_threads)
    return z


def group_means(x: Array, order: Array, starts: Array, weights: Array, n_threads: int) -> Array:
    """Weighted means of groups of rows, in the dtype of x, summed in float64 (see the twin)."""
    if (native := core()) is None:
        return twins.group_means(x, order, starts, weights)
    means = np.empty((len(starts) - 1, x.shape[1]), dtype=x.dtype)
    native.group_means(x, order, starts, weights, means, n_threads)
    return means


def largest(values: Array, n_threads: int = 1) -> float:
    """Largest absolute value of a contiguous array (see the twin)."""
    if (native := core()) is None:
        return twins.largest(values)
    return float(native.largest(values.reshape(-1), n_threads))


def hash_rows(x: Array, n_threads: int) -> Array:
    """A 64-bit number per row, equal for equal rows (see the twin)."""
    if (native := core()) is None:
        return twins.hash_rows(x)
    out = np.empty(len(x), dtype=np.uint64)
    native.hash_rows(x, out, n_threads)
    return out
