"""Metrics that are euclidean after a change of the rows, so that the compiled search serves them.

distance(a, b) = factor · |rows(a) - rows(b)|
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ....core.arrays import Array, blocks
from ....core.input.validate import dense_block
from ....core.native import kernels
from ....core.threads import map_blocks, single_threaded_blas
from .base import Metric, Record

_VALUES_PER_BLOCK = 500_000  # float64 values that a thread changes at once: 4 MB
_LEAST_EIGENVALUE = 1e-13  # per column, of a correlation matrix: below it there is no inverse
_SYMMETRY = 1e-6  # relative difference between VI and its transpose that may be rounding
_SYMMETRY_NEAR_ZERO = 1e-9  # the same for values near zero, as a share of the largest one
_NEGATIVE = 1e-9  # share of the largest eigenvalue: negative ones up to it are rounding


@dataclass(frozen=True, eq=False, repr=False)
class ChangedRowsMetric(Metric):
    """A metric of this file; fitted ones have the numbers that it takes."""

    mean: Array | None = None
    matrix: Array | None = None  # (n_features, n_features), or (n_features,): a diagonal
    factor: float = 1.0

    @property
    def changes_rows(self) -> bool:
        return True

    @property
    def has_matrix(self) -> bool:
        """Whether rows change by a matrix, after their mean is taken away."""
        return True

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {} if self.matrix is None else {"mean": self.mean, "matrix": self.matrix}

    @property
    def record(self) -> Record:
        return "rows"

    def check_change(self, X: Any) -> None:
        """Raise for rows that cannot be changed."""

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        changed = self.rows(others)
        if sparse.issparse(changed):
            from sklearn.metrics import euclidean_distances as euclidean
        else:
            from scipy.spatial.distance import cdist as euclidean
        return lambda rows: np.asarray(self.factor * euclidean(self.rows(rows), changed))


class Hellinger(ChangedRowsMetric):
    """rows(x) = sqrt(x), factor 1 / sqrt(2)"""

    name = "hellinger"

    @property
    def accepts_sparse(self) -> bool:
        return True

    @property
    def needs_nonnegative(self) -> bool:
        return True

    @property
    def has_matrix(self) -> bool:
        return False

    def check_change(self, X: Any) -> None:
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise ValueError(
                "metric='hellinger' takes square roots of rows: values must be >= 0, got "
                f"{values.min():g}"
            )

    def fit(self, X: Any, params: Mapping[str, Any]) -> Metric:
        self.check_change(X)
        return Hellinger(factor=float(np.sqrt(0.5)))

    def rows(self, X: Any, n_threads: int = 1) -> Any:
        """Square roots in float64; CSR stays CSR."""
        self.check_change(X)
        if sparse.issparse(X):
            return X.astype(np.float64).sqrt()
        return np.sqrt(X, dtype=np.float64)


class LinearMetric(ChangedRowsMetric):
    """rows(x) = (x - mean) · matrix"""

    def fit(self, X: Any, params: Mapping[str, Any]) -> Metric:
        self.check_rows(X)
        if X.shape[0] < 2 and not params:
            raise ValueError(
                f"metric={self!r} is estimated from the rows and takes at least two, got "
                "n_samples=1"
            )
        mean = np.asarray(np.mean(X, axis=0, dtype=np.float64))
        return type(self)(mean, self.find_matrix(X, mean, params))

    @abstractmethod
    def find_matrix(self, X: Any, mean: Array, params: Mapping[str, Any]) -> Array:
        """The matrix that parameters give or, without any, all rows."""

    def rows(self, X: Any, n_threads: int = 1) -> Any:
        """The changed rows in float64."""
        mean = self.mean
        matrix = self.matrix
        assert mean is not None and matrix is not None  # of a fitted metric
        basis = np.ascontiguousarray(matrix.T) if matrix.ndim == 2 else None
        out = np.empty(X.shape)

        def change(part: slice) -> None:
            x = dense_block(X, part)
            out[part] = (x - mean) * matrix if basis is None else kernels.project(x, mean, basis, 1)

        parts = blocks(X.shape[0], X.shape[1], values=_VALUES_PER_BLOCK)
        map_blocks(change, parts, n_threads)
        return out


class StandardizedEuclidean(LinearMetric):
    """rows(x) = (x - mean) / sqrt(V), V the variances of the columns"""

    name = "seuclidean"

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return ("V",)

    def find_matrix(self, X: Any, mean: Array, params: Mapping[str, Any]) -> Array:
        V = np.asarray(params["V"] if "V" in params else _variances(X, mean), dtype=np.float64)
        n_features = X.shape[1]
        if V.shape == (n_features,) and (V > 0).all():
            return np.asarray(1 / np.sqrt(V))
        what = f"V has shape {V.shape}"
        if V.shape == (n_features,):
            what = f"the least of V is {V.min():g}, of column {V.argmin()}"
        raise ValueError(
            f"metric='seuclidean': {what}; drop constant columns, or give "
            f"metric_params={{'V': …}}, {n_features} positive variances"
        )


class Mahalanobis(LinearMetric):
    """rows(x) = (x - mean) L with VI = L L', the inverse of the covariance of the columns"""

    name = "mahalanobis"

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return ("VI",)

    def find_matrix(self, X: Any, mean: Array, params: Mapping[str, Any]) -> Array:
        if "VI" not in params:
            return _whitening(X, mean)
        n_features = X.shape[1]
        VI = np.asarray(params["VI"], dtype=np.float64)
        if VI.shape != (n_features, n_features) or not np.allclose(
            VI, VI.T, rtol=_SYMMETRY, atol=_SYMMETRY_NEAR_ZERO * np.abs(VI).max()
        ):
            raise ValueError(
                f"metric='mahalanobis': VI must be a symmetric matrix of {n_features} x "
                f"{n_features}, not of {VI.shape}"
            )
        found = _Eigen.of((VI + VI.T) / 2)
        if found.values[0] < -_NEGATIVE * found.values[-1]:
            raise ValueError(
                "metric='mahalanobis': VI has a negative eigenvalue; distances need none"
            )
        lengths = np.sqrt(np.maximum(found.values, 0))
        return np.asarray(found.units[:, None] * found.vectors * lengths)


METRICS = (Mahalanobis(), StandardizedEuclidean(), Hellinger())


@dataclass(frozen=True, eq=False)
class _Eigen:
    """Eigenvalues (ascending) and vectors of a matrix in units that make its diagonal 1."""

    values: Array
    vectors: Array
    units: Array  # of the columns

    @classmethod
    def of(cls, matrix: Array) -> _Eigen:
        """Of a symmetric matrix."""
        units = np.sqrt(np.abs(np.diagonal(matrix)))
        units = np.where(units > 0, units, 1.0)
        values, vectors = np.linalg.eigh(matrix / units / units[:, None])
        return cls(values, vectors, units)


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
        found = _Eigen.of(total / max(1, X.shape[0] - 1))
    if not found.values[0] > _LEAST_EIGENVALUE * len(found.values):
        raise ValueError(
            f"metric='mahalanobis': the covariance of the {X.shape[0]} rows has no inverse; drop "
            "columns that follow from others, or give metric_params={'VI': "
            "np.linalg.pinv(np.cov(X.T))}"
        )
    return np.asarray(found.vectors / np.sqrt(found.values) / found.units[:, None])
