"""Principal components of dense or sparse rows, read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, blocks
from ...core.exact import gram, product
from ...core.native import kernels
from ...core.points.point_set import power_of_two
from ...core.threads import map_blocks, single_threaded_blas
from .eigen import leading_eigenvectors
from .maps import VALUES_PER_READ, LinearMap

# running sums over X: so many threads can add at once, up to so many columns, as each sum may be a
# covariance matrix
_PARTIAL_SUMS = 4
_MAX_SHARED_COLUMNS = 4096


def fit_pca(
    X: Any,
    n_components: int,
    n_threads: int = 1,
    weights: Array | None = None,
) -> LinearMap:
    """Leading principal directions of the rows of X, exactly; zero directions beyond the rank.

    X is read in blocks and never copied as a whole. A row of weight w counts as w rows; None: each
    counts once.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> fit_pca(X, 2)(X, 1).tolist()
    [[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]]
    """
    n, n_features = X.shape
    counts = np.ones(n) if weights is None else weights / weights.mean()
    mean = column_means(X, n_threads, counts)
    # only to keep squares in range
    scale = np.full(n_features, power_of_two(X, n_threads) if X.dtype == np.float64 else 1.0)
    with single_threaded_blas():
        if sparse.issparse(X):
            directions = _sparse_directions(X, counts, mean, scale, n_components)
        elif n_features <= n:
            covariance = _covariance(X, counts, mean, scale, n_threads)
            directions = leading_eigenvectors(_times(covariance), n_features, n_components)
        else:
            directions = _wide_directions(X, counts, mean, scale, n_components)
    # the sign of a direction is arbitrary: make its largest entry positive
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(n_components)])
    directions = directions * np.where(signs == 0, 1.0, signs)
    return LinearMap(mean, np.ascontiguousarray(directions.T))


def _sum_over_rows(X: Array, term: Callable[[slice], Array], n_threads: int) -> Array:
    """The sum of term(rows of a block), in an order that no number of threads changes."""
    n, width = X.shape
    parts = blocks(n, width, values=max(VALUES_PER_READ, 512 * width))
    n_stripes = min(len(parts), _PARTIAL_SUMS if width <= _MAX_SHARED_COLUMNS else 1)

    def stripe(first: int) -> Array:
        return np.asarray(sum(term(part) for part in parts[first::n_stripes]))

    return np.asarray(np.sum(map_blocks(stripe, range(n_stripes), n_threads), axis=0))


def column_means(X: Any, n_threads: int, counts: Array) -> Array:
    """Mean of each column, in float64; row i counts as counts[i] rows, which sum to all rows."""
    if sparse.issparse(X):
        return np.asarray(X.astype(np.float64, copy=False).T @ counts) / len(counts)
    return _sum_over_rows(
        X, lambda rows: (counts[rows, None] * X[rows]).sum(axis=0), n_threads
    ) / len(X)


def _covariance(X: Array, counts: Array, mean: Array, scale: Array, n_threads: int) -> Array:
    roots = np.sqrt(counts)

    def term(rows: slice) -> Array:
        block = X[rows] - mean
        block *= scale
        block *= roots[rows, None]
        return gram(block)

    return _sum_over_rows(X, term, n_threads)


def _wide_directions(X: Array, counts: Array, mean: Array, scale: Array, k: int) -> Array:
    """Leading directions of fewer rows than columns, in blocks of columns."""
    roots = np.sqrt(counts)[:, None]

    def columns() -> Iterator[Array]:
        return (
            roots * (X[:, part] - mean[part]) * scale[part] for part in blocks(X.shape[1], len(X))
        )

    gram = np.asarray(sum(product(block, block.T) for block in columns()))
    left = leading_eigenvectors(_times(gram), len(X), k)
    return _unit_columns(np.vstack([product(block.T, left) for block in columns()]))


def _times(matrix: Array) -> Callable[[Array], Array]:
    """Products of vectors with a matrix, added up in one order."""
    matrix = np.ascontiguousarray(matrix)
    zeros = np.zeros(matrix.shape[1])
    return lambda v: np.asarray(kernels.project(matrix, zeros, v[None], 1)[:, 0])


def _sparse_directions(X: Any, counts: Array, mean: Array, scale: Array, k: int) -> Array:
    """The same for CSR rows, which stay sparse: they are only multiplied with vectors."""
    X = X.astype(np.float64, copy=False)
    columns = X.T
    roots = np.sqrt(counts)

    def along(v: Array) -> Array:  # the centred, scaled and weighted rows times v
        v = scale * v
        return np.asarray(roots * (X @ v - mean @ v))

    def across(u: Array) -> Array:  # u times the centred, scaled and weighted rows
        u = roots * u
        return np.asarray(scale * (columns @ u - mean * u.sum()))

    n, n_features = X.shape
    if n_features <= n:
        return leading_eigenvectors(lambda v: across(along(v)), n_features, k)
    left = leading_eigenvectors(lambda u: along(across(u)), n, k)
    return _unit_columns(np.stack([across(u) for u in left.T], axis=1))


def _unit_columns(directions: Array) -> Array:
    lengths = np.sqrt((directions * directions).sum(axis=0))
    return np.asarray(
        np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0)
    )
