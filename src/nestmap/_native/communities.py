"""Twins of cpp/communities.cpp: communities of a graph, and the order in which its nodes merge.

A graph is `starts`, `ids`, `weights` (CSR, symmetric, without loops) and `volumes` of its nodes. Links between
different parents do not count.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from .._arrays import Array

_MOST_ROUNDS = 10  # of moves and merges; two or three are the rule
_LEAST_GAIN = 1e-12  # of a move, per volume of the node: rounding must not move it back and forth
Neighbors = list[dict[int, float]]


def communities(
    starts: Array, ids: Array, weights: Array, volumes: Array, parents: Array, order: Array, resolution: float
) -> Array:
    """A partition of high modularity: labels of the nodes, numbered by the lowest node of each community.

    To join a community c gains a node i: links(i, c) - resolution * volume(i) * volume(c). Nodes move one by one to
    the best community, in `order`, and the neighbours of those that moved are asked again; then whole communities
    move in the same way; both in turn, until nothing moves (Louvain's method, run until it settles). Parts of a
    community that are not connected become communities of their own. `resolution`: divided by the total volume.
    O(links) per round.
    """
    graph = _inside_parents(starts, ids, weights, parents)
    labels = list(range(len(volumes)))
    own = [float(volume) for volume in volumes]
    for _ in range(_MOST_ROUNDS):
        moved = _move(graph, own, resolution, labels, order.tolist())
        merged = _merge_communities(graph, own, resolution, labels)
        if not moved and not merged:
            break
    return np.array(_parts(graph, labels), dtype=np.int32)


def _inside_parents(starts: Array, ids: Array, weights: Array, parents: Array) -> Neighbors:
    above = parents.tolist()
    found: Neighbors = []
    for i in range(len(above)):
        links = slice(int(starts[i]), int(starts[i + 1]))
        pairs = zip(ids[links].tolist(), weights[links].tolist(), strict=True)
        found.append({j: w for j, w in pairs if j != i and above[j] == above[i]})
    return found


def _move(graph: Neighbors, volumes: list[float], resolution: float, labels: list[int], order: list[int]) -> bool:
    """Nodes one by one go where the gain is the highest; whether any did. Changes `labels`."""
    totals, sizes = [0.0] * len(labels), [0] * len(labels)
    for node, label in enumerate(labels):
        totals[label] += volumes[node]
        sizes[label] += 1
    empty = [label for label in reversed(range(len(labels))) if sizes[label] == 0]
    waiting, waits, moved = deque(order), [True] * len(labels), False
    while waiting:
        node = waiting.popleft()
        waits[node] = False
        own, to = labels[node], _best(node, graph[node], volumes, totals, resolution, labels)
        if to is None and sizes[own] > 1:
            to = empty[-1]
        if to is None or to == own:
            continue
        if empty and empty[-1] == to:
            empty.pop()
        totals[own] -= volumes[node]
        totals[to] += volumes[node]
        sizes[own] -= 1
        sizes[to] += 1
        if sizes[own] == 0:
            totals[own] = 0.0
            empty.append(own)
        labels[node], moved = to, True
        for other in graph[node]:
            if not waits[other] and labels[other] != to:
                waits[other] = True
                waiting.append(other)
    return moved


def _best(
    node: int,
    links: dict[int, float],
    volumes: list[float],
    totals: list[float],
    resolution: float,
    labels: list[int],
) -> int | None:
    """The community that a node gains the most from; None if it would rather be alone."""
    sums: dict[int, float] = {}
    for other, weight in links.items():
        sums[labels[other]] = sums.get(labels[other], 0.0) + weight
    own, pull, least = labels[node], resolution * volumes[node], _LEAST_GAIN * volumes[node]
    best, to = sums.get(own, 0.0) - pull * (totals[own] - volumes[node]), own
    for label, weight in sums.items():
        gain = weight - pull * totals[label]
        if label != own and gain > best + least:
            best, to = gain, label
    return None if best < -least else to


def _merge_communities(graph: Neighbors, volumes: list[float], resolution: float, labels: list[int]) -> bool:
    """Whole communities join, level after level; whether any did. Changes `labels`."""
    merged = False
    while True:
        n = _renumber(labels)
        coarse: Neighbors = [{} for _ in range(n)]
        totals = [0.0] * n
        for node, links in enumerate(graph):
            own = labels[node]
            totals[own] += volumes[node]
            for other, weight in links.items():
                if labels[other] != own:
                    coarse[own][labels[other]] = coarse[own].get(labels[other], 0.0) + weight
        above = list(range(n))
        if not _move([dict(sorted(links.items())) for links in coarse], totals, resolution, above, list(range(n))):
            return merged
        merged = True
        labels[:] = [above[label] for label in labels]


def _renumber(labels: list[int]) -> int:
    """Numbers from 0 by the lowest node; how many there are."""
    numbers: dict[int, int] = {}
    labels[:] = [numbers.setdefault(label, len(numbers)) for label in labels]
    return len(numbers)


def _parts(graph: Neighbors, labels: list[int]) -> list[int]:
    """Connected parts of communities, numbered by their lowest node."""
    parts, n = [-1] * len(labels), 0
    for first in range(len(labels)):
        if parts[first] >= 0:
            continue
        parts[first], stack = n, [first]
        while stack:
            node = stack.pop()
            for other in graph[node]:
                if parts[other] < 0 and labels[other] == labels[node]:
                    parts[other] = n
                    stack.append(other)
        n += 1
    return parts


def merge_order(
    starts: Array, ids: Array, weights: Array, volumes: Array, parents: Array
) -> tuple[Array, Array, Array]:
    """The dendrogram of all nodes: pairs that merge, by their lowest nodes, and how similar they were.

    The similarity of two clusters is links / (volume * volume) (Bonald et al., "Paris"). It never grows when clusters
    merge, so chains of nearest neighbours find the whole dendrogram; sorted by falling similarity, the merges are
    those of the most similar pair again and again. What no link connects stays apart. O(links log links).
    """
    links = _inside_parents(starts, ids, weights, parents)
    totals = [float(volume) for volume in volumes]
    ceilings, is_gone = [np.inf] * len(links), [False] * len(links)
    merges: list[tuple[int, int, float]] = []
    for begin in range(len(links)):
        chain = [] if is_gone[begin] else [begin]
        while chain:
            if not links[chain[-1]]:
                chain.pop()
                continue
            similarity, next_one = _nearest(chain[-1], links, totals)
            before = chain[-2] if len(chain) > 1 else -1
            if links[chain[-1]].get(before, -1.0) / (totals[chain[-1]] * totals[before]) != similarity:
                chain.append(next_one)
                continue
            low, high = sorted((chain.pop(), chain.pop()))
            _merge(low, high, links, totals)
            ceilings[low] = min(similarity, ceilings[low], ceilings[high])
            merges.append((low, high, ceilings[low]))
            is_gone[high] = True
            if not chain:
                chain.append(low)
    first, second = (np.array([merge[i] for merge in merges], dtype=np.int32) for i in (0, 1))
    return first, second, np.array([merge[2] for merge in merges], dtype=np.float64)


def _nearest(cluster: int, links: Neighbors, totals: list[float]) -> tuple[float, int]:
    """How similar the most similar cluster is, and its number, of equal ones the lowest."""
    pairs = ((weight / (totals[cluster] * totals[other]), -other) for other, weight in links[cluster].items())
    similarity, other = max(pairs)
    return similarity, -other


def _merge(low: int, high: int, links: Neighbors, totals: list[float]) -> None:
    """The lower number stays."""
    for other, weight in links[high].items():
        if other != low:
            links[low][other] = links[low].get(other, 0.0) + weight
            del links[other][high]
            links[other][low] = links[low][other]
    links[low].pop(high, None)
    links[high] = {}
    totals[low] += totals[high]
