"""Metrics by name: which there are, what they take, and distances of those without bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, blocks
from ...core.habits import did_you_mean
from ...core.points.point_set import NATIVE_METRICS, canonical_metric
from .row_metric import ROW_METRICS, RowMetric, make_row_metric

_SPARSE = ("euclidean", "cosine", "manhattan", "hellinger")  # and all of _SETS
_PARAMETERS = {
    "minkowski": ("p", "w"),
    "chebyshev": ("w",),
    "canberra": ("w",),
    "braycurtis": ("w",),
    "sqeuclidean": ("w",),
    "mahalanobis": ("VI",),
    "seuclidean": ("V",),
}
# pair by pair, without the GIL
_SCIPY = ("braycurtis", "canberra", "chebyshev", "hamming", "minkowski", "sqeuclidean")
_ASYMMETRIC = 1e-6  # of the largest distance: more is no rounding
_NEGATIVE = 1e-12  # of the largest distance: less is rounding

# Between sets a and b in n columns, as a fraction: `both` hold, only a, only b. 0 / 0 is 0.
_SETS = {
    "jaccard": lambda both, a, b, n: (a + b, both + a + b),
    "dice": lambda both, a, b, n: (a + b, 2 * both + a + b),
    "matching": lambda both, a, b, n: (a + b, n),
    "rogerstanimoto": lambda both, a, b, n: (2 * (a + b), n + a + b),
    "russellrao": lambda both, a, b, n: (n - both, n),
    "sokalsneath": lambda both, a, b, n: (2 * (a + b), both + 2 * (a + b)),
    "yule": lambda both, a, b, n: (2 * a * b, both * (n - both - a - b) + a * b),
}


@dataclass(frozen=True, eq=False)
class BoundMetric:
    """A metric of scikit-learn with its parameters."""

    name: str
    parameters: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.parameters.items())})"


def check_metric(metric: Any, X: Any, params: Mapping[str, Any] | None = None) -> Any:
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
    str, callable, RowMetric or BoundMetric
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
    if isinstance(metric, RowMetric | BoundMetric) and not params:
        return metric
    metric = canonical_metric(metric)
    params = _check_params(metric, params)
    if sparse.issparse(X) and not accepts_sparse(metric):
        raise ValueError(_no_sparse(metric))
    if metric == "precomputed":
        check_distance_matrix(X)
    if metric in NATIVE_METRICS or metric == "precomputed":
        return metric
    if metric in ROW_METRICS:
        return make_row_metric(metric, X, params)
    if metric in _SETS:
        check_sets(X, metric)
        return metric
    if metric == "hamming":
        return "matching" if first_not_binary(X) is None else metric
    if metric == "minkowski" and "w" not in params:
        known = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
        if params.get("p", 2) in known:
            return known[params.get("p", 2)]
    if callable(metric):
        return partial(metric, **params) if params else metric
    return _check_other(metric, X, params)


def _check_params(metric: Any, params: Mapping[str, Any] | None) -> dict[str, Any]:
    params = dict(params or {})
    if callable(metric):
        return params
    takes = _PARAMETERS.get(metric, ())
    unknown = [name for name in params if name not in takes]
    if unknown:
        wanted = f"takes {', '.join(map(repr, takes))}" if takes else "takes no parameters"
        raise ValueError(f"metric_params: {metric!r} {wanted}, not {unknown[0]!r}")
    return params


def _check_other(metric: Any, X: Any, params: dict[str, Any]) -> Any:
    """Two rows tell early whether scikit-learn knows the metric."""
    bound = BoundMetric(metric, params) if params else metric
    try:
        pairwise(X[:2], X[:2], bound)
    except Exception as error:
        names = ", ".join(map(repr, (*NATIVE_METRICS, *ROW_METRICS)))
        others = f"use {names}, another metric of sklearn.metrics.pairwise_distances, or a callable"
        if isinstance(metric, str) and metric not in (known := _known_metrics()):
            raise ValueError(
                f"metric={metric!r} is no metric{did_you_mean(metric, known)}; {others}"
            ) from None
        raise ValueError(
            f"metric={metric!r} does not work on these rows; {others} ({error})"
        ) from error
    return bound


def _known_metrics() -> list[str]:
    """Names of all metrics that some rows can be compared by."""
    from sklearn.metrics.pairwise import distance_metrics

    others = (*_SCIPY, *_SETS, "jensenshannon", "precomputed", "l1", "l2", "cityblock")
    return sorted({*NATIVE_METRICS, *ROW_METRICS, *others, *distance_metrics()})


def metric_key(metric: Any) -> str:
    """A text that is the same for the same metric and parameters, also in another process."""
    if isinstance(metric, str):
        return metric
    if isinstance(metric, RowMetric):
        values: list[Any] = [metric.mean, metric.matrix]
    elif isinstance(metric, BoundMetric):
        values = [part for item in sorted(metric.parameters.items()) for part in item]
    else:
        raise ValueError(
            "work_dir: a callable metric cannot be recognised later; use a metric with a name, or "
            "no work_dir"
        )
    parts = (
        str(v) if v is None or np.ndim(v) == 0 else np.ascontiguousarray(v).tobytes().hex()
        for v in values
    )
    return f"{metric.name}, {blake2b(' '.join(parts).encode(), digest_size=16).hexdigest()}"


def accepts_sparse(metric: Any) -> bool:
    """Whether rows may come as a CSR matrix.

    Examples
    --------
    >>> [accepts_sparse(m) for m in ("cosine", "l1", "jaccard", "correlation")]
    [True, True, True, False]
    """
    name = metric.name if isinstance(metric, RowMetric) else canonical_metric(metric)
    return isinstance(name, str) and (name in _SPARSE or name in _SETS)


def _no_sparse(metric: Any) -> str:
    if callable(metric):
        return "a callable metric cannot take sparse rows; use X.toarray()"
    names = ", ".join(map(repr, (*_SPARSE, *_SETS)))
    hint = "; for rows of 0 and 1 'matching' is the same" if metric == "hamming" else ""
    return (
        f"metric={metric!r} does not take sparse rows: use one of {names}, or pass "
        f"X.toarray(){hint}"
    )


def centroid_kind(metric: Any) -> str:
    """What stands for a cluster on upper levels: 'mean' of its rows, 'majority', or 'medoid'.

    Between sets the mean tells how many of the rows hold an item, and counts as the set of those
    that at least half of them hold (docs/defaults.md has the measurements). Where means make no
    sense (distances without rows, codes of categories, places on a sphere) the member with the
    smallest sum of distances to the others stands for all.

    Examples
    --------
    >>> [centroid_kind(m) for m in ("cosine", "jaccard", "precomputed")]
    ['mean', 'majority', 'medoid']
    """
    if not isinstance(metric, str):
        return "mean"
    return (
        "medoid"
        if metric in ("precomputed", "hamming", "haversine")
        else "majority"
        if metric in _SETS
        else "mean"
    )


def pairwise(rows: Any, others: Any, metric: Any) -> Array:
    """Distances of each row to each of the others under a checked metric; O(n · m) memory."""
    return distances_to(others, metric)(rows)


def distances_to(others: Any, metric: Any) -> Callable[[Any], Array]:
    """A function for the distances of some rows to each of the others, which are prepared once."""
    if isinstance(metric, RowMetric):
        return metric.distances_to(others)
    if isinstance(metric, str) and metric in _SETS:
        sets = as_sets(others)
        return lambda rows: _set_distances(as_sets(rows), sets, metric)
    name, parameters = (
        (metric.name, metric.parameters) if isinstance(metric, BoundMetric) else (metric, {})
    )
    if isinstance(name, str) and name in _SCIPY:
        from scipy.spatial.distance import cdist

        values = np.asarray(others, dtype=np.float64)
        return lambda rows: cdist(np.asarray(rows, dtype=np.float64), values, name, **parameters)
    from sklearn.metrics import pairwise_distances  # heavy, and only other metrics need it

    return lambda rows: np.asarray(pairwise_distances(rows, others, metric=name, **parameters))


def runs_in_threads(metric: Any) -> bool:
    """Whether distances may be computed in several threads at once.

    Not by callables: they need not be safe in threads, and hold the GIL anyway. Nor by
    scikit-learn: it changes the filters of warnings for a moment, which are those of the process.

    Examples
    --------
    >>> [runs_in_threads(m) for m in ("jaccard", "chebyshev", "haversine", max)]
    [True, True, False, False]
    """
    name = metric.name if isinstance(metric, BoundMetric) else metric
    return isinstance(name, str) and (name in _SETS or name in _SCIPY or name == "precomputed")


def _set_distances(a: Any, b: Any, metric: str) -> Array:
    """From counts, which are exact in float32 up to 16 million columns.

    So equal sets are equally far from any other.
    """
    both = a @ b.T
    both = np.asarray(both.toarray() if sparse.issparse(both) else both, dtype=np.float64)
    only_a = np.asarray(a.sum(axis=1), dtype=np.float64).reshape(-1, 1) - both
    only_b = np.asarray(b.sum(axis=1), dtype=np.float64).reshape(1, -1) - both
    part, whole = _SETS[metric](both, only_a, only_b, float(a.shape[1]))
    return np.asarray(np.divide(part, whole, out=np.zeros_like(both), where=np.asarray(whole != 0)))


def as_sets(x: Any) -> Any:
    """1 where at least half of a centroid's rows hold an item, else 0.

    Where none is held so often, the most common.

    Rows of 0 and 1 stay as they are.
    """
    if sparse.issparse(x):
        most = x.max(axis=1).toarray().ravel()
        x = x.astype(np.float32)
        x.data = (x.data >= np.repeat(np.minimum(0.5, most), np.diff(x.indptr))).astype(np.float32)
        return x
    most = x.max(axis=1, keepdims=True)
    return ((x >= np.minimum(0.5, most)) & (x > 0)).astype(np.float32)


def check_sets(X: Any, metric: str) -> None:
    """Raise unless all values are 0 or 1."""
    bad = first_not_binary(X)
    if bad is not None:
        i, j, value = bad
        raise ValueError(
            f"metric={metric!r} compares sets: rows hold 0 and 1 only, got {value:g} at row {i}, "
            f"column {j}; pass X != 0, or X > threshold"
        )


def first_not_binary(X: Any) -> tuple[int, int, float] | None:
    """Row, column and value of the first entry that is neither 0 nor 1."""
    if sparse.issparse(X):
        at = np.flatnonzero((X.data != 0) & (X.data != 1))
        if len(at) == 0:
            return None
        return (
            int(np.searchsorted(X.indptr, at[0], side="right")) - 1,
            int(X.indices[at[0]]),
            float(X.data[at[0]]),
        )
    for part in blocks(X.shape[0], X.shape[1]):
        block = X[part]
        bad = np.argwhere((block != 0) & (block != 1))
        if len(bad):
            i, j = bad[0]
            return int(i) + part.start, int(j), float(block[i, j])
    return None


def check_distance_matrix(D: Any) -> None:
    """Raise unless D is square, symmetric and not negative; O(n^2) time, in blocks."""
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            "metric='precomputed' takes a square matrix of distances between all rows, got shape "
            f"{D.shape}; for rows themselves use another metric"
        )
    for part in blocks(len(D), len(D)):
        block = np.asarray(D[part], dtype=np.float64)
        refuse_bad_distances(block, range(part.start, part.stop), range(len(D)), "precomputed")
        apart = np.abs(block - np.asarray(D[:, part], dtype=np.float64).T)
        i, j = np.unravel_index(apart.argmax(), apart.shape)
        if apart[i, j] > _ASYMMETRIC * block.max():
            raise ValueError(
                f"metric='precomputed': rows {i + part.start} and {j} are {block[i, j]:g} apart "
                f"one way and {D[j, i + part.start]:g} the other; make distances symmetric, such "
                "as (D + D.T) / 2"
            )


def refuse_bad_distances(distances: Array, rows: Any, others: Any, metric: Any) -> None:
    """Raise for a distance that is negative or NaN, with the numbers of the two rows.

    Tiny negative ones become 0.
    """
    least = distances.min(initial=0.0)
    if least >= 0:  # false for NaN
        return
    bad = ~(distances >= -_NEGATIVE * max(1.0, float(np.nanmax(np.abs(distances), initial=0.0))))
    if bad.any():
        i, j = np.argwhere(bad)[0]
        name = (
            repr(metric) if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))
        )
        raise ValueError(
            f"metric={name} gives {distances[i, j]:g} for rows {rows[int(i)]} and "
            f"{others[int(j)]}; distances must be numbers of at least 0 (Negative values in "
            "data, or NaN)"
        )
    np.maximum(distances, 0, out=distances)
