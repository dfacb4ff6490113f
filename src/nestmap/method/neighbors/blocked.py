"""Metrics without bounds: brute force in blocks, memory linear in n."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks
from ...core.native import kernels
from ...core.points.point_set import make_points
from ...core.progress import Share
from ...core.threads import map_blocks
from .metric import Metric, refuse_bad_distances
from .metric.matrix import MedoidDistances
from .report import FirstNeighbors, NeighborReport

_DISTANCES_PER_BLOCK = 1_000_000  # that a thread computes at a time: 8 MB
_ROWS_PER_BLOCK = 64  # whose distances to their neighbours are the diagonal of one block


@dataclass(frozen=True, eq=False)
class BlockedIndex:
    """Rows of a metric without bounds, queried by brute force."""

    data: Any  # where a metric takes distances: MedoidDistances, or None for all training rows
    metric: Metric
    keys: Array | None = None  # of rows at the same distance the one with the lowest key is taken

    def query(self, data: Any, n_threads: int) -> tuple[Array, Array]:
        """Nearest row (ties: the lowest key, then index) and distance for each row of data; exact.

        Where the metric takes distances, data are those to the training rows, (n, n_train).
        """
        if self.metric.takes_distances:
            columns = slice(None) if self.data is None else self.data.rows
            distances = np.array(data[:, columns], dtype=np.float64)
            refuse_bad_distances(distances, range(len(data)), range(data.shape[1]), self.metric)
            return _nearest_column(distances)
        self.metric.check_rows(data)
        return _nearest(self.data, data, self.metric, self.keys, n_threads, exclude_self=False)


def blocked_neighbors(
    data: Any,
    metric: Metric,
    keys: Array | None = None,
    n_threads: int = 1,
    progress: Share | None = None,
) -> tuple[FirstNeighbors, BlockedIndex]:
    """First neighbours by brute force; O(n^2) time."""
    start = perf_counter()
    ids, distances = _nearest(
        data, data, metric, keys, n_threads, exclude_self=True, progress=progress
    )
    n = data.shape[0]
    seconds = {"brute force": perf_counter() - start}
    report = NeighborReport("exact (brute force)", True, n, n, "scikit-learn", seconds=seconds)
    return FirstNeighbors(ids, distances, report), BlockedIndex(data, metric, keys)


def nearest_in_matrix(D: Any) -> FirstNeighbors:
    """First neighbours from a matrix of distances, or from those between medoids.

    Ties go to the lower index.
    """
    D = D.distances if isinstance(D, MedoidDistances) else D
    n = len(D)
    ids = np.empty(n, dtype=np.int64)
    found = np.empty(n)
    for part in blocks(n, n):
        ids[part], found[part] = _nearest_column(
            np.array(D[part], dtype=np.float64), np.arange(part.start, part.stop)
        )
    return FirstNeighbors(ids, found, NeighborReport("precomputed distances", True, n, n, "numpy"))


def _nearest(
    rows: Any,
    queries: Any,
    metric: Metric,
    keys: Array | None,
    n_threads: int,
    exclude_self: bool,
    progress: Share | None = None,
) -> tuple[Array, Array]:
    """Nearest row and distance of each query; bits do not depend on blocks and threads."""
    n = queries.shape[0]
    to_rows = metric.distances_to(rows)
    ids = np.empty(n, dtype=np.int64)
    found = np.empty(n)
    by_key = None if keys is None else np.argsort(keys, kind="stable")

    def find(part: slice) -> None:
        distances = to_rows(queries[part])
        own = np.arange(part.start, part.stop)
        refuse_bad_distances(distances, own, range(rows.shape[0]), metric)
        ids[part], found[part] = _nearest_column(distances, own if exclude_self else None, by_key)

    parts = blocks(n, rows.shape[0], values=_DISTANCES_PER_BLOCK)
    map_blocks(find, parts, n_threads if metric.runs_in_threads else 1, progress)
    return ids, found


def _nearest_column(
    distances: Array, own: Array | None = None, order: Array | None = None
) -> tuple[Array, Array]:
    """Column and value of the smallest distance of each row, without its own column.

    Ties go to the first column in `order`.
    """
    if own is not None:
        distances[np.arange(len(own)), own] = np.inf
    ids = distances.argmin(axis=1) if order is None else order[distances[:, order].argmin(axis=1)]
    return ids, np.take_along_axis(distances, ids[:, None], axis=1)[:, 0]


def measure_links(
    neighbors: FirstNeighbors, data: Any, metric: Metric, n_threads: int = 1
) -> FirstNeighbors:
    """First neighbours with their distances, which those that users bring may lack; O(n · cols)."""
    if not np.isnan(neighbors.distances).any():
        return neighbors
    return replace(neighbors, distances=given_distances(data, metric, neighbors.ids, n_threads))


def given_distances(X: Any, metric: Metric, ids: Array, n_threads: int) -> Array:
    """Distance of each row to the row that it was given as its neighbour.

    Examples
    --------
    >>> from nestmap.method.neighbors.metric import EUCLIDEAN
    >>> given_distances(np.array([[0.0], [1.0], [5.0]]), EUCLIDEAN, np.array([1, 0, 1]), 1)
    array([1., 1., 4.])
    """
    n = X.shape[0]
    rows = np.arange(n)
    out = np.empty(n)
    if metric.has_kernels:
        points = make_points(X, metric.name, n_threads=n_threads)

        def measure(part: slice) -> None:
            out[part] = kernels.pair_distances(points, rows[part], ids[part])

        map_blocks(measure, blocks(n, X.shape[1], values=500_000), n_threads)
        return points.to_metric(out)
    if metric.takes_distances:
        return np.asarray(X[rows, ids], dtype=np.float64)
    for part in blocks(n, 1, values=1 if metric.is_function else _ROWS_PER_BLOCK):
        distances = metric.pairwise(X[part], X[ids[part]])
        refuse_bad_distances(distances, rows[part], ids[part], metric)
        out[part] = distances.diagonal()
    return out
