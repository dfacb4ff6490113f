"""New rows: find the lowest-level cluster, then the same placement as in the fit.

Two rules tell which cluster: the paper's, the nearest level-0 centroid; and the cluster of the
nearest training row. Rows of the training data are recognised and come back exactly where the fit
put them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..core.arrays import Array
from ..core.points.duplicates import first_equal, hash_points
from ..errors import FarRowsWarning
from .hierarchy import Hierarchy
from .neighbors.blocked import BlockedIndex
from .neighbors.index import Index

RULES = ("centroid", "neighbor")
_FAR_SHARE = 0.5  # of the rows of a call that are far before a warning: single rows may be far
_FAR_FACTOR = 2  # times far_distance, which is between rows: new rows are compared with centroids


@dataclass(frozen=True, eq=False)
class RowTable:
    """Recognises training rows by a 64-bit hash of their values; 16 bytes per row."""

    hashes: Array  # sorted
    rows: Array

    @classmethod
    def of(cls, hashes: Array) -> RowTable:
        """From what `hash_points` gives for the training rows."""
        order = np.argsort(hashes, kind="stable")  # of equal rows, the lowest comes first
        return cls(hashes[order], order)

    def more(self, hashes: Array) -> RowTable:
        """Append rows; O(n) by merging two sorted tables."""
        new = RowTable.of(hashes)
        at = np.searchsorted(self.hashes, new.hashes, side="right")
        rows = np.insert(self.rows, at, len(self.rows) + new.rows)
        return RowTable(np.insert(self.hashes, at, new.hashes), rows)

    def find(self, hashes: Array) -> Array:
        """Index of the equal training row (of several, the first), or -1."""
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[at] == hashes, self.rows[at], -1)

    def in_order(self) -> Array:
        """The hash of each training row."""
        hashes = np.empty_like(self.hashes)
        hashes[self.rows] = self.hashes
        return hashes

    def first_equal(self) -> Array | None:
        """For each training row the first that equals it; None if all differ."""
        return first_equal(self.hashes, self.rows)

    @property
    def n_distinct(self) -> int:
        """Training rows that differ from each other."""
        return int((self.hashes[1:] != self.hashes[:-1]).sum()) + 1

    def is_of(self, hashes: Array) -> bool:
        """Whether these are the hashes of the training rows, in their order."""
        return len(hashes) == len(self.rows) and bool((hashes[self.rows] == self.hashes).all())


@dataclass(frozen=True, eq=False)
class Assigned:
    """Leaf, distance and known training row of new rows."""

    leaves: Array  # level-0 node
    distances: Array  # to the centroid or training row that decided; 0 for training rows
    known: Array  # the training row that the row equals, or -1


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A hierarchy with what finds the cluster of a new row; FINCH is this alone."""

    hierarchy: Hierarchy
    table: RowTable
    dtype: np.dtype[Any]  # that new rows are read as
    is_sparse: bool  # new rows are stored as the training rows were
    # for new_points="neighbor": over the training rows
    row_index: Index | BlockedIndex | None = None

    def stored_alike(self, X: Any) -> Any:
        """Convert new rows to the storage of the training rows: equal values, equal hashes."""
        if self.is_sparse == sparse.issparse(X):
            return X
        return sparse.csr_matrix(X) if self.is_sparse else X.toarray()

    def assign(self, X: Any, n_threads: int, hashes: Array | None = None) -> Assigned:
        """The leaf of each row (with these hashes, if they are known); each row by itself."""
        known = self.table.find(hash_points(X, n_threads) if hashes is None else hashes)
        leaf_of = self.hierarchy.levels[0].members
        leaves = np.where(known >= 0, leaf_of[known], 0)
        distances = np.zeros(len(known))
        new = np.flatnonzero(known < 0)
        if len(new):
            rows = X if len(new) == len(known) else X[new]
            index = self.row_index or self.hierarchy.leaf_index(n_threads)
            found, distances[new] = index.query(rows, n_threads)
            leaves[new] = found if self.row_index is None else leaf_of[found]
        return Assigned(leaves, distances, known)


def warn_of_far_rows(distances: Array, far_distance: float, stacklevel: int = 3) -> None:
    """Say so, once per call, if more than half of the new rows are far from everything seen."""
    limit = _FAR_FACTOR * far_distance
    n_far = int(np.count_nonzero(distances > limit))
    # NaN, or 0: nothing to compare with
    if not far_distance > 0 or n_far <= _FAR_SHARE * len(distances):
        return
    warnings.warn(
        f"{n_far} of {len(distances)} rows are farther than {limit:.4g} from all that was "
        f"fitted, where 99.9% of the training rows have a neighbour within {far_distance:.4g}: "
        "their places mean little. Are they scaled as the training rows were? transform(X, "
        "return_distance=True) tells the distance of each",
        FarRowsWarning,
        stacklevel=stacklevel,
    )
