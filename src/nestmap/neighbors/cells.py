"""Cells: k-means on a few reduced columns. They decide the order of work, never the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._native.twins import Array, blocks
from .._parallel import map_blocks

_COLUMNS = 24  # reduced columns that k-means looks at
_ROWS_PER_CELL = 40  # training rows per cell
_ITERATIONS = 4


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
    z = z[:, :_COLUMNS]
    n = len(z)
    rng = np.random.default_rng(0)
    n_train = min(n, _ROWS_PER_CELL * n_cells)
    train = z[np.sort(rng.choice(n, n_train, replace=False))] if n_train < n else z
    centres = train[np.sort(rng.choice(n_train, n_cells, replace=False))].copy()
    for _ in range(_ITERATIONS if n_cells > 1 else 0):
        labels = nearest_centre(train, centres, n_threads)
        counts = np.bincount(labels, minlength=n_cells)
        order = np.argsort(labels, kind="stable")
        used = np.flatnonzero(counts)
        starts = np.concatenate([[0], np.cumsum(counts[used])[:-1]])
        centres[used] = np.add.reduceat(train[order], starts, axis=0) / counts[used, None]
    return group_by_centre(z, centres, n_threads)


def group_by_centre(z: Array, centres: Array, n_threads: int) -> Partition:
    """Rows grouped by their nearest centre, the innermost first."""
    z = z[:, : centres.shape[1]]
    labels = nearest_centre(z, centres, n_threads)
    from_centre = z - centres[labels]
    order = np.lexsort((np.einsum("ij,ij->i", from_centre, from_centre), labels))
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=len(centres)))])
    return Partition(order, starts.astype(np.int64), centres)


def nearest_centre(z: Array, centres: Array, n_threads: int) -> Array:
    """Index of the nearest centre of each row, about (float32)."""
    labels = np.empty(len(z), dtype=np.int32)
    sizes = np.einsum("ij,ij->i", centres, centres) / 2

    def assign(part: slice) -> None:
        labels[part] = np.argmin(sizes - z[part] @ centres.T, axis=1)

    map_blocks(assign, blocks(len(z), len(centres), values=500_000), n_threads)
    return labels
