"""An index that grows: the index of the fit, and brute force over rows added since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from .blocked import BlockedIndex
from .join import Index
from .metric import Metric


@dataclass(frozen=True, eq=False)
class GrownIndex:
    """Two indexes as one; rows of the second are numbered after those of the first."""

    first: Index | BlockedIndex
    n_first: int
    second: BlockedIndex

    def query(self, data: Any, n_threads: int) -> tuple[Array, Array]:
        """Nearest row and distance for each row of data; ties go to the first index."""
        ids, distances = self.first.query(data, n_threads)
        later, away = self.second.query(data, n_threads)
        nearer = away < distances
        return np.where(nearer, self.n_first + later, ids), np.where(nearer, away, distances)


def grow_index(
    index: Index | BlockedIndex | GrownIndex,
    n_before: int,
    rows: Any,
    metric: Metric,
    keys: Array | None,
) -> GrownIndex:
    """Add rows to an index of the first n_before; `rows`, `keys`: of all."""
    first, n_first = (
        (index.first, index.n_first) if isinstance(index, GrownIndex) else (index, n_before)
    )
    return GrownIndex(
        first,
        n_first,
        BlockedIndex(rows[n_first:], metric, None if keys is None else keys[n_first:]),
    )
