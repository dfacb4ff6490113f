"""The neighbour graph of one fit, found once: for the tree of communities and for the islands.

Its items are the rows, or, where these are too many, the nodes of the lowest level that has few
enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array, brief_repr
from ...core.native import kernels
from ...core.points.duplicates import first_equal
from ...core.points.point_set import NATIVE_METRICS, PointSet, canonical_metric, make_points
from ...core.progress import Share
from .graph import NearestLists, build_graph, nearest_distinct, nearest_points
from .prepared import GraphJob
from .report import NeighborReport
from .row_metric import RowMetric
from .shared import Shared

# rows of a graph of rows, at most: of 200,000 words, leaves made the better map
MOST_ROWS = 100_000
# nodes of a graph of nodes, at most: 96 MB of ids and distances
MOST_NODES = 600_000
FEW_ROWS = 20_000  # up to so many rows get the wider graph, which forces act along
# neighbours per row of few and of many rows (the tree takes 15 of them), and per node
_WIDTHS = (30, 16)
_NODE_WIDTH = 20
# share of all neighbours that is to be found, of few and of many rows, and of nodes
RECALLS = (0.95, 0.9)
_NODE_RECALL = 0.9


@dataclass(frozen=True, eq=False)
class ItemGraph:
    """The nearest other items of each item, nearest first; of equal rows only the first is one.

    `distances` are in the metric's own geometry up to a factor: of cosine and correlation those of
    the rows on a sphere. Those of metrics without kernels, by which no forces act, are 0.
    """

    ids: Array  # (n, k) int32
    distances: Array  # (n, k) float32
    report: NeighborReport
    level: int = -1  # whose nodes the items are; -1: rows
    counts: Array | None = None  # rows that each item stands for; None: one each
    rows: Array | None = None  # of rows: which row each item is; None if all rows differ
    first: Array | None = None  # of each row the first that equals it

    __repr__ = brief_repr

    def of_row(self) -> Array:
        """Of a graph of rows: which item each row is equal to."""
        if self.rows is None or self.first is None:
            return np.arange(len(self.ids))
        return np.searchsorted(self.rows, self.first)

    def nearest(self, n_rows: int) -> Array:
        """Of a graph of rows: the row found nearest; rows that equal one before have none."""
        if self.rows is None:
            return self.ids[:, 0].astype(np.int64)
        found = np.full(n_rows, -1, dtype=np.int64)
        found[self.rows] = self.rows[self.ids[:, 0]]
        return found


def find_row_graph(
    X: Any,
    metric: Any,
    hashes: Array,
    n_threads: int,
    progress: Share | None = None,
    shared: Shared | None = None,
) -> ItemGraph | None:
    """The graph of validated rows; None if all are equal.

    `hashes`: what `hash_points` gives for the rows; `shared`: short rows of the distinct ones, if
    known.
    """
    order = np.argsort(hashes, kind="stable")
    first = first_equal(hashes[order], order)
    rows = None
    counts = None
    if first is not None:
        rows = np.flatnonzero(first == np.arange(len(first)))
        counts = np.bincount(first, minlength=len(first))[rows]
    n = len(hashes) if rows is None else len(rows)
    if n < 2:
        return None
    many = n > FEW_ROWS
    k = min(_WIDTHS[many], n - 1)
    recall = RECALLS[many]
    if shared is not None and len(shared.rows) == n:
        found = _as_kept(
            nearest_distinct(shared, k, n_threads, recall, progress), shared.points.norm
        )
        return replace(found, counts=counts, rows=rows, first=first)
    if rows is not None:
        is_matrix = isinstance(metric, str) and metric == "precomputed"
        X = X[np.ix_(rows, rows)] if is_matrix else X[rows]
        hashes = hashes[rows]
    found = _nearest(X, metric, k, hashes, recall, n_threads, progress, hashes)
    return replace(found, counts=counts, rows=rows, first=first)


def with_nearest(
    graph: ItemGraph,
    nearest: Array,
    X: Any,
    metric: Any,
    n_threads: int,
    points: PointSet | None = None,
) -> ItemGraph:
    """A graph of rows in which each row has its nearest other one, where the search missed that.

    `nearest`: of all rows, found exactly; `points`: the rows as the metric sees them, if known.
    """
    if graph.level >= 0 or graph.report.exact:
        return graph
    item = graph.of_row()
    row = np.arange(len(nearest)) if graph.rows is None else graph.rows
    wanted = item[nearest[row]]
    missed = np.flatnonzero(
        (graph.ids != wanted[:, None]).all(axis=1) & (wanted != np.arange(len(wanted)))
    )
    points = points or _points(X, metric, n_threads)
    away = kernels.pair_distances(points, row[missed], row[wanted[missed]])
    ids = graph.ids.copy()
    distances = graph.distances.copy()
    ids[missed, 1:] = graph.ids[missed, :-1]
    distances[missed, 1:] = graph.distances[missed, :-1]
    ids[missed, 0] = wanted[missed]
    distances[missed, 0] = away if points.norm == "L1" else np.sqrt(away)
    return replace(graph, ids=ids, distances=distances)


def _points(X: Any, metric: Any, n_threads: int) -> PointSet:
    metric = canonical_metric(metric)
    if isinstance(metric, RowMetric):
        X = metric.rows(X, n_threads)
        metric = "euclidean"
    return make_points(X, metric, n_threads=n_threads)


def find_node_graph(
    level: int,
    centroids: Any,
    sizes: Array,
    metric: Any,
    keys: Array,
    n_threads: int,
    progress: Share | None = None,
) -> ItemGraph | None:
    """The graph of the nodes of a level, by their centroids; None for a single one."""
    n = centroids.shape[0]
    if n < 2:
        return None
    found = _nearest(
        centroids, metric, min(_NODE_WIDTH, n - 1), keys, _NODE_RECALL, n_threads, progress
    )
    return replace(found, level=level, counts=sizes)


def _nearest(
    X: Any,
    metric: Any,
    k: int,
    keys: Array,
    target_recall: float,
    n_threads: int,
    progress: Share | None,
    hashes: Array | None = None,
) -> ItemGraph:
    """The k nearest others of the items; of equal distances that of the lowest key is first."""
    metric = canonical_metric(metric)
    if isinstance(metric, RowMetric):
        X = metric.rows(X, n_threads)
        metric = "euclidean"
    if not isinstance(metric, str) or metric not in NATIVE_METRICS:
        graph = build_graph(X, k, metric, n_threads, target_recall=target_recall, progress=progress)
        nothing = np.zeros(graph.ids.shape, dtype=np.float32)
        return ItemGraph(graph.ids.astype(np.int32), nothing, graph.report)
    points = make_points(X, metric, n_threads=n_threads, keys=keys)
    job = GraphJob(points, target_recall, k, n_threads=n_threads, progress=progress)
    return _as_kept(nearest_points(job, hashes), points.norm)


def _as_kept(found: NearestLists, norm: str) -> ItemGraph:
    """What kernels give, as a graph keeps it."""
    distances = found.distances if norm == "L1" else np.sqrt(found.distances)
    return ItemGraph(found.ids.astype(np.int32), distances.astype(np.float32), found.report)
