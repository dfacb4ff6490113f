"""New points: find the lowest-level cluster, then the same placement as in the fit.

Two rules tell which cluster: the paper's, the nearest level-0 centroid; and the cluster of the
nearest training row. Rows of the training data are recognised and come back exactly where the fit
put them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._arrays import Array
from ._points.duplicates import hash_points
from .arrangement import Coordinates
from .hierarchy.tree import Hierarchy
from .layout import Layout, Mosaic
from .neighbors.blocked import BlockedIndex
from .neighbors.join import Index

RULES = ("centroid", "neighbor")


@dataclass(frozen=True, eq=False)
class Placed:
    """Where new rows belong: leaf cluster, distance to what decided it, position, known or not."""

    leaves: Array
    distances: Array
    positions: Array
    known: Array  # training row that the row equals, or -1


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

    def find(self, X: Any, n_threads: int) -> Array:
        """Index of the equal training row, or -1."""
        hashes = hash_points(X, n_threads)
        at = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return np.where(self.hashes[at] == hashes, self.rows[at], -1)


def assign_rows(
    X: Any, hierarchy: Hierarchy, index: Index | BlockedIndex | None, table: RowTable, rule: str, n_threads: int
) -> tuple[Array, Array, Array]:
    """Leaf, distance to the deciding centroid or row, and known training row (or -1) of each row."""
    known = table.find(X, n_threads)
    leaf_of = hierarchy.levels[0].members
    leaves = np.where(known >= 0, leaf_of[known], 0)
    distances = np.zeros(len(known))
    new = np.flatnonzero(known < 0)
    if len(new) and index is not None:
        found, distances[new] = index.query(X if len(new) == len(known) else X[new], n_threads)
        leaves[new] = leaf_of[found] if rule == "neighbor" else found
    return leaves, distances, known


def place_rows(
    X: Any,
    hierarchy: Hierarchy,
    coordinates: Coordinates,
    layout: Layout | Mosaic,
    index: Index | BlockedIndex | None,
    table: RowTable,
    rule: str,
    n_threads: int,
) -> Placed:
    """Positions of new rows inside the balls or regions of their leaves; each row by itself."""
    leaves, distances, known = assign_rows(X, hierarchy, index, table, rule, n_threads)
    positions = np.empty((len(leaves), layout.positions.shape[1]))
    old, new = np.flatnonzero(known >= 0), np.flatnonzero(known < 0)
    positions[old] = layout.positions[known[old]]
    if len(new):
        rows = X if len(new) == len(leaves) else X[new]
        leaf = layout.leaf
        z = leaf.centres[leaves[new]] if coordinates is None else coordinates(rows, n_threads)
        positions[new] = leaf.place(leaves[new], z)
    return Placed(leaves, distances, positions, known)
