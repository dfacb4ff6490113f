"""A fresh fit whose map lies on an older one: where rows lay, what numbers clusters keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.arrangement.old import OldPlaces
from ...method.hierarchy.merge import Links
from ...method.hierarchy.tree import Hierarchy, Level
from ...method.layout.base import Origin
from ...method.placement import FittedTree, RowTable
from ...method.rows import TrainingRows
from ..comparison.match import match_hashes, match_names, partner_level
from ..fitted import FittedMap
from ..settings import FitSettings


@dataclass(frozen=True, eq=False)
class OldMap:
    """A fitted map, and the rows that it shares with new data: its row old[i] is their new[i]."""

    fitted: FittedMap
    label_level: int
    old: Array
    new: Array

    def origin(self, hierarchy: Hierarchy, settings: FitSettings, seed: int) -> Origin:
        """The places of the old map, as what the new one begins with."""
        assert settings.layout is not None
        layout = self.fitted.layout
        positions = np.zeros((hierarchy.n_rows, settings.n_components))
        known = np.zeros(hierarchy.n_rows, dtype=bool)
        positions[self.new] = layout.positions[self.old]
        known[self.new] = True
        scale = settings.layout.scale_from(layout, hierarchy.n_rows)
        return Origin(seed, None, OldPlaces.of(hierarchy, positions, known), scale)

    def renumber(self, tree: FittedTree) -> FittedTree:
        """The tree with the old numbers of clusters on every level.

        `labels_` are those of the old one's level.
        """
        old = self.fitted.tree.hierarchy
        new = tree.hierarchy
        partners = [partner_level(n, old.level_sizes) for n in new.level_sizes]
        numbers = [
            keep_numbers(old.labels(partner)[self.old], new.labels(k)[self.new], new.level_sizes[k])
            for k, partner in enumerate(partners)
        ]
        level = partner_level(old.level_sizes[self.label_level], new.level_sizes)
        return replace(tree, hierarchy=renumber(new, numbers).with_default_level(level))


@dataclass(frozen=True, eq=False)
class OldModel:
    """An older model that a fit is to follow, and names of its rows and of the new ones."""

    fitted: FittedMap
    label_level: int
    n_features: int
    ids: Any = None


def match_old(old: OldModel, rows: TrainingRows, n_components: int) -> OldMap:
    """The old map with the rows it shares with new ones, by values or by names (see `compare`)."""
    X = rows.X
    dims = old.fitted.layout.positions.shape[1]
    ids = old.ids
    if dims != n_components:
        raise ValueError(
            f"like: the old map has {dims} dimensions; use n_components={dims}, not {n_components}"
        )
    if ids is None and old.n_features != X.shape[1]:
        raise ValueError(
            f"like: X has {X.shape[1]} columns, the old rows have {old.n_features}, so none of "
            "them are equal; give ids=(names of the old rows, names of the rows of X), or "
            "fit without like"
        )
    table = RowTable.of(rows.hashes)
    fitted = old.fitted
    n_rows = len(table.rows)
    if ids is None:
        shared = match_hashes(fitted.tree.table.in_order(), table.in_order())
    else:
        shared = match_names(ids, fitted.tree.hierarchy.n_rows, n_rows)
    if len(shared[0]) == 0:
        by = "values" if ids is None else "names"
        way = (
            "; give ids=(names of the old rows, names of the rows of X), or fit without like"
            if ids is None
            else ""
        )
        raise ValueError(
            f"like: none of the {n_rows} rows of X is among the {fitted.tree.hierarchy.n_rows} "
            f"rows of the old map, by their {by}{way}"
        )
    return OldMap(fitted, old.label_level, *shared)


def keep_numbers(old: Array, new: Array, n: int) -> Array:
    """Numbers for n new clusters.

    Those of the old ones that they share the most rows with, if they are below n.

    Pairs with the most common rows come first, each number is given once. What is left takes free
    numbers, in order.

    Parameters
    ----------
    old, new : ndarray of int
        Cluster of each common row, before and after.

    Examples
    --------
    >>> keep_numbers(np.array([0, 0, 0, 1, 1]), np.array([1, 1, 2, 0, 0]), 3).tolist()
    [1, 0, 2]
    """
    pairs, counts = np.unique(np.stack([old, new], axis=1)[old < n], axis=0, return_counts=True)
    pairs = pairs[np.argsort(-counts, kind="stable")]
    numbers = np.full(n, -1, dtype=np.int64)
    while len(pairs):  # a pair that comes first for both of its clusters is settled
        first = [np.zeros(len(pairs), dtype=bool) for _ in range(2)]
        for side, mark in enumerate(first):
            mark[np.unique(pairs[:, side], return_index=True)[1]] = True
        settled = pairs[first[0] & first[1]]
        numbers[settled[:, 1]] = settled[:, 0]
        left = ~np.isin(pairs[:, 0], settled[:, 0]) & ~np.isin(pairs[:, 1], settled[:, 1])
        pairs = pairs[left]
    numbers[numbers < 0] = np.setdiff1d(np.arange(n), numbers)
    return numbers


def renumber(hierarchy: Hierarchy, numbers: list[Array]) -> Hierarchy:
    """The same tree whose nodes have other numbers; numbers[k][i] is that of node i of level k."""
    levels: list[Level] = []
    before = np.arange(hierarchy.n_rows)
    for level, after in zip(hierarchy.levels, numbers, strict=True):
        order = np.argsort(after)
        members = np.empty_like(level.members)
        members[before] = after[level.members]
        levels.append(level.take(order, members))
        before = after
    links = list(hierarchy.links)
    for k, after in enumerate(numbers, start=1):
        if k < len(links):
            order = np.argsort(after)
            ids = after.astype(links[k].ids.dtype)[links[k].ids]
            links[k] = Links(ids[order], links[k].ranks[order])
    strengths = hierarchy.strengths
    if strengths is not None and strengths.level >= 0:
        strengths = strengths.take(np.argsort(numbers[strengths.level]))
    return replace(
        hierarchy, levels=tuple(levels), links=tuple(links), found_index=None, strengths=strengths
    )
