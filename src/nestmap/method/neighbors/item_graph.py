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
from ...core.points.point_set import PointSet, make_points
from ...core.progress import Share
from .graph import NearestLists, build_graph, nearest_distinct, nearest_points
from .metric import EUCLIDEAN, Metric
from .prepared import GraphJob
from .report import NeighborReport
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


@dataclass(frozen=True, eq=False)
class GraphItems:
    """The items of a graph before their neighbours are known; fields as in `ItemGraph`."""

    n: int
    level: int = -1
    counts: Array | None = None
    rows: Array | None = None
    first: Array | None = None

    @classmethod
    def of_rows(cls, hashes: Array) -> GraphItems:
        """The distinct rows; `hashes`: what `hash_points` gives for all."""
        order = np.argsort(hashes, kind="stable")
        first = first_equal(hashes[order], order)
        if first is None:
            return cls(len(hashes))
        rows = np.flatnonzero(first == np.arange(len(first)))
        counts = np.bincount(first, minlength=len(first))[rows]
        return cls(len(rows), counts=counts, rows=rows, first=first)

    def linked(self, found: NearestLists) -> ItemGraph:
        """Their graph; `found` with ids and distances as a graph keeps them."""
        ids = found.ids
        distances = found.distances
        report = found.report
        return ItemGraph(ids, distances, report, self.level, self.counts, self.rows, self.first)


def find_row_graph(
    X: Any,
    metric: Metric,
    hashes: Array,
    n_threads: int,
    progress: Share | None = None,
    shared: Shared | None = None,
) -> ItemGraph | None:
    """The graph of validated rows; None if all are equal.

    `hashes`: what `hash_points` gives for the rows; `shared`: short rows of the distinct ones, if
    known.
    """
    items = GraphItems.of_rows(hashes)
    if items.n < 2:
        return None
    many = items.n > FEW_ROWS
    k = min(_WIDTHS[many], items.n - 1)
    recall = RECALLS[many]
    if shared is not None and len(shared.rows) == items.n:
        nearest = nearest_distinct(shared, k, n_threads, recall, progress)
        return items.linked(_as_kept(nearest, shared.points.norm))
    rows = items.rows
    if rows is not None:
        X = X[np.ix_(rows, rows)] if metric.takes_distances else X[rows]
        hashes = hashes[rows]
    return items.linked(_nearest(X, metric, k, hashes, recall, n_threads, progress, hashes))


def with_nearest(
    graph: ItemGraph,
    nearest: Array,
    X: Any,
    metric: Metric,
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


def _points(X: Any, metric: Metric, n_threads: int) -> PointSet:
    name = EUCLIDEAN.name if metric.changes_rows else metric.name
    return make_points(metric.rows(X, n_threads), name, n_threads=n_threads)


def find_node_graph(
    level: int,
    centroids: Any,
    sizes: Array,
    metric: Metric,
    keys: Array,
    n_threads: int,
    progress: Share | None = None,
) -> ItemGraph | None:
    """The graph of the nodes of a level, by their centroids; None for a single one."""
    n = centroids.shape[0]
    if n < 2:
        return None
    k = min(_NODE_WIDTH, n - 1)
    found = _nearest(centroids, metric, k, keys, _NODE_RECALL, n_threads, progress)
    return GraphItems(n, level, sizes).linked(found)


def _nearest(
    X: Any,
    metric: Metric,
    k: int,
    keys: Array,
    target_recall: float,
    n_threads: int,
    progress: Share | None,
    hashes: Array | None = None,
) -> NearestLists:
    """The k nearest others of the items; of equal distances that of the lowest key is first."""
    if metric.changes_rows:
        X = metric.rows(X, n_threads)
        metric = EUCLIDEAN
    if not metric.has_kernels:
        graph = build_graph(X, k, metric, n_threads, target_recall=target_recall, progress=progress)
        nothing = np.zeros(graph.ids.shape, dtype=np.float32)
        return NearestLists(graph.ids.astype(np.int32), nothing, graph.report)
    points = make_points(X, metric.name, n_threads=n_threads, keys=keys)
    job = GraphJob(points, target_recall, k, n_threads=n_threads, progress=progress)
    return _as_kept(nearest_points(job, hashes), points.norm)


def _as_kept(found: NearestLists, norm: str) -> NearestLists:
    """What kernels give, as a graph keeps it."""
    distances = found.distances if norm == "L1" else np.sqrt(found.distances)
    return NearestLists(found.ids.astype(np.int32), distances.astype(np.float32), found.report)
