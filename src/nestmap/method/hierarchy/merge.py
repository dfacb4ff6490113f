"""Any number of clusters between two levels: the shortest first-neighbour links first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, brief_repr
from ..neighbors import FirstNeighbors


@dataclass(frozen=True, eq=False)
class Links:
    """The link of each item to its first neighbour, and its place among all; 8 bytes per item."""

    ids: Array
    ranks: Array  # 1, 2, …: from the shortest link to the longest

    __repr__ = brief_repr

    @classmethod
    def of(cls, neighbors: FirstNeighbors, keys: Array | None = None) -> Links:
        """Of equally long links, that from the lowest key comes first, then the lowest index."""
        n = len(neighbors.ids)
        kind = np.int32 if n < 2**31 else np.int64
        ranks = np.empty(n, dtype=kind)
        columns = (neighbors.distances,) if keys is None else (keys, neighbors.distances)
        ranks[np.lexsort(columns)] = np.arange(1, n + 1)
        return cls(neighbors.ids.astype(kind), ranks)


def join_shortest(links: Links, n_clusters: int) -> Array:
    """Cluster of each item if the shortest links alone are drawn, to n_clusters; O(n log n).

    Draws all links if even these leave more than n_clusters. Clusters are numbered by their lowest
    item.

    Each component of a first-neighbour graph has one link more than a tree: usually the two of a
    pair of mutual neighbours are the same. The minimum spanning forest leaves it out, whatever it
    is.

    Examples
    --------
    >>> from nestmap.neighbors import first_neighbors
    >>> links = Links.of(first_neighbors([[0.0], [1.0], [3.0], [10.0], [14.0]]))
    >>> [join_shortest(links, k).tolist() for k in (1, 3, 4)]
    [[0, 0, 0, 1, 1], [0, 0, 0, 1, 2], [0, 0, 1, 2, 3]]
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    # ranks in place of lengths: all differ, and none is 0, which would be no edge
    forest = minimum_spanning_tree(link_graph(links.ids, links.ranks))
    n_drawn = len(links.ids) - n_clusters
    if n_drawn < forest.nnz:
        forest.data[forest.data >= np.partition(forest.data, n_drawn)[n_drawn]] = 0
        forest.eliminate_zeros()
    return components(forest)


def link_graph(ids: Array, weights: Array | None = None) -> Any:
    """The graph with an edge from each item to its first neighbour (CSR)."""
    n = len(ids)
    weights = np.ones(n, dtype=np.int8) if weights is None else weights
    return sparse.csr_matrix((weights, ids, np.arange(n + 1)), shape=(n, n))


def components(graph: Any) -> Array:
    """Connected components of a graph, numbered by their lowest item; O(n).

    Examples
    --------
    >>> components(link_graph(np.array([2, 3, 0, 1]))).tolist()
    [0, 1, 0, 1]
    """
    from scipy.sparse.csgraph import connected_components

    n_found, labels = connected_components(graph, directed=True, connection="weak")
    n = len(labels)
    lowest = np.full(n_found, n)
    np.minimum.at(lowest, labels, np.arange(n))
    rank = np.empty(n_found, dtype=np.int64)
    rank[np.argsort(lowest)] = np.arange(n_found)
    return np.asarray(rank[labels])
