"""Point cluster inflation: squeezed groups are stretched to fill their ball (2-D and 3-D).

The steps are those of the authors' code, which has one more than the paper: before each rotation,
too, the axes are scaled to equal spread (docs/explain/descent.md).
"""

from __future__ import annotations

import numpy as np

from ...core.arrays import Array
from ...core.exact import product
from ...core.exact import turn as turn_of
from .frames import scatter

N_ROTATIONS = 6
_MIN_SPREAD = 1e-7  # of an axis, as a share of the largest: below it, it may be rounding errors


def inflation_maps(offsets: Array, parents: Array, n_groups: int) -> Array:
    """One linear map per group that equalises its spread along all axes.

    For six angles equally spaced in [0, pi/2]: scale the axes to equal spread, rotate, scale them
    again, rotate back. Close to rotating each group to its principal axes and scaling those. A
    pair, or any group on a line, has no second spread to restore: it is turned to a diagonal.

    Parameters
    ----------
    offsets : (n, d) member minus the mean of its group's members; d is 2 or 3
    parents : (n,) group of each member

    Returns
    -------
    maps : (n_groups, d, d)
    """
    d = offsets.shape[1]
    maps = np.broadcast_to(np.eye(d), (n_groups, d, d))
    # of A x: A sums A', so one pass over the members will do
    sums = scatter(offsets, parents, n_groups)
    for k in range(N_ROTATIONS):
        turn = rotation(d, 0.25 * k / (N_ROTATIONS - 1))
        maps = product(turn.T, _even(product(turn, _even(maps, sums), 3), sums), 3)
    return np.asarray(maps)


def rotation(d: int, share: float) -> Array:
    """By a share of a whole turn in the plane; in space in the planes xy, xz and yz, in turn."""
    c, s = (float(part) for part in turn_of(share))
    if d == 2:
        return np.array([[c, -s], [s, c]])
    xy = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    xz = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    yz = np.array([[1, 0, 0], [0, c, s], [0, -s, c]])
    return product(product(yz, xz, 3), xy, 3)


def _even(maps: Array, sums: Array) -> Array:
    """The maps, followed by scaling each axis to the largest spread of the group."""
    spread = np.sqrt(np.maximum((product(maps, sums, 3) * maps).sum(axis=2), 0))
    largest = spread.max(axis=1, keepdims=True)
    factor = np.divide(
        largest, spread, out=np.ones_like(spread), where=spread > _MIN_SPREAD * largest
    )
    return np.asarray(factor[:, :, None] * maps)
