"""Coordinates of all rows and nodes, by one map or given.

All rows get d coordinates; a node's coordinates are the mean of those of the rows below it. For the
linear maps (the paper's PCA on the centroids of one level, full PCA, a random projection) that is
the projection of its centroid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.native import kernels
from ...core.points.point_set import power_of_two
from ..hierarchy.tree import Hierarchy
from .maps import LinearMap, RandomMap, RowMap
from .pca import column_means, fit_pca

KINDS = ("pca_centroids", "pca", "random_projection", "random")
MAX_PCA_NODES = 1000  # the paper's "~1000 centroids"


@dataclass(frozen=True, eq=False)
class Preliminary:
    """Coordinates of rows and nodes before the layout, scaled so that the largest is about 1.

    Layouts square them, and go back to the data's own unit at their end: huge and tiny data work
    like any other. `transform` maps new rows; None where coordinates were given (then a new row
    takes those of the training row or centroid that it is nearest to).
    """

    kind: str
    rows: Array  # (n_rows, d) float64
    nodes: tuple[Array, ...]  # per level, (n_nodes, d)
    transform: RowMap | None
    unit: float  # a power of two: coordinates are unit times the data's own

    @property
    def n_components(self) -> int:
        return int(self.rows.shape[1])


def fit_row_map(
    X: Any, hierarchy: Hierarchy, n_components: int, kind: str, seed: int = 0, n_threads: int = 1
) -> RowMap:
    """The map of the rows to their coordinates; `kind` is one of KINDS."""
    if kind == "random":
        return RandomMap(seed, n_components)
    if kind == "random_projection":
        return _random_projection(X, n_components, seed, n_threads)
    source, weights = (X, None) if kind == "pca" else pca_source(X, hierarchy)
    return fit_pca(source, n_components, n_threads, weights)


def seen_by(
    row_map: RowMap, kind: str, rows: Array, hierarchy: Hierarchy, n_threads: int = 1
) -> Preliminary:
    """From what `fit_row_map` makes of the rows, which is changed in place."""
    if not isinstance(row_map, LinearMap):
        return Preliminary(kind, rows, _node_means(rows, hierarchy, n_threads), row_map, 1.0)
    unit = power_of_two(rows, n_threads)
    rows *= unit
    nodes = _node_means(rows, hierarchy, n_threads)
    return Preliminary(kind, rows, nodes, row_map.scaled(unit), unit)


def given_coordinates(rows: Array, hierarchy: Hierarchy, n_threads: int = 1) -> Preliminary:
    """From coordinates of the rows that users bring."""
    unit = power_of_two(rows, n_threads)
    rows = rows * unit
    nodes = _node_means(rows, hierarchy, n_threads)
    return Preliminary("precomputed", rows, nodes, None, unit)


def _node_means(rows: Array, hierarchy: Hierarchy, n_threads: int) -> tuple[Array, ...]:
    """Of each level, the means of the rows below its nodes."""
    nodes = []
    values = rows
    weights = np.ones(len(rows))
    for level in hierarchy:
        group = level.grouping
        values = kernels.group_means(values, group.order, group.starts, weights, n_threads)
        weights = level.sizes.astype(np.float64)
        nodes.append(values)
    return tuple(nodes)


def check_coordinates(given: Any, n_rows: int, n_components: int) -> Array:
    """Precomputed coordinates, one row of n_components per row of X."""
    values: Array = np.ascontiguousarray(given, dtype=np.float64)
    if values.shape != (n_rows, n_components) or not np.isfinite(values).all():
        raise ValueError(
            f"preliminary: expected finite coordinates of shape ({n_rows}, {n_components}), got "
            f"shape {values.shape}; or use one of {', '.join(map(repr, KINDS))}"
        )
    return values


def pca_source(X: Any, hierarchy: Hierarchy) -> tuple[Any, Array | None]:
    """The paper's rule, by centroids.

    They are of the lowest level above which all levels have fewer than 1000 nodes.

    X itself where even level 0 is that small. Beside them their weights: None (each counts once)
    for the paper's tree, for communities the number of their rows. Where these are cut changes with
    a few rows less, and so would directions that count a small piece as much as a large one.
    """
    large = [level for level in hierarchy.levels if level.n_nodes >= MAX_PCA_NODES]
    if not large:
        return X, None
    return large[-1].centroids, large[-1].sizes.astype(
        np.float64
    ) if hierarchy.kind == "graph" else None


def _random_projection(X: Any, n_components: int, seed: int, n_threads: int) -> LinearMap:
    mean = column_means(X, n_threads, np.ones(X.shape[0]))
    return LinearMap(mean, np.random.default_rng(seed).uniform(-1, 1, (n_components, X.shape[1])))
