"""Levels above the leaves from the neighbour graph of the rows: communities on several scales.

Leaves stay the paper's: components of first neighbours. Which leaves belong together is told by the links of their
rows, not by their centroids. Communities at resolution `DEFAULT` are the level of `labels_`; finer levels lie inside
of them, each at four times the resolution, coarser ones are communities of them. So all levels nest.

Everything goes by the order of the leaves' keys, and links are counted in whole numbers: the same for any order of
the rows and any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, brief_repr
from .._native import kernels
from .link_graph import LinkGraph, agree_on_communities, find_communities
from .merge import Links, join_shortest

DEFAULT = 0.7  # resolution of the level of `labels_`: docs/levels.md has the measurement
STEP = 4.0  # times the resolution from a level to the next finer one: three to four times as many communities
ATOMS = STEP**4  # times DEFAULT: communities that coarser levels are made of; as good as leaves, and soon done
MOST_ON_TOP = 12  # nodes of the top level, where the data allow
LEAST_ON_TOP = 3
_STEP_UP, _LEAST_RESOLUTION = 2.0, 1 / 64  # on the way up, and where it ends
_APART = 2.0  # a level has at least so many times fewer nodes than the one below


@dataclass(frozen=True, eq=False)
class Partition:
    """The nodes of a level: which of them each item of the level below belongs to, and how items merge."""

    members: Array
    links: Links

    __repr__ = brief_repr


@dataclass(frozen=True, eq=False)
class CommunityLevels:
    """Partitions from the first level above the leaves to the top, and how the nodes of the top merge into one."""

    partitions: tuple[Partition, ...]
    above: Links | None  # None for a single node
    default: int  # level of `labels_`, where 0 are the leaves


def build_communities(graph: LinkGraph, ranks: Array, n_threads: int = 1) -> CommunityLevels:
    """Levels of a connected graph of leaves.

    Parameters
    ----------
    ranks : ndarray of shape (n_leaves,)
        Places of the leaves in an order that does not depend on that of the rows.
    """
    order = np.argsort(ranks)
    ordered = graph.take(order)
    scales, default = _scales(ordered, n_threads)
    partitions = []
    below, current = np.arange(graph.n), ordered
    for labels in scales:
        members = _between(below, labels)
        partitions.append((members, merge_links(current, members)))
        current = ordered.contract(labels, int(labels.max()) + 1)
        below = labels
    whole = np.zeros(current.n, dtype=np.int64)
    partitions.append((whole, merge_links(current, whole)))
    *found, last = _renumbered(partitions, ranks)
    return CommunityLevels(tuple(found), last.links if current.n > 1 else None, default)


def _scales(graph: LinkGraph, n_threads: int) -> tuple[list[Array], int]:
    """Labels of the leaves from fine to coarse, and which level (from 1) is at the default resolution."""
    if graph.n < LEAST_ON_TOP:
        return [], 0
    atoms = find_communities(graph, DEFAULT * ATOMS)
    middle = graph.contract(atoms, int(atoms.max()) + 1)
    chosen = _default_communities(middle, n_threads)
    coarse = [labels[atoms] for labels in _coarser(middle, chosen, n_threads)]
    finer: list[Array] = []  # coarse to fine
    parents = chosen
    for step in (STEP, STEP**2, STEP**3):
        parents = find_communities(middle, DEFAULT * step, parents=parents)
        finer.append(parents[atoms])
    finer += _inside_atoms(graph, atoms)
    return _well_apart(finer[::-1], chosen[atoms], coarse, graph.n)


def _default_communities(graph: LinkGraph, n_threads: int) -> Array:
    """The clusters of `labels_`: at the default resolution, or where that has only one, at the first that has two."""
    resolution = DEFAULT
    while True:
        found = agree_on_communities(graph, resolution, n_threads)
        if found.max() > 0 or graph.n < 2:
            return found
        resolution *= 2


def _inside_atoms(graph: LinkGraph, atoms: Array) -> list[Array]:
    """The atoms and what lies between them and the leaves, coarse to fine."""
    found, parents, resolution = [atoms], atoms, DEFAULT * ATOMS
    while True:
        n_before = int(parents.max()) + 1
        resolution *= STEP
        if STEP * n_before * _APART > graph.n:
            return found
        parents = find_communities(graph, resolution, parents=parents)
        if int(parents.max()) + 1 < _APART * n_before:
            return found
        found.append(parents)


def _coarser(graph: LinkGraph, labels: Array, n_threads: int) -> list[Array]:
    """Communities of communities, until a few are left."""
    found: list[Array] = []
    resolution, n = DEFAULT, int(labels.max()) + 1
    while n > 2 * LEAST_ON_TOP:
        own, n_above = graph.contract(labels, n), n
        while n_above * _APART > n and resolution > _LEAST_RESOLUTION:
            resolution /= _STEP_UP
            above = agree_on_communities(own, resolution, n_threads)
            n_above = int(above.max()) + 1
        if n_above * _APART > n or n_above < LEAST_ON_TOP:
            if n <= MOST_ON_TOP:  # few enough, and the data do not say how to join them
                return found
            above = _cut(own, max(LEAST_ON_TOP, round(n / STEP)))
            n_above = int(above.max()) + 1
        labels, n = above[labels], n_above
        found.append(labels)
    return found


def _cut(graph: LinkGraph, n_clusters: int) -> Array:
    """The merge order cut where so many clusters are left."""
    return join_shortest(merge_links(graph, np.zeros(graph.n, dtype=np.int64)), n_clusters)


def _well_apart(finer: list[Array], chosen: Array, coarse: list[Array], n_leaves: int) -> tuple[list[Array], int]:
    """The levels without those that are nearly equal to the next; that of `labels_` stays."""
    kept: list[Array] = [chosen]
    for labels in reversed(finer):  # from coarse to fine
        n = int(labels.max()) + 1
        if n >= _APART * (int(kept[0].max()) + 1) and _APART * n <= n_leaves:
            kept.insert(0, labels)
    if len(kept) == 1 and int(chosen.max()) + 1 == n_leaves:  # every leaf is a cluster
        kept = []
    return kept + coarse, len(kept)


def _between(below: Array, labels: Array) -> Array:
    """The group of each node of a finer partition, from labels of the leaves on both."""
    members = np.empty(int(below.max()) + 1, dtype=np.int64)
    members[below] = labels
    return members


def merge_links(graph: LinkGraph, members: Array) -> Links:
    """How the nodes of each group merge, the most similar first, as links that `join_shortest` draws.

    Each node but the lowest of its group has the link that it is merged by. The lowest has one that is never needed.
    """
    first, second, similarities = kernels.merge_order(
        graph.starts, graph.ids, graph.weights, graph.volumes, members.astype(np.int32)
    )
    order = np.argsort(-similarities, kind="stable")
    ids, ranks = np.arange(graph.n), np.zeros(graph.n, dtype=np.int64)
    ids[second] = first
    ids[first] = np.where(ids[first] == first, second, ids[first])
    ranks[second[order]] = np.arange(1, len(order) + 1)
    unneeded = np.flatnonzero(ranks == 0)
    ranks[unneeded] = len(order) + 1 + np.arange(len(unneeded))
    return Links(ids.astype(np.int32), ranks.astype(np.int32))


def _renumbered(partitions: list[tuple[Array, Links]], ranks: Array) -> list[Partition]:
    """From the order of ranks back to that of the leaves; nodes are numbered by their lowest leaves."""
    place: Any = ranks  # of each item of the level below, in the order that was worked in
    found = []
    for members, links in partitions:
        back = np.argsort(place)
        own = members[place]
        number = np.empty(int(members.max()) + 1, dtype=np.int64)
        seen, first = np.unique(own, return_index=True)
        number[seen[np.argsort(first)]] = np.arange(len(seen))
        found.append(Partition(number[own], Links(back[links.ids[place]].astype(np.int32), links.ranks[place])))
        place = np.argsort(number)
    return found
