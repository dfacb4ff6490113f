"""The k-nearest-neighbour graph, for layouts, scores and other programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Array, blocks
from .._input.source import load_rows
from .._input.validate import as_rows, check_number, check_option
from .._native import core, kernels
from .._parallel import resolve_n_jobs, single_threaded_blas
from .._points.duplicates import Copies, hash_points
from .._points.point_set import NATIVE_METRICS, PointSet, canonical_metric, make_points
from .._points.reduce import Reducer
from .._progress import Share
from .approximate import MOST_LISTED, CheaperExact, search_graph
from .metric import check_metric
from .report import Clock, NeighborReport
from .row_metric import RowMetric
from .scan import nearest_rows
from .spaces import OtherSpace, space_of

METHODS = ("auto", "exact", "approximate")
_FEW = 4096  # rows up to which all distances are the faster way
_COLUMNS = 256  # reduced columns that the search makes use of


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The k nearest other rows of each row, nearest first, and a `report` of how they were found.

    `ids` and `distances` have the shape (n, k); no row is its own neighbour.
    """

    ids: Array  # int64
    distances: Array  # float64, in the metric
    report: NeighborReport

    def to_csr(self) -> sparse.csr_matrix:
        """Distances as an (n, n) matrix, as scikit-learn takes it with metric="precomputed".

        scanpy finds it in `adata.obsp["distances"]`. An explicit 0 is the distance of an equal row.
        """
        n, k = self.ids.shape
        return sparse.csr_matrix((self.distances.ravel(), self.ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))

    def with_self(self) -> tuple[Array, Array]:
        """(indices, distances) whose first column is the row itself, as UMAP takes them in `precomputed_knn`.

        indices are int32, distances float32.
        """
        own = np.arange(len(self.ids))[:, None]
        ids = np.hstack([own, self.ids]).astype(np.int32)
        return ids, np.hstack([np.zeros((len(own), 1)), self.distances]).astype(np.float32)


def neighbor_graph(
    X: Any,
    k: int = 15,
    metric: Any = "euclidean",
    *,
    metric_params: Mapping[str, Any] | None = None,
    method: str = "auto",
    target_recall: float = 0.95,
    n_jobs: int | None = None,
) -> NeighborGraph:
    """Find each row's k nearest other rows.

    Large data is searched by descent on the graph: starting from what a few cells of near rows hold, the
    neighbours of a row are introduced to each other, round by round, until random rows say that the target
    is reached.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features)
        float16, float32, float64, integers or bool. With metric="precomputed": an (n, n) array of distances.
    k : int
        Neighbours per row, 1 to n - 1. The approximate search takes up to 56; more are found by all distances.
    metric, metric_params
        As in `first_neighbors`. Metrics without kernels go by all distances.
    method : {'auto', 'exact', 'approximate'}
        'exact' computes all distances. 'auto' does so up to 4,096 rows.
    target_recall : float
        For the approximate search: the share of true neighbours, among all k of all rows, that is to be
        found. The report says what was reached on random rows that had no say in the search.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    NeighborGraph
        `ids`, `distances` and a `report`; `to_csr` and `with_self` give other programs' forms.

    Raises
    ------
    ValueError
        For NaN or infinity in X, k out of range, an unknown metric or method.

    Examples
    --------
    >>> from nestmap.neighbors import neighbor_graph
    >>> graph = neighbor_graph([[0.0], [1.0], [5.0], [7.0]], k=2)
    >>> graph.ids.tolist(), graph.distances.tolist()
    ([[1, 2], [0, 2], [3, 1], [2, 1]], [[1.0, 5.0], [1.0, 4.0], [2.0, 4.0], [2.0, 6.0]])
    """
    check_option("method", method, METHODS)
    check_number("target_recall", target_recall, 0.01, 1)
    n_threads = resolve_n_jobs(n_jobs)
    X = as_rows(load_rows(X), min_rows=2, n_threads=n_threads)
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k < X.shape[0]:
        raise ValueError(f"k={k!r}: must be an integer from 1 to {X.shape[0] - 1}, one less than the rows of X")
    graph = build_graph(
        X, int(k), check_metric(metric, X, metric_params), n_threads, method=method, target_recall=target_recall
    )
    _warn_of_recall(graph.report)
    return graph


