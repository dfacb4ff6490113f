"""NumPy twins of the kernels in cpp/forces.cpp: weights of neighbours, charges on a grid, steps and leaps."""

from __future__ import annotations

import numpy as np

from .._arrays import Array

_HALVINGS = 100
_GROW, _SHRINK, _LEAST = np.float32(0.2), np.float32(0.8), np.float32(0.01)  # of gains
_BLOCK = 1024  # nodes at a time: what is read and written stays near
_TINY = np.finfo(np.float32).tiny


def calibrate(distances: Array, perplexity: float) -> Array:
    """Weights exp(-beta d^2) of each row's neighbours, sum 1, with beta such that exp(entropy) is the perplexity.

    distances (n, k) -> weights (n, k) float32; O(n k). Equal distances get equal weights.
    """
    gaps = distances.astype(np.float64) ** 2
    gaps -= gaps.min(axis=1, keepdims=True)
    mean = gaps.mean(axis=1)
    flat = mean == 0
    low = np.log(1 / np.where(flat, 1.0, mean)) - 50
    high = low + 100
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        p = np.exp(-np.exp(middle)[:, None] * gaps)
        total = p.sum(axis=1)
        entropy = np.log(total) + np.exp(middle) * (p * gaps).sum(axis=1) / total
        above = entropy > np.log(perplexity)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    weights = np.exp(-np.where(flat, 0.0, np.exp(low))[:, None] * gaps)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def _places(along: Array, origin: float, spacing: float, n: int) -> tuple[Array, Array]:
    """The four grid lines that each position meets, (n, 4), and where between the middle two it lies."""
    at = np.clip((along - np.float32(origin)) * np.float32(1 / spacing), np.float32(1), np.float32(n - 3))
    cell = np.minimum(at.astype(np.int64), n - 3)
    return cell[:, None] + np.arange(-1, 3), at - cell.astype(np.float32)


def _spline(t: Array) -> Array:
    """Cubic B-spline at four grid lines, (n, 4)."""
    s = 1 - t
    return np.stack([s**3, 4 + t * t * (3 * t - 6), 4 + s * s * (3 * s - 6), t**3], axis=1) / 6


def _slope(t: Array) -> Array:
    s = 1 - t
    return np.stack([-s * s, t * (3 * t - 4), -s * (3 * s - 4), t * t], axis=1) / 2


def spread(positions: Array, masses: Array, x: float, y: float, spacing: float, charges: Array) -> None:
    """Masses onto a grid that begins at (x, y), each to 4 x 4 points by cubic B-splines: O(n + grid)."""
    charges[:] = 0
    rows, r = _places(positions[:, 0], x, spacing, charges.shape[0])
    cols, c = _places(positions[:, 1], y, spacing, charges.shape[1])
    shares = masses[:, None, None] * _spline(r)[:, :, None] * _spline(c)[:, None, :]
    np.add.at(charges, (rows[:, :, None], cols[:, None, :]), shares)


def slopes(potential: Array, positions: Array, x: float, y: float, spacing: float) -> Array:
    """Slope of a potential that is given on a grid, by cubic B-splines, (n, 2)."""
    rows, r = _places(positions[:, 0], x, spacing, potential.shape[0])
    cols, c = _places(positions[:, 1], y, spacing, potential.shape[1])
    near = potential[rows[:, :, None], cols[:, None, :]]
    along_r = np.einsum("nij,ni,nj->n", near, _slope(r), _spline(c))
    along_c = np.einsum("nij,ni,nj->n", near, _spline(r), _slope(c))
    return np.stack([along_r, along_c], axis=1) / np.float32(spacing)


def pulls(starts: Array, ids: Array, weights: Array, positions: Array) -> Array:
    """Sum of w (y_j - y_i) / (1 + |y_j - y_i|^2) over the neighbours j of each node i, (n, 2); O(edges)."""
    own = np.repeat(np.arange(len(positions)), np.diff(starts))
    way = positions[ids] - positions[own]
    way *= (weights / (1 + (way * way).sum(axis=1)))[:, None]
    return np.stack([np.bincount(own, along, len(positions)) for along in way.T], axis=1)


