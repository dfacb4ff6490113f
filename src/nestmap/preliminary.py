"""Section 3.2: the preliminary embedding, one map for rows and centroids.

All rows get d coordinates; a node's coordinates are the mean of those of the rows below it. For the
linear maps (the paper's PCA on the centroids of one level, full PCA, a random projection) that is
the projection of its centroid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from ._arrays import Array, blocks
from ._input.validate import dense_block
from ._native import kernels
from ._parallel import map_blocks, single_threaded_blas
from ._points.duplicates import hash_points
from .hierarchy.tree import Hierarchy

KINDS = ("pca_centroids", "pca", "random_projection", "random")
FEW_NODES = 1000  # the paper's "~1000 centroids"
_BLOCK_VALUES = 1_000_000  # of X that a thread reads at once
_STRIPES = 4  # running sums over X: as many threads can add …
_WIDE = 4096  # … up to this many columns, since each may be a covariance matrix


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x -> (x - mean) @ basis.T"""

    mean: Array
    basis: Array  # (n_components, n_features)

    def __call__(self, X: Any, n_threads: int) -> Array:
        if sparse.issparse(X):
            return np.asarray(X @ self.basis.T - self.mean @ self.basis.T)
        z = np.empty((len(X), len(self.basis)))

        def project(part: slice) -> None:
            z[part] = kernels.project(dense_block(X, part), self.mean, self.basis, 1)

        map_blocks(project, blocks(X.shape[0], X.shape[1], values=_BLOCK_VALUES), n_threads)
        return z


@dataclass(frozen=True, eq=False)
class RandomMap:
    """Uniform random coordinates that depend on the seed and on the row's values alone.

    Equal rows get equal coordinates, and a new row gets the same ones in any batch.
    """

    seed: int
    n_components: int

    def __call__(self, X: Any, n_threads: int) -> Array:
        z, is_sparse = np.empty((X.shape[0], self.n_components)), sparse.issparse(X)

        def draw(part: slice) -> None:
            state = hash_points(X if is_sparse else X[part], 1)[:, None] + np.uint64(self.seed)
            state = state + np.arange(1, self.n_components + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
                state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
            state ^= state >> np.uint64(31)
            z[part] = state.astype(np.float64) / 2.0**64 - 0.5

        map_blocks(
            draw, [slice(None)] if is_sparse else blocks(X.shape[0], X.shape[1], values=_BLOCK_VALUES), n_threads
        )
        return z


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
            transform = _random_projection(X, n_components, seed, standardize, n_threads)
        else:
            source = X if kind == "pca" else pca_source(X, hierarchy)
            transform = fit_pca(source, n_components, standardize, n_threads)
        rows, name = transform(X, n_threads), kind
    else:
        rows, name = kind, "precomputed"
    nodes = []
    values, weights = rows, np.ones(len(rows))
    for level in hierarchy:
        group = level.grouping
        values = kernels.group_means(values, group.order, group.starts, weights, n_threads)
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


def fit_pca(X: Any, n_components: int, standardize: bool = False, n_threads: int = 1) -> LinearMap:
    """Leading principal directions of the rows of X, exactly; zero directions beyond the rank.

    X is read in blocks and never copied as a whole.
    """
    n, n_features = X.shape
    mean = _mean(X, n_threads)
    scale = _inverse_spread(X, mean, n_threads) if standardize else np.ones(n_features)
    with single_threaded_blas():
        if sparse.issparse(X):
            directions = _sparse_directions(X, mean, scale, n_components)
        elif n_features <= n:
            directions = _leading(_covariance(X, mean, scale, n_threads), n_components)
        else:
            directions = _wide_directions(X, mean, scale, n_components)
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


def _sum_over_rows(X: Array, term: Callable[[Array], Array], n_threads: int) -> Array:
    """The sum of term(block of rows), in an order that does not depend on the number of threads."""
    n, width = X.shape
    parts = blocks(n, width, values=max(_BLOCK_VALUES, 512 * width))
    n_stripes = min(len(parts), _STRIPES if width <= _WIDE else 1)

    def stripe(first: int) -> Array:
        return np.asarray(sum(term(X[part]) for part in parts[first::n_stripes]))

    return np.asarray(np.sum(map_blocks(stripe, range(n_stripes), n_threads), axis=0))


def _mean(X: Any, n_threads: int) -> Array:
    if sparse.issparse(X):
        return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return _sum_over_rows(X, lambda block: block.sum(axis=0, dtype=np.float64), n_threads) / len(X)


def _covariance(X: Array, mean: Array, scale: Array, n_threads: int) -> Array:
    def term(block: Array) -> Array:
        block = (block - mean) * scale
        return np.asarray(block.T @ block)

    return _sum_over_rows(X, term, n_threads)


def _wide_directions(X: Array, mean: Array, scale: Array, k: int) -> Array:
    """Leading directions of fewer rows than columns, in blocks of columns."""

    def columns() -> Iterator[Array]:
        return ((X[:, part] - mean[part]) * scale[part] for part in blocks(X.shape[1], len(X)))

    left = _leading(np.asarray(sum(block @ block.T for block in columns())), min(k, len(X)))
    directions = np.vstack([block.T @ left for block in columns()])
    lengths = np.linalg.norm(directions, axis=0)
    return np.asarray(np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0))


def _inverse_spread(X: Any, mean: Array, n_threads: int) -> Array:
    """1 / standard deviation per column; 1 for constant columns (StandardScaler's rule)."""
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    else:
        squares = _sum_over_rows(X, lambda block: ((block - mean) ** 2).sum(axis=0), n_threads) / len(X)
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


def _random_projection(X: Any, n_components: int, seed: int, standardize: bool, n_threads: int) -> LinearMap:
    mean = _mean(X, n_threads)
    basis = np.random.default_rng(seed).uniform(-1, 1, (n_components, X.shape[1]))
    return LinearMap(mean, basis * _inverse_spread(X, mean, n_threads) if standardize else basis)
