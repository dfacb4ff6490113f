"""Metrics of SciPy and scikit-learn, and functions of users: no bounds, brute force alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ....core.arrays import Array
from ....core.habits import did_you_mean
from .base import CentroidKind, Metric, Record, known_metrics
from .sets import first_not_binary

# whose distances SciPy computes pair by pair, without the GIL
_OF_SCIPY = ("braycurtis", "canberra", "chebyshev", "hamming", "minkowski", "sqeuclidean")
_PARAMETERS = {"minkowski": ("p", "w")} | dict.fromkeys(
    ("chebyshev", "canberra", "braycurtis", "sqeuclidean"), ("w",)
)
_MINKOWSKI = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}  # names of those with some p


@dataclass(frozen=True, eq=False, repr=False)
class LibraryMetric(Metric):
    """A metric of SciPy or scikit-learn, which need not know it, with its parameters."""

    name: Any  # whatever users gave
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.given

    @property
    def runs_in_threads(self) -> bool:
        return self.name in _OF_SCIPY

    @property
    def centroid_kind(self) -> CentroidKind:
        return "medoid" if self.name in ("hamming", "haversine") else "mean"

    @property
    def is_squared(self) -> bool:
        return self.name == "sqeuclidean" and not self.parameters

    @property
    def weighs_by_spread(self) -> bool:
        return self.name in ("chebyshev", "minkowski", "sqeuclidean")

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return _PARAMETERS.get(self.name, ())

    def refuse_sparse(self) -> str:
        hint = "; for rows of 0 and 1 'matching' is the same" if self.name == "hamming" else ""
        return super().refuse_sparse() + hint

    def fit(self, X: Any, params: Mapping[str, Any]) -> Metric:
        self.check_rows(X)
        if self.name == "hamming" and first_not_binary(X) is None:
            return known_metrics()["matching"]
        if self.name == "minkowski" and "w" not in params:
            name = _MINKOWSKI.get(params.get("p", 2))
            if name is not None:
                return known_metrics().get(name) or LibraryMetric(name)
        bound = LibraryMetric(self.name, params)
        try:
            bound.pairwise(X[:2], X[:2])  # which tells early whether the library has the metric
        except Exception as error:
            raise self._refusal(error) from (error if self._is_known() else None)
        return bound

    def _is_known(self) -> bool:
        return not isinstance(self.name, str) or self.name in _names()

    def _refusal(self, error: Exception) -> ValueError:
        fast = (m.name for m in known_metrics().values() if m.has_kernels or m.changes_rows)
        names = ", ".join(map(repr, fast))
        others = f"use {names}, another metric of sklearn.metrics.pairwise_distances, or a callable"
        if self._is_known():
            return ValueError(f"metric={self!r} does not work on these rows; {others} ({error})")
        near = did_you_mean(self.name, _names())
        return ValueError(f"metric={self!r} is no metric{near}; {others}")

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        if self.name in _OF_SCIPY:
            from scipy.spatial.distance import cdist

            values = np.asarray(others, dtype=np.float64)
            return lambda rows: cdist(
                np.asarray(rows, dtype=np.float64), values, self.name, **self.parameters
            )
        return _by_scikit_learn(others, self.name, self.parameters)

    @property
    def record(self) -> Record:
        return "parameters" if self.parameters else "name"

    def __repr__(self) -> str:
        if not self.parameters:
            return repr(self.name)
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.parameters.items())})"


def _names() -> list[str]:
    """Names of all metrics that some rows can be compared by."""
    from sklearn.metrics.pairwise import distance_metrics

    others = (*_OF_SCIPY, "jensenshannon", "l1", "l2", "cityblock")
    return sorted({*known_metrics(), *others, *distance_metrics()})


@dataclass(frozen=True, eq=False, repr=False)
class FunctionMetric(Metric):
    """A function of two rows."""

    function: Callable[..., float]
    name: str

    @classmethod
    def of(cls, function: Callable[..., float]) -> FunctionMetric:
        """Named as the function is, if it has a name."""
        return cls(function, getattr(function, "__name__", repr(function)))

    @property
    def is_function(self) -> bool:
        return True

    def check_parameters(self, params: Mapping[str, Any]) -> None:
        """Functions say themselves what they do not take."""

    def refuse_sparse(self) -> str:
        return "a callable metric cannot take sparse rows; use X.toarray()"

    def fit(self, X: Any, params: Mapping[str, Any]) -> Metric:
        self.check_rows(X)
        return FunctionMetric.of(partial(self.function, **params)) if params else self

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        return _by_scikit_learn(others, self.function, {})

    @property
    def key(self) -> None:
        """None: nothing tells another process that a function is the same."""

    @property
    def label(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return repr(self.function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionMetric) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)


def _by_scikit_learn(
    others: Any, metric: Any, parameters: Mapping[str, Any]
) -> Callable[[Any], Array]:
    from sklearn.metrics import pairwise_distances  # heavy, and few metrics need it

    return lambda rows: np.asarray(pairwise_distances(rows, others, metric=metric, **parameters))
