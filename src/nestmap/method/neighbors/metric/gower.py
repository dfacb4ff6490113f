"""Gower's distance between rows of a table with missing cells: what both rows have, averaged.

Rows are those of `nestmap.tables.gower.GowerEncoder`: as many values as presences. A column of
numbers is one value, in units of its range. A column of categories is half a unit in the place of
its category, so that two different ones are one unit apart. Values are multiples of 2^-20, so that
all sums are exact and do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.arrays import Array
from .base import CentroidKind, Metric

# a presence: the cell is there, and counts as one column; -1: it is there, and was counted before;
# 0: it is missing
PRESENT = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class GowerMetric(Metric):
    """The mean difference of two rows over the columns that both have; 1 where there are none."""

    name: str = "gower"

    @property
    def runs_in_threads(self) -> bool:
        return True

    @property
    def changes_layout(self) -> bool:
        return True

    def seen_columns(self, n_columns: int) -> int:
        return n_columns // 2

    def rows(self, X: Any, n_threads: int = 1) -> Any:
        """The values, 0 (the mean of the column) where a cell is missing."""
        return np.ascontiguousarray(X[:, : X.shape[1] // 2], dtype=np.float64)

    @property
    def centroid_kind(self) -> CentroidKind:
        return "medoid"

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return ("categories",)

    def fit(self, X: Any, params: Mapping[str, Any]) -> Metric:
        raise ValueError(
            "metric='gower' compares tables, which it encodes: HNNE(metric='gower').fit(table), in "
            "Python. For rows of numbers take another metric; the command line has an encoder of "
            "its own (leave --metric out); nestmap.tables.GowerEncoder gives rows for "
            "metric='manhattan', if no cell is missing"
        )

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        from scipy.spatial.distance import cdist

        other = _Cells.of(others)

        def measure(rows: Any) -> Array:
            own = _Cells.of(rows)
            apart = cdist(own.values, other.values, "cityblock")
            # a value beside a missing one was taken for its distance to 0
            apart -= own.absent @ np.abs(other.values).T
            apart -= np.abs(own.values) @ other.absent.T
            common = own.counts @ other.counts.T
            out = np.ones_like(apart)
            return np.asarray(np.divide(apart, common, out=out, where=common > 0))

        return measure


METRICS = (GowerMetric(),)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Rows taken apart, in float64."""

    values: Array
    absent: Array  # 1 where a cell is missing
    counts: Array  # 1 for each column that is there

    @classmethod
    def of(cls, rows: Any) -> _Cells:
        values, presence = np.split(np.asarray(rows, dtype=np.float64), 2, axis=1)
        absent = (presence == 0).astype(np.float64)
        return cls(values, absent, (presence == PRESENT).astype(np.float64))
