"""NumPy twins of the kernels in cpp/forces.cpp: the steps of t-SNE.

Perplexity calibration, charges interpolated onto a grid, gradient descent with momentum, and the
search for better places of single nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..arrays import Array

_BISECTION_STEPS = 100
# delta-bar-delta as in van der Maaten's t-SNE: gains grow by a constant and shrink by a factor
_GAIN_INCREASE = np.float32(0.2)
_GAIN_DECAY = np.float32(0.8)
_MIN_GAIN = np.float32(0.01)
_NODES_PER_BLOCK = 1024  # the arrays of a block fit into the cache
_MIN_NORMAL = np.finfo(np.float32).tiny


class WeightedGraph(Protocol):
    """A weighted graph in CSR form."""

    @property
    def starts(self) -> Array: ...
    @property
    def ids(self) -> Array: ...
    @property
    def weights(self) -> Array: ...


class GridGeometry(Protocol):
    """A regular grid: its origin (x, y) and the distance between grid lines."""

    @property
    def x(self) -> float: ...
    @property
    def y(self) -> float: ...
    @property
    def spacing(self) -> float: ...


class Springs(Protocol):
    """Places that attract their nodes, with weights as of edges (`ties`); may be empty."""

    @property
    def places(self) -> Array: ...
    @property
    def ties(self) -> Array: ...


@dataclass(frozen=True)
class StepSizes:
    """The coefficients of one step of gradient descent."""

    attraction: float
    repulsion: float
    momentum: float
    longest: float  # no node moves farther in one step


@dataclass(frozen=True, eq=False)
class NodeState:
    """What a step reads and writes, float32: all but `positions` are changed in place."""

    positions: Array  # (n, 2)
    velocities: Array  # (n, 2)
    gains: Array  # (n, 2)
    moved: Array  # (n, 2): the new positions
    bounds: Array  # (2, 2): minimum and maximum of the new positions


def calibrate(distances: Array, perplexity: float) -> Array:
    """Gaussian weights of each row's neighbours, with the bandwidth that gives the perplexity.

    Weights exp(-beta d^2) add up to 1; bisection finds the beta at which exp(entropy) is the
    perplexity. distances (n, k) -> weights (n, k) float32; O(n k). Equal distances get equal
    weights.
    """
    gaps = distances.astype(np.float64) ** 2
    gaps -= gaps.min(axis=1, keepdims=True)
    mean = gaps.mean(axis=1)
    flat = mean == 0
    low = np.log(1 / np.where(flat, 1.0, mean)) - 50
    high = low + 100
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        p = np.exp(-np.exp(middle)[:, None] * gaps)
        total = p.sum(axis=1)
        entropy = np.log(total) + np.exp(middle) * (p * gaps).sum(axis=1) / total
        above = entropy > np.log(perplexity)
        low = np.where(above, middle, low)
        high = np.where(above, high, middle)
    weights = np.exp(-np.where(flat, 0.0, np.exp(low))[:, None] * gaps)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def _places(along: Array, origin: float, spacing: float, n: int) -> tuple[Array, Array]:
    """The four grid lines around each position, (n, 4), and its fraction between the middle two."""
    at = np.clip(
        (along - np.float32(origin)) * np.float32(1 / spacing), np.float32(1), np.float32(n - 3)
    )
    cell = np.minimum(at.astype(np.int64), n - 3)
    return cell[:, None] + np.arange(-1, 3), at - cell.astype(np.float32)


def _spline(t: Array) -> Array:
    """Cubic B-spline at four grid lines, (n, 4)."""
    s = 1 - t
    return np.stack([s**3, 4 + t * t * (3 * t - 6), 4 + s * s * (3 * s - 6), t**3], axis=1) / 6


def _slope(t: Array) -> Array:
    s = 1 - t
    return np.stack([-s * s, t * (3 * t - 4), -s * (3 * s - 4), t * t], axis=1) / 2


def spread(
    positions: Array, masses: Array, x: float, y: float, spacing: float, charges: Array
) -> None:
    """Distribute masses onto a grid with origin (x, y): cubic B-splines on 4 x 4 points each.

    O(n + grid).
    """
    charges[:] = 0
    rows, r = _places(positions[:, 0], x, spacing, charges.shape[0])
    cols, c = _places(positions[:, 1], y, spacing, charges.shape[1])
    shares = masses[:, None, None] * _spline(r)[:, :, None] * _spline(c)[:, None, :]
    np.add.at(charges, (rows[:, :, None], cols[:, None, :]), shares)


def slopes(potential: Array, positions: Array, x: float, y: float, spacing: float) -> Array:
    """Gradient of a potential on a grid at each position, by cubic B-splines, (n, 2)."""
    rows, r = _places(positions[:, 0], x, spacing, potential.shape[0])
    cols, c = _places(positions[:, 1], y, spacing, potential.shape[1])
    near = potential[rows[:, :, None], cols[:, None, :]]
    along_r = np.einsum("nij,ni,nj->n", near, _slope(r), _spline(c))
    along_c = np.einsum("nij,ni,nj->n", near, _spline(r), _slope(c))
    return np.stack([along_r, along_c], axis=1) / np.float32(spacing)


def pulls(starts: Array, ids: Array, weights: Array, positions: Array) -> Array:
    """Attraction: sum of w (y_j - y_i) / (1 + |y_j - y_i|^2) over the neighbours j of node i.

    (n, 2); O(edges).
    """
    own = np.repeat(np.arange(len(positions)), np.diff(starts))
    way = positions[ids] - positions[own]
    way *= (weights / (1 + (way * way).sum(axis=1)))[:, None]
    return np.stack([np.bincount(own, along, len(positions)) for along in way.T], axis=1)


def move(
    graph: WeightedGraph,
    grid: GridGeometry,
    potential: Array,
    sizes: StepSizes,
    rates: Array,
    homes: Springs,
    state: NodeState,
) -> None:
    """One step of gradient descent with momentum for all nodes; O(nodes + edges).

    The force on a node is attraction * pulls - repulsion / 2 * gradient of the potential, times the
    node's rate. A home attracts its node like a neighbour at that place. Gains follow
    delta-bar-delta: a gain grows while the force keeps the sign of the velocity, and shrinks when
    the sign changes. Steps are cut to `sizes.longest`.
    """
    positions = state.positions
    gains = state.gains
    push = slopes(potential, positions, grid.x, grid.y, grid.spacing)
    push = push * np.float32(-sizes.repulsion / 2)
    pull = pulls(graph.starts, graph.ids, graph.weights, positions)
    if len(homes.ties):
        way = homes.places - positions
        pull += way * (homes.ties / (1 + (way * way).sum(axis=1)))[:, None]
    force = rates[:, None] * (np.float32(sizes.attraction) * pull + push)
    shrunk = np.maximum(gains * _GAIN_DECAY, _MIN_GAIN)
    gains[:] = np.where(force * state.velocities > 0, gains + _GAIN_INCREASE, shrunk)
    step = np.float32(sizes.momentum) * state.velocities + gains * force
    length = np.sqrt((step * step).sum(axis=1, keepdims=True))
    longest = sizes.longest
    state.velocities[:] = step * np.where(length > longest, longest / np.maximum(length, 1e-30), 1)
    np.add(positions, state.velocities, out=state.moved)
    state.bounds[0] = state.moved.min(axis=0)
    state.bounds[1] = state.moved.max(axis=0)


def strongest(starts: Array, ids: Array, weights: Array, k: int) -> tuple[Array, Array]:
    """Ids and weights (n, k) of the k neighbours with the largest weights, in falling order.

    Ties keep the order of the edges. A node with fewer neighbours is padded with its weakest one
    (without any, with itself) at weight 0. O(edges log edges).
    """
    sizes = np.diff(starts)[:, None]
    rank = np.arange(k)
    own = np.arange(len(sizes), dtype=np.int32)
    order = np.lexsort((-weights, np.repeat(own, sizes[:, 0])))
    edges = order[np.where(sizes > 0, starts[:-1, None] + np.minimum(rank, sizes - 1), 0)]
    return np.where(sizes > 0, ids[edges], own[:, None]), np.where(
        rank < sizes, weights[edges], np.float32(0)
    )


def better_places(
    ids: Array,
    weights: Array,
    n_tried: int,
    near: float,
    positions: Array,
    counts: Array,
    places: Array,
    times: Array,
) -> None:
    """For each node, the place with the strongest attraction; O(n k n_tried).

    Neighbour j attracts with w / (1 + |y - y_j|^2 / near) where counts[j] is true. Candidates are
    the positions of the `n_tried` neighbours with the largest weights, each without its own
    attraction. `places` gets the mean of the neighbours, weighted by their attraction at the best
    candidate; `times` the attraction there relative to the one at the node's own position.
    """
    for begin in range(0, len(ids), _NODES_PER_BLOCK):
        own = slice(begin, begin + _NODES_PER_BLOCK)
        w = weights[own] * counts[ids[own]]
        places[own], times[own] = _look_around(
            ids[own], positions[ids[own]], w, positions[own], n_tried, near
        )


def _look_around(
    ids: Array, around: Array, weights: Array, here: Array, n_tried: int, near: float
) -> tuple[Array, Array]:
    tried = around[:, :n_tried]
    others = ids[:, :n_tried, None] != ids[:, None]
    total = (_pulls_at(around, weights, tried, near) * others).sum(axis=2)
    node = np.arange(len(around))
    best = total.argmax(axis=1)
    pull = _pulls_at(around, weights, tried[node, best, None], near)[:, 0]
    middle = (
        np.einsum("nk,nkd->nd", pull, around) / np.maximum(pull.sum(axis=1), _MIN_NORMAL)[:, None]
    )
    places = np.where(total[node, best, None] > 0, middle, here)
    now, then = (
        _pulls_at(around, weights, at[:, None], near)[:, 0].sum(axis=1) for at in (here, places)
    )
    return places, then / np.maximum(now, _MIN_NORMAL)


def _pulls_at(around: Array, weights: Array, at: Array, near: float) -> Array:
    """Attraction by each neighbour if its node were at each of some places.

    (n, places, neighbours)
    """
    x, y = (at[:, :, None, d] - around[:, None, :, d] for d in (0, 1))
    return np.asarray(weights[:, None] / (1 + (x * x + y * y) * np.float32(1 / near)))
