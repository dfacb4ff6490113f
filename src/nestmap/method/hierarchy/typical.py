"""The rows that stand for a cluster: those nearest to its centroid."""

from __future__ import annotations

from itertools import pairwise as adjacent
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array
from ...core.points.point_set import make_points

if TYPE_CHECKING:
    from .tree import Hierarchy


def find_typical(hierarchy: Hierarchy, level: int, X: Any, n_typical: int) -> list[Array]:
    """Up to n_typical rows per cluster of a level, nearest to its centroid first; O(n · columns).

    Without X: rows of the leaves whose centroids are nearest, leaf by leaf.
    """
    return find_extremes(hierarchy, level, X, n_typical)[0]


def find_extremes(
    hierarchy: Hierarchy, level: int, X: Any, most: int
) -> tuple[list[Array], list[Array]]:
    """Typical rows of each cluster, and outliers: other rows, farthest from its centroid first."""
    if X is not None:
        is_matrix = hierarchy.metric.takes_distances
        n_columns = hierarchy.n_rows if is_matrix else hierarchy.levels[0].centroids.shape[1]
        if X.shape != (hierarchy.n_rows, n_columns):
            raise ValueError(
                f"X: needs the rows of the fit, {hierarchy.n_rows} x {n_columns}, got "
                f"{X.shape[0]} x {X.shape[1]}"
            )
        return _ends(hierarchy.labels(level), _to_centroids(X, hierarchy, level, False), most)
    leaf = hierarchy.levels[0]
    own = hierarchy.climb(np.arange(leaf.n_nodes), level)
    near, far = _ends(own, _to_centroids(leaf.centroids, hierarchy, level, True), most)
    rows = leaf.grouping.items_of
    return [rows(some)[:most] for some in near], [rows(some)[:most] for some in far]


def _ends(own: Array, distances: Array, most: int) -> tuple[list[Array], list[Array]]:
    """The items of each cluster with the smallest distances, of equal ones the first.

    And those with the largest.
    """
    order = np.lexsort((distances, own))
    starts = np.searchsorted(own[order], np.arange(int(own.max()) + 2))
    near = [order[a : min(a + most, b)] for a, b in adjacent(starts)]
    return near, [order[max(a + most, b - most) : b][::-1] for a, b in adjacent(starts)]


def _to_centroids(items: Any, hierarchy: Hierarchy, level: int, are_leaves: bool) -> Array:
    """Distance of each row (or leaf) to the centroid of its cluster, or monotone in it."""
    own = (
        hierarchy.climb(np.arange(items.shape[0]), level) if are_leaves else hierarchy.labels(level)
    )
    centroids = hierarchy.levels[level].centroids
    metric = hierarchy.metric
    if not metric.has_kernels:
        return metric.to_own(items, centroids, own)
    others = make_points(centroids, metric.name)
    points = make_points(items, metric.name, others)
    return points.pair_distances(np.arange(len(own)), others, own, points.norm)