def move(
    starts: Array,
    ids: Array,
    weights: Array,
    x: float,
    y: float,
    spacing: float,
    potential: Array,
    attraction: float,
    repulsion: float,
    momentum: float,
    longest: float,
    rates: Array,
    homes: Array,
    ties: Array,
    positions: Array,
    velocities: Array,
    gains: Array,
    moved: Array,
    bounds: Array,
) -> None:
    """One step of gradient descent with momentum for all nodes, from `positions` to `moved`; O(nodes + edges).

    The force is attraction * pulls - repulsion / 2 * slope of the potential, times the node's rate. A home attracts
    its node as a neighbour there with the weight of the tie would; without homes both are empty. A node's gain
    grows as long as its way stays the same and shrinks where it turns (delta-bar-delta). No step is longer than
    `longest`. Changes `velocities`, `gains` and `bounds`, the lowest and the highest of the new positions.
    """
    push = slopes(potential, positions, x, y, spacing) * np.float32(-repulsion / 2)
    pull = pulls(starts, ids, weights, positions)
    if len(ties):
        way = homes - positions
        pull += way * (ties / (1 + (way * way).sum(axis=1)))[:, None]
    force = rates[:, None] * (np.float32(attraction) * pull + push)
    gains[:] = np.where(force * velocities > 0, gains + _GROW, np.maximum(gains * _SHRINK, _LEAST))
    step = np.float32(momentum) * velocities + gains * force
    length = np.sqrt((step * step).sum(axis=1, keepdims=True))
    velocities[:] = step * np.where(length > longest, longest / np.maximum(length, 1e-30), 1)
    np.add(positions, velocities, out=moved)
    bounds[0], bounds[1] = moved.min(axis=0), moved.max(axis=0)


def strongest(starts: Array, ids: Array, weights: Array, k: int) -> tuple[Array, Array]:
    """The k strongest neighbours of each node, strongest first, of equal ones the first: ids and weights, (n, k).

    Where a node has fewer, the weakest one again with weight 0 (without any: itself). O(edges log edges).
    """
    sizes, rank = np.diff(starts)[:, None], np.arange(k)
    own = np.arange(len(sizes), dtype=np.int32)
    order = np.lexsort((-weights, np.repeat(own, sizes[:, 0])))
    edges = order[np.where(sizes > 0, starts[:-1, None] + np.minimum(rank, sizes - 1), 0)]
    return np.where(sizes > 0, ids[edges], own[:, None]), np.where(rank < sizes, weights[edges], np.float32(0))


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
    """Of each node the place that attracts it the most, and how many times as much as its own; O(n k n_tried).

    Neighbour j pulls with w / (1 + |y - y_j|^2 / near), if it counts. Tried are the places of the `n_tried` strongest
    ones, each without its own pull; the place is the mean of the neighbours, by their pulls there.
    """
    for begin in range(0, len(ids), _BLOCK):
        own = slice(begin, begin + _BLOCK)
        w = weights[own] * counts[ids[own]]
        places[own], times[own] = _look_around(ids[own], positions[ids[own]], w, positions[own], n_tried, near)


def _look_around(
    ids: Array, around: Array, weights: Array, here: Array, n_tried: int, near: float
) -> tuple[Array, Array]:
    tried = around[:, :n_tried]
    others = ids[:, :n_tried, None] != ids[:, None]
    total = (_pulls_at(around, weights, tried, near) * others).sum(axis=2)
    node, best = np.arange(len(around)), total.argmax(axis=1)
    pull = _pulls_at(around, weights, tried[node, best, None], near)[:, 0]
    middle = np.einsum("nk,nkd->nd", pull, around) / np.maximum(pull.sum(axis=1), _TINY)[:, None]
    places = np.where(total[node, best, None] > 0, middle, here)
    now, then = (_pulls_at(around, weights, at[:, None], near)[:, 0].sum(axis=1) for at in (here, places))
    return places, then / np.maximum(now, _TINY)


def _pulls_at(around: Array, weights: Array, at: Array, near: float) -> Array:
    """What each neighbour would attract its node with, at each of some places: (n, places, neighbours)."""
    x, y = (at[:, :, None, d] - around[:, None, :, d] for d in (0, 1))
    return np.asarray(weights[:, None] / (1 + (x * x + y * y) * np.float32(1 / near)))
