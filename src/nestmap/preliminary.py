"""Section 3.2: the preliminary embedding, one map for rows and centroids.

All rows get d coordinates; a node's coordinates are the mean of those of the rows below it. For the
linear maps (the paper's PCA on the centroids of one level, full PCA, a random projection) that is
the projection of its centroid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from ._native import kernels
from ._native.twins import Array, blocks
from ._parallel import single_threaded_blas
from .hierarchy import Hierarchy
from .neighbors.duplicates import hash_points

KINDS = ("pca_centroids", "pca", "random_projection", "random")
FEW_NODES = 1000  # the paper's "~1000 centroids"


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x -> (x - mean) @ basis.T"""

    mean: Array
    basis: Array  # (n_components, n_features)

    def __call__(self, X: Any, n_threads: int) -> Array:
        if sparse.issparse(X):
            return np.asarray(X @ self.basis.T - self.mean @ self.basis.T)
        return kernels.project(X, self.mean, self.basis, n_threads)


@dataclass(frozen=True, eq=False)
class RandomMap:
    """Uniform random coordinates that depend on the seed and on the row's values alone.

    Equal rows get equal coordinates, and a new row gets the same ones in any batch.
    """

    seed: int
    n_components: int

    def __call__(self, X: Any, n_threads: int) -> Array:
        hashes = hash_points(X, n_threads)[:, None] + np.uint64(self.seed)
        state = hashes + np.arange(1, self.n_components + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
        return state.astype(np.float64) / 2.0**64 - 0.5


@dataclass(frozen=True, eq=False)
class Preliminary:
    """Coordinates of rows and nodes before the descent.

    `transform` maps new rows; None where coordinates were given (then a new row takes those of the
    training row or centroid that it is nearest to).
    """

    kind: str
    rows: Array  # (n_rows, d) float64
    nodes: tuple[Array, ...]  # per level, (n_nodes, d)
    transform: LinearMap | RandomMap | None

    @property
    def n_components(self) -> int:
        return int(self.rows.shape[1])


def make_preliminary(
    X: Any,
    hierarchy: Hierarchy,
    n_components: int,
    kind: Any = "pca_centroids",
    *,
    standardize: bool = False,
    seed: int = 0,
    n_threads: int = 1,
) -> Preliminary:
    """Coordinates of all rows and nodes; `kind` is one of KINDS or an array of coordinates."""
    transform: LinearMap | RandomMap | None = None
    if isinstance(kind, str):
        if kind == "random":
            transform = RandomMap(seed, n_components)
        elif kind == "random_projection":
            transform = _random_projection(X, n_components, seed, standardize)
        else:
            source = X if kind == "pca" else pca_source(X, hierarchy)
            transform = fit_pca(source, n_components, standardize)
        rows, name = transform(X, n_threads), kind
    else:
        rows, name = kind, "precomputed"
    nodes = []
    values, weights = rows, np.ones(len(rows))
    for level in hierarchy:
        values = level.grouping.mean(values, weights)
        weights = level.sizes.astype(np.float64)
        nodes.append(values)
    return Preliminary(name, rows, tuple(nodes), transform)


def check_coordinates(given: Any, n_rows: int, n_components: int) -> Array:
    """Precomputed coordinates, one row of n_components per row of X."""
    values: Array = np.ascontiguousarray(given, dtype=np.float64)
    if values.shape != (n_rows, n_components) or not np.isfinite(values).all():
        raise ValueError(
            f"preliminary: expected finite coordinates of shape ({n_rows}, {n_components}), got "
            f"shape {values.shape}; or use one of {', '.join(map(repr, KINDS))}"
        )
    return values


def pca_source(X: Any, hierarchy: Hierarchy) -> Any:
    """The paper's rule: the lowest level above which all levels have fewer than 1000 nodes.

    X itself where even level 0 is that small.
    """
    source = X
    for level, finer in zip(hierarchy.levels, (None, *hierarchy.levels), strict=False):
        if level.n_nodes < FEW_NODES:
            return source if finer is None else finer.centroids
        source = level.centroids
    return source


def fit_pca(X: Any, n_components: int, standardize: bool = False) -> LinearMap:
    """Leading principal directions of the rows of X, exactly; zero directions beyond the rank."""
    n, n_features = X.shape
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    scale = _inverse_spread(X, mean) if standardize else np.ones(n_features)
    with single_threaded_blas():
        if sparse.issparse(X):
            directions = _sparse_directions(X, mean, scale, n_components)
        elif n_features <= n:
            directions = _leading(_covariance(X, mean, scale), n_components)
        else:
            rows = (X - mean) * scale
            left = _leading(rows @ rows.T, min(n_components, n))
            directions = rows.T @ left
            lengths = np.linalg.norm(directions, axis=0)
            directions = np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0)
    directions = np.pad(directions, ((0, 0), (0, n_components - directions.shape[1])))
    # the sign of a direction is arbitrary: make its largest entry positive
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(n_components)])
    directions = directions * np.where(signs == 0, 1.0, signs)
    return LinearMap(mean, np.ascontiguousarray((directions * scale[:, None]).T))


