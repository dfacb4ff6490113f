"""Neighbour links between the nodes of a level: who is among whose nearest, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Array, brief_repr
from .._native import kernels
from .._parallel import map_blocks

_VOTES, _TRIES = 32, 4  # partitions that decide what belongs together, and of which the best is taken then
_LEFT_OUT = 8  # of 256 links, in a sample
_FIRST_VOTES, _MOST_VOTES = 16, 128  # on samples
_VOTES_PER_DOUBT = 5000  # clusters that stand apart have a doubt below 0.005, texts one of 0.03
_MOST_EFFORT = 5_000_000  # links that all voters look at


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """A symmetric graph without loops: `weights` of links in both directions, `volumes` of all links of a node.

    Links inside of a node count for its volume alone.
    """

    starts: Array  # (n + 1,) int64
    ids: Array  # int32
    weights: Array  # float64
    volumes: Array  # (n,) float64

    __repr__ = brief_repr

    @classmethod
    def between(cls, labels: Array, n_nodes: int, neighbors: Array, counts: Array | None = None) -> LinkGraph:
        """Of nodes with rows: `labels` is the node of each row, `neighbors` (n, k) its nearest rows; -1 is none.

        The nearest counts k, the next k - 1, and so on: whole numbers, whose sums are exact. `counts`: how many equal
        rows each row stands for. Each of them has these links.
        """
        n, k = neighbors.shape
        source, target = np.repeat(labels, k), neighbors.ravel()
        weights = np.tile(np.arange(k, 0, -1, dtype=np.float64), n)
        if counts is not None:
            weights *= np.repeat(counts, k)
        if (missing := target < 0).any():
            source, target, weights = source[~missing], target[~missing], weights[~missing]
        one_way = sparse.csr_matrix((weights, (source, labels[target])), shape=(n_nodes, n_nodes))
        return cls.of_matrix(one_way + one_way.T)

    @classmethod
    def of_matrix(cls, matrix: Any) -> LinkGraph:
        """From a symmetric matrix of links; its diagonal are links inside of nodes."""
        links = sparse.csr_matrix(matrix)
        links.sort_indices()
        volumes = np.asarray(links.sum(axis=1)).ravel()
        rows = np.repeat(np.arange(len(volumes)), np.diff(links.indptr))
        others = links.indices != rows
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows[others], minlength=len(volumes)))])
        return cls(starts.astype(np.int64), links.indices[others].astype(np.int32), links.data[others], volumes)

    @property
    def n(self) -> int:
        return len(self.volumes)

    @property
    def total(self) -> float:
        """The volume of all nodes."""
        return float(self.volumes.sum())

    @property
    def sources(self) -> Array:
        """The node that each entry of `ids` is a neighbour of."""
        return np.repeat(np.arange(self.n), np.diff(self.starts))

    @property
    def inside(self) -> Array:
        """Links inside of each node."""
        return np.asarray(self.volumes - np.bincount(self.sources, weights=self.weights, minlength=self.n))

    def matrix(self) -> Any:
        """The links between nodes (CSR); it shares their memory."""
        return sparse.csr_matrix((self.weights, self.ids, self.starts), shape=(self.n, self.n))

    def contract(self, labels: Array, n_groups: int) -> LinkGraph:
        """The graph of groups of nodes; O(links)."""
        rows = np.concatenate([labels[self.sources], labels])
        columns = np.concatenate([labels[self.ids], labels])
        values = np.concatenate([self.weights, self.inside])
        return LinkGraph.of_matrix(sparse.csr_matrix((values, (rows, columns)), shape=(n_groups, n_groups)))

    def with_links(self, first: Array, second: Array) -> LinkGraph:
        """With one more link in both directions between each of some pairs of nodes."""
        ones = np.ones(len(first))
        more = sparse.csr_matrix((ones, (first, second)), shape=(self.n, self.n))
        return LinkGraph.of_matrix(self.matrix() + more + more.T + sparse.diags(self.inside))

    def parts(self) -> Array:
        """Which connected part each node belongs to, numbered by their lowest nodes."""
        from .merge import components

        return components(self.matrix())

    def sample(self, number: int) -> LinkGraph:
        """Without some of the links, other ones for each number; volumes stay.

        A link is left out by the sum of two numbers that its nodes have drawn, which is the same in both directions.
        """
        drawn = np.random.default_rng([number, 1]).integers(0, 256, self.n, dtype=np.uint8)
        kept = drawn[self.sources] + drawn[self.ids] >= _LEFT_OUT  # modulo 256
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return LinkGraph(starts, self.ids[kept], self.weights[kept], self.volumes)

    def take(self, order: Array) -> LinkGraph:
        """The same with its nodes in another order: node i is the old node order[i]."""
        moved = self.matrix()[order][:, order] + sparse.diags(self.inside[order])
        return LinkGraph.of_matrix(moved)


def modularity(graph: LinkGraph, labels: Array, resolution: float) -> float:
    """Share of links inside of groups, less what volumes alone would give, times the resolution."""
    lost, concentration = borders(graph, labels)
    return 1 - lost - resolution * concentration


def borders(graph: LinkGraph, labels: Array) -> tuple[float, float]:
    """Share of links that leave their group, and the sum of the squared shares of groups in all links.

    Sums of whole numbers, without rounding: the same bits on every machine.
    """
    leaving = graph.weights[labels[graph.sources] != labels[graph.ids]].sum()
    volumes = np.bincount(labels, weights=graph.volumes).astype(np.int64).tolist()
    total = int(graph.total)
    return int(leaving) / total, sum(volume * volume for volume in volumes) / (total * total)


def find_communities(graph: LinkGraph, resolution: float, parents: Array | None = None, number: int = 0) -> Array:
    """A partition of high modularity inside of parents: labels numbered by the lowest node.

    `number`: of the order in which nodes are visited, the same each time; another one may end elsewhere.

    Examples
    --------
    >>> pairs = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]])
    >>> find_communities(LinkGraph.between(np.arange(6), 6, pairs), 1.0).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    above = np.zeros(graph.n, dtype=np.int32) if parents is None else parents.astype(np.int32)
    order = np.random.default_rng(number).permutation(graph.n) if number else np.arange(graph.n)
    found = kernels.communities(
        graph.starts, graph.ids, graph.weights, graph.volumes, above, order.astype(np.int32),
        resolution / graph.total,
    )  # fmt: skip
    return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Elected:
    """A partition that others have voted for, and how far they agree on each of its communities; None: no votes."""

    labels: Array
    agreement: Array | None = None

    __repr__ = brief_repr


