"""Leaps to better places: small steps do not take a node across a map that is full.

Where most nodes lie near their ends, a node that is attracted elsewhere is held back by all that
lie between. A leap takes it there at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import Array
from ....core.native import kernels
from .graph import Attraction
from .schedule import SCHEDULE

# square of the distance at which a neighbour attracts half as much: wider than t-SNE's 1, a region
_HALF_ATTRACTION = 10.0
_STRONGEST = 24  # neighbours that attract
_TRIED_PLACES = 8  # strongest neighbours whose places are tried


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The strongest neighbours of each node, strongest first."""

    ids: Array  # (n, k) int32
    weights: Array  # (n, k) float32; 0 where a node has fewer

    @classmethod
    def of(cls, attraction: Attraction, n_threads: int = 1) -> Neighbors:
        """O(edges)."""
        most = int(np.diff(attraction.starts).max())
        return cls(*kernels.strongest(attraction, min(_STRONGEST, most), n_threads))


@dataclass(frozen=True, eq=False)
class Better:
    """Of each node the place that attracts it the most."""

    places: Array  # (n, 2) float32
    times: Array  # (n,) float32: the attraction there, in that at its own place


def better_places(
    neighbors: Neighbors, positions: Array, counts: Array, n_threads: int = 1
) -> Better:
    """The mean of the neighbours around the best of a node's strongest neighbours' places; O(n k).

    `counts`: whether a node attracts others; one that nobody attracts elsewhere stays where it is.
    """
    positions = np.ascontiguousarray(positions, dtype=np.float32)
    ids = neighbors.ids
    weights = neighbors.weights
    return Better(
        *kernels.better_places(
            ids, weights, _TRIED_PLACES, _HALF_ATTRACTION, positions, counts, n_threads
        )
    )


@dataclass(frozen=True, eq=False)
class Leapt:
    """Positions after leaps, and which nodes have leapt."""

    positions: Array
    nodes: Array  # bool


@dataclass(frozen=True, eq=False)
class Leaps:
    """Leaps of the nodes of one level; `apart` keeps those apart that come to the same place."""

    neighbors: Neighbors
    apart: Array  # (n, 2)
    n_threads: int

    @classmethod
    def of(cls, attraction: Attraction, apart: Array, n_threads: int) -> Leaps:
        return cls(Neighbors.of(attraction, n_threads), apart, n_threads)

    def better(self, positions: Array, counts: Array) -> Better:
        """As `better_places`."""
        return better_places(self.neighbors, positions, counts, self.n_threads)

    def leap(self, positions: Array) -> Leapt:
        """Nodes that are attracted elsewhere by more than at their place go there."""
        better = self.better(positions, np.ones(len(positions), dtype=bool))
        nodes = better.times > SCHEDULE.leap_gain
        there = better.places + self.apart
        return Leapt(np.where(nodes[:, None], there, positions), nodes)
