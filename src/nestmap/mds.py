"""Coordinates from distances alone: classical scaling (PCoA) on landmarks, and Gower's formula for all other rows.

For metric="precomputed" the hierarchy comes from the distances, with medoids, and everything after it from
coordinates. Landmarks are at most 2,000 rows that stand for the clusters of one level. Their squared distances,
centred both ways, have principal axes, and the coordinates of any row along them are linear in its squared distances
to the landmarks: one map for training rows and new rows, as with PCA, and each row is mapped by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._arrays import Array, blocks
from ._native import kernels
from ._parallel import map_blocks, single_threaded_blas
from .hierarchy.tree import Hierarchy
from .preliminary import LinearMap

MOST_LANDMARKS = 2000
MOST_AXES = 96  # as many as local frames look at
_NOISE = 1e-6  # of the largest eigenvalue: smaller ones say nothing
_PIECE = 1_000_000  # distances that a thread reads at once


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """From distances to all training rows, (n, n_train), to coordinates: linear in squared distances to landmarks."""

    landmarks: Array  # training rows
    linear: LinearMap

    def __call__(self, distances: Any, n_threads: int) -> Array:
        z = np.empty((len(distances), len(self.linear.basis)))

        def see(part: slice) -> None:
            z[part] = self.linear(distances[part][:, self.landmarks].astype(np.float64) ** 2, 1)

        map_blocks(see, blocks(len(z), len(self.landmarks), values=_PIECE), n_threads)
        return z


@dataclass(frozen=True, eq=False)
class Through:
    """Coordinates of new rows of distances: through the landmarks, then as any rows."""

    first: LandmarkMap
    then: Callable[[Any, int], Array]

    def __call__(self, distances: Any, n_threads: int) -> Array:
        return self.then(self.first(distances, n_threads), n_threads)


def fit_landmarks(distances: Array, hierarchy: Hierarchy) -> LandmarkMap:
    """Classical scaling of the medoids of the finest level with at most 2,000 (of all rows, if they are so few).

    At most 96 axes, those with positive eigenvalues; what distances have that is not euclidean is lost. The same bits
    each time.

    Examples
    --------
    >>> from nestmap.hierarchy import build_hierarchy
    >>> D = np.abs(np.subtract.outer([0.0, 1, 5, 6, 20, 21], [0.0, 1, 5, 6, 20, 21]))
    >>> fit_landmarks(D, build_hierarchy(D, "precomputed"))(D, 1).ravel().round(3).tolist()
    [-8.833, -7.833, -3.833, -2.833, 11.167, 12.167]
    """
    landmarks = _landmarks(hierarchy)
    squares = distances[np.ix_(landmarks, landmarks)].astype(np.float64) ** 2
    squares = (squares + squares.T) / 2
    mean = squares.mean(axis=0)
    scale = float(squares.max()) or 1.0
    inner = -0.5 * (squares - mean - mean[:, None] + mean.mean()) / scale
    with single_threaded_blas():
        values, vectors = np.linalg.eigh(inner)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = min(MOST_AXES, max(1, int(np.count_nonzero(values > _NOISE * max(0.0, values[0])))))
    axes = vectors[:, :kept] * np.sign(vectors[np.abs(vectors[:, :kept]).argmax(axis=0), np.arange(kept)])
    roots = np.sqrt(np.maximum(values[:kept], 0) * scale)
    basis = np.divide(-0.5 * axes, roots, out=np.zeros_like(axes), where=roots > 0)
    return LandmarkMap(landmarks, LinearMap(mean, np.ascontiguousarray(basis.T)))


def _landmarks(hierarchy: Hierarchy) -> Array:
    if hierarchy.n_rows <= MOST_LANDMARKS:
        return np.arange(hierarchy.n_rows)
    for level in hierarchy.levels:
        if level.n_nodes <= MOST_LANDMARKS:
            break
    return np.asarray(level.centroids.rows[:: -(-level.n_nodes // MOST_LANDMARKS)])  # a single level may have more


def seen_in(hierarchy: Hierarchy, rows: Array, n_threads: int = 1) -> Hierarchy:
    """The same tree over rows with coordinates: means instead of medoids, euclidean distances.

    What the layout is made from; labels, paths and new rows stay with the hierarchy of the distances.
    """
    values, weights = rows, np.ones(len(rows))
    levels = []
    for level in hierarchy.levels:
        group = level.grouping
        values = kernels.group_means(values, group.order, group.starts, weights, n_threads)
        weights = level.sizes.astype(np.float64)
        levels.append(replace(level, centroids=values))
    return replace(hierarchy, levels=tuple(levels), metric="euclidean", found_index=None)
