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

# times the attraction at its own place: a node leaps there. 1.5 leaves more new
# rows at wrong places
WORTH = 1.2
# square of the distance at which a neighbour attracts half as much: wider than t-SNE's 1, a region
_NEAR = 10.0
# neighbours that count, and those whose places are tried
_STRONGEST = 24
_CANDIDATES = 8


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
        *kernels.better_places(ids, weights, _CANDIDATES, _NEAR, positions, counts, n_threads)
    )