def agree_on_communities(graph: LinkGraph, resolution: float, n_threads: int = 1) -> Elected:
    """What many partitions agree on: it hardly changes with a few rows less, where single partitions do."""
    return _elect(graph, _partitions(graph, resolution, _VOTES, n_threads), resolution, n_threads)


def agree_on_samples(graph: LinkGraph, resolution: float, n_threads: int = 1) -> Elected:
    """What partitions of many samples of the links agree on: as they do, a few rows less change some links.

    The first voters tell how many there are: more where they do not agree.
    """
    found = _partitions_of_samples(graph, resolution, range(_FIRST_VOTES), n_threads)
    affordable = _MOST_EFFORT // max(1, len(graph.ids))
    n_votes = min(_MOST_VOTES, affordable, round(_VOTES_PER_DOUBT * _doubt(graph, found)))
    found += _partitions_of_samples(graph, resolution, range(_FIRST_VOTES, n_votes), n_threads)
    return _elect(graph, found, resolution, n_threads)


def _doubt(graph: LinkGraph, partitions: Sequence[Array]) -> float:
    """Variance of the votes for a link, in the mean of all links."""
    votes, n = _count_votes(graph, partitions), len(partitions)
    return float(np.sum(graph.weights * votes * (n - votes))) / (n * n * graph.total)


def _count_votes(graph: LinkGraph, partitions: Sequence[Array]) -> Array:
    """Votes for each link: a partition votes for those with both ends in one community."""
    source, target = graph.sources, graph.ids
    votes = np.zeros(len(target), dtype=np.int64)
    for labels in partitions:
        votes += labels[source] == labels[target]
    return votes


def _elect(graph: LinkGraph, partitions: Sequence[Array], resolution: float, n_threads: int) -> Elected:
    """The best partition of the graph whose links are weighed by the votes of partitions for them."""
    votes = _count_votes(graph, partitions)
    together = votes > 0
    weights, ends = graph.weights[together] * votes[together], (graph.sources[together], graph.ids[together])
    links = sparse.csr_matrix((weights, ends), shape=(graph.n, graph.n))
    agreed = LinkGraph.of_matrix(links + sparse.diags(graph.inside * len(partitions)))
    agreed = replace(agreed, volumes=np.maximum(agreed.volumes, 1))  # nodes that are alone in all partitions
    found = _partitions(agreed, resolution, _TRIES, n_threads)
    best = found[int(np.argmax([modularity(agreed, labels, resolution) for labels in found]))]
    return Elected(best, agreement(graph, best, partitions))


def agreement(graph: LinkGraph, labels: Array, partitions: Sequence[Array]) -> Array:
    """How far partitions agree on each community of one: float32, 1 where all of them have it.

    Its overlap with the most similar community of a partition, by the Jaccard index of their links, in the mean of
    all partitions.

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
    return map_blocks(lambda part: find_communities(graph, resolution, number=part.start), parts, n_threads)


def _partitions_of_samples(graph: LinkGraph, resolution: float, numbers: range, n_threads: int) -> list[Array]:
    def attempt(part: slice) -> Array:
        return find_communities(graph.sample(part.start), resolution, number=part.start)

    return map_blocks(attempt, [slice(number, number + 1) for number in numbers], n_threads)
