"""Distances that users bring: metric="precomputed"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.arrays import Array, blocks
from .base import CentroidKind, Metric, refuse_bad_distances

_ASYMMETRY = 1e-6  # share of the largest distance: d(a, b) and d(b, a) differ by more than rounding


@dataclass(frozen=True, eq=False)
class MedoidDistances:
    """Some rows of a matrix of distances that stand for clusters, and distances between them."""

    rows: Array
    distances: Array

    def __post_init__(self) -> None:
        for array in (self.rows, self.distances):
            array.setflags(write=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows)

    def __getitem__(self, some: Array) -> MedoidDistances:
        """Some of them."""
        return MedoidDistances(self.rows[some], self.distances[np.ix_(some, some)])

    def find(self, rows: Array) -> Array:
        """The places of some of the rows."""
        order = np.argsort(self.rows)
        return np.asarray(order[np.searchsorted(self.rows[order], rows)])


@dataclass(frozen=True, eq=False, repr=False)
class DistanceMatrix(Metric):
    """X holds the distance between any two rows; `MedoidDistances` on upper levels."""

    name: str = "precomputed"

    @property
    def takes_distances(self) -> bool:
        return True

    @property
    def needs_nonnegative(self) -> bool:
        return True

    @property
    def runs_in_threads(self) -> bool:
        return True

    @property
    def centroid_kind(self) -> CentroidKind:
        return "medoid"

    def check_rows(self, X: Any) -> None:
        """Raise unless X is square, symmetric and not negative; O(n^2) time, in blocks."""
        super().check_rows(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "metric='precomputed' takes a square matrix of distances between all rows, got "
                f"shape {X.shape}; for rows themselves use another metric"
            )
        for part in blocks(len(X), len(X)):
            block = np.asarray(X[part], dtype=np.float64)
            refuse_bad_distances(block, range(part.start, part.stop), range(len(X)), self)
            apart = np.abs(block - np.asarray(X[:, part], dtype=np.float64).T)
            i, j = np.unravel_index(apart.argmax(), apart.shape)
            if apart[i, j] > _ASYMMETRY * block.max():
                raise ValueError(
                    f"metric='precomputed': rows {i + part.start} and {j} are {block[i, j]:g} "
                    f"apart one way and {X[j, i + part.start]:g} the other; make distances "
                    "symmetric, such as (D + D.T) / 2"
                )

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        raise TypeError("metric='precomputed' knows no distances but those between its items")

    def between(self, items: Any, a: Any, b: Any) -> Array:
        D = items.distances if isinstance(items, MedoidDistances) else items
        return np.array(D[a, b] if isinstance(b, slice) else D[np.ix_(a, b)], dtype=np.float64)

    def to_own(self, items: Any, others: MedoidDistances, own: Array) -> Array:
        if isinstance(items, MedoidDistances):  # medoids of upper levels are medoids of leaves
            columns = items.find(others.rows)
            return np.asarray(items.distances[np.arange(len(own)), columns[own]])
        return np.asarray(items[np.arange(len(own)), others.rows[own]], dtype=np.float64)


PRECOMPUTED = DistanceMatrix()
