"""Frames: from coordinates of members to offsets around their node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from .._arrays import Array, blocks
from .._parallel import map_blocks

_PIECE = 400_000  # values of the matrices that a thread works on: they stay in its cache


@dataclass(frozen=True, eq=False)
class Frames:
    """The frames of one level: member z of node g is offset by maps[g] @ (z - centres[g])."""

    offsets: Array  # (n_members, d) of the training members
    maps: Array  # (n_nodes, d, p), or (n_nodes, 1, 1): the identity
    centres: Array  # (n_nodes, p)


def apply_maps(maps: Array, parents: Array, offsets: Array, n_threads: int = 1) -> Array:
    """maps[parents[i]] @ offsets[i] for each i, summed in a fixed order: no batch effects."""
    out = np.empty((len(offsets), maps.shape[1]))

    def apply(part: slice) -> None:
        own = maps[parents[part]]
        total = own[:, :, 0] * offsets[part, 0, None]
        for k in range(1, maps.shape[2]):
            total += own[:, :, k] * offsets[part, k, None]
        out[part] = total

    map_blocks(apply, blocks(len(offsets), maps.shape[1] * maps.shape[2], values=_PIECE), n_threads)
    return out


def scatter(offsets: Array, parents: Array, n_groups: int) -> Array:
    """Sums of products of the coordinates of each group's members, (n_groups, d, d)."""
    d = offsets.shape[1]
    out = np.empty((n_groups, d, d))
    for i, j in combinations_with_replacement(range(d), 2):
        out[:, i, j] = out[:, j, i] = np.bincount(parents, offsets[:, i] * offsets[:, j], n_groups)
    return out
