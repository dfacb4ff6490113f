"""First neighbours and k-NN graphs.

For every row its nearest other row, exact as long as that takes seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.input.source import load_rows
from ...core.input.validate import as_rows
from ...core.native import core
from ...core.points.duplicates import hash_points
from ...core.points.point_set import PointSet, make_points
from ...core.points.reduce import Reducer
from ...core.progress import Share
from ...core.threads import resolve_n_jobs
from ...errors import NativeMissingWarning, RecallWarning
from .approximate import approximate_neighbors
from .blocked import BlockedIndex, blocked_neighbors, nearest_in_matrix
from .choice import Search, decide, predicted_pairs
from .given import given_neighbors
from .graph import NeighborGraph, neighbor_graph
from .index import Index
from .join import join_points
from .metric import EUCLIDEAN, Metric, check_metric, known_metric
from .prepared import GraphJob
from .report import FirstNeighbors, NeighborReport
from .shared import Start

__all__ = [
    "FirstNeighbors",
    "NeighborGraph",
    "NeighborReport",
    "check_metric",
    "first_neighbors",
    "given_neighbors",
    "known_metric",
    "neighbor_graph",
]


def first_neighbors(
    X: Any,
    metric: Any = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    method: str = "auto",
    target_recall: float = 0.9,
    n_jobs: int | None = None,
) -> FirstNeighbors:
    """Find each row's nearest other row.

    Of several at the same distance one is taken by its values (the lowest hash), so that neither
    the order of the rows nor their type decides; of equal rows the first.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features), n >= 2
        float16, float32, float64, integers or bool. With metric="precomputed": an (n, n) array of
        distances.
    metric : str or callable
        'euclidean', 'cosine', 'manhattan' and 'correlation' run in the compiled core, and so do
        'mahalanobis', 'seuclidean' and 'hellinger', which are euclidean after a change of the rows.
        Any other metric of `sklearn.metrics.pairwise_distances`, or a callable, runs by brute force
        in blocks. CSR: the first three, 'hellinger', and metrics between sets such as 'jaccard'.
    metric_params : dict, optional
        'p' and 'w' of 'minkowski', 'VI' of 'mahalanobis', 'V' of 'seuclidean', …
    method : {'auto', 'exact', 'approximate'}
        'auto' is exact as long as that is a matter of seconds: up to 244,948 rows in any case,
        beyond if the bounds rule out so much that at most 30 billion pairs are left
        (docs/explain/search.md).
    target_recall : float
        For the approximate search: the share of rows whose neighbour is to be the true one. The
        report says what a random sample measured. Above 0.995, up to 244,948 rows are searched
        exactly where that is predicted to take no longer.
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
    options = Search(method, target_recall)
    n_threads = resolve_n_jobs(n_jobs)
    X = as_rows(load_rows(X), min_rows=2, n_threads=n_threads)
    found = search(X, check_metric(metric, X, metric_params), n_threads, options).neighbors
    warn_of_recall(found.report)
    return found


@dataclass(frozen=True, eq=False)
class Found:
    """First neighbours, and what the search leaves for later.

    An index for new rows, directions for upper levels.
    """

    neighbors: FirstNeighbors
    index: Index | BlockedIndex | None = None
    reducer: Reducer | None = None


@dataclass(frozen=True, eq=False)
class KnownItems:
    """What a caller knows of the items of a search.

    `hashes`: what `hash_points` gives for them; they are the keys, which decide between equal
    distances, unless `keys` are given. `reducer`: directions of finer items. `start`: what a graph
    of these rows has left.
    """

    hashes: Array | None = None
    keys: Array | None = None
    reducer: Reducer | None = None
    start: Start | None = None

    def complete(self, X: Any, n_threads: int) -> KnownItems:
        """The same with hashes and keys."""
        hashes = hash_points(X, n_threads) if self.hashes is None else self.hashes
        return replace(self, hashes=hashes, keys=hashes if self.keys is None else self.keys)


