"""Twins of cpp/communities.cpp: modularity clustering (Louvain) and a dendrogram (Paris).

A graph is `starts`, `ids`, `weights` (CSR, symmetric, without loops) and the `volumes` of its
nodes. Edges between nodes with different parents are ignored.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..arrays import Array

_MAX_ROUNDS = 10  # of local moves and aggregation; two or three are usual
_MIN_GAIN = 1e-12  # per volume of the node: without it, rounding could move a node back and forth
Neighbors = list[dict[int, float]]


@dataclass(frozen=True, eq=False)
class Merges:
    """The merges of a dendrogram: clusters are named by their lowest nodes."""

    first: Array  # int32, the lower of the two
    second: Array  # int32
    similarities: Array  # float64


def communities(
    starts: Array,
    ids: Array,
    weights: Array,
    volumes: Array,
    parents: Array,
    order: Array,
    resolution: float,
) -> Array:
    """Louvain's method, repeated until no node moves: labels numbered by the lowest node.

    Moving node i to community c gains links(i, c) - resolution * volume(i) * volume(c), where
    `resolution` is divided by the total volume of the graph. A round has two phases: nodes move one
    by one, in `order`, to the community with the highest gain, and neighbours of moved nodes are
    queued again; then communities are aggregated and move in the same way. Disconnected parts of a
    community become communities of their own. O(links) per round.
    """
    graph = _inside_parents(starts, ids, weights, parents)
    labels = list(range(len(volumes)))
    own = [float(volume) for volume in volumes]
    for _ in range(_MAX_ROUNDS):
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


def _move(
    graph: Neighbors, volumes: list[float], resolution: float, labels: list[int], order: list[int]
) -> bool:
    """Move each node to the community of highest gain, in `labels`; True if any moved."""
    totals = [0.0] * len(labels)
    sizes = [0] * len(labels)
    for node, label in enumerate(labels):
        totals[label] += volumes[node]
        sizes[label] += 1
    empty = [label for label in reversed(range(len(labels))) if sizes[label] == 0]
    waiting = deque(order)
    waits = [True] * len(labels)
    moved = False
    while waiting:
        node = waiting.popleft()
        waits[node] = False
        own = labels[node]
        to = _best(node, graph[node], volumes, totals, resolution, labels)
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
        labels[node] = to
        moved = True
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
    """The community of highest gain; None if the node gains most by being alone."""
    sums: dict[int, float] = {}
    for other, weight in links.items():
        sums[labels[other]] = sums.get(labels[other], 0.0) + weight
    own = labels[node]
    pull = resolution * volumes[node]
    least = _MIN_GAIN * volumes[node]
    best = sums.get(own, 0.0) - pull * (totals[own] - volumes[node])
    to = own
    for label, weight in sums.items():
        gain = weight - pull * totals[label]
        if label != own and gain > best + least:
            best = gain
            to = label
    return None if best < -least else to


def _merge_communities(
    graph: Neighbors, volumes: list[float], resolution: float, labels: list[int]
) -> bool:
    """Aggregation: whole communities move until none does. Changes `labels`; True if any moved."""
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
        if not _move(
            [dict(sorted(links.items())) for links in coarse],
            totals,
            resolution,
            above,
            list(range(n)),
        ):
            return merged
        merged = True
        labels[:] = [above[label] for label in labels]


def _renumber(labels: list[int]) -> int:
    """Number labels from 0 by their lowest node; returns how many there are."""
    numbers: dict[int, int] = {}
    labels[:] = [numbers.setdefault(label, len(numbers)) for label in labels]
    return len(numbers)


def _parts(graph: Neighbors, labels: list[int]) -> list[int]:
    """Connected parts of communities, numbered by their lowest node."""
    parts = [-1] * len(labels)
    n = 0
    for first in range(len(labels)):
        if parts[first] >= 0:
            continue
        parts[first] = n
        stack = [first]
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
) -> Merges:
    """The dendrogram of all nodes by the Paris algorithm (Bonald et al. 2018); O(links log links).

    The similarity of two clusters is links / (volume * volume). It never grows when clusters merge
    (it is reducible), so nearest-neighbour chains find the whole dendrogram: sorted by falling
    similarity, the merges are those of repeatedly merging the most similar pair. Components that no
    edge connects are not merged.
    """
    links = _inside_parents(starts, ids, weights, parents)
    totals = [float(volume) for volume in volumes]
    ceilings = [np.inf] * len(links)
    is_gone = [False] * len(links)
    merges: list[tuple[int, int, float]] = []
    for begin in range(len(links)):
        chain = [] if is_gone[begin] else [begin]
        while chain:
            if not links[chain[-1]]:
                chain.pop()
                continue
            similarity, next_one = _nearest(chain[-1], links, totals)
            before = chain[-2] if len(chain) > 1 else -1
            if (
                links[chain[-1]].get(before, -1.0) / (totals[chain[-1]] * totals[before])
                != similarity
            ):
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
    return Merges(first, second, np.array([merge[2] for merge in merges], dtype=np.float64))


def _nearest(cluster: int, links: Neighbors, totals: list[float]) -> tuple[float, int]:
    """Similarity and number of the most similar cluster; ties go to the lowest number."""
    pairs = (
        (weight / (totals[cluster] * totals[other]), -other)
        for other, weight in links[cluster].items()
    )
    similarity, other = max(pairs)
    return similarity, -other


def _merge(low: int, high: int, links: Neighbors, totals: list[float]) -> None:
    """Merge two clusters under the lower number."""
    for other, weight in links[high].items():
        if other != low:
            links[low][other] = links[low].get(other, 0.0) + weight
            del links[other][high]
            links[other][low] = links[low][other]
    links[low].pop(high, None)
    links[high] = {}
    totals[low] += totals[high]
