"""The k-nearest-neighbour graph, for layouts, scores and other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, blocks
from ...core.input.source import load_rows
from ...core.input.validate import as_rows, check_number, check_option
from ...core.native import core, kernels
from ...core.points.duplicates import Copies, hash_points
from ...core.points.point_set import PointSet, make_points
from ...core.progress import Share
from ...core.threads import resolve_n_jobs, single_threaded_blas
from .approximate import NearestRows, search_graph
from .choice import METHODS
from .effort import LANES, TABLE
from .metric import EUCLIDEAN, Metric, check_metric
from .nn_descent import CheaperExact
from .prepared import GraphJob
from .report import Clock, NeighborReport
from .scan import nearest_ids
from .shared import ALL_DISTANCES_ROWS, Shared, distinct_by_key
from .spaces import OtherSpace, space_of

# neighbours beyond k that are looked at, so that keys decide between equal distances
_TIE_ROOM = 8
# distances that are computed for rows with longer runs of equal ones, at most: some seconds
_TIE_DISTANCES = 20_000_000


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
        return sparse.csr_matrix(
            (self.distances.ravel(), self.ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
        )

    def with_self(self) -> tuple[Array, Array]:
        """(indices, distances), the row itself first: for UMAP's `precomputed_knn`.

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

    Large data is searched by descent on the graph: starting from what a few cells of near rows
    hold, the neighbours of a row are introduced to each other, round by round, until random rows
    say that the target is reached.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features)
        float16, float32, float64, integers or bool. With metric="precomputed": an (n, n) array of
        distances.
    k : int
        Neighbours per row, 1 to n - 1. The approximate search takes up to 56; more are found by all
        distances.
    metric, metric_params
        As in `first_neighbors`. Metrics without kernels go by all distances.
    method : {'auto', 'exact', 'approximate'}
        'exact' computes all distances. 'auto' does so up to 4,096 rows.
    target_recall : float
        For the approximate search: the share of true neighbours, among all k of all rows, that is
        to be found. The report says what was reached on random rows that had no say in the search.
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
        raise ValueError(
            f"k={k!r}: must be an integer from 1 to {X.shape[0] - 1}, one less than the rows of X"
        )
    graph = build_graph(
        X,
        int(k),
        check_metric(metric, X, metric_params),
        n_threads,
        method=method,
        target_recall=target_recall,
    )
    _warn_of_recall(graph.report)
    return graph


def _warn_of_recall(report: NeighborReport) -> None:
    from . import warn_of_recall

    warn_of_recall(report, stacklevel=4)


def build_graph(
    X: Any,
    k: int,
    metric: Metric,
    n_threads: int,
    *,
    method: str = "auto",
    target_recall: float = 0.95,
    progress: Share | None = None,
) -> NeighborGraph:
    """The graph of validated rows under a metric that `check_metric` gave back."""
    if metric.changes_rows:
        rows = metric.rows(X, n_threads)
        graph = build_graph(
            rows,
            k,
            EUCLIDEAN,
            n_threads,
            method=method,
            target_recall=target_recall,
            progress=progress,
        )
        return replace(graph, distances=graph.distances * metric.factor)
    if not metric.has_kernels:
        keys = None if metric.takes_distances else hash_points(X, n_threads)
        found = _all_distances(OtherSpace(X, metric), keys, k, n_threads, progress)
        return NeighborGraph(found.ids, found.distances, found.report)
    hashes = hash_points(X, n_threads)
    points = make_points(X, metric.name, n_threads=n_threads, keys=hashes)
    is_exact = method == "exact" or target_recall >= 1
    if points.n <= ALL_DISTANCES_ROWS if method == "auto" else is_exact:
        found = _exact(points, k, n_threads, progress)
    else:
        job = GraphJob(points, target_recall, k, n_threads=n_threads, progress=progress)
        found = _nearest_by_search(job, hashes)
    return NeighborGraph(found.ids, points.to_metric(found.distances), found.report)


_NO_KERNELS = (
    "without the compiled kernels all distances were computed; with them a few neighbours, and so "
    "clusters that come from them, may be others"
)


@dataclass(frozen=True, eq=False)
class NearestLists:
    """The k nearest others of each row, nearest first; distances as kernels give them."""

    ids: Array  # int64
    distances: Array  # float64, squared for L2
    report: NeighborReport


def nearest_points(job: GraphJob, hashes: Array | None = None) -> NearestLists:
    """The k nearest others of points with keys.

    `hashes`: of `hash_points`, if the caller has them. Work goes by the order of the keys, so that
    the order of the rows makes no difference.
    """
    if job.points.n <= ALL_DISTANCES_ROWS:
        return _exact(job.points, job.k, job.n_threads, job.progress)
    return _nearest_by_search(job, hashes)


