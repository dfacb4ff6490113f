"""The graph of neighbour links between the nodes of a level, and its communities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, brief_repr
from ...core.native import kernels
from .merge import components

_DROPPED_PER_256 = 8  # links of 256 that a sample drops


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """A symmetric weighted graph in CSR form, without loops.

    The volume of a node is the weight of all its links, including those inside of the node, which
    appear nowhere else.
    """

    starts: Array  # (n + 1,) int64
    ids: Array  # int32
    weights: Array  # float64
    volumes: Array  # (n,) float64

    __repr__ = brief_repr

    @classmethod
    def between(
        cls, labels: Array, n_nodes: int, neighbors: Array, counts: Array | None = None
    ) -> LinkGraph:
        """From the node of each row (`labels`) and its nearest rows (`neighbors`, n x k; -1: none).

        Links have weights k, k - 1, …, 1 from the nearest on: whole numbers, whose sums are exact.
        `counts`: the number of duplicates that each row stands for; each has the same links.
        """
        n, k = neighbors.shape
        source = np.repeat(labels, k)
        target = neighbors.ravel()
        weights = np.tile(np.arange(k, 0, -1, dtype=np.float64), n)
        if counts is not None:
            weights *= np.repeat(counts, k)
        if (missing := target < 0).any():
            source = source[~missing]
            target = target[~missing]
            weights = weights[~missing]
        one_way = sparse.csr_matrix((weights, (source, labels[target])), shape=(n_nodes, n_nodes))
        return cls.of_matrix(one_way + one_way.T)

    @classmethod
    def of_matrix(cls, matrix: Any) -> LinkGraph:
        """From a symmetric matrix; its diagonal holds the links inside of nodes."""
        links = sparse.csr_matrix(matrix)
        links.sort_indices()
        volumes = np.asarray(links.sum(axis=1)).ravel()
        rows = np.repeat(np.arange(len(volumes)), np.diff(links.indptr))
        others = links.indices != rows
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows[others], minlength=len(volumes)))])
        return cls(
            starts.astype(np.int64),
            links.indices[others].astype(np.int32),
            links.data[others],
            volumes,
        )

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
        return np.asarray(
            self.volumes - np.bincount(self.sources, weights=self.weights, minlength=self.n)
        )

    def matrix(self) -> Any:
        """The links between nodes (CSR); it shares their memory."""
        return sparse.csr_matrix((self.weights, self.ids, self.starts), shape=(self.n, self.n))

    def contract(self, labels: Array, n_groups: int) -> LinkGraph:
        """The graph of groups of nodes; O(links)."""
        rows = np.concatenate([labels[self.sources], labels])
        columns = np.concatenate([labels[self.ids], labels])
        values = np.concatenate([self.weights, self.inside])
        return LinkGraph.of_matrix(
            sparse.csr_matrix((values, (rows, columns)), shape=(n_groups, n_groups))
        )

    def with_links(self, first: Array, second: Array) -> LinkGraph:
        """With one more link in both directions between each of some pairs of nodes."""
        ones = np.ones(len(first))
        more = sparse.csr_matrix((ones, (first, second)), shape=(self.n, self.n))
        return LinkGraph.of_matrix(self.matrix() + more + more.T + sparse.diags(self.inside))

    def parts(self) -> Array:
        """Connected component of each node, numbered by lowest node."""
        return components(self.matrix())

    def sample(self, number: int) -> LinkGraph:
        """A copy without a random 1/32 of the links (`number` is the seed); volumes stay.

        Whether a link is dropped depends on the sum of two random bytes, one per node, so it is the
        same in both directions.
        """
        drawn = np.random.default_rng([number, 1]).integers(0, 256, self.n, dtype=np.uint8)
        kept = drawn[self.sources] + drawn[self.ids] >= _DROPPED_PER_256  # modulo 256
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return LinkGraph(starts, self.ids[kept], self.weights[kept], self.volumes)

    def take(self, order: Array) -> LinkGraph:
        """A copy with its nodes in another order: node i is the old node order[i]."""
        moved = self.matrix()[order][:, order] + sparse.diags(self.inside[order])
        return LinkGraph.of_matrix(moved)


def modularity(graph: LinkGraph, labels: Array, resolution: float) -> float:
    """Modularity: share of links inside groups, less resolution times that of a random graph."""
    lost, concentration = borders(graph, labels)
    return 1 - lost - resolution * concentration


def borders(graph: LinkGraph, labels: Array) -> tuple[float, float]:
    """Share of links that leave their group, and the Simpson index of the groups' volumes.

    Sums of whole numbers, without rounding: the same bits on every machine.
    """
    leaving = graph.weights[labels[graph.sources] != labels[graph.ids]].sum()
    volumes = np.bincount(labels, weights=graph.volumes).astype(np.int64).tolist()
    total = int(graph.total)
    return int(leaving) / total, sum(volume * volume for volume in volumes) / (total * total)


def find_communities(
    graph: LinkGraph, resolution: float, parents: Array | None = None, number: int = 0
) -> Array:
    """Louvain communities inside of parents: labels numbered by the lowest node.

    `number` is the seed of the order in which nodes are visited (0: as they are), which may lead to
    another local optimum.

    Examples
    --------
    >>> pairs = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]])
    >>> find_communities(LinkGraph.between(np.arange(6), 6, pairs), 1.0).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    above = np.zeros(graph.n, dtype=np.int32) if parents is None else parents.astype(np.int32)
    order = np.random.default_rng(number).permutation(graph.n) if number else np.arange(graph.n)
    found = kernels.communities(
        graph.starts,
        graph.ids,
        graph.weights,
        graph.volumes,
        above,
        order.astype(np.int32),
        resolution / graph.total,
    )
    return found.astype(np.int64)
