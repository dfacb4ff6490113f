"""How far a map that has grown is from what a fresh fit would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array
from .._points.point_set import NATIVE_METRICS, make_points
from ..hierarchy.tree import Hierarchy
from ..neighbors.row_metric import RowMetric
from ..neighbors.scan import nearest_rows
from ..neighbors.spaces import OtherSpace, space_of

WORTH = 0.1  # share of sampled rows whose first neighbour is in another leaf: then a refit is worth it
_SPLIT = 2  # times as many rows as the leaf that is the largest but for one in a hundred


@dataclass(frozen=True)
class Drift:
    """What a fresh fit would do otherwise; truthy if it is worth it.

    Attributes
    ----------
    apart : float
        Share of sampled rows whose first neighbour among all rows lies in another leaf. In a fresh fit with exact
        neighbours there is none.
    far : float
        Share of sampled rows that are farther from their first neighbour than `far_distance_`.
    crowded : float
        Share of the leaves with more than twice as many rows as 99% of the leaves had: they would have split.
    n_sampled : int
    """

    apart: float
    far: float
    crowded: float
    n_sampled: int

    @property
    def worth_a_refit(self) -> bool:
        return self.apart > WORTH

    def __bool__(self) -> bool:
        return self.worth_a_refit

    def __str__(self) -> str:
        verdict = "a refit is worth it" if self.worth_a_refit else "no refit is needed"
        return (
            f"{self.apart:.1%} of {self.n_sampled} sampled rows have their first neighbour in another leaf, "
            f"{self.far:.1%} are far from all others, {self.crowded:.1%} of the leaves are crowded: {verdict}"
        )


def measure_drift(hierarchy: Hierarchy, X: Any, n_sample: int, n_threads: int) -> Drift:
    """Compares random rows with all rows; O(n_sample · n)."""
    n = hierarchy.n_rows
    rows = np.sort(np.random.default_rng(0).choice(n, min(n, n_sample), replace=False))
    ids, distances = _first_neighbors(X, hierarchy.metric, rows, n_threads)
    leaves, sizes = hierarchy.levels[0].members, hierarchy.levels[0].sizes
    usual = float(np.quantile(sizes, 0.99))
    return Drift(
        float((leaves[rows] != leaves[ids]).mean()), float((distances > hierarchy.far_distance).mean()),
        float((sizes > _SPLIT * usual).mean()), len(rows),
    )  # fmt: skip


def _first_neighbors(X: Any, metric: Any, rows: Array, n_threads: int) -> tuple[Array, Array]:
    if isinstance(metric, RowMetric):
        ids, distances = _first_neighbors(metric.rows(X, n_threads), "euclidean", rows, n_threads)
        return ids, distances * metric.factor
    if isinstance(metric, str) and metric in NATIVE_METRICS:
        space: Any = space_of(make_points(X, metric, n_threads=n_threads))
    else:
        space = OtherSpace(X, metric)
    ids, distances = nearest_rows(space, rows, 1, n_threads)
    return ids[:, 0], distances[:, 0]