def _leading(matrix: Array, k: int) -> Array:
    """Leading eigenvectors of a symmetric matrix; zero beyond its rank."""
    n = len(matrix)
    k = min(k, n)
    scale = np.abs(matrix).max()
    if scale == 0:
        return np.eye(n, k)
    if n > 200 and k < n // 20:  # Lanczos from a fixed start: the same bits each time, no full reduction
        values, vectors = eigsh(matrix / scale, k=k, v0=np.ones(n))
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    else:
        values, vectors = eigh(matrix / scale, subset_by_index=[n - k, n - 1])
    vectors = vectors[:, ::-1]
    vectors[:, values[::-1] <= 1e-14 * max(1.0, values[-1])] = 0.0  # beyond the rank: noise
    return np.asarray(vectors)


def _covariance(X: Array, mean: Array, scale: Array) -> Array:
    total = np.zeros((X.shape[1], X.shape[1]))
    for part in blocks(*X.shape):
        block = (X[part] - mean) * scale
        total += block.T @ block
    return total


def _inverse_spread(X: Any, mean: Array) -> Array:
    """1 / standard deviation per column; 1 for constant columns (StandardScaler's rule)."""
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    else:
        squares = np.zeros(X.shape[1])
        for part in blocks(*X.shape):
            squares += ((X[part] - mean) ** 2).sum(axis=0)
        squares /= X.shape[0]
    spread = np.sqrt(np.maximum(squares, 0))
    return np.where(spread > 1e-12 * np.maximum(np.abs(mean), 1e-300), 1 / np.where(spread > 0, spread, 1), 1.0)


def _sparse_directions(X: Any, mean: Array, scale: Array, k: int) -> Array:
    """Right singular vectors of the centred rows, without making them dense."""
    from scipy.sparse.linalg import LinearOperator, svds

    n, n_features = X.shape
    k_max = min(k, min(n, n_features) - 1)
    if min(n, n_features) <= 50 or k_max < k:
        return fit_pca(X.toarray() * scale, min(k, n_features)).basis.T
    centred = LinearOperator(
        (n, n_features),
        matvec=lambda v: X @ (scale * v.ravel()) - mean @ (scale * v.ravel()),
        rmatvec=lambda u: scale * (X.T @ u.ravel() - mean * u.sum()),
        dtype=np.float64,
    )
    _, values, vt = svds(centred, k=k, v0=np.ones(min(n, n_features)))
    return np.asarray(vt[np.argsort(-values)].T)


def _random_projection(X: Any, n_components: int, seed: int, standardize: bool) -> LinearMap:
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    basis = np.random.default_rng(seed).uniform(-1, 1, (n_components, X.shape[1]))
    return LinearMap(mean, basis * _inverse_spread(X, mean) if standardize else basis)
