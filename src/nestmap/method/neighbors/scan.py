"""Exact ranks and k nearest neighbours of some rows, by one pass over all rows.

Memory: a few blocks of rows x block; time: one matrix product. Nothing here depends on the number
of threads. Ranks start at 1 for the nearest other row; rows at equal distance share their mean
rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from ...core.arrays import Array
from ...core.native import kernels
from ...core.progress import Share
from ...core.threads import map_blocks, single_threaded_blas
from .spaces import MAX_PLAIN_COLUMNS, Space, make_space

# rows whose distances to a block are held at a time, and rows of a block: 16 MB of float32
_SCANNED_ROWS = 2048
_BLOCK_ROWS = 2048
# scanned rows of a thread, where all rows are one block and threads share the scanned ones
_SCANNED_ROWS_PER_THREAD = 256
_SAMPLE_ROWS = 4096  # whose distances bound that of the k-th neighbour before the pass
# rows of a block within that bound: more are ties, and settled row by row
_MAX_NEAR_PER_BLOCK = 256
# relative difference of distances that count as equal: normalised rows carry rounding errors
_TIE_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass found for the scanned rows."""

    ranks: Array  # (m, c) of the candidates
    neighbors: Array  # (m, k) ids, nearest first, ties by index


def scan(
    space: Space,
    rows: Array,
    candidates: Array,
    n_neighbors: int,
    n_threads: int,
    progress: Share | None = None,
) -> Scan:
    """Ranks of candidates[i] among all rows as seen from rows[i]; its n_neighbors nearest rows."""
    ranks = np.empty(candidates.shape)
    neighbors = np.empty((len(rows), n_neighbors), dtype=np.int64)
    parts = [slice(i, min(space.n, i + _BLOCK_ROWS)) for i in range(0, space.n, _BLOCK_ROWS)]
    size = _SCANNED_ROWS if len(parts) > 1 else _SCANNED_ROWS_PER_THREAD
    batches = [slice(i, min(len(rows), i + size)) for i in range(0, len(rows), size)]

    def look(batch: slice, threads: int = 1) -> None:
        ranks[batch], neighbors[batch] = _scan_batch(
            space, rows[batch], candidates[batch], n_neighbors, parts, threads
        )

    with single_threaded_blas():
        if len(parts) == 1:
            map_blocks(look, batches, n_threads, progress)
        else:
            for batch in batches:
                look(batch, n_threads)
                if progress:
                    progress(batch.stop / len(rows))
    return Scan(ranks, neighbors)


def _scan_batch(
    space: Space, rows: Array, candidates: Array, k: int, parts: list[slice], n_threads: int
) -> tuple[Array, Array]:
    limits = space.exact(np.repeat(rows, candidates.shape[1]), candidates.ravel()).reshape(
        candidates.shape
    )
    bound = _bound_neighbors(space, rows, k) if k and len(parts) > 1 else None

    def look(part: slice) -> tuple[Array, _Near | None]:
        rough, error = space.rough(rows, part)
        inside = (rows >= part.start) & (rows < part.stop)
        rough[np.flatnonzero(inside), rows[inside] - part.start] = np.inf
        counts = (
            _count_nearer(space, rows, part, rough, error, limits)
            if limits.size
            else np.zeros(limits.shape)
        )
        if k == 0:
            return counts, None
        return counts, _pick(rough, part.start, _bound(rough, error, k) if bound is None else bound)

    found = map_blocks(look, parts, n_threads)
    # each candidate met itself once, as half a tie: rank 1 is left for the nearest
    ranks = np.sum([counts for counts, _ in found], axis=0) + 0.5
    if k == 0:
        return ranks, np.empty((len(rows), 0), dtype=np.int64)
    return ranks, _merge(space, rows, [near for _, near in found if near], k)


