"""Which nodes attract each other, and how much: t-SNE's calibrated, symmetric weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ....core.arrays import Array
from ....core.native import kernels
from .schedule import SCHEDULE

# neighbours of a node per perplexity, at least: of fewer neighbours the perplexity is lower
REACH = 1.6


@dataclass(frozen=True, eq=False)
class Attraction:
    """Weights between nodes: row i holds what pulls at node i, per row of X below it.

    In units in which the weights of a node add up to about 1.
    """

    starts: Array  # (n + 1,) int64
    ids: Array  # int32
    weights: Array  # float32

    def rates(self) -> Array:
        """Factors of the steps of nodes: those that many others pull at would swing; float32."""
        pull = np.add.reduceat(self.weights, self.starts[:-1], dtype=np.float64)
        return np.asarray(1 / np.maximum(pull, 1), dtype=np.float32)


def weigh_neighbors(
    ids: Array, distances: Array, masses: Array, perplexity: float, n_threads: int
) -> Attraction:
    """Calibrated and symmetrised weights of a neighbour graph; O(n k).

    A node of m rows counts as m rows that coincide: p_ij = (m_i p_j|i + m_j p_i|j) / 2. Divided by
    m_i, it is what pulls at each of them.
    """
    n, k = ids.shape
    own = kernels.calibrate(distances, min(perplexity, max(1.5, k / REACH)), n_threads)
    own *= (masses / (2 * masses.mean())).astype(np.float32)[:, None]
    one_way = sparse.csr_matrix(
        (own.ravel(), ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
    )
    both = one_way + one_way.T.tocsr()
    both.sort_indices()
    both.data /= np.repeat(masses / masses.mean(), np.diff(both.indptr))
    return Attraction(
        both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False), both.data
    )


def contract(attraction: Attraction, masses: Array, labels: Array, n_nodes: int) -> Attraction:
    """What attracts groups of items: the sums of what attracts their members; O(edges).

    Groups whose members are mostly among themselves are drawn to others as much as the rest:
    weights are scaled by the root of both ends' shares, and add up to about 1. A group that nothing
    attracts has a weight of 0 to itself.

    Parameters
    ----------
    masses : ndarray of shape (n_items,)
        Rows that each item stands for.
    labels : ndarray of shape (n_items,)
    """
    n = len(labels)
    pulls = attraction.weights.astype(np.float64) * np.repeat(masses, np.diff(attraction.starts))
    items = sparse.csr_matrix((pulls, attraction.ids, attraction.starts), shape=(n, n))
    below = sparse.csr_matrix((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_nodes))
    nodes = below.T.tocsr() @ (items @ below)  # products add up in the order of the items
    nodes = nodes + sparse.identity(n_nodes, format="csr")  # every row has an entry
    nodes.sort_indices()
    sources = np.repeat(np.arange(n_nodes), np.diff(nodes.indptr))
    nodes.data[sources == nodes.indices] = 0
    sizes = np.bincount(labels, weights=masses, minlength=n_nodes)
    outside = np.asarray(nodes.sum(axis=1)).ravel()
    scale = np.sqrt(np.divide(sizes, outside, out=np.zeros(n_nodes), where=outside > 0))
    nodes.data *= scale[sources] * scale[nodes.indices]
    total = nodes.data.sum()
    weights = nodes.data * (sizes.sum() / total if total > 0 else 0.0) / sizes[sources]
    return Attraction(
        nodes.indptr.astype(np.int64), nodes.indices.astype(np.int32), weights.astype(np.float32)
    )


def part_clusters(attraction: Attraction, clusters: Array) -> Attraction:
    """The same with weaker links between nodes of different clusters."""
    apart = np.repeat(clusters, np.diff(attraction.starts)) != clusters[attraction.ids]
    weaker = np.float32(SCHEDULE.between) * attraction.weights
    return replace(attraction, weights=np.where(apart, weaker, attraction.weights))


def smooth(attraction: Attraction, positions: Array) -> Array:
    """Each node drawn to the mean of its neighbours, round after round.

    Clusters become clumps; O(rounds x edges).
    """
    n = len(positions)
    weights = attraction.weights.astype(np.float64)
    pulls = np.add.reduceat(weights, attraction.starts[:-1])
    shares = np.divide(1 - SCHEDULE.smoothing_kept, pulls, out=np.zeros(n), where=pulls > 0)
    weights *= np.repeat(shares, np.diff(attraction.starts))
    own = np.repeat(np.arange(n), np.diff(attraction.starts))
    # a node that nothing attracts stays
    kept = np.where(pulls > 0, SCHEDULE.smoothing_kept, 1.0)[:, None]
    for _ in range(SCHEDULE.smoothing_rounds):
        pulled = [np.bincount(own, weights * c[attraction.ids], n) for c in positions.T]
        positions = kept * positions + np.stack(pulled, axis=1)
    return np.asarray(positions)
