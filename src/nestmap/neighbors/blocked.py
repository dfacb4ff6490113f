"""Any other metric of scikit-learn, or a callable: brute force in blocks, memory linear in n."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from .._arrays import Array, blocks
from .._native import kernels
from .._points.point_set import NATIVE_METRICS, make_points
from .._progress import Share
from .report import FirstNeighbors, NeighborReport

_BLOCK = 16_000_000  # distances held at a time: 128 MB


@dataclass(frozen=True, eq=False)
class BlockedIndex:
    """Rows of a metric without bounds, queried by brute force."""

    data: Any
    metric: Any
    keys: Array | None = None  # of rows at the same distance the one with the lowest key is taken

    def query(self, data: Any, n_threads: int) -> tuple[Array, Array]:
        """Nearest row (ties: the lowest key, then index) and distance for each row of data; exact."""
        # one query at a time for callables and BLAS-backed metrics alike would be slow; blocks of
        # rows are fine because scikit-learn's metrics treat pairs one by one, up to rounding
        return _nearest(self.data, data, self.metric, self.keys, exclude_self=False)


def is_boolean(metric: Any) -> bool:
    """Metrics between sets: 'jaccard', 'dice', …"""
    from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

    return metric in PAIRWISE_BOOLEAN_FUNCTIONS if isinstance(metric, str) else False


def blocked_neighbors(
    data: Any, metric: Any, keys: Array | None = None, progress: Share | None = None
) -> tuple[FirstNeighbors, BlockedIndex]:
    """First neighbours by brute force; O(n^2) time."""
    start = perf_counter()
    if is_boolean(metric):
        data = data >= 0.5  # a centroid of sets holds what at least half of its members hold
    distances, ids = _nearest(data, data, metric, keys, exclude_self=True, progress=progress)[::-1]
    n = data.shape[0]
    report = NeighborReport(
        "exact (brute force)", True, n, n, "scikit-learn", seconds={"brute force": perf_counter() - start}
    )
    return FirstNeighbors(ids, distances, report), BlockedIndex(data, metric, keys)


def measure_links(neighbors: FirstNeighbors, data: Any, metric: Any) -> FirstNeighbors:
    """First neighbours with their distances, which those that users bring may lack; O(n · cols)."""
    if not np.isnan(neighbors.distances).any():
        return neighbors
    n = len(neighbors.ids)
    if metric in NATIVE_METRICS:
        points = make_points(data, metric)
        distances = points.to_metric(kernels.pair_distances(points, np.arange(n), neighbors.ids))
        return replace(neighbors, distances=distances)
    from sklearn.metrics import pairwise_distances  # heavy, and only other metrics need it

    data = data >= 0.5 if is_boolean(metric) else data
    distances = np.empty(n)
    for part in blocks(n, 1, values=32):  # the diagonal of a small table
        distances[part] = pairwise_distances(data[part], data[neighbors.ids[part]], metric=metric).diagonal()
    return replace(neighbors, distances=distances)


def _nearest(
    rows: Any, queries: Any, metric: Any, keys: Array | None, exclude_self: bool, progress: Share | None = None
) -> tuple[Array, Array]:
    from sklearn.metrics import pairwise_distances  # heavy, and only other metrics need it

    n = queries.shape[0]
    ids, found = np.empty(n, dtype=np.int64), np.empty(n)
    by_key = None if keys is None else np.argsort(keys, kind="stable")
    if is_boolean(metric):
        queries = queries >= 0.5
    for part in blocks(n, rows.shape[0], values=_BLOCK):
        distances = pairwise_distances(queries[part], rows, metric=metric)
        if exclude_self:
            distances[np.arange(part.stop - part.start), np.arange(part.start, part.stop)] = np.inf
        if by_key is None:
            ids[part] = distances.argmin(axis=1)
        else:  # the first of the least in the order of keys
            ids[part] = by_key[distances[:, by_key].argmin(axis=1)]
        found[part] = np.take_along_axis(distances, ids[part, None], axis=1)[:, 0]
        if progress:
            progress(part.stop / n)
    return ids, found