def _nearest_by_search(job: GraphJob, hashes: Array | None) -> NearestLists:
    """By the approximate search, unless k is beyond it, or there are no kernels."""
    points = job.points
    n_threads = job.n_threads
    if core() is None or job.k + LANES > TABLE.longest_list:
        exact = _exact(points, job.k, n_threads, job.progress)
        note = "" if core() is not None else _NO_KERNELS
        return replace(exact, report=replace(exact.report, note=note))
    copies = Copies(points, hash_points(points.data, n_threads) if hashes is None else hashes)
    found: NearestRows | str
    try:
        found = _search(replace(job, distinct=distinct_by_key(points, copies)))
    except CheaperExact as reason:
        found = str(reason)  # the exception itself would keep all that the search holds
    if isinstance(found, str):
        exact = _exact(points, job.k, n_threads, job.progress)
        return replace(exact, report=replace(exact.report, note=found))
    ids = np.empty((points.n, job.k), dtype=np.int64)
    distances = np.empty((points.n, job.k))
    ids[found.order] = found.ids
    distances[found.order] = found.distances
    if copies.distinct is not None:
        ids, distances = _with_copies(ids, distances, copies.first)
    return NearestLists(ids, distances, found.report)


def nearest_distinct(
    shared: Shared, k: int, n_threads: int, target_recall: float, progress: Share | None = None
) -> NearestLists:
    """The same among the distinct rows alone: rows and ids are their places in ascending order."""
    points = shared.points
    job = GraphJob(
        points, target_recall, k, shared.rows, shared=shared, n_threads=n_threads, progress=progress
    )
    found = _search(job)
    place = np.zeros(points.n, dtype=np.int64)
    place[np.sort(shared.rows)] = np.arange(len(shared.rows))
    ids = np.empty_like(found.ids)
    distances = np.empty_like(found.distances)
    ids[place[found.order]] = place[found.ids]
    distances[place[found.order]] = found.distances
    return NearestLists(ids, distances, found.report)


def _search(job: GraphJob) -> NearestRows:
    """The approximate search, without an index."""
    with single_threaded_blas():
        return replace(search_graph(job), index=None)


def _with_copies(ids: Array, distances: Array, first: Array) -> tuple[Array, Array]:
    """From lists of distinct rows to lists of all rows.

    A row's own copies, then each neighbour and its copies.

    `first`: for each row the first that equals it. Lists of other rows than those are not looked
    at.
    """
    n, k = ids.shape
    out = np.empty_like(ids)
    away = np.empty_like(distances)
    members = np.argsort(first, kind="stable")
    sizes = np.bincount(first, minlength=n)
    begins = np.cumsum(sizes) - sizes
    for part in blocks(n, 4 * k):
        rows = np.arange(part.start, part.stop)
        heads = np.column_stack([first[part], ids[first[part]]])
        counts = np.minimum(sizes[heads], k + 1)
        each = counts.ravel()
        # within its set of equal rows
        number = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        found = members[np.repeat(begins[heads].ravel(), each) + number]
        found_away = np.repeat(
            np.column_stack([np.zeros(len(rows)), distances[first[part]]]).ravel(), each
        )
        owner = np.repeat(np.arange(len(rows)), counts.sum(axis=1))
        other = found != rows[owner]
        found = found[other]
        found_away = found_away[other]
        owner = owner[other]
        place = np.arange(len(owner)) - np.searchsorted(owner, owner)
        kept = place < k
        at = part.start + owner[kept], place[kept]
        out[at] = found[kept]
        away[at] = found_away[kept]
    return out, away


def _exact(points: PointSet, k: int, n_threads: int, progress: Share | None) -> NearestLists:
    """By all distances, as kernels give them."""
    clock = Clock()
    measure = partial(kernels.pair_distances, points)
    ids, distances = _nearest(space_of(points), measure, points.keys, k, n_threads, progress)
    return NearestLists(ids, distances, _report_exact(points.n, clock))


def _all_distances(
    space: Any, keys: Array | None, k: int, n_threads: int, progress: Share | None
) -> NearestLists:
    clock = Clock()
    ids, distances = _nearest(space, space.exact, keys, k, n_threads, progress)
    return NearestLists(ids, distances, _report_exact(space.n, clock))


def _nearest(
    space: Any,
    measure: Callable[[Array, Array], Array],
    keys: Array | None,
    k: int,
    n_threads: int,
    progress: Share | None,
) -> tuple[Array, Array]:
    """The k nearest of all rows, and distances by `measure`; of equal ones, lowest keys first."""
    n = space.n
    rows = np.arange(space.n)
    wanted = min(n - 1, k + _TIE_ROOM)
    ids = nearest_ids(space, rows, wanted, n_threads, progress)
    distances = measure(np.repeat(rows, wanted), ids.ravel()).reshape(ids.shape)
    order = np.lexsort((ids if keys is None else keys[ids], distances), axis=1)
    ids = np.take_along_axis(ids, order, axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    if wanted < n - 1:  # a run of equal distances that goes on beyond what was looked at
        for row in np.flatnonzero(distances[:, k - 1] == distances[:, -1])[: _TIE_DISTANCES // n]:
            others = np.delete(rows, row)
            away = measure(np.full(n - 1, row), others)
            best = np.lexsort((others if keys is None else keys[others], away))[:k]
            ids[row, :k] = others[best]
            distances[row, :k] = away[best]
    return ids[:, :k], distances[:, :k]


def _report_exact(n: int, clock: Clock) -> NeighborReport:
    backend = core().isa if core() is not None else "numpy"
    return NeighborReport("exact", True, n, n, backend, seconds=clock.stop("all distances"))
