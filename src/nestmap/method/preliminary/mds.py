"""Coordinates from distances alone: classical scaling (PCoA) on landmarks.

Gower's formula places all other rows.

For metric="precomputed" the hierarchy comes from the distances, with medoids, and everything after
it from coordinates. Landmarks are at most 2,000 rows that stand for the clusters of one level.
Their squared distances, centred both ways, have principal axes, and the coordinates of any row
along them are linear in its squared distances to the landmarks: one map for training rows and new
rows, as with PCA, and each row is mapped by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks
from ...core.threads import map_blocks, single_threaded_blas
from ..hierarchy.build import merge_items
from ..hierarchy.tree import Hierarchy
from ..neighbors.metric import EUCLIDEAN
from ..run import Run
from .maps import LinearMap

MAX_LANDMARKS = 2000  # rows or medoids between which all distances are taken
MAX_AXES = 96  # as many as local frames look at
_MIN_EIGENVALUE = 1e-6  # as a share of the largest: axes of smaller ones are noise
_DISTANCES_PER_READ = 1_000_000  # that a thread reads at once: 8 MB


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """From distances to all training rows, (n, n_train), to coordinates.

    Linear in squared distances to landmarks.
    """

    landmarks: Array  # training rows
    linear: LinearMap

    def __call__(self, distances: Any, n_threads: int) -> Array:
        z = np.empty((len(distances), len(self.linear.basis)))

        def see(part: slice) -> None:
            z[part] = self.linear(distances[part][:, self.landmarks].astype(np.float64) ** 2, 1)

        map_blocks(see, blocks(len(z), len(self.landmarks), values=_DISTANCES_PER_READ), n_threads)
        return z


@dataclass(frozen=True, eq=False)
class Through:
    """Coordinates of new rows: through another map first, then as any rows."""

    first: Callable[[Any, int], Any]
    then: Callable[[Any, int], Array]

    def __call__(self, X: Any, n_threads: int) -> Array:
        return self.then(self.first(X, n_threads), n_threads)


def rows_to_lay_out(X: Any, hierarchy: Hierarchy) -> Callable[[Any, int], Any] | None:
    """The map to rows whose euclidean distances are those of the metric, or near to them.

    None where rows are laid out as they are.
    """
    if hierarchy.metric.changes_layout:
        return hierarchy.metric.rows
    return fit_landmarks(X, hierarchy) if hierarchy.metric.takes_distances else None


def fit_landmarks(distances: Array, hierarchy: Hierarchy) -> LandmarkMap:
    """Classical scaling of the medoids of the finest level with at most 2,000.

    Of all rows, if they are so few.

    At most 96 axes, those with positive eigenvalues; what distances have that is not euclidean is
    lost. The same bits each time.

    Examples
    --------
    >>> from nestmap import build_hierarchy
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
    values = values[::-1]
    vectors = vectors[:, ::-1]
    kept = min(
        MAX_AXES, max(1, int(np.count_nonzero(values > _MIN_EIGENVALUE * max(0.0, values[0]))))
    )
    axes = vectors[:, :kept] * np.sign(
        vectors[np.abs(vectors[:, :kept]).argmax(axis=0), np.arange(kept)]
    )
    roots = np.sqrt(np.maximum(values[:kept], 0) * scale)
    basis = np.divide(-0.5 * axes, roots, out=np.zeros_like(axes), where=roots > 0)
    return LandmarkMap(landmarks, LinearMap(mean, np.ascontiguousarray(basis.T)))


def _landmarks(hierarchy: Hierarchy) -> Array:
    if hierarchy.n_rows <= MAX_LANDMARKS:
        return np.arange(hierarchy.n_rows)
    for level in hierarchy.levels:
        if level.n_nodes <= MAX_LANDMARKS:
            break
    # a single level may have more
    return np.asarray(level.centroids.rows[:: -(-level.n_nodes // MAX_LANDMARKS)])


def seen_in(hierarchy: Hierarchy, rows: Any, run: Run) -> Hierarchy:
    """The same tree with the means of other rows (dense or CSR) as centroids, euclidean.

    The layout uses it; labels, paths and new rows use the hierarchy of the metric itself.
    """
    values = rows
    weights = np.ones(rows.shape[0])
    levels = []
    for level in hierarchy.levels:
        values, weights = merge_items(
            values, weights, level.members, level.n_nodes, np.float64, run
        )
        levels.append(replace(level, centroids=values))
    return replace(hierarchy, levels=tuple(levels), metric=EUCLIDEAN, found_index=None)