def _count_nearer(
    space: Space, rows: Array, part: slice, rough: Array, error: Array, limits: Array
) -> Array:
    """Rows of a block that are nearer than each limit, ties counted half."""
    lower = limits - error[:, None]
    upper = limits + error[:, None]
    below, upto = kernels.count_within(rough, lower, upper)
    counts = below.astype(np.float64)
    at, which = np.nonzero(upto > below)
    if len(at):
        row = rough[at]
        i, j = np.nonzero((row >= lower[at, which][:, None]) & (row <= upper[at, which][:, None]))
        limit = limits[at[i], which[i]]
        difference = space.exact(rows[at[i]], j + part.start) - limit
        tied = np.abs(difference) <= _TIE_TOLERANCE * limit
        np.add.at(
            counts, (at[i], which[i]), np.where(tied, 0.5, np.where(difference < 0, 1.0, 0.0))
        )
    return counts


@dataclass(frozen=True, eq=False)
class _Near:
    """Candidate neighbours from one block: rows ids[c] for the i[c]-th scanned row."""

    i: Array
    ids: Array
    crowded: Array  # scanned rows with too many candidates, which are left out


def _bound_neighbors(space: Space, rows: Array, k: int) -> Array:
    """Upper bound of the distance to the k-th neighbour: that of the k-th in a sample."""
    sample = np.unique(np.linspace(0, space.n - 1, max(_SAMPLE_ROWS, 2 * k + 2)).astype(np.int64))
    rough, error = space.rough(rows, sample)
    rough[rows[:, None] == sample] = np.inf
    return _bound(rough, error, k)


def _bound(rough: Array, error: Array, k: int) -> Array:
    return np.asarray(np.partition(rough, k - 1, axis=1)[:, k - 1] + 2 * error)


def _pick(rough: Array, first: int, bound: Array) -> _Near:
    within = rough <= bound[:, None]
    crowded = np.count_nonzero(within, axis=1) > _MAX_NEAR_PER_BLOCK
    within[crowded] = False
    i, j = np.nonzero(within)
    return _Near(i, j + first, np.flatnonzero(crowded))


def _merge(space: Space, rows: Array, found: list[_Near], k: int) -> Array:
    """The k nearest of the candidates of all blocks, by exact distances."""
    crowded = np.unique(np.concatenate([near.crowded for near in found]))
    i = np.concatenate([near.i for near in found])
    ids = np.concatenate([near.ids for near in found])
    alone = ~np.isin(i, crowded)
    i = i[alone]
    ids = ids[alone]
    out = np.empty((len(rows), k), dtype=np.int64)
    calm = np.setdiff1d(np.arange(len(rows)), crowded)
    out[calm] = _first_k(i, space.exact(rows[i], ids), ids, calm, k)
    for row in crowded:
        others = np.delete(np.arange(space.n), rows[row])
        exact = space.exact(np.full(len(others), rows[row]), others)
        out[row] = others[np.lexsort((others, exact))[:k]]
    return out


def _first_k(i: Array, exact: Array, ids: Array, rows: Array, k: int) -> Array:
    order = np.lexsort((ids, exact, i))
    starts = np.searchsorted(i[order], rows)
    return np.asarray(ids[order][starts[:, None] + np.arange(k)])


def nearest_ids(
    space: Space, rows: Array, k: int, n_threads: int, progress: Share | None = None
) -> Array:
    """The k nearest other rows of some rows by all distances, ties by index."""
    return scan(
        space, rows, np.empty((len(rows), 0), dtype=np.int64), k, n_threads, progress
    ).neighbors


def nearest_rows(space: Space, rows: Array, k: int, n_threads: int) -> tuple[Array, Array]:
    """The k nearest other rows of some rows, and their distances in the units of the space."""
    ids = nearest_ids(space, rows, k, n_threads)
    return ids, space.exact(np.repeat(rows, k), ids.ravel()).reshape(ids.shape)


def nearest_in_map(Y: Array, rows: Array, k: int, n_threads: int) -> Array:
    """The k nearest other points of some points of a map, nearest first."""
    if Y.shape[1] > MAX_PLAIN_COLUMNS:
        return nearest_ids(make_space(Y, "euclidean"), rows, k, n_threads)
    _, found = cKDTree(Y).query(Y[rows], k + 1, workers=n_threads)
    own = found == rows[:, None]
    own[~own.any(axis=1), -1] = True  # among many equal points, the point itself may not be listed
    return np.asarray(found[~own].reshape(len(rows), k))