def search(
    X: Any,
    metric: Metric,
    n_threads: int,
    options: Search | None = None,
    known: KnownItems | None = None,
    progress: Share | None = None,
) -> Found:
    """First neighbours of validated rows (or centroids) under a metric from `check_metric`.

    Of rows at the same distance the one with the lowest key is taken.
    """
    options = options or Search()
    if metric.takes_distances:
        return Found(nearest_in_matrix(X))
    known = (known or KnownItems()).complete(X, n_threads)
    if metric.changes_rows:
        rows = metric.rows(X, n_threads)
        found = search(rows, EUCLIDEAN, n_threads, options, known, progress)
        return Found(found.neighbors.scaled(metric.factor), None, found.reducer)
    if not metric.has_kernels:
        return Found(*blocked_neighbors(X, metric, known.keys, n_threads, progress))
    chosen = decide(X, metric.name, options)
    points = _points_of(X, metric.name, known, n_threads)
    if chosen.method == "exact":
        return _search_exactly(points, n_threads, chosen, options.method, known, progress)

    @cache
    def exact_pairs() -> float:
        pairs = chosen.exact_pairs
        return predicted_pairs(X, metric.name) if np.isnan(pairs) else pairs

    job = GraphJob(
        points,
        options.target_recall,
        allowance=options.allowance,
        reducer=known.reducer,
        exact_pairs=exact_pairs,
        n_threads=n_threads,
        progress=progress,
    )
    joined = approximate_neighbors(job, known.hashes)
    return _found(joined.in_metric(points), chosen, None, joined.reducer)


def _points_of(X: Any, metric: str, known: KnownItems, n_threads: int) -> PointSet:
    if known.start and known.start.shared:
        return known.start.shared.points
    return make_points(X, metric, n_threads=n_threads, keys=known.keys)


def _found(
    neighbors: FirstNeighbors, chosen: Search, index: Index | None, reducer: Reducer | None
) -> Found:
    """With the prediction that has decided, if one was asked for, in the report."""
    report = replace(neighbors.report, n_pairs_predicted=chosen.exact_pairs)
    return Found(replace(neighbors, report=report), index, reducer)


def _search_exactly(
    points: PointSet,
    n_threads: int,
    chosen: Search,
    asked: str,
    known: KnownItems,
    progress: Share | None,
) -> Found:
    """By the exact join; with a note if the approximate search was asked for but has no kernels."""
    joined = join_points(
        points,
        n_threads,
        known.reducer,
        progress,
        known.hashes,
        chosen.columns,
        known.start.nearest if known.start else None,
        known.start.shared if known.start else None,
    )
    neighbors = joined.in_metric(points)
    if core() is None and asked == "approximate":
        note = _warn_that_search_is_exact()
        neighbors = replace(neighbors, report=replace(neighbors.report, note=note))
    return _found(neighbors, chosen, joined.index, joined.reducer)


@cache
def _warn_that_search_is_exact() -> str:
    """Said once; each report says it again."""
    note = "the approximate search needs the compiled kernels: all distances were computed instead"
    warnings.warn(f"neighbors='approximate': {note}", NativeMissingWarning, stacklevel=4)
    return note


def warn_of_recall(report: NeighborReport, stacklevel: int = 3) -> None:
    """Say so if an approximate search ended below its target, by more than the sample's luck."""
    luck = 2 * np.sqrt(report.recall * (1 - report.recall) / max(1, report.n_sampled))
    if not report.recall + luck < report.target:  # neighbours that were given have no recall: NaN
        return
    warnings.warn(
        f"target_recall={report.target:g} was not reached: {report.recall:.3f} of the true "
        f"neighbours of {report.n_sampled} sampled rows were found. An exact search finds all of "
        "them, in longer time",
        RecallWarning,
        stacklevel=stacklevel,
    )
