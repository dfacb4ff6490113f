"""The kernels as the library calls them: compiled where there is a build, else the NumPy twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from . import communities as _communities
from . import core, forces, frames, mosaic, twins
from .algebra import convolve as convolve
from .algebra import eigenvectors as eigenvectors
from .algebra import even_transform as even_transform
from .algebra import orthonormal as orthonormal
from .communities import Merges
from .forces import GridGeometry, NodeState, Springs, StepSizes, WeightedGraph


def _index(values: Array) -> Array:
    """Integers as the compiled kernels take them: on some platforms NumPy's own are shorter."""
    return np.ascontiguousarray(values, dtype=np.int64)


def _points(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def project(x: Array, mean: Array, basis: Array, n_threads: int) -> Array:
    """Coordinates of the rows of x along the rows of basis, in float64 (see the twin)."""
    if (native := core()) is None:
        return twins.project(x, mean, basis)
    z = np.empty((len(x), len(basis)))
    native.project(x, mean, np.ascontiguousarray(basis), z, n_threads)
    return z


def group_means(x: Array, order: Array, starts: Array, weights: Array, n_threads: int) -> Array:
    """Weighted means of groups of rows, in the dtype of x, summed in float64 (see the twin)."""
    if (native := core()) is None:
        return twins.group_means(x, order, starts, weights)
    means = np.empty((len(starts) - 1, x.shape[1]), dtype=x.dtype)
    native.group_means(x, _index(order), _index(starts), weights, means, n_threads)
    return means


def largest(values: Array, n_threads: int = 1) -> float:
    """Largest absolute value of a contiguous array (see the twin)."""
    if (native := core()) is None:
        return twins.largest(values)
    return float(native.largest(values.reshape(-1), n_threads))


def hash_rows(x: Array, n_threads: int) -> Array:
    """A 64-bit number per row, equal for equal rows (see the twin)."""
    if (native := core()) is None:
        return twins.hash_rows(x)
    out = np.empty(len(x), dtype=np.uint64)
    native.hash_rows(x, out, n_threads)
    return out


def count_within(values: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Values of each row below lower limits, and up to upper limits (see the twin)."""
    if (native := core()) is None:
        return twins.count_within(values, lower, upper)
    below = np.empty(lower.shape, dtype=np.int64)
    upto = np.empty(lower.shape, dtype=np.int64)
    native.count_within(np.ascontiguousarray(values), lower, upper, below, upto)
    return below, upto


def pair_distances(points: Any, i: Array, j: Array) -> Array:
    """Distances by definition of row i[k] to row j[k] (twin: PointSet.pair_distances)."""
    if (native := core()) is None:
        return np.asarray(points.pair_distances(i, points, j, points.norm))
    out = np.empty(len(i))
    native.pair_distances(points.native, _index(i), _index(j), out, points.norm)
    return out


def principal_frames(
    z: Array, order: Array, starts: Array, weights: Array, n_components: int, n_threads: int
) -> tuple[Array, Array]:
    """Offsets (n_members, d) and maps (n_groups, d, p; float32) of groups of rows z (see twin)."""
    z = np.ascontiguousarray(z, dtype=np.float32)
    offsets = np.zeros((len(order), n_components))
    maps = np.zeros((len(starts) - 1, n_components, z.shape[1]), dtype=np.float32)
    larger_than = 1
    if (native := core()) is not None:
        native.small_frames(z, _index(order), _index(starts), weights, offsets, maps, n_threads)
        larger_than = native.SMALL_GROUP
    frames.principal_frames(
        z, order, starts, weights, offsets, maps, n_threads, larger_than=larger_than
    )
    return offsets, maps


def alignments(maps: Array, centres: Array, anchors: Array, around: Array, n_threads: int) -> Array:
    """Cross-covariances for the Procrustes rotation of each frame (see the twin)."""
    if (native := core()) is None:
        return frames.alignments(maps, centres, anchors, around)
    out = np.empty((*maps.shape[:2], maps.shape[1]))
    native.alignments(maps, centres, np.ascontiguousarray(anchors), _index(around), out, n_threads)
    return out


def divide_regions(
    regions: Any,
    grouping: Any,
    offsets: Array,
    shares: Array,
    rounds: int,
    n_threads: int,
    *,
    want_polygons: bool = True,
) -> tuple[Array, Any]:
    """Centres and, if asked, polygons of each region's children (twin: `divide_regions`)."""
    arguments = (
        _index(regions.starts),
        _points(regions.points),
        _index(grouping.order),
        _index(grouping.starts),
        _points(offsets),
        shares,
        rounds,
    )
    if (native := core()) is None:
        centres, polygons = mosaic.divide_regions(*arguments)
        starts = np.concatenate([[0], np.cumsum([len(polygon) for polygon in polygons])]).astype(
            np.int64
        )
        return centres, type(regions)(starts, np.concatenate(polygons))
    centres = np.empty((len(grouping.order), 2))
    starts, points = native.divide_regions(*arguments, want_polygons, centres, n_threads)
    return centres, type(regions)(starts, points)


def outside(starts: Array, corners: Array, ids: Array, points: Array, n_threads: int) -> Array:
    """Signed distance of point i to polygon ids[i]; negative inside (twin: `mosaic.outside`)."""
    if (native := core()) is None:
        return mosaic.outside(starts, corners, ids, points)
    out = np.empty(len(ids))
    native.outside(_index(starts), _points(corners), _index(ids), _points(points), out, n_threads)
    return out


def calibrate(distances: Array, perplexity: float, n_threads: int) -> Array:
    """Weights of each row's neighbours with a given perplexity, float32 (see the twin)."""
    if (native := core()) is None:
        return forces.calibrate(distances, perplexity)
    weights = np.empty(distances.shape, dtype=np.float32)
    native.calibrate(np.ascontiguousarray(distances), perplexity, weights, n_threads)
    return weights


def spread(
    positions: Array, masses: Array, grid: GridGeometry, charges: Array, n_threads: int
) -> None:
    """Distribute the masses of nodes onto the points of a grid (see the twin)."""
    if (native := core()) is None:
        return forces.spread(positions, masses, grid.x, grid.y, grid.spacing, charges)
    native.spread(positions, masses, grid.x, grid.y, grid.spacing, charges, n_threads)


def move(
    graph: WeightedGraph,
    grid: GridGeometry,
    potential: Array,
    sizes: StepSizes,
    rates: Array,
    homes: Springs,
    state: NodeState,
    n_threads: int,
) -> None:
    """One step of gradient descent for all nodes, into `state.moved` (see the twin)."""
    if (native := core()) is None:
        return forces.move(graph, grid, potential, sizes, rates, homes, state)
    native.move(
        graph.starts,
        graph.ids,
        graph.weights,
        grid.x,
        grid.y,
        grid.spacing,
        potential,
        sizes.attraction,
        sizes.repulsion,
        sizes.momentum,
        sizes.longest,
        rates,
        homes.places,
        homes.ties,
        state.positions,
        state.velocities,
        state.gains,
        state.moved,
        state.bounds,
        n_threads,
    )


def strongest(graph: WeightedGraph, k: int, n_threads: int) -> tuple[Array, Array]:
    """The k strongest neighbours of each node: ids and weights (see the twin)."""
    if (native := core()) is None:
        return forces.strongest(graph.starts, graph.ids, graph.weights, k)
    n = len(graph.starts) - 1
    ids = np.empty((n, k), dtype=np.int32)
    weights = np.empty((n, k), dtype=np.float32)
    native.strongest(graph.starts, graph.ids, graph.weights, ids, weights, n_threads)
    return ids, weights


def better_places(
    ids: Array,
    weights: Array,
    n_tried: int,
    near: float,
    positions: Array,
    counts: Array,
    n_threads: int,
) -> tuple[Array, Array]:
    """For each node the place with the strongest attraction (see the twin).

    Also its ratio to the attraction of the node's own place.
    """
    places = np.empty((len(ids), 2), dtype=np.float32)
    times = np.empty(len(ids), dtype=np.float32)
    arguments = (ids, weights, n_tried, near, positions, counts, places, times)
    if (native := core()) is None:
        forces.better_places(*arguments)
    else:
        native.better_places(*arguments, n_threads)
    return places, times


def communities(
    starts: Array,
    ids: Array,
    weights: Array,
    volumes: Array,
    parents: Array,
    order: Array,
    resolution: float,
) -> Array:
    """Labels of a partition of high modularity (see the twin)."""
    if (native := core()) is None:
        return _communities.communities(starts, ids, weights, volumes, parents, order, resolution)
    labels = np.empty(len(volumes), dtype=np.int32)
    native.communities(starts, ids, weights, volumes, parents, order, resolution, labels)
    return labels


def merge_order(
    starts: Array, ids: Array, weights: Array, volumes: Array, parents: Array
) -> Merges:
    """The dendrogram of the nodes (see the twin)."""
    if (native := core()) is None:
        return _communities.merge_order(starts, ids, weights, volumes, parents)
    first = np.empty(len(volumes), dtype=np.int32)
    second = np.empty(len(volumes), dtype=np.int32)
    similarities = np.empty(len(volumes))
    n = native.merge_order(starts, ids, weights, volumes, parents, first, second, similarities)
    return Merges(first[:n], second[:n], similarities[:n])
