"""How far a map that has grown is from what a fresh fit would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.points.point_set import make_points
from ...method.hierarchy.merge import components, link_graph
from ...method.hierarchy.tree import Hierarchy
from ...method.neighbors.metric import EUCLIDEAN, Metric
from ...method.neighbors.scan import nearest_rows
from ...method.neighbors.spaces import OtherSpace, space_of

# share of sampled rows whose first neighbour is in another leaf: then a refit is worth it
WORTH = 0.1


@dataclass(frozen=True)
class Drift:
    """What a fresh fit would do otherwise; truthy if it is worth it.

    Attributes
    ----------
    apart : float
        Share of sampled rows whose first neighbour among all rows lies in another leaf. In a fresh
        fit with exact neighbours there is none.
    far : float
        Share of sampled rows that are farther from their first neighbour than `far_distance_`.
    crowded : float
        Share of sampled leaves whose rows are not all connected by their first neighbours: a fresh
        fit would split them. In a fresh fit with exact neighbours there is none.
    n_sampled : int
    recall : float
        Of rows that came after the fit: the share of a sample whose first neighbour among all rows
        is in the leaf that they joined or founded. NaN if none came.
    n_sampled_new : int
    """

    apart: float
    far: float
    crowded: float
    n_sampled: int
    recall: float = float("nan")
    n_sampled_new: int = 0

    @property
    def worth_a_refit(self) -> bool:
        return self.apart > WORTH

    def __bool__(self) -> bool:
        return self.worth_a_refit

    def __str__(self) -> str:
        verdict = "a refit is worth it" if self.worth_a_refit else "no refit is needed"
        came = (
            f", {self.recall:.1%} of {self.n_sampled_new} new rows are with theirs"
            if self.n_sampled_new
            else ""
        )
        return (
            f"{self.apart:.1%} of {self.n_sampled} sampled rows have their first neighbour in "
            f"another leaf{came}, {self.far:.1%} are far from all others, {self.crowded:.1%} of "
            f"the leaves would split: {verdict}"
        )


def measure_drift(hierarchy: Hierarchy, X: Any, n_sample: int, n_threads: int) -> Drift:
    """Compares random rows, new ones and those of random leaves with all rows; O(n_sample · n)."""
    n = hierarchy.n_rows
    n_new = hierarchy.n_new
    leaves = hierarchy.levels[0].members
    rows = _sample(0, n, n_sample)
    new = _sample(n - n_new, n, n_sample)
    whole = _whole_leaves(leaves, hierarchy.levels[0].sizes, len(rows))
    asked = np.unique(np.concatenate([rows, new, whole]))
    ids, distances = _first_neighbors(X, hierarchy.metric, asked, n_threads)
    apart = leaves[asked] != leaves[ids]
    far = distances > hierarchy.far_distance
    own, came, together = (np.searchsorted(asked, each) for each in (rows, new, whole))
    return Drift(
        float(apart[own].mean()),
        float(far[own].mean()),
        _share_crowded(leaves, whole, ids[together]),
        len(rows),
        float(1 - apart[came].mean()) if n_new else float("nan"),
        len(new),
    )


def _sample(first: int, last: int, most: int) -> Array:
    """Random rows out of a range, ascending."""
    picked = np.random.default_rng(0).choice(last - first, min(last - first, most), replace=False)
    return np.sort(picked) + first


def _whole_leaves(leaves: Array, sizes: Array, most: int) -> Array:
    """All rows of some random leaves, at most so many, or of the smallest leaf; ascending."""
    order = np.random.default_rng(0).permutation(len(sizes))
    # what is too large comes last
    order = order[np.argsort(np.where(sizes > most, sizes, 0)[order], kind="stable")]
    n_leaves = max(1, int(np.searchsorted(np.cumsum(sizes[order]), most, side="right")))
    return np.flatnonzero(np.isin(leaves, order[:n_leaves]))


def _share_crowded(leaves: Array, rows: Array, ids: Array) -> float:
    """Share of leaves whose rows are in several pieces; `ids`: the first neighbour of each row."""
    inside = leaves[rows] == leaves[ids]
    to = np.where(inside, np.searchsorted(rows, ids), np.arange(len(rows))).clip(max=len(rows) - 1)
    pieces = components(link_graph(to))
    # the leaf of each piece
    parents = np.unique(np.stack([pieces, leaves[rows]], axis=1), axis=0)[:, 1]
    return float((np.unique(parents, return_counts=True)[1] > 1).mean())


def _first_neighbors(X: Any, metric: Metric, rows: Array, n_threads: int) -> tuple[Array, Array]:
    if metric.changes_rows:
        ids, distances = _first_neighbors(metric.rows(X, n_threads), EUCLIDEAN, rows, n_threads)
        return ids, distances * metric.factor
    if metric.has_kernels:
        space: Any = space_of(make_points(X, metric.name, n_threads=n_threads))
    else:
        space = OtherSpace(X, metric)
    ids, distances = nearest_rows(space, rows, 1, n_threads)
    return ids[:, 0], distances[:, 0]
