"""The last round of the exact join where bounds are of no use: all pairs, by products of matrices.

Embeddings of text are nearly all equally far from each other. Short rows rule out little there, and
to verify every pair by definition takes minutes. A product of matrices in float32 gives many
squared distances at once, up to an error that is bounded (`ProductSpace`). Only pairs that may be
nearer than what is known are verified by definition.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from ...core.arrays import Array
from ...core.native import kernels
from ...core.nearest import is_nearer, nearest_of_each
from ...core.points.point_set import PointSet
from ...core.progress import Share
from ...core.threads import map_blocks
from .spaces import ProductSpace, product_error

_BLOCK = 2048  # rows that meet as many others in one product
_UNSURE = 0.05  # of the limit: with a larger error too many pairs would have to be verified


def products_tell(n_cols: int, lengths: Array, limits: Array) -> bool:
    """Whether products can rule out pairs, for nine of ten sampled rows of some lengths."""
    return bool(
        np.mean(product_error(n_cols, lengths, np.quantile(lengths, 0.99)) <= _UNSURE * limits)
        >= 0.9
    )


def join_by_products(
    points: PointSet,
    centre: Array,
    order: Array,
    squared: Array,
    ids: Array,
    n_threads: int,
    progress: Share | None,
) -> int:
    """Make squared[p], ids[p] the nearest of rows `order` to row order[p].

    Tells how many pairs were verified.

    Both hold the nearest known ones. `centre`: any vector in the middle of the rows. Each pair of
    blocks meets once and serves both sides; what it finds is kept as a minimum, so the order of the
    blocks makes no difference.
    """
    space = ProductSpace(points, centre)
    lock = Lock()
    keys = np.zeros(points.n, dtype=np.uint64) if points.keys is None else points.keys
    parts = [slice(i, min(len(order), i + _BLOCK)) for i in range(0, len(order), _BLOCK)]

    def meet(pair: tuple[slice, slice]) -> int:
        one, other = pair
        rough, error = space.rough(order[one], order[other])
        rough -= error[:, None].astype(np.float32)
        # in float32 as `rough` is: rounded up
        limits = [
            np.nextafter(squared[part].astype(np.float32), np.float32(np.inf)) for part in pair
        ]
        i, j = np.nonzero(rough <= np.maximum.outer(*limits))
        i = i + one.start
        j = j + other.start
        if one == other:
            i, j = i[i < j], j[i < j]
        away = kernels.pair_distances(points, order[i], order[j])
        with lock:
            keep_nearest(squared, ids, i, order[j], away, keys)
            keep_nearest(squared, ids, j, order[i], away, keys)
        return len(i)

    meetings = [(one, other) for k, one in enumerate(parts) for other in parts[k:]]
    return sum(map_blocks(meet, meetings, n_threads, progress))


def keep_nearest(
    squared: Array, ids: Array, places: Array, rows: Array, away: Array, keys: Array
) -> None:
    """squared[p], ids[p] become the least of themselves and all (away, key, row) of place p."""
    best = nearest_of_each(places, away, rows, keys[rows])
    at = places[best]
    row = rows[best]
    known = ids[at]
    nearer = is_nearer(away[best], keys[row], row, squared[at], keys[known], known)
    squared[at[nearer]] = away[best[nearer]]
    ids[at[nearer]] = row[nearer]
