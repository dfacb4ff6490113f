"""Cells: k-means on a few reduced columns.

For the exact join they are coarse, about 1.6·sqrt(n), and decide the order of work, never the
result. For the approximate search they are fine, some 64 rows each, found in two steps: cells of
cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array, blocks
from ...core.exact import bits_for, rounded
from ...core.progress import Share
from ...core.threads import map_blocks
from .effort import TABLE, cell_size, round_up

# rows that the spread of columns is measured on
_SPREAD_ROWS = 4096
# training rows of k-means per cell, and per fine cell (of a large one)
_ROWS_PER_CELL = 40
_ROWS_PER_FINE_CELL = 16
_ITERATIONS = 4  # of Lloyd's algorithm: cells need not be the best ones
_OVERFULL = 4  # times the wanted rows: such a fine cell is divided again


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows in cell order."""

    order: Array  # int64: positions to rows
    starts: Array  # int64, n_cells + 1
    centres: Array  # float32, n_cells x columns, for new rows


def number_of_cells(n: int) -> int:
    """About 1.6·sqrt(n), but not so many that panels of 16 rows stay half empty."""
    return max(1, min(int(1.6 * np.sqrt(n)), n // 48))


def partition_rows(z: Array, n_cells: int, n_threads: int) -> Partition:
    """k-means cells of the rows of z; O(n · n_cells) with a small constant."""
    z = z[:, : TABLE.leading]
    train = _sample(z, _ROWS_PER_CELL * n_cells, np.random.default_rng(0))
    return group_by_centre(z, k_means(train, n_cells, n_threads), n_threads)


def _sample(z: Array, n: int, rng: np.random.Generator) -> Array:
    return z if n >= len(z) else z[np.sort(rng.choice(len(z), n, replace=False))]


def k_means(train: Array, n_cells: int, n_threads: int) -> Array:
    """Centres of about equal cells: a few rounds of Lloyd's algorithm."""
    rng = np.random.default_rng(1)
    centres = train[np.sort(rng.choice(len(train), n_cells, replace=False))].copy()
    for _ in range(_ITERATIONS if n_cells > 1 else 0):
        labels = nearest_centre(train, centres, n_threads)
        counts = np.bincount(labels, minlength=n_cells)
        order = np.argsort(labels, kind="stable")
        used = np.flatnonzero(counts)
        starts = np.concatenate([[0], np.cumsum(counts[used])[:-1]])
        centres[used] = np.add.reduceat(train[order], starts, axis=0) / counts[used, None]
    return centres


def fine_partition(z: Array, n_threads: int, progress: Share | None = None) -> Partition:
    """Cells of about 64 rows (more beyond 4 million rows), in two steps.

    O(n^1.5) with a very small constant.

    Rows are first divided among sqrt(n_cells) large cells, and those one by one.
    """
    z = z[:, : telling_columns(z)]
    n = len(z)
    size = cell_size(n)
    n_large = max(1, int(np.sqrt(n / size)))
    centres = k_means(
        _sample(z, 4 * _ROWS_PER_CELL * n_large, np.random.default_rng(0)), n_large, n_threads
    )
    labels = nearest_centre(z, centres, n_threads)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_large))
    large = [rows for rows in np.split(order, ends[:-1]) if len(rows)]
    found = map_blocks(lambda rows: _divide(z, rows, size), large, n_threads, progress)
    cells = [rows for part in found for rows in part]
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in cells])]).astype(np.int64)
    return Partition(np.concatenate(cells), starts, centres)


def telling_columns(z: Array) -> int:
    """Leading columns that tell near rows from others: those with most variance, a multiple of 8.

    Of images the first few do. Of embeddings, whose columns vary nearly alike, a few would tell
    only the largest groups of rows apart.
    """
    spread = np.cumsum(
        _sample(z, _SPREAD_ROWS, np.random.default_rng(0)).var(axis=0, dtype=np.float64)
    )
    held = int(np.searchsorted(spread, TABLE.cell_share * spread[-1])) + 1
    return min(int(z.shape[1]), max(TABLE.leading, round_up(held, 8)))


def _divide(z: Array, rows: Array, size: int, again: int = 2) -> list[Array]:
    """Rows divided into cells of about this size."""
    n_cells = round(len(rows) / size)
    if n_cells < 2:
        return [rows]
    x = z[rows]
    centres = k_means(
        _sample(x, _ROWS_PER_FINE_CELL * n_cells, np.random.default_rng(0)), n_cells, 1
    )
    labels = nearest_centre(x, centres, 1)
    ends = np.cumsum(np.bincount(labels, minlength=n_cells))
    cells = [
        cell for cell in np.split(rows[np.argsort(labels, kind="stable")], ends[:-1]) if len(cell)
    ]
    out: list[Array] = []
    for cell in cells:
        if len(cell) <= _OVERFULL * size:
            out.append(cell)
        elif again:
            out += _divide(z, cell, size, again - 1)
        else:  # rows that k-means cannot tell apart: any division will do
            out += np.array_split(cell, -(-len(cell) // (_OVERFULL * size)))
    return out


def group_by_centre(z: Array, centres: Array, n_threads: int) -> Partition:
    """Rows grouped by their nearest centre, the innermost first."""
    z = z[:, : centres.shape[1]]
    labels = nearest_centre(z, centres, n_threads)
    from_centre = z - centres[labels]
    order = np.lexsort(((from_centre * from_centre).sum(axis=1), labels))
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=len(centres)))])
    return Partition(order, starts.astype(np.int64), centres)


def nearest_centre(z: Array, centres: Array, n_threads: int) -> Array:
    """Index of the nearest centre of each row, about: by numbers whose products are exact."""
    labels = np.empty(len(z), dtype=np.int32)
    bits = bits_for(z.shape[1])
    centres = rounded(centres.astype(np.float64), bits)
    sizes = (centres * centres).sum(axis=1) / 2
    largest = max(float(z.max(initial=0)), -float(z.min(initial=0)))
    unit = float(np.ldexp(1.0, max(int(np.frexp(largest)[1]), -100) - bits))

    def assign(part: slice) -> None:
        own = np.rint(z[part] * (1 / unit), dtype=np.float64)
        own *= unit
        labels[part] = np.argmin(sizes - own @ centres.T, axis=1)

    map_blocks(assign, blocks(len(z), len(centres), values=500_000), n_threads)
    return labels
