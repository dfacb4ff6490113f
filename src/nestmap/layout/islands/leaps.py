"""Leaps to better places: small steps do not take a node across a map that is full.

Where old nodes lie near their ends, a node that is attracted elsewhere is held back by all that lie between. A leap
takes it there at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._arrays import Array
from .graph import Attraction

WORTH = 1.2  # times the attraction at its own place: a node leaps there. 1.5 leaves more new rows at wrong places
_NEAR = 10.0  # square of the distance at which a neighbour attracts half as much: wider than t-SNE's 1, a region
_STRONGEST, _CANDIDATES = 24, 8  # neighbours that count, and those whose places are tried
_BLOCK = 1024  # nodes at a time: what is read and written stays near
_LEAST = np.finfo(np.float32).tiny


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The strongest neighbours of each node, strongest first."""

    ids: Array  # (n, k)
    weights: Array  # (n, k) float32; 0 where a node has fewer

    @classmethod
    def of(cls, attraction: Attraction) -> Neighbors:
        """O(edges log edges)."""
        sizes = np.diff(attraction.starts)
        node = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((-attraction.weights, node))
        rank = np.arange(min(_STRONGEST, int(sizes.max())))
        edges = order[attraction.starts[:-1, None] + np.minimum(rank, sizes[:, None] - 1)]
        return cls(attraction.ids[edges], attraction.weights[edges] * (rank < sizes[:, None]))


@dataclass(frozen=True, eq=False)
class Better:
    """Of each node the place that attracts it the most."""

    places: Array  # (n, 2)
    times: Array  # (n,): the attraction there, in that at its own place


def better_places(neighbors: Neighbors, positions: Array, counts: Array) -> Better:
    """The mean of the neighbours around the best of the places of a node's strongest neighbours; O(n k).

    `counts`: whether a node attracts others; one that nobody attracts elsewhere stays where it is.
    """
    positions = np.asarray(positions, dtype=np.float32)
    places, times = np.empty((len(positions), 2)), np.empty(len(positions))
    for begin in range(0, len(positions), _BLOCK):
        own = slice(begin, begin + _BLOCK)
        ids = neighbors.ids[own]
        weights = neighbors.weights[own] * counts[ids]
        places[own], times[own] = _look_around(ids, positions[ids], weights, positions[own])
    return Better(places, times)


def _look_around(ids: Array, near: Array, weights: Array, here: Array) -> tuple[Array, Array]:
    """Better places of some nodes whose neighbours lie `near`, and how many times as attractive they are."""
    tried = near[:, :_CANDIDATES]
    others = ids[:, :_CANDIDATES, None] != ids[:, None]  # a neighbour attracts the most where it lies itself
    total = (_pulls(near, weights, tried) * others).sum(axis=2)
    node, best = np.arange(len(near)), total.argmax(axis=1)
    pull = _pulls(near, weights, tried[node, best, None])[:, 0]
    middle = np.einsum("nk,nkd->nd", pull, near) / np.maximum(pull.sum(axis=1), _LEAST)[:, None]
    places = np.where(total[node, best, None] > 0, middle, here)
    now, then = (_pulls(near, weights, at[:, None])[:, 0].sum(axis=1) for at in (here, places))
    return places, then / np.maximum(now, _LEAST)


def _pulls(near: Array, weights: Array, at: Array) -> Array:
    """What each neighbour would attract its node with, at each of some places: (n, places, neighbours)."""
    x, y = (at[:, :, None, d] - near[:, None, :, d] for d in (0, 1))
    return np.asarray(weights[:, None] / (1 + (x * x + y * y) * np.float32(1 / _NEAR)))
