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
_CANDIDATES = 8  # neighbours whose places are tried
_BLOCK = 4096  # nodes at a time: what is read and written stays near


@dataclass(frozen=True, eq=False)
class Better:
    """Of each node the place that attracts it the most."""

    places: Array  # (n, 2)
    times: Array  # (n,): the attraction there, in that at its own place


def better_places(attraction: Attraction, positions: Array, counts: Array) -> Better:
    """The mean of the neighbours around the best of the places of a node's strongest neighbours; O(edges).

    `counts`: whether a node attracts others; one without such neighbours stays where it is.
    """
    positions = np.asarray(positions, dtype=np.float64)
    places, times = positions.copy(), np.ones(len(positions))
    for begin in range(0, len(positions), _BLOCK):
        own = slice(begin, begin + _BLOCK)
        places[own], times[own] = _Edges.of(attraction, own, counts).better(positions, positions[own])
    return Better(places, times)


@dataclass(frozen=True, eq=False)
class _Edges:
    """Those of a block of nodes."""

    starts: Array  # of each node in the arrays below
    node: Array  # of each edge
    ids: Array
    weights: Array
    strongest: Array  # the same ids, of each node the strongest neighbours first

    @classmethod
    def of(cls, attraction: Attraction, own: slice, counts: Array) -> _Edges:
        bounds = attraction.starts[own.start : own.stop + 1]
        edges, sizes = slice(int(bounds[0]), int(bounds[-1])), np.diff(bounds)
        ids = attraction.ids[edges]
        weights = attraction.weights[edges] * counts[ids]
        node = np.repeat(np.arange(len(sizes)), sizes)
        return cls(bounds[:-1] - bounds[0], node, ids, weights, ids[np.lexsort((-weights, node))])

    def better(self, positions: Array, here: Array) -> tuple[Array, Array]:
        """Places, and how many times as attractive they are."""
        last = np.diff(np.append(self.starts, len(self.ids))) - 1
        best, places = np.zeros(len(here)), here.copy()
        for i in range(_CANDIDATES):
            neighbor = self.strongest[self.starts + np.minimum(i, last)]
            others = self.ids != neighbor[self.node]  # it attracts the most where it lies itself
            pull = self.total(others * self.pulls(positions, positions[neighbor]))
            wins = pull > best
            best[wins], places[wins] = pull[wins], positions[neighbor[wins]]
        pulls, found = self.pulls(positions, places), best > 0
        middle = np.stack([self.total(pulls * along[self.ids]) for along in positions.T], axis=1)
        places[found] = middle[found] / self.total(pulls)[found, None]
        now, then = (self.total(self.pulls(positions, at)) for at in (here, places))
        return places, then / np.maximum(now, np.finfo(np.float64).tiny)

    def pulls(self, positions: Array, at: Array) -> Array:
        """What each edge would attract its node with, if that were at a place."""
        way = positions[self.ids] - at[self.node]
        return np.asarray(self.weights / (1 + (way * way).sum(axis=1) / _NEAR))

    def total(self, values: Array) -> Array:
        """Sums over the edges of each node."""
        return np.asarray(np.add.reduceat(values, self.starts))
