"""Metrics between sets: rows of 0 and 1, one column for each item that a set may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ....core.arrays import Array, blocks
from .base import CentroidKind, Metric

# The parts of a fraction, between sets a and b in n columns: `both` hold, only a, only b. 0 / 0
# counts as 0.
_FRACTIONS: Mapping[str, Callable[[Array, Array, Array, float], tuple[Array, Any]]] = {
    "jaccard": lambda both, a, b, n: (a + b, both + a + b),
    "dice": lambda both, a, b, n: (a + b, 2 * both + a + b),
    "matching": lambda both, a, b, n: (a + b, n),
    "rogerstanimoto": lambda both, a, b, n: (2 * (a + b), n + a + b),
    "russellrao": lambda both, a, b, n: (n - both, n),
    "sokalsneath": lambda both, a, b, n: (2 * (a + b), both + 2 * (a + b)),
    "yule": lambda both, a, b, n: (2 * a * b, both * (n - both - a - b) + a * b),
}


@dataclass(frozen=True, eq=False, repr=False)
class SetMetric(Metric):
    """A fraction of counts of items, those of both sets and those of one alone."""

    name: str

    @property
    def accepts_sparse(self) -> bool:
        return True

    @property
    def runs_in_threads(self) -> bool:
        return True

    @property
    def centroid_kind(self) -> CentroidKind:
        return "majority"

    def check_rows(self, X: Any) -> None:
        bad = first_not_binary(X)
        if bad is not None:
            raise ValueError(
                f"metric={self.name!r} compares sets: rows hold 0 and 1 only, got {bad.value:g} at "
                f"row {bad.row}, column {bad.column}; pass X != 0, or X > threshold"
            )

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        sets = as_sets(others)
        return lambda rows: self._distances(as_sets(rows), sets)

    def _distances(self, a: Any, b: Any) -> Array:
        """From counts, which are exact in float32 up to 16 million columns.

        So equal sets are equally far from any other.
        """
        both = a @ b.T
        both = np.asarray(both.toarray() if sparse.issparse(both) else both, dtype=np.float64)
        only_a = np.asarray(a.sum(axis=1), dtype=np.float64).reshape(-1, 1) - both
        only_b = np.asarray(b.sum(axis=1), dtype=np.float64).reshape(1, -1) - both
        part, whole = _FRACTIONS[self.name](both, only_a, only_b, float(a.shape[1]))
        usable = np.asarray(whole != 0)
        return np.asarray(np.divide(part, whole, out=np.zeros_like(both), where=usable))


METRICS = tuple(SetMetric(name) for name in _FRACTIONS)


def as_sets(x: Any) -> Any:
    """Centroids as sets: the items that at least half of a cluster's rows hold.

    Where no item is held so often, the most common ones. Rows of 0 and 1 stay as they are.
    """
    if sparse.issparse(x):
        most = x.max(axis=1).toarray().ravel()
        x = x.astype(np.float32)
        x.data = (x.data >= np.repeat(np.minimum(0.5, most), np.diff(x.indptr))).astype(np.float32)
        return x
    most = x.max(axis=1, keepdims=True)
    return ((x >= np.minimum(0.5, most)) & (x > 0)).astype(np.float32)


@dataclass(frozen=True)
class Entry:
    """A value of X and where it stands."""

    row: int
    column: int
    value: float


def first_not_binary(X: Any) -> Entry | None:
    """The first value that is neither 0 nor 1."""
    if sparse.issparse(X):
        at = np.flatnonzero((X.data != 0) & (X.data != 1))
        if len(at) == 0:
            return None
        row = int(np.searchsorted(X.indptr, at[0], side="right")) - 1
        return Entry(row, int(X.indices[at[0]]), float(X.data[at[0]]))
    for part in blocks(X.shape[0], X.shape[1]):
        block = X[part]
        bad = np.argwhere((block != 0) & (block != 1))
        if len(bad):
            i, j = bad[0]
            return Entry(int(i) + part.start, int(j), float(block[i, j]))
    return None
