"""Medoids instead of means: a cluster is represented by one of its members.

The medoid of a cluster is the member with the smallest sum of distances to all members, weighted by
the rows below them; of several the one with the lowest key. It is used where means make no sense
(`centroid_kind`): for distances without rows (metric="precomputed"), codes of categories (hamming)
and places on a sphere (haversine). The distance between two clusters is that between their medoids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array, blocks
from ...core.input.validate import dense_block
from ...core.progress import Share
from ...core.threads import map_blocks
from ..neighbors.metric import Metric, refuse_bad_distances
from ..neighbors.metric.matrix import MedoidDistances

if TYPE_CHECKING:
    from .tree import Grouping

_GROUPS_PER_TASK = 256  # clusters between two reports of progress


def find_medoids(
    items: Any,
    weights: Array,
    grouping: Grouping,
    metric: Metric,
    keys: Array | None = None,
    n_threads: int = 1,
    progress: Share | None = None,
) -> Array:
    """The item that stands for each group; O(sum of squared sizes) distances, in blocks.

    Examples
    --------
    >>> from nestmap.method.hierarchy.tree import Grouping
    >>> from nestmap.method.neighbors.metric import EUCLIDEAN
    >>> X = np.array([[0.0], [1], [5], [7]])
    >>> find_medoids(X, np.ones(4), Grouping.of(np.array([0, 0, 0, 1]), 2), EUCLIDEAN)
    array([1, 3])
    """
    n_groups = len(grouping.starts) - 1
    out = np.empty(n_groups, dtype=np.int64)

    def find(part: slice) -> None:
        for g in range(part.start, part.stop):
            rows = grouping.order[grouping.starts[g] : grouping.starts[g + 1]]
            # sums in the order of keys have the same bits for any order of the rows
            if keys is not None:
                rows = rows[np.argsort(keys[rows], kind="stable")]
            sums = (
                weights[rows[::-1]] if len(rows) == 2 else _sums(items, rows, weights[rows], metric)
            )
            out[g] = rows[np.argmin(sums)]

    map_blocks(
        find,
        blocks(n_groups, 1, values=_GROUPS_PER_TASK),
        n_threads if metric.runs_in_threads else 1,
        progress,
    )
    return out


def _sums(items: Any, rows: Array, weights: Array, metric: Metric) -> Array:
    """Weighted sum of the distances of each row of a group to all of them."""
    if len(rows) == 1:
        return np.zeros(1)
    sums = np.empty(len(rows))
    for part in blocks(len(rows), len(rows)):
        distances = distances_between(items, rows[part], rows, metric)
        sums[part] = (distances * weights).sum(axis=1)
    return sums


def distances_between(items: Any, a: Array, b: Array, metric: Metric) -> Array:
    """Of items a to items b: of rows under a metric, or from a matrix of distances."""
    distances = metric.between(items, a, b)
    refuse_bad_distances(distances, a, b, metric)
    return distances


def merge_medoids(
    items: Any,
    weights: Array,
    grouping: Grouping,
    metric: Metric,
    keys: Array | None = None,
    n_threads: int = 1,
    progress: Share | None = None,
) -> tuple[Any, Array]:
    """Medoids and sizes of groups of items: rows, or `MedoidDistances` for metric="precomputed"."""
    medoids = find_medoids(items, weights, grouping, metric, keys, n_threads, progress)
    sizes = np.add.reduceat(weights[grouping.order], grouping.starts[:-1])
    if not metric.takes_distances:
        return dense_block(items, medoids), sizes
    rows = items.rows[medoids] if isinstance(items, MedoidDistances) else medoids
    return MedoidDistances(rows, distances_between(items, medoids, medoids, metric)), sizes
