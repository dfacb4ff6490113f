"""The one entrance for metrics that users name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import changed_rows, gower, kernel, sets
from .base import Metric, known_metrics, register
from .library import FunctionMetric, LibraryMetric
from .matrix import PRECOMPUTED

register(*kernel.METRICS, *changed_rows.METRICS, *sets.METRICS, *gower.METRICS, PRECOMPUTED)
_ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}


def known_metric(metric: Any) -> Metric:
    """The metric of a name or a function, before it has seen rows; a metric stays as it is.

    Examples
    --------
    >>> [known_metric(m).centroid_kind for m in ("cosine", "jaccard", "precomputed")]
    ['mean', 'majority', 'medoid']
    >>> [known_metric(m).accepts_sparse for m in ("cosine", "l1", "jaccard", "correlation")]
    [True, True, True, False]
    >>> [known_metric(m).runs_in_threads for m in ("jaccard", "chebyshev", "haversine", max)]
    [True, True, False, False]
    """
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        return FunctionMetric.of(metric)
    name = _ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    known = known_metrics().get(name) if isinstance(name, str) else None
    return known or LibraryMetric(name)


def check_metric(metric: Any, X: Any, params: Mapping[str, Any] | None = None) -> Metric:
    """The metric that a search of these rows takes, or an error that says what works with them.

    Parameters
    ----------
    metric : str, callable, or what this function gave back
    X : validated rows
        All of them, where parameters are estimated: 'mahalanobis' takes the inverse of their
        covariance, 'seuclidean' their variances. A square matrix of distances for 'precomputed'.
    params : dict, optional
        `metric_params`: 'p' and 'w' of 'minkowski', 'VI' of 'mahalanobis', 'V' of 'seuclidean', 'w'
        of some others; anything for a callable.

    Returns
    -------
    Metric
        'hamming' of rows of 0 and 1 is 'matching', a metric between sets.

    Examples
    --------
    >>> import numpy as np
    >>> check_metric("cityblock", np.eye(3)), check_metric("minkowski", np.eye(3), {"p": 3})
    ('manhattan', minkowski(p=3))
    >>> check_metric("minkowski", np.eye(3), {"q": 3})
    Traceback (most recent call last):
    ValueError: metric_params: 'minkowski' takes 'p', 'w', not 'q'
    """
    params = dict(params or {})
    known = known_metric(metric)
    known.check_parameters(params)
    if isinstance(metric, Metric) and not params:
        known.check_rows(X)
        return known
    return known.fit(X, params)
