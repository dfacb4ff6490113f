"""The local arrangement: each node's own principal components, turned towards its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._native import kernels
from .._native.twins import Array, blocks
from .._parallel import map_blocks, single_threaded_blas
from ..hierarchy import Grouping, Hierarchy
from ..neighbors.points import make_points
from ..neighbors.reduce import fit_reducer, sample_size
from ..preliminary import LinearMap
from .frames import Frames, apply_maps

N_COLUMNS = 96  # leading principal directions that local frames look at
N_AROUND = 6  # neighbours that a local frame is turned by


@dataclass(frozen=True, eq=False)
class MetricMap:
    """Rows as the metric sees them (see `PointSet`), along a few directions; each row by itself."""

    metric: str
    linear: LinearMap

    def __call__(self, X: Any, n_threads: int) -> Array:
        if self.metric == "euclidean":
            return self.linear(X, n_threads)
        points = make_points(X, self.metric)
        basis = self.linear.basis
        z = LinearMap(np.zeros(basis.shape[1]), basis)(X, n_threads) * points.scale[:, None]
        return np.asarray(z + points.shift[:, None] * basis.sum(axis=1) - basis @ self.linear.mean)


@dataclass(frozen=True, eq=False)
class LocalArrangement:
    """Each node's own principal components, in the leading directions of the data."""

    n_components: int
    rows: Array  # (n_rows, p) float32
    nodes: tuple[Array, ...]  # per level
    transform: MetricMap
    n_threads: int = 1
    kind: str = "local"

    def frames(self, hierarchy: Hierarchy, k: int, anchors: Array, around: Array) -> Frames:
        """Frames of level k; `around`: the nodes next to each node in the map, (n_nodes, K)."""
        level = hierarchy.levels[k]
        z, centres = (self.nodes[k - 1] if k else self.rows), self.nodes[k]
        weights = hierarchy.levels[k - 1].sizes.astype(np.float64) if k else np.ones(len(z))
        offsets, maps = principal_frames(z, centres, weights, level.grouping, self.n_components, self.n_threads)
        turns = turn_frames(maps, centres, anchors, around)
        offsets = apply_maps(turns, level.members, offsets)
        return Frames(offsets, np.einsum("gde,gep->gdp", turns, maps).astype(np.float32), centres)


def make_local(X: Any, hierarchy: Hierarchy, n_components: int, sample: Array, n_threads: int) -> LocalArrangement:
    """Coordinates of rows and nodes in the leading directions of a sample of rows; O(n · n_features · p).

    `sample`: rows in an order that does not depend on the order of X, and neither does the map then.
    """
    metric = hierarchy.metric if hierarchy.metric in ("cosine", "correlation") else "euclidean"
    points = make_points(X, metric)
    reducer = fit_reducer(points, sample[: sample_size(points.n, points.n_cols)], N_COLUMNS)
    directions = np.ascontiguousarray(reducer.directions[:, :N_COLUMNS])
    rows = np.empty((points.n, directions.shape[1]), dtype=np.float32)
    small = directions.astype(np.float32)

    def project(part: slice) -> None:
        x = points.block(part)
        rows[part] = x @ directions if points.is_sparse else (x - reducer.mean).astype(np.float32) @ small

    with single_threaded_blas():
        map_blocks(project, blocks(points.n, points.n_cols, values=400_000), n_threads)
    # in units of points.unit, which keeps huge and tiny values in the range of float32
    transform = MetricMap(
        metric, LinearMap(reducer.mean / points.unit, np.ascontiguousarray(directions.T * points.unit))
    )
    nodes, values, weights = [], rows, np.ones(points.n)
    for level in hierarchy:
        group = level.grouping
        values = kernels.group_means(values, group.order, group.starts, weights, n_threads)
        weights = level.sizes.astype(np.float64)
        nodes.append(values)
    return LocalArrangement(n_components, rows, tuple(nodes), transform, n_threads)


def principal_frames(
    z: Array, centres: Array, weights: Array, grouping: Grouping, n_components: int, n_threads: int = 1
) -> tuple[Array, Array]:
    """Coordinates of each group's members along its own leading principal directions, and those.

    Returns offsets (n_members, d) and maps (n_groups, d, p) with orthonormal rows, zero beyond a
    group's rank. O(n · group size · p).
    """
    d, p = n_components, z.shape[1]
    offsets = np.zeros((len(z), d))
    maps = np.zeros((len(centres), d, p))

    def fit(groups: Array) -> None:
        size = grouping.starts[groups[0] + 1] - grouping.starts[groups[0]]
        members = grouping.order[grouping.starts[groups, None] + np.arange(size)]
        x = z[members].astype(np.float64) - centres[groups, None]
        directions = _directions(x * np.sqrt(weights[members])[:, :, None], min(d, p))
        maps[groups, : directions.shape[1]] = directions
        offsets[members, : directions.shape[1]] = x @ directions.transpose(0, 2, 1)

    with single_threaded_blas():
        map_blocks(fit, _equal_sized(grouping, p), n_threads)
    return offsets, maps


def _equal_sized(grouping: Grouping, p: int) -> list[Array]:
    """Groups of the same size (two and more) together, in pieces of a few megabytes."""
    sizes = np.diff(grouping.starts)
    pieces = []
    for size in np.unique(sizes[sizes > 1]):
        groups = np.flatnonzero(sizes == size)
        pieces += [groups[part] for part in blocks(len(groups), int(size) * p, values=500_000)]
    return pieces


def _directions(x: Array, d: int) -> Array:
    """Leading right singular vectors of each of a stack of matrices (m x p), as rows; zero beyond the rank."""
    m, p = x.shape[1:]
    k = min(d, m - 1, p)
    if m <= p:
        values, left = np.linalg.eigh(x @ x.transpose(0, 2, 1))
        right = left[:, :, ::-1][:, :, :k].transpose(0, 2, 1) @ x
    else:
        values, vectors = np.linalg.eigh(x.transpose(0, 2, 1) @ x)
        right = vectors[:, :, ::-1][:, :, :k].transpose(0, 2, 1).copy()
    right[values[:, ::-1][:, :k] <= 1e-10 * np.maximum(values[:, -1:], 1e-300)] = 0  # beyond the rank: noise
    length = np.linalg.norm(right, axis=2, keepdims=True)
    return np.asarray(np.divide(right, length, out=np.zeros_like(right), where=length > 0))


def turn_frames(maps: Array, centres: Array, anchors: Array, around: Array) -> Array:
    """The rotation or reflection of each frame that points it towards its neighbours, (n_nodes, d, d).

    With v the way to a neighbour in the data and u in the map: the orthogonal matrix that maximises the
    sum of u' R (maps v) / (|u| |v|^2), so near neighbours count most. O(n_nodes · K · p · d).
    """
    n, d, p = maps.shape
    turns = np.empty((n, d, d))
    for part in blocks(n, max(1, around.shape[1]) * p):
        v = centres[around[part]].astype(np.float64) - centres[part, None]
        u = anchors[around[part]] - anchors[part, None]
        size = (v * v).sum(axis=2) * np.sqrt((u * u).sum(axis=2))
        weight = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        seen = v @ maps[part].transpose(0, 2, 1)
        left, _, right = np.linalg.svd((u * weight[:, :, None]).transpose(0, 2, 1) @ seen)
        turns[part] = left @ right
    return turns
