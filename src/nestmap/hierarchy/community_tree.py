"""Levels above the leaves from the neighbour graph of the rows: communities on several scales.

Leaves stay the paper's: components of first neighbours. Which leaves belong together is told by the links of their
rows, not by their centroids. Communities at the resolution where clusters stand out (`natural_scale`) are the
level of `labels_`; finer levels lie inside of them, each at four times the resolution, coarser ones are communities
of them. So all levels nest.

Everything goes by an order of the leaves that their values decide, and links are counted in whole numbers: the same
for any order and unit of the rows, and for any number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from .._arrays import Array, brief_repr
from .._native import kernels
from .._parallel import map_blocks
from .link_graph import Elected, LinkGraph, agree_on_communities, agree_on_samples, borders, find_communities
from .merge import Links

STEP = 4.0  # times the resolution from a level to the next finer one: three to four times as many communities
ATOMS = 256.0  # resolution of the communities that other levels are made of; of many leaves `labels_`, too
CANDIDATES = tuple(2.0 ** (k / 2) for k in range(-8, 1))  # resolutions for `labels_`, from 1 / 16 to 1
_FINE = (8.0, 16.0, 32.0)  # at these, communities are cut out of the continuous: they show what that costs
_PIECES = 64.0  # the next: coarse communities are made of its pieces, which is faster and more stable than of atoms
_MOST_LINKS = 250_000  # that votes are made on, of leaves or else of atoms or pieces: more would take long
_LEAST_SCORE = 0.5  # of a scale that stands out: two islands have log(2) = 0.69, a cloud without clusters about 0.1
_TRIES, _FEW_TRIES = 4, 2  # partitions for each resolution: their mean does not depend on chance as each does
_WORSE = 0.1  # a score lower by that share does not count; others count for what they have above it
_LEAST_LOSS = 1e-4  # share of the links, for logarithms
MOST_ON_TOP = 12  # nodes of the top level, where the data allow
LEAST_ON_TOP = 3
_STEP_UP, _LEAST_RESOLUTION = 2.0, 1 / 64  # on the way up, and where it ends
_EVEN = 0.6  # of the number of clusters of a coarser level: their effective number, by volume, at least
_APART = 2.0  # a level has at least so many times fewer nodes than the one below


@dataclass(frozen=True, eq=False)
class Partition:
    """The nodes of a level: which of them each item of the level below belongs to, and how items merge."""

    members: Array
    links: Links
    agreement: Array | None = None  # how far the partitions that voted for it agree on each node; None: no votes

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
    scales, default, agreements = _scales(ordered, n_threads)
    partitions = []
    below, current = np.arange(graph.n), ordered
    for k, labels in enumerate(scales, start=1):
        members = _between(below, labels)
        agreement = agreements[k - default] if k >= default else None
        partitions.append(Partition(members, merge_links(current, members), agreement))
        current = current.contract(members, int(members.max()) + 1)
        below = labels
    whole = np.zeros(current.n, dtype=np.int64)
    partitions.append(Partition(whole, merge_links(current, whole)))
    *found, last = _renumbered(partitions, ranks)
    return CommunityLevels(tuple(found), last.links if current.n > 1 else None, default)


def _scales(graph: LinkGraph, n_threads: int) -> tuple[list[Array], int, list[Array | None]]:
    """Labels of the leaves from fine to coarse, which level (from 1) is at the default resolution, and how far votes
    agree on the nodes of that level and of those above.
    """
    if graph.n < LEAST_ON_TOP:
        return [], 0, []
    atoms, middle = _contracted(graph, ATOMS)
    joined, small = (np.arange(middle.n), middle) if _is_small(middle) else _contracted(middle, _PIECES)
    scale = natural_scale(small, n_threads)
    if _is_small(graph):
        elected, resolution = _default_communities(graph, scale, n_threads)
        atoms, middle = _contracted(graph, ATOMS, elected.labels)
        chosen = _between(atoms, elected.labels)
    else:
        elected, resolution = _default_communities(small, scale, n_threads)
        chosen = elected.labels[joined]
    above = _coarser(middle, chosen, resolution, n_threads)
    coarse = [each.labels[atoms] for each in above]
    finer: list[Array] = []  # coarse to fine
    parents = chosen
    while (resolution := STEP * resolution) < ATOMS / 2:
        parents = find_communities(middle, resolution, parents=parents)
        finer.append(parents[atoms])
    finer += _inside_atoms(graph, atoms)
    found, default = _well_apart(finer[::-1], chosen[atoms], coarse, graph.n)
    return found, default, [each.agreement for each in (elected, *above)]


def _is_small(graph: LinkGraph) -> bool:
    """Whether votes for `labels_` may be made on its nodes."""
    return len(graph.ids) <= _MOST_LINKS


def _contracted(graph: LinkGraph, resolution: float, parents: Array | None = None) -> tuple[Array, LinkGraph]:
    """Communities, and the graph of these."""
    labels = find_communities(graph, resolution, parents=parents)
    return labels, graph.contract(labels, int(labels.max()) + 1)


def natural_scale(graph: LinkGraph, n_threads: int = 1) -> float | None:
    """The resolution at which communities have the thinnest borders for their number; None where none stands out.

    Pieces that are cut out of a continuous cloud lose links along their borders, the more the smaller they are: by a
    power of their number, which fine communities show. Clusters lose less than that power says for theirs. The ratio
    of both is 1 where there are no clusters of that size, and near 0 where clusters are islands. The middle of the
    resolutions with about the largest (1 - ratio) * log(effective number of clusters) is taken.
    """
    tried = [(graph, _PIECES, number) for number in range(_TRIES)]
    tried += [(graph, resolution, number) for resolution in _FINE for number in range(_FEW_TRIES)]
    cut = _attempts(tried, n_threads)
    pieces, fine = cut[:_TRIES], cut[_TRIES:]
    parts = [slice(i, i + 1) for i in range(_TRIES)]
    small = map_blocks(
        lambda part: graph.contract(pieces[part.start], int(pieces[part.start].max()) + 1), parts, n_threads
    )
    coarse = _attempts([(own, resolution, 0) for resolution in CANDIDATES for own in small], n_threads)
    found = [labels[pieces[i % _TRIES]] for i, labels in enumerate(coarse)]
    measured = _means(graph, found, _TRIES) + _means(graph, fine, _FEW_TRIES) + _means(graph, pieces, _TRIES)
    n = len(CANDIDATES)
    fit = _line([number for number, _ in measured[n:]], [loss for _, loss in measured[n:]])
    if fit is None:
        return None
    scores = [round((1 - math.exp(loss - (fit[0] + fit[1] * number))) * number, 6) for number, loss in measured[:n]]
    if max(scores) < _LEAST_SCORE:
        return None
    shares = [max(0.0, 1 - (1 - score / max(scores)) / _WORSE) for score in scores]
    half_octaves = math.fsum(number * share for number, share in enumerate(shares)) / math.fsum(shares)
    resolution: float = CANDIDATES[0] * math.exp2(half_octaves / 2)
    return round(resolution, 9)


def _attempts(tried: list[tuple[LinkGraph, float, int]], n_threads: int) -> list[Array]:
    """Communities of graphs at resolutions, in orders of these numbers."""

    def attempt(part: slice) -> Array:
        graph, resolution, number = tried[part.start]
        return find_communities(graph, resolution, number=number)

    return map_blocks(attempt, [slice(i, i + 1) for i in range(len(tried))], n_threads)


def _means(graph: LinkGraph, partitions: list[Array], n: int) -> list[tuple[float, float]]:
    """`_borders` of each n of them."""
    return [_borders(graph, partitions[i : i + n]) for i in range(0, len(partitions), n)]


def _borders(graph: LinkGraph, partitions: list[Array]) -> tuple[float, float]:
    """Logarithms of the effective number of communities and of the share of links that leave them: means of some."""
    found = [borders(graph, labels) for labels in partitions]
    numbers = [-math.log(concentration) for _, concentration in found]
    losses = [math.log(max(lost, _LEAST_LOSS)) for lost, _ in found]
    return math.fsum(numbers) / len(found), math.fsum(losses) / len(found)


def _line(x: list[float], y: list[float]) -> tuple[float, float] | None:
    """Height and slope of the line through some points by least squares; None if they have one x."""
    middle, height = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((each - middle) ** 2 for each in x)
    if spread < _LEAST_LOSS:
        return None
    slope = math.fsum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / spread
    return height - slope * middle, slope


def _default_communities(graph: LinkGraph, scale: float | None, n_threads: int) -> tuple[Elected, float]:
    """The clusters of `labels_` and their resolution: where they stand out, or the first from 1 on that has two."""
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
    """The atoms and what lies between them and the leaves, coarse to fine."""
    found, parents, resolution = [atoms], atoms, ATOMS
    while True:
        n_before = int(parents.max()) + 1
        resolution *= STEP
        if STEP * n_before * _APART > graph.n:
            return found
        parents = find_communities(graph, resolution, parents=parents)
        if int(parents.max()) + 1 < _APART * n_before:
            return found
        found.append(parents)


def _coarser(graph: LinkGraph, labels: Array, resolution: float, n_threads: int) -> list[Elected]:
    """Communities of communities, until a few are left."""
    found: list[Elected] = []
    n = int(labels.max()) + 1
    while n > 2 * LEAST_ON_TOP:
        own, n_above = graph.contract(labels, n), n
        while n_above * _APART > n and resolution > _LEAST_RESOLUTION:
            resolution /= _STEP_UP
            above = agree_on_communities(own, resolution, n_threads)
            n_above = int(above.labels.max()) + 1
        if n_above * _APART > n or n_above < LEAST_ON_TOP or not _is_even(own, above.labels):
            if n <= MOST_ON_TOP:  # few enough, and the data do not say how to join them
                return found
            above = Elected(join_smallest(own, max(LEAST_ON_TOP, round(n / STEP))))
            n_above = int(above.labels.max()) + 1
        labels, n = above.labels[labels], n_above
        found.append(Elected(labels, above.agreement))
    return found


def _is_even(graph: LinkGraph, labels: Array) -> bool:
    """Whether clusters have about the same volume: not nearly all of it in one of them, and the rest far away."""
    return 1 / borders(graph, labels)[1] >= _EVEN * (int(labels.max()) + 1)


def join_smallest(graph: LinkGraph, n_clusters: int) -> Array:
    """The smallest cluster joins the one that it has the most links to for its volume, until so many are left.

    The graph is connected.

    Examples
    --------
    >>> chain = np.array([[1], [0], [1], [2], [3]])
    >>> join_smallest(LinkGraph.between(np.arange(5), 5, chain), 2).tolist()
    [0, 0, 1, 1, 1]
    """
    links: list[dict[int, float]] = [{} for _ in range(graph.n)]
    for a, b, weight in zip(graph.sources.tolist(), graph.ids.tolist(), graph.weights.tolist(), strict=True):
        links[a][b] = weight
    volumes, owner = graph.volumes.tolist(), np.arange(graph.n)
    queue = [(volume, node) for node, volume in enumerate(volumes)]
    heapify(queue)
    for _ in range(graph.n - n_clusters):
        while volumes[queue[0][1]] != queue[0][0]:  # it has grown, or is gone
            heappop(queue)
        _, small = heappop(queue)
        into = max(links[small], key=lambda node: (links[small][node] / volumes[node], -node))
        for node, weight in links[small].items():
            del links[node][small]
            if node != into:
                links[into][node] = links[node][into] = links[into].get(node, 0) + weight
        volumes[into] += volumes[small]
        volumes[small], owner[owner == small] = -1.0, into
        heappush(queue, (volumes[into], into))
    return np.unique(owner, return_inverse=True)[1]


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


def _renumbered(partitions: list[Partition], ranks: Array) -> list[Partition]:
    """From the order of ranks back to that of the leaves; nodes are numbered by their lowest leaves."""
    place: Any = ranks  # of each item of the level below, in the order that was worked in
    found = []
    for partition in partitions:
        members, links, agreement = partition.members, partition.links, partition.agreement
        back = np.argsort(place)
        own = members[place]
        number = np.empty(int(members.max()) + 1, dtype=np.int64)
        seen, first = np.unique(own, return_index=True)
        number[seen[np.argsort(first)]] = np.arange(len(seen))
        moved = Links(back[links.ids[place]].astype(np.int32), links.ranks[place])
        place = np.argsort(number)
        found.append(Partition(number[own], moved, None if agreement is None else agreement[place]))
    return found
