"""First neighbours: for every row, its nearest other row, exact as long as that takes seconds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Array
from .._input.source import load_rows
from .._input.validate import as_rows
from .._parallel import resolve_n_jobs
from .._points.duplicates import hash_points
from .._points.point_set import NATIVE_METRICS, canonical_metric, make_points
from .._points.reduce import Reducer
from .._progress import Share
from ..errors import RecallWarning
from .approximate import approximate_neighbors
from .blocked import BlockedIndex, blocked_neighbors, is_boolean
from .choice import Search, is_exact
from .join import Index, join_points
from .report import FirstNeighbors, NeighborReport

_COLUMNS = 128  # reduced columns that the approximate search makes use of

__all__ = ["FirstNeighbors", "NeighborReport", "first_neighbors"]


def first_neighbors(
    X: Any,
    metric: Any = "euclidean",
    *,
    method: str = "auto",
    target_recall: float = 0.9,
    n_jobs: int | None = None,
) -> FirstNeighbors:
    """Find each row's nearest other row.

    Of several at the same distance one is taken by its values (the lowest hash), so that neither the order of the
    rows nor their type decides; of equal rows the first.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features), n >= 2
        float16, float32, float64, integers or bool. With metric="precomputed": an (n, n) array of
        distances.
    metric : str or callable
        'euclidean', 'cosine', 'manhattan' and 'correlation' run in the compiled core (CSR:
        'euclidean' and 'cosine'). Any other metric of `sklearn.metrics.pairwise_distances`, or a
        callable, runs by brute force in blocks.
    method : {'auto', 'exact', 'approximate'}
        'auto' is exact as long as that is a matter of seconds: up to 244,948 rows in any case, beyond
        if the bounds rule out so much that at most 30 billion pairs are left (docs/scale.md).
    target_recall : float
        For the approximate search: the share of rows whose neighbour is to be the true one. The
        report says what a random sample measured.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    FirstNeighbors
        `ids`, `distances` and a `report` of how they were found.

    Raises
    ------
    ValueError
        For NaN or infinity in X (naming row and column), fewer than two rows, an unknown metric.

    Examples
    --------
    >>> from nestmap.neighbors import first_neighbors
    >>> found = first_neighbors([[0.0], [1.0], [5.0]])
    >>> found.ids.tolist(), found.distances.tolist()
    ([1, 0, 1], [1.0, 1.0, 4.0])
    """
    how = Search(method, target_recall)
    n_threads = resolve_n_jobs(n_jobs)
    X = as_rows(load_rows(X), min_rows=2, n_threads=n_threads)
    found = search(X, metric, n_threads, how).neighbors
    warn_of_recall(found.report)
    return found


def check_metric(metric: Any, X: Any) -> Any:
    """The canonical metric, or an error that says what works with this X."""
    metric = canonical_metric(metric)
    if callable(metric):
        if sparse.issparse(X):
            raise ValueError("a callable metric cannot take sparse rows; use X.toarray()")
        return metric
    if sparse.issparse(X) and metric not in ("euclidean", "cosine"):
        raise ValueError(
            f"metric={metric!r} does not take sparse input; use 'euclidean' or 'cosine', or pass X.toarray()"
        )
    if metric not in (*NATIVE_METRICS, "precomputed"):
        from sklearn.metrics import pairwise_distances

        try:  # two rows tell early whether scikit-learn knows it
            pairwise_distances(X[:2] >= 0.5 if is_boolean(metric) else X[:2], metric=metric)
        except Exception as error:
            names = ", ".join(map(repr, NATIVE_METRICS))
            raise ValueError(
                f"metric={metric!r} does not work on these rows; use {names}, another metric of "
                f"sklearn.metrics.pairwise_distances, or a callable ({error})"
            ) from error
    return metric


@dataclass(frozen=True, eq=False)
class Found:
    """First neighbours, and what the search leaves for later: an index for new rows, directions for upper levels."""

    neighbors: FirstNeighbors
    index: Index | BlockedIndex | None = None
    reducer: Reducer | None = None


def search(
    X: Any,
    metric: Any,
    n_threads: int,
    how: Search | None = None,
    reducer: Reducer | None = None,
    progress: Share | None = None,
    hashes: Array | None = None,
    keys: Array | None = None,
) -> Found:
    """First neighbours of validated rows; of rows at the same distance the one with the lowest key.

    `hashes`: what `hash_points` gives for the rows; they are the keys unless others are given.
    """
    metric, how = check_metric(metric, X), how or Search()
    if metric == "precomputed":
        return Found(_from_distances(X), BlockedIndex(X, metric))
    hashes = hash_points(X, n_threads) if hashes is None else hashes
    keys = hashes if keys is None else keys
    if metric not in NATIVE_METRICS:
        return Found(*blocked_neighbors(X, metric, keys, progress))
    points = make_points(X, metric, n_threads=n_threads, keys=keys)
    if is_exact(X, metric, how):
        neighbors, index = join_points(points, n_threads, reducer, progress, hashes, how.columns)
        return Found(neighbors, index, index.reducer)
    neighbors, reducer = approximate_neighbors(
        points, n_threads, how.target_recall, reducer, progress, hashes, min(how.columns, _COLUMNS)
    )
    return Found(neighbors, None, reducer)


def warn_of_recall(report: NeighborReport, stacklevel: int = 3) -> None:
    """Say so if an approximate search ended below its target."""
    if report.exact or report.recall >= report.target:
        return
    warnings.warn(
        f"target_recall={report.target:g} was not reached: {report.recall:.3f} of {report.n_sampled} sampled rows "
        "have their true neighbour. neighbors='exact' finds all of them, in longer time",
        RecallWarning,
        stacklevel=stacklevel,
    )


def _from_distances(D: Array) -> FirstNeighbors:
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"metric='precomputed' takes a square matrix of distances, got shape {D.shape}")
    n = len(D)
    ids, distances = np.empty(n, dtype=np.int64), np.empty(n)
    for i, row in enumerate(D):
        best = [int(part.argmin()) + at for part, at in ((row[:i], 0), (row[i + 1 :], i + 1)) if len(part)]
        ids[i] = min(best, key=lambda j: (row[j], j))
        distances[i] = row[ids[i]]
    return FirstNeighbors(ids, distances, NeighborReport("precomputed distances", True, n, n, "numpy"))


def given_neighbors(ids: Any, n: int) -> FirstNeighbors:
    """First neighbours that the user brings (ids, or a FirstNeighbors), checked."""
    if isinstance(ids, FirstNeighbors):
        ids, distances = ids.ids, ids.distances
    else:
        ids, distances = np.asarray(ids), np.full(n, np.nan)
    if ids.shape != (n,) or not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(
            f"neighbors: expected {n} integers, the index of each row's nearest other row; "
            f"got an array of shape {ids.shape} and type {ids.dtype}"
        )
    rows = np.arange(n)
    bad = np.flatnonzero((ids < 0) | (ids >= n) | (ids == rows))
    if len(bad):
        what = "itself" if ids[bad[0]] == bad[0] else f"row {ids[bad[0]]}, which does not exist"
        raise ValueError(f"neighbors: row {bad[0]} names {what} as its nearest other row")
    report = NeighborReport("given by the caller", False, n, n, "none")
    return FirstNeighbors(ids.astype(np.int64), distances, report)
