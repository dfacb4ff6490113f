"""The neighbour graph of one fit: found once, for the tree of communities and for the forces of the islands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, brief_repr
from .._points.duplicates import first_equal
from .._points.point_set import NATIVE_METRICS, canonical_metric, make_points
from .._progress import Share
from .graph import build_graph, nearest_points
from .report import NeighborReport
from .row_metric import RowMetric

TARGET_RECALL = 0.95  # of all neighbours
FEW_ROWS = 20_000  # get 30 neighbours, others 16: twice the perplexities of the islands
_WIDTHS = (30, 16)


@dataclass(frozen=True, eq=False)
class RowGraph:
    """The nearest other rows of each row, of equal rows the first alone, nearest first.

    `ids` are numbers of distinct rows. `distances` are in the metric's own geometry up to a factor: of cosine and
    correlation those of the rows on a sphere. Those of metrics without kernels, by which no forces act, are 0.
    """

    ids: Array  # (n, k) int32
    distances: Array  # (n, k) float32
    rows: Array | None  # which row each distinct row is the first of; None if all differ
    counts: Array | None  # of rows that equal it
    first: Array | None  # of each row the first that equals it
    report: NeighborReport

    __repr__ = brief_repr

    def of_row(self) -> Array:
        """Which of the distinct rows each row is equal to."""
        if self.rows is None or self.first is None:
            return np.arange(len(self.ids))
        return np.searchsorted(self.rows, self.first)

    def nearest(self, n_rows: int) -> Array:
        """For each of the rows that is not equal to one before, the row that was found nearest; others have none."""
        if self.rows is None:
            return self.ids[:, 0].astype(np.int64)
        found = np.full(n_rows, -1, dtype=np.int64)
        found[self.rows] = self.rows[self.ids[:, 0]]
        return found


def find_row_graph(
    X: Any, metric: Any, hashes: Array, n_threads: int, progress: Share | None = None
) -> RowGraph | None:
    """The graph of validated rows; None if all are equal.

    `hashes`: what `hash_points` gives for the rows.
    """
    order = np.argsort(hashes, kind="stable")
    first = first_equal(hashes[order], order)
    rows, counts, metric = None, None, canonical_metric(metric)
    is_matrix = isinstance(metric, str) and metric == "precomputed"
    if first is not None:
        rows = np.flatnonzero(first == np.arange(len(first)))
        counts = np.bincount(first, minlength=len(first))[rows]
        X, hashes = (X[np.ix_(rows, rows)] if is_matrix else X[rows]), hashes[rows]
    n = X.shape[0]
    if n < 2:
        return None
    k = min(_WIDTHS[n > FEW_ROWS], n - 1)
    if isinstance(metric, RowMetric):
        X, metric = metric.rows(X, n_threads), "euclidean"
    if not isinstance(metric, str) or metric not in NATIVE_METRICS:
        graph = build_graph(X, k, metric, n_threads, target_recall=TARGET_RECALL, progress=progress)
        return _row_graph(graph.ids, np.zeros(graph.ids.shape), rows, counts, first, graph.report)
    points = make_points(X, metric, n_threads=n_threads, keys=hashes)
    ids, distances, report = nearest_points(
        points, k, n_threads, target_recall=TARGET_RECALL, progress=progress, hashes=hashes
    )
    if points.norm != "L1":
        np.sqrt(distances, out=distances)
    return _row_graph(ids, distances, rows, counts, first, report)


def _row_graph(
    ids: Array,
    distances: Array,
    rows: Array | None,
    counts: Array | None,
    first: Array | None,
    report: NeighborReport,
) -> RowGraph:
    return RowGraph(ids.astype(np.int32), distances.astype(np.float32), rows, counts, first, report)
