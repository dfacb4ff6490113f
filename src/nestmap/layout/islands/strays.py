"""Rows that start far from those that they are most like: they begin among them instead.

A leaf may hold a row whose other neighbours lie elsewhere. Forces do not carry it there, past all that lies between.
"""

from __future__ import annotations

import numpy as np

from ..._arrays import Array, blocks
from ..._parallel import map_blocks

_RATIO = 1.5  # a row moves where it would be so many times as near to its neighbours
_VALUES = 4_000_000  # numbers that a thread works on at once


def gather_strays(positions: Array, ids: Array, weights: Array, n_threads: int) -> Array:
    """Starting places (n, 2) with strays moved to where most of their neighbours are; O(n k + strays k^2).

    How near a place is to the neighbours j of a row: the sum of w_j / (1 + |place - y_j|^2), at most 1 as the weights
    add up to 1. The places that are tried are those of the neighbours.
    """
    out, k = positions.copy(), ids.shape[1]
    each = blocks(len(ids), 4 * k, values=_VALUES)
    near = np.concatenate(
        map_blocks(lambda b: _nearness(positions[b], positions[ids[b]], weights[b]), each, n_threads)
    )
    doubtful = np.flatnonzero(near * _RATIO < 1)

    def settle(part: slice) -> None:
        rows = doubtful[part]
        out[rows] = _best_places(positions[rows], positions[ids[rows]], weights[rows], near[rows])

    map_blocks(settle, blocks(len(doubtful), 4 * k * k, values=_VALUES), n_threads)
    return out


def _nearness(places: Array, others: Array, weights: Array) -> Array:
    """Of one place (b, 2) per row to its neighbours (b, k, 2); (b,)."""
    squares = ((others - places[:, None]) ** 2).sum(axis=2)
    return np.asarray((weights / (1 + squares)).sum(axis=1))


def _best_places(places: Array, others: Array, weights: Array, near: Array) -> Array:
    """The middle of the neighbours around the best of their places, or where the row is."""
    kernel = 1 / (1 + ((others[:, :, None] - others[:, None]) ** 2).sum(axis=3))
    found = (weights[:, None] * kernel).sum(axis=2) - weights  # without the neighbour itself
    best = found.argmax(axis=1)
    each = np.arange(len(places))
    close = weights * kernel[each, best] ** 2
    middle = (close[:, :, None] * others).sum(axis=1) / close.sum(axis=1, keepdims=True)
    return np.where((found[each, best] > _RATIO * near)[:, None], middle, places)
