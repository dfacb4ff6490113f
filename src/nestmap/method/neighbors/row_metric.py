"""Metrics that are euclidean after a change of the rows, so that the fast search serves them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, blocks
from ...core.input.validate import dense_block
from ...core.native import kernels
from ...core.threads import map_blocks, single_threaded_blas

ROW_METRICS = ("mahalanobis", "seuclidean", "hellinger")
_PIECE = 500_000  # values that a thread changes at once


@dataclass(frozen=True, eq=False)
class RowMetric:
    """distance(a, b) = factor · |rows(a) - rows(b)|

    - 'mahalanobis': rows(x) = (x - mean) L with VI = L L'
    - 'seuclidean': rows(x) = (x - mean) / sqrt(V)
    - 'hellinger': rows(x) = sqrt(x), factor 1 / sqrt(2)
    """

    name: str
    mean: Array | None = None
    matrix: Array | None = None  # (n_features, n_features), or (n_features,): a diagonal
    factor: float = 1.0

    def rows(self, X: Any, n_threads: int = 1) -> Any:
        """The changed rows, float64, each by itself; CSR stays CSR."""
        if self.mean is None or self.matrix is None:
            _check_not_negative(X)
            return (
                np.sqrt(X, dtype=np.float64)
                if not sparse.issparse(X)
                else X.astype(np.float64).sqrt()
            )
        mean = self.mean
        matrix = self.matrix
        basis = np.ascontiguousarray(matrix.T) if matrix.ndim == 2 else None
        out = np.empty(X.shape)

        def change(part: slice) -> None:
            x = dense_block(X, part)
            out[part] = (x - mean) * matrix if basis is None else kernels.project(x, mean, basis, 1)

        map_blocks(change, blocks(X.shape[0], X.shape[1], values=_PIECE), n_threads)
        return out

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        """A function that gives the distances of each of some rows to each of the others."""
        changed = self.rows(others)
        if sparse.issparse(changed):
            from sklearn.metrics import euclidean_distances as euclidean
        else:
            from scipy.spatial.distance import cdist as euclidean
        return lambda rows: np.asarray(self.factor * euclidean(self.rows(rows), changed))

    def __repr__(self) -> str:
        return repr(self.name)


def make_row_metric(name: str, X: Any, params: Mapping[str, Any]) -> RowMetric:
    """A metric of ROW_METRICS with its parameters; those not given are estimated from all of X."""
    if name == "hellinger":
        _check_not_negative(X)
        return RowMetric(name, factor=float(np.sqrt(0.5)))
    n_features = X.shape[1]
    if X.shape[0] < 2 and not params:
        raise ValueError(
            f"metric={name!r} is estimated from the rows and takes at least two, got n_samples=1"
        )
    mean = np.asarray(np.mean(X, axis=0, dtype=np.float64))
    if name == "seuclidean":
        V = np.asarray(params["V"] if "V" in params else _variances(X, mean), dtype=np.float64)
        if V.shape != (n_features,) or not (V > 0).all():
            known = V.shape == (n_features,)
            what = (
                f"the least of V is {V.min():g}, of column {V.argmin()}"
                if known
                else f"V has shape {V.shape}"
            )
            raise ValueError(
                f"metric='seuclidean': {what}; drop constant columns, or give "
                f"metric_params={{'V': …}}, {n_features} positive variances"
            )
        return RowMetric(name, mean, 1 / np.sqrt(V))
    if "VI" not in params:
        return RowMetric(name, mean, _whitening(X, mean))
    VI = np.asarray(params["VI"], dtype=np.float64)
    if VI.shape != (n_features, n_features) or not np.allclose(
        VI, VI.T, rtol=1e-6, atol=1e-9 * np.abs(VI).max()
    ):
        raise ValueError(
            f"metric='mahalanobis': VI must be a symmetric matrix of {n_features} x {n_features}, "
            f"not of {VI.shape}"
        )
    values, vectors, units = _eigen((VI + VI.T) / 2)
    if values[0] < -1e-9 * values[-1]:
        raise ValueError("metric='mahalanobis': VI has a negative eigenvalue; distances need none")
    return RowMetric(name, mean, units[:, None] * vectors * np.sqrt(np.maximum(values, 0)))


def _eigen(matrix: Array) -> tuple[Array, Array, Array]:
    """Eigenvalues and vectors of a symmetric matrix in its columns' units, and these units.

    In them the diagonal is 1.
    """
    units = np.sqrt(np.abs(np.diagonal(matrix)))
    units = np.where(units > 0, units, 1.0)
    values, vectors = np.linalg.eigh(matrix / units / units[:, None])
    return values, vectors, units


def _variances(X: Array, mean: Array) -> Array:
    total = np.zeros(X.shape[1])
    for part in blocks(X.shape[0], X.shape[1]):
        total += ((X[part] - mean) ** 2).sum(axis=0)
    return np.asarray(total / max(1, X.shape[0] - 1))


def _whitening(X: Array, mean: Array) -> Array:
    """L with L L' the inverse of the rows' covariance; columns may have very different units."""
    total = np.zeros((X.shape[1], X.shape[1]))
    with single_threaded_blas():
        for part in blocks(X.shape[0], X.shape[1]):
            centred = X[part] - mean
            total += centred.T @ centred
        values, vectors, units = _eigen(total / max(1, X.shape[0] - 1))
    if not values[0] > 1e-13 * len(values):
        raise ValueError(
            f"metric='mahalanobis': the covariance of the {X.shape[0]} rows has no inverse; drop "
            "columns that follow from others, or give metric_params={'VI': "
            "np.linalg.pinv(np.cov(X.T))}"
        )
    return np.asarray(vectors / np.sqrt(values) / units[:, None])


def _check_not_negative(X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(
            "metric='hellinger' takes square roots of rows: values must be >= 0, got "
            f"{values.min():g}"
        )
