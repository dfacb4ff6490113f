"""Exactly k clusters from the nodes of one level: merge the two nearest until k are left."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Array


def merge_to(centroids: Any, sizes: Array, n_clusters: int, metric: Any) -> Array:
    """New number (0 … n_clusters - 1) of each node; O(n_nodes · (n_nodes - n_clusters) · n_features).

    FINCH's required-clusters mode: one merge at a time, of the pair of nodes that is nearest; the
    merged centroid is the mean weighted by sizes.
    """
    from sklearn.metrics import pairwise_distances

    x = centroids.toarray() if sparse.issparse(centroids) else np.array(centroids, dtype=np.float64)
    weights = sizes.astype(np.float64)
    label = np.arange(len(x))
    alive = np.ones(len(x), dtype=bool)
    nearest = np.empty(len(x), dtype=np.int64)
    distance = np.full(len(x), np.inf)

    def look_up(nodes: Array) -> None:
        others = np.flatnonzero(alive)
        d = pairwise_distances(x[nodes], x[others], metric=metric)
        d[nodes[:, None] == others] = np.inf
        best = d.argmin(axis=1)
        nearest[nodes], distance[nodes] = others[best], d[np.arange(len(nodes)), best]

    if n_clusters < len(x):
        for start in range(0, len(x), 1024):
            look_up(np.arange(start, min(len(x), start + 1024)))
    for _ in range(len(x) - n_clusters):
        a = int(distance.argmin())
        keep, gone = sorted((a, int(nearest[a])))
        x[keep] = (x[keep] * weights[keep] + x[gone] * weights[gone]) / (weights[keep] + weights[gone])
        weights[keep] += weights[gone]
        label[label == gone] = keep
        alive[gone] = False
        distance[gone] = np.inf
        stale = np.flatnonzero(alive & ((nearest == gone) | (nearest == keep)))
        look_up(np.union1d(stale, [keep]))
        # the merged node may have come closer to others than their old neighbours
        others = np.flatnonzero(alive)
        d = pairwise_distances(x[[keep]], x[others], metric=metric)[0]
        closer = others[(d < distance[others]) & (others != keep)]
        nearest[closer], distance[closer] = keep, d[np.isin(others, closer)]
    return np.unique(label, return_inverse=True)[1]
