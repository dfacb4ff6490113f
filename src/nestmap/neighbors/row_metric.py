"""Metrics that are euclidean after a change of the rows, so that the fast search serves them too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Array, blocks

ROW_METRICS = ("mahalanobis", "seuclidean", "hellinger")


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

    def rows(self, X: Any) -> Any:
        """The changed rows, float64; CSR stays CSR."""
        if self.mean is None or self.matrix is None:
            _check_not_negative(X)
            return np.sqrt(X, dtype=np.float64) if not sparse.issparse(X) else X.astype(np.float64).sqrt()
        out = np.empty((X.shape[0], self.matrix.shape[-1]))
        for part in blocks(X.shape[0], X.shape[1]):
            centred = X[part] - self.mean
            out[part] = centred * self.matrix if self.matrix.ndim == 1 else centred @ self.matrix
        return out

    def distances(self, a: Any, b: Any) -> Array:
        """Of each row of a to each row of b."""
        a, b = self.rows(a), self.rows(b)
        if sparse.issparse(a):
            from sklearn.metrics import euclidean_distances

            return np.asarray(self.factor * euclidean_distances(a, b))
        from scipy.spatial.distance import cdist

        return np.asarray(self.factor * cdist(a, b))

    def __repr__(self) -> str:
        return repr(self.name)


def make_row_metric(name: str, X: Any, params: Mapping[str, Any]) -> RowMetric:
    """A metric of ROW_METRICS with its parameters, estimated from all rows of X where they are not given."""
    if name == "hellinger":
        _check_not_negative(X)
        return RowMetric(name, factor=float(np.sqrt(0.5)))
    n_features = X.shape[1]
    if X.shape[0] < 2 and not params:
        raise ValueError(f"metric={name!r} is estimated from the rows and takes at least two, got n_samples=1")
    mean = np.asarray(np.mean(X, axis=0, dtype=np.float64))
    if name == "seuclidean":
        V = np.asarray(params["V"] if "V" in params else _variances(X, mean), dtype=np.float64)
        if V.shape != (n_features,) or not (V > 0).all():
            known = V.shape == (n_features,)
            what = f"the least of V is {V.min():g}, of column {V.argmin()}" if known else f"V has shape {V.shape}"
            raise ValueError(
                f"metric='seuclidean': {what}; drop constant columns, or give metric_params={{'V': …}}, "
                f"{n_features} positive variances"
            )
        return RowMetric(name, mean, 1 / np.sqrt(V))
    VI = np.asarray(params["VI"], dtype=np.float64) if "VI" in params else _inverse_covariance(X, mean)
    if VI.shape != (n_features, n_features) or not np.allclose(VI, VI.T, rtol=1e-6, atol=1e-9 * np.abs(VI).max()):
        raise ValueError(
            f"metric='mahalanobis': VI must be a symmetric matrix of {n_features} x {n_features}, not of {VI.shape}"
        )
    values, vectors = np.linalg.eigh((VI + VI.T) / 2)
    if values[0] < -1e-9 * values[-1]:
        raise ValueError(f"metric='mahalanobis': VI has a negative eigenvalue, {values[0]:g}; distances need none")
    return RowMetric(name, mean, vectors * np.sqrt(np.maximum(values, 0)))


def _variances(X: Array, mean: Array) -> Array:
    total = np.zeros(X.shape[1])
    for part in blocks(X.shape[0], X.shape[1]):
        total += ((X[part] - mean) ** 2).sum(axis=0)
    return np.asarray(total / max(1, X.shape[0] - 1))


def _inverse_covariance(X: Array, mean: Array) -> Array:
    total = np.zeros((X.shape[1], X.shape[1]))
    for part in blocks(X.shape[0], X.shape[1]):
        centred = X[part] - mean
        total += centred.T @ centred
    covariance = total / max(1, X.shape[0] - 1)
    values = np.linalg.eigvalsh(covariance)
    if not values[0] > 1e-13 * values[-1] * len(values):
        raise ValueError(
            f"metric='mahalanobis': the covariance of the {X.shape[0]} rows has no inverse; drop columns that follow "
            "from others, or give metric_params={'VI': np.linalg.pinv(np.cov(X.T))}"
        )
    return np.asarray(np.linalg.inv(covariance))


def _check_not_negative(X: Any) -> None:
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(f"metric='hellinger' takes square roots of rows: values must be >= 0, got {values.min():g}")