def _warn_of_recall(report: NeighborReport) -> None:
    from . import warn_of_recall

    warn_of_recall(report, stacklevel=4)


def build_graph(
    X: Any,
    k: int,
    metric: Any,
    n_threads: int,
    *,
    method: str = "auto",
    target_recall: float = 0.95,
    reducer: Reducer | None = None,
    hashes: Array | None = None,
    progress: Share | None = None,
) -> NeighborGraph:
    """The graph of validated rows (or centroids) under a metric that `check_metric` gave back.

    `reducer`: directions of an earlier search; `hashes`: what `hash_points` gives for the rows.
    """
    metric = canonical_metric(metric)
    if isinstance(metric, RowMetric):
        options: dict[str, Any] = dict(method=method, target_recall=target_recall, hashes=hashes, progress=progress)
        graph = build_graph(metric.rows(X, n_threads), k, "euclidean", n_threads, **options)
        return replace(graph, distances=graph.distances * metric.factor)
    if not isinstance(metric, str) or metric not in NATIVE_METRICS:
        return _all_distances(OtherSpace(X, metric), k, n_threads, progress)
    points = make_points(X, metric, n_threads=n_threads, keys=hashes)
    few = points.n <= _FEW if method == "auto" else method == "exact" or target_recall >= 1
    if few or core() is None or k + 8 > MOST_LISTED:
        return _exact(points, k, n_threads, progress)
    with single_threaded_blas():
        copies = Copies(points, hash_points(X, n_threads) if hashes is None else hashes)
        try:
            found = search_graph(
                points, copies.distinct, k, n_threads, target_recall, reducer, progress, columns=_COLUMNS
            )
        except CheaperExact as reason:
            graph = _exact(points, k, n_threads, progress)
            return replace(graph, report=replace(graph.report, note=str(reason)))
    ids, squared = np.empty((points.n, k), dtype=np.int64), np.empty((points.n, k))
    ids[found.order], squared[found.order] = found.ids, found.distances
    if copies.distinct is not None:
        ids, squared = _with_copies(ids, squared, copies.first)
    return NeighborGraph(ids, points.to_metric(squared), found.report)


def _with_copies(ids: Array, distances: Array, first: Array) -> tuple[Array, Array]:
    """From lists of distinct rows to lists of all rows: a row's own copies, then each neighbour and its copies.

    `first`: for each row the first that equals it. Lists of other rows than those are not looked at.
    """
    n, k = ids.shape
    out, away = np.empty_like(ids), np.empty_like(distances)
    members, sizes = np.argsort(first, kind="stable"), np.bincount(first, minlength=n)
    begins = np.cumsum(sizes) - sizes
    for part in blocks(n, 4 * k):
        rows = np.arange(part.start, part.stop)
        heads = np.column_stack([first[part], ids[first[part]]])
        counts = np.minimum(sizes[heads], k + 1)
        each = counts.ravel()
        number = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)  # within its set of equal rows
        found = members[np.repeat(begins[heads].ravel(), each) + number]
        found_away = np.repeat(np.column_stack([np.zeros(len(rows)), distances[first[part]]]).ravel(), each)
        owner = np.repeat(np.arange(len(rows)), counts.sum(axis=1))
        other = found != rows[owner]
        found, found_away, owner = found[other], found_away[other], owner[other]
        place = np.arange(len(owner)) - np.searchsorted(owner, owner)
        kept = place < k
        at = part.start + owner[kept], place[kept]
        out[at], away[at] = found[kept], found_away[kept]
    return out, away


def _exact(points: PointSet, k: int, n_threads: int, progress: Share | None) -> NeighborGraph:
    """By all distances, in the metric's own units."""
    graph = _all_distances(space_of(points), k, n_threads, progress)
    rows = np.repeat(np.arange(points.n), k)
    squared = kernels.pair_distances(points, rows, graph.ids.ravel()).reshape(graph.ids.shape)
    return replace(graph, distances=points.to_metric(squared))


def _all_distances(space: Any, k: int, n_threads: int, progress: Share | None) -> NeighborGraph:
    clock = Clock()
    ids, distances = nearest_rows(space, np.arange(space.n), k, n_threads, progress)
    backend = core().isa if core() is not None else "numpy"
    report = NeighborReport("exact", True, space.n, space.n, backend, seconds=clock.stop("all distances"))
    return NeighborGraph(ids, distances, report)
