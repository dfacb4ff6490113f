"""Consensus clustering: communities that many partitions of a graph agree on.

A consensus is more stable than a single partition when rows are added or removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ...core.arrays import Array, brief_repr
from ...core.threads import map_blocks
from .link_graph import LinkGraph, find_communities, modularity

_N_PARTITIONS = 32  # of one graph, that differ by the order in which nodes are visited
_N_TRIES = 4  # partitions of the consensus graph, of which the best is taken
# partitions of samples of the links: the first ones estimate how many are needed
_N_FIRST_SAMPLES = 16
_MAX_SAMPLES = 128
# per unit of disagreement: it is below 0.005 for well-separated clusters, about 0.03 for texts
_SAMPLES_PER_DISAGREEMENT = 5000
_MAX_LINKS_VISITED = 5_000_000  # by all samples together: a few seconds


@dataclass(frozen=True, eq=False)
class Consensus:
    """A consensus partition."""

    labels: Array
    agreement: Array | None = None  # stability of each community; None: there were no partitions

    __repr__ = brief_repr


def agree_on_communities(graph: LinkGraph, resolution: float, n_threads: int = 1) -> Consensus:
    """The consensus of partitions that differ by the order in which nodes are visited."""
    found = _partitions(graph, resolution, _N_PARTITIONS, n_threads)
    return _find_consensus(graph, found, resolution, n_threads)


def agree_on_samples(graph: LinkGraph, resolution: float, n_threads: int = 1) -> Consensus:
    """The consensus of partitions of random samples of the links.

    Dropped links stand for the effect of removed rows. More samples are drawn the more the first
    ones disagree.
    """
    first = range(_N_FIRST_SAMPLES)
    found = _partitions_of_samples(graph, resolution, first, n_threads)
    affordable = _MAX_LINKS_VISITED // max(1, len(graph.ids))
    wanted = round(_SAMPLES_PER_DISAGREEMENT * _disagreement(graph, found))
    more = range(_N_FIRST_SAMPLES, min(_MAX_SAMPLES, affordable, wanted))
    found += _partitions_of_samples(graph, resolution, more, n_threads)
    return _find_consensus(graph, found, resolution, n_threads)


def _disagreement(graph: LinkGraph, partitions: Sequence[Array]) -> float:
    """Variance of co-membership of a link's two ends over partitions, averaged over links."""
    votes = _count_votes(graph, partitions)
    n = len(partitions)
    return float(np.sum(graph.weights * votes * (n - votes))) / (n * n * graph.total)


def _count_votes(graph: LinkGraph, partitions: Sequence[Array]) -> Array:
    """For each link, the number of partitions with both of its ends in one community."""
    source = graph.sources
    target = graph.ids
    votes = np.zeros(len(target), dtype=np.int64)
    for labels in partitions:
        votes += labels[source] == labels[target]
    return votes


def _find_consensus(
    graph: LinkGraph, partitions: Sequence[Array], resolution: float, n_threads: int
) -> Consensus:
    """The best partition of the consensus graph: links weighted by their votes."""
    votes = _count_votes(graph, partitions)
    together = votes > 0
    weights = graph.weights[together] * votes[together]
    ends = (graph.sources[together], graph.ids[together])
    links = sparse.csr_matrix((weights, ends), shape=(graph.n, graph.n))
    agreed = LinkGraph.of_matrix(links + sparse.diags(graph.inside * len(partitions)))
    # nodes that are alone in all partitions would have no volume
    agreed = replace(agreed, volumes=np.maximum(agreed.volumes, 1))
    found = _partitions(agreed, resolution, _N_TRIES, n_threads)
    best = found[int(np.argmax([modularity(agreed, labels, resolution) for labels in found]))]
    return Consensus(best, agreement(graph, best, partitions))


def agreement(graph: LinkGraph, labels: Array, partitions: Sequence[Array]) -> Array:
    """Stability of each community, float32: 1 if all partitions contain it.

    The Jaccard index, by links, with the most similar community of a partition, averaged over
    partitions.

    Examples
    --------
    >>> links = LinkGraph.between(np.arange(4), 4, np.array([[1], [0], [3], [2]]))
    >>> agreement(links, np.array([0, 0, 1, 1]), [np.array([0, 0, 1, 2])]).tolist()
    [1.0, 0.5]
    """
    own = np.bincount(labels, weights=graph.volumes)
    sums = np.zeros(len(own))
    for other in partitions:
        pairs, where = np.unique(labels * (int(other.max()) + 1) + other, return_inverse=True)
        common = np.bincount(where, weights=graph.volumes)
        mine, theirs = np.divmod(pairs, int(other.max()) + 1)
        overlap = common / (own[mine] + np.bincount(other, weights=graph.volumes)[theirs] - common)
        sums += np.maximum.reduceat(overlap, np.searchsorted(mine, np.arange(len(own))))
    return np.asarray(sums / len(partitions), dtype=np.float32)


def _partitions(graph: LinkGraph, resolution: float, n: int, n_threads: int) -> list[Array]:
    parts = [slice(i, i + 1) for i in range(n)]
    return map_blocks(
        lambda part: find_communities(graph, resolution, number=part.start), parts, n_threads
    )


def _partitions_of_samples(
    graph: LinkGraph, resolution: float, numbers: range, n_threads: int
) -> list[Array]:
    def attempt(part: slice) -> Array:
        return find_communities(graph.sample(part.start), resolution, number=part.start)

    return map_blocks(attempt, [slice(number, number + 1) for number in numbers], n_threads)
