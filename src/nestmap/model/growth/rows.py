"""New rows as a fitted map sees them: what they equal, what they are nearest to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.points.duplicates import hash_points
from ...method.layout.islands.leaves import FARTHEST, shortened
from ...method.neighbors.metric import EUCLIDEAN
from ...method.placement import Assigned
from ..fitted import FittedMap
from ..tree import index_rows


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows that come into a map."""

    data: Any
    hashes: Array
    found: Assigned  # the leaf that each is nearest to, or that its nearest row is in
    z: Array | None  # coordinates
    short: Array | None = None  # leading coordinates, where the map keeps those of its rows
    beside: Array | None = None  # then: the row of the map that is nearest along them


def far_coordinates(see: Any, X: Any, n_threads: int) -> Array:
    """Coordinates of rows that may be anywhere.

    Of rows so far away that they are beyond all numbers, the ends.
    """
    return np.asarray(np.clip(np.nan_to_num(see(X, n_threads)), -FARTHEST, FARTHEST))


def meet_rows(fitted: FittedMap, X: Any, n_threads: int) -> NewRows:
    """What extending a map needs to know of rows.

    A map that keeps short rows compares those: of the new rows of USPS, only half have their
    nearest row in the leaf of the nearest centroid.
    """
    hashes = hash_points(X, n_threads)
    layout = fitted.layout
    z = None if fitted.coordinates is None else far_coordinates(fitted.coordinates, X, n_threads)
    kept = layout.short_rows
    if kept is None:
        return NewRows(X, hashes, fitted.tree.assign(X, n_threads, hashes), z)
    assert z is not None
    short = shortened(z[:, : kept.shape[1]], kept.dtype).astype(np.float32)  # rounded as the others
    index = index_rows(kept.astype(np.float32), EUCLIDEAN, fitted.tree.table.in_order(), n_threads)
    beside, away = index.query(short, n_threads)
    known = fitted.tree.table.find(hashes)
    beside = np.where(known >= 0, known, beside)
    away = np.where(known >= 0, 0.0, away)
    leaves = fitted.tree.hierarchy.levels[0].members[beside]
    return NewRows(X, hashes, Assigned(leaves, away, known), z, short, beside)
