"""Levels of communities above the leaves, from the neighbour graph of the rows.

Leaves are the paper's: components of first neighbours. Which leaves belong together is decided by
the neighbour links of their rows, not by their centroids:

1. `natural_scale` finds the resolution of modularity at which clusters are clearest.
2. Consensus communities at that resolution are the level of `labels_`.
3. Finer levels are communities inside of those, each at four times the resolution of the last.
4. Coarser levels are communities of communities, until a few are left.

So all levels nest. Leaves are processed in an order that depends on their values only, and links
are counted in whole numbers: the result is the same for any order and unit of the rows, and for any
number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array, brief_repr
from .coarsen import join_smallest, merge_links
from .consensus import Consensus, agree_on_communities, agree_on_samples
from .link_graph import LinkGraph, borders, find_communities
from .merge import Links
from .scale import PIECE_RESOLUTION, natural_scale

# factor of the resolution from one level to the next finer one: gives 3 to 4 times as many nodes
RESOLUTION_STEP = 4.0
# resolution of the small communities ("atoms") that levels are built from, for speed; where there
# are few links, `labels_` is found on the leaves themselves
ATOM_RESOLUTION = 256.0
_MAX_LINKS = 250_000  # of a graph on which consensus is computed: a few seconds
MAX_TOP_NODES = 12  # where the data allow
MIN_TOP_NODES = 3
_COARSENING_STEP = 2.0  # factor between two resolutions that are tried for a coarser level
_MIN_RESOLUTION = 1 / 64  # where that search ends
# a coarser level is accepted if its effective number of clusters (inverse Simpson index of their
# volumes) is at least this share of their number
_MIN_EVENNESS = 0.6
_MIN_RATIO = 2.0  # of the numbers of nodes of two consecutive levels


@dataclass(frozen=True, eq=False)
class Partition:
    """The nodes of a level."""

    members: Array  # node of each item of the level below
    links: Links  # the dendrogram of these items inside each node
    agreement: Array | None = None  # stability of each node; None: no consensus was computed

    __repr__ = brief_repr


@dataclass(frozen=True, eq=False)
class CommunityLevels:
    """Partitions from the first level above the leaves to the top."""

    partitions: tuple[Partition, ...]
    above: Links | None  # the dendrogram of the top nodes; None for a single node
    default: int  # level of `labels_`, where 0 are the leaves


@dataclass(frozen=True, eq=False)
class _Scales:
    """Labels of the leaves on all levels."""

    labels: list[Array]  # fine to coarse
    default: int  # the level of `labels_`, from 1
    agreements: list[Array | None]  # stability of the nodes of that level and of those above


def build_communities(graph: LinkGraph, ranks: Array, n_threads: int = 1) -> CommunityLevels:
    """Levels of a connected graph of leaves.

    Parameters
    ----------
    ranks : ndarray of shape (n_leaves,)
        Position of each leaf in an order that does not depend on the order of the rows.
    """
    order = np.argsort(ranks)
    ordered = graph.take(order)
    scales = _find_scales(ordered, n_threads)
    default = scales.default
    partitions = []
    below = np.arange(graph.n)
    current = ordered
    for k, labels in enumerate(scales.labels, start=1):
        members = _between(below, labels)
        agreement = scales.agreements[k - default] if k >= default else None
        partitions.append(Partition(members, merge_links(current, members), agreement))
        current = current.contract(members, int(members.max()) + 1)
        below = labels
    whole = np.zeros(current.n, dtype=np.int64)
    partitions.append(Partition(whole, merge_links(current, whole)))
    *found, last = _renumbered(partitions, ranks)
    return CommunityLevels(tuple(found), last.links if current.n > 1 else None, default)


def _find_scales(graph: LinkGraph, n_threads: int) -> _Scales:
    if graph.n < MIN_TOP_NODES:
        return _Scales([], 0, [])
    atoms, middle = _contracted(graph, ATOM_RESOLUTION)
    joined = np.arange(middle.n)
    small = middle
    if not _is_small(middle):
        joined, small = _contracted(middle, PIECE_RESOLUTION)
    scale = natural_scale(small, n_threads)
    if _is_small(graph):
        elected, resolution = _default_communities(graph, scale, n_threads)
        atoms, middle = _contracted(graph, ATOM_RESOLUTION, elected.labels)
        chosen = _between(atoms, elected.labels)
    else:
        elected, resolution = _default_communities(small, scale, n_threads)
        chosen = elected.labels[joined]
    above = _coarser(middle, chosen, resolution, n_threads)
    coarse = [each.labels[atoms] for each in above]
    finer: list[Array] = []  # coarse to fine
    parents = chosen
    while (resolution := RESOLUTION_STEP * resolution) < ATOM_RESOLUTION / 2:
        parents = find_communities(middle, resolution, parents=parents)
        finer.append(parents[atoms])
    finer += _inside_atoms(graph, atoms)
    found, default = _well_apart(finer[::-1], chosen[atoms], coarse, graph.n)
    return _Scales(found, default, [each.agreement for each in (elected, *above)])


def _is_small(graph: LinkGraph) -> bool:
    """Whether consensus is affordable on its nodes."""
    return len(graph.ids) <= _MAX_LINKS


def _contracted(
    graph: LinkGraph, resolution: float, parents: Array | None = None
) -> tuple[Array, LinkGraph]:
    """Communities, and the graph contracted to them."""
    labels = find_communities(graph, resolution, parents=parents)
    return labels, graph.contract(labels, int(labels.max()) + 1)


def _default_communities(
    graph: LinkGraph, scale: float | None, n_threads: int
) -> tuple[Consensus, float]:
    """The clusters of `labels_` and their resolution.

    Without a natural scale, the first of the resolutions 1, 2, 4, … with two communities.
    """
    if scale is not None:
        found = agree_on_samples(graph, scale, n_threads)
        if found.labels.max() > 0:
            return found, scale
    resolution = 1.0
    while True:
        found = agree_on_samples(graph, resolution, n_threads)
        if found.labels.max() > 0 or graph.n < 2:
            return found, resolution
        resolution *= 2


def _inside_atoms(graph: LinkGraph, atoms: Array) -> list[Array]:
    """Levels from the atoms to the leaves, coarse to fine."""
    found = [atoms]
    parents = atoms
    resolution = ATOM_RESOLUTION
    while True:
        n_before = int(parents.max()) + 1
        resolution *= RESOLUTION_STEP
        if RESOLUTION_STEP * n_before * _MIN_RATIO > graph.n:
            return found
        parents = find_communities(graph, resolution, parents=parents)
        if int(parents.max()) + 1 < _MIN_RATIO * n_before:
            return found
        found.append(parents)


def _coarser(graph: LinkGraph, labels: Array, resolution: float, n_threads: int) -> list[Consensus]:
    """Communities of communities, until a few are left."""
    found: list[Consensus] = []
    n = int(labels.max()) + 1
    while n > 2 * MIN_TOP_NODES:
        own = graph.contract(labels, n)
        n_above = n
        while n_above * _MIN_RATIO > n and resolution > _MIN_RESOLUTION:
            resolution /= _COARSENING_STEP
            above = agree_on_communities(own, resolution, n_threads)
            n_above = int(above.labels.max()) + 1
        if n_above * _MIN_RATIO > n or n_above < MIN_TOP_NODES or not _is_even(own, above.labels):
            if n <= MAX_TOP_NODES:  # few enough, and there is no clear coarser level
                return found
            above = Consensus(join_smallest(own, max(MIN_TOP_NODES, round(n / RESOLUTION_STEP))))
            n_above = int(above.labels.max()) + 1
        labels = above.labels[labels]
        n = n_above
        found.append(Consensus(labels, above.agreement))
    return found


def _is_even(graph: LinkGraph, labels: Array) -> bool:
    """Whether cluster volumes are balanced, by the inverse Simpson index."""
    return 1 / borders(graph, labels)[1] >= _MIN_EVENNESS * (int(labels.max()) + 1)


def _well_apart(
    finer: list[Array], chosen: Array, coarse: list[Array], n_leaves: int
) -> tuple[list[Array], int]:
    """Drop levels with nearly as many nodes as the next one; that of `labels_` stays."""
    kept: list[Array] = [chosen]
    for labels in reversed(finer):  # from coarse to fine
        n = int(labels.max()) + 1
        if n >= _MIN_RATIO * (int(kept[0].max()) + 1) and _MIN_RATIO * n <= n_leaves:
            kept.insert(0, labels)
    if len(kept) == 1 and int(chosen.max()) + 1 == n_leaves:  # every leaf is a cluster
        kept = []
    return kept + coarse, len(kept)


def _between(below: Array, labels: Array) -> Array:
    """The coarse node of each fine node, from the labels of the leaves on both levels."""
    members = np.empty(int(below.max()) + 1, dtype=np.int64)
    members[below] = labels
    return members


def _renumbered(partitions: list[Partition], ranks: Array) -> list[Partition]:
    """Undo the order by ranks; nodes are numbered by their lowest leaf."""
    place = ranks  # of each item of the level below, in the order of ranks
    found = []
    for partition in partitions:
        members = partition.members
        links = partition.links
        agreement = partition.agreement
        back = np.argsort(place)
        own = members[place]
        number = np.empty(int(members.max()) + 1, dtype=np.int64)
        seen, first = np.unique(own, return_index=True)
        number[seen[np.argsort(first)]] = np.arange(len(seen))
        moved = Links(back[links.ids[place]].astype(np.int32), links.ranks[place])
        place = np.argsort(number)
        found.append(Partition(number[own], moved, None if agreement is None else agreement[place]))
    return found
