"""Point cluster inflation: squeezed groups are stretched to fill their ball (2-D and 3-D)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .._arrays import Array
from .frames import scatter

N_ROTATIONS = 6
_FLATTEST = 1e-5  # below this ratio of spreads a group is flat up to noise


def inflation_maps(offsets: Array, parents: Array, n_groups: int) -> Array:
    """One linear map per group that undoes its squeeze.

    For six angles equally spaced in [0, pi/2]: rotate, scale the axes to equal spread, rotate back.
    Close to rotating each group to its principal axes and scaling those. In 3-D: for each of the
    three coordinate planes. Flat groups (pairs, lines; planes in 3-D) have no thickness to restore:
    the steps would only turn them, so they keep the identity.

    Parameters
    ----------
    offsets : (n, d) member minus centre; d is 2 or 3
    parents : (n,) group of each member

    Returns
    -------
    maps : (n_groups, d, d)
    """
    d = offsets.shape[1]
    maps = np.broadcast_to(np.eye(d), (n_groups, d, d)).copy()
    sums = scatter(offsets, parents, n_groups)  # of A x: A sums A', so one pass over the members will do
    values = np.linalg.eigvalsh(sums)
    thick = values[:, 0] > _FLATTEST**2 * values[:, -1]
    for axes in combinations(range(d), 2):
        for angle in np.linspace(0, np.pi / 2, N_ROTATIONS):
            turn = np.eye(d)
            turn[np.ix_(axes, axes)] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            turned = turn @ maps
            spread = np.sqrt(np.maximum(((turned @ sums) * turned).sum(axis=2), 0))
            spread[~thick] = 1.0
            factor = spread.max(axis=1, keepdims=True) / spread
            maps = turn.T @ (factor[:, :, None] * turned)
    maps[~thick] = np.eye(d)
    return maps
