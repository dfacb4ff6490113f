"""Agglomerative merging of the clusters of a link graph: to a given number, as a dendrogram."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from ...core.arrays import Array
from ...core.native import kernels
from .link_graph import LinkGraph
from .merge import Links


def join_smallest(graph: LinkGraph, n_clusters: int) -> Array:
    """Merge the smallest cluster into its most similar one until `n_clusters` are left.

    Similarity is links / volume. The graph must be connected.

    Examples
    --------
    >>> chain = np.array([[1], [0], [1], [2], [3]])
    >>> join_smallest(LinkGraph.between(np.arange(5), 5, chain), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    links: list[dict[int, float]] = [{} for _ in range(graph.n)]
    for a, b, weight in zip(
        graph.sources.tolist(), graph.ids.tolist(), graph.weights.tolist(), strict=True
    ):
        links[a][b] = weight
    volumes = graph.volumes.tolist()
    owner = np.arange(graph.n)
    queue = [(volume, node) for node, volume in enumerate(volumes)]
    heapify(queue)
    for _ in range(graph.n - n_clusters):
        while volumes[queue[0][1]] != queue[0][0]:  # outdated: it has grown, or was merged
            heappop(queue)
        _, small = heappop(queue)
        into = max(links[small], key=lambda node: (links[small][node] / volumes[node], -node))
        for node, weight in links[small].items():
            del links[node][small]
            if node != into:
                links[into][node] = links[node][into] = links[into].get(node, 0) + weight
        volumes[into] += volumes[small]
        volumes[small] = -1.0
        owner[owner == small] = into
        heappush(queue, (volumes[into], into))
    return np.unique(owner, return_inverse=True)[1]


def merge_links(graph: LinkGraph, members: Array) -> Links:
    """The dendrogram of each group as links for `join_shortest`, the most similar pair first.

    Each node but the lowest of its group has the link by which it is merged. The lowest has a link
    that is never needed.
    """
    merges = kernels.merge_order(
        graph.starts, graph.ids, graph.weights, graph.volumes, members.astype(np.int32)
    )
    first = merges.first
    second = merges.second
    order = np.argsort(-merges.similarities, kind="stable")
    ids = np.arange(graph.n)
    ranks = np.zeros(graph.n, dtype=np.int64)
    ids[second] = first
    ids[first] = np.where(ids[first] == first, second, ids[first])
    ranks[second[order]] = np.arange(1, len(order) + 1)
    unneeded = np.flatnonzero(ranks == 0)
    ranks[unneeded] = len(order) + 1 + np.arange(len(unneeded))
    return Links(ids.astype(np.int32), ranks.astype(np.int32))
