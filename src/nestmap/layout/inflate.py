"""Point cluster inflation: squeezed groups are stretched to fill their ball (2-D and 3-D)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .._native.twins import Array
from ..hierarchy import Grouping

N_ROTATIONS = 6
_FLATTEST = 1e-6  # below this ratio of extents a group is a line up to noise: leave it


def inflation_maps(offsets: Array, parents: Array, grouping: Grouping) -> Array:
    """One linear map per group that undoes its squeeze; identity for a group that has none.

    For six angles equally spaced in [0, pi/2]: rotate, scale the axes to equal spread, rotate back.
    Close to rotating each group to its principal axes and scaling those. In 3-D: for each of the
    three coordinate planes.

    Parameters
    ----------
    offsets : (n, d) member minus centre; d is 2 or 3
    parents : (n,) group of each member

    Returns
    -------
    maps : (n_groups, d, d)
    """
    d = offsets.shape[1]
    n_groups = len(grouping.starts) - 1
    maps = np.broadcast_to(np.eye(d), (n_groups, d, d)).copy()
    for axes in combinations(range(d), 2):
        for angle in np.linspace(0, np.pi / 2, N_ROTATIONS):
            turn = np.eye(d)
            turn[np.ix_(axes, axes)] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            turned = apply_maps(turn @ maps, parents, offsets)
            spread = grouping.spread(turned)
            largest = spread.max(axis=1, keepdims=True)
            flat = spread <= _FLATTEST * largest
            factor = np.divide(largest, spread, out=np.ones_like(spread), where=~flat)
            maps = turn.T @ (factor[:, :, None] * (turn @ maps))
    return maps


def apply_maps(maps: Array, parents: Array, offsets: Array) -> Array:
    """maps[parents[i]] @ offsets[i] for each i, summed in a fixed order: no batch effects."""
    own = maps[parents]
    out = own[:, :, 0] * offsets[:, 0, None]
    for k in range(1, offsets.shape[1]):
        out += own[:, :, k] * offsets[:, k, None]
    return np.asarray(out)
