"""The islands as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ....core.arrays import Array
from ...hierarchy.tree import Hierarchy
from ..audit import Audit, audit_leaves
from ..balls import Placement
from ..frozen import Frozen
from .coasts import Coasts, trace_coasts
from .leaves import RowPlacement
from .schedule import SCHEDULE


@dataclass(frozen=True, eq=False)
class IslandsLayout(Frozen):
    """The map: positions of all rows, and what places new ones."""

    positions: Array  # (n_rows, 2) float64; in t-SNE's units the potential of a row is 1 wide
    leaf: Placement | RowPlacement
    # Of the first level before `tightness`, in t-SNE's units: `relayout` goes on from there. Empty:
    # it begins anew
    first: Array
    parents: tuple[Array, ...]  # per level, the node of each item of the level below
    detail: str  # 'leaves' or 'rows'
    tightness: float
    radius: float
    arrangement: str
    kind: str = "islands"
    # of t-SNE, in the map: other than 1 where the map was scaled onto an older one
    unit: float = 1.0

    has_room: ClassVar[bool] = True  # free places, where new leaves can be founded

    @property
    def start(self) -> Array | None:
        """Where the first level lies, if another map of the same tree can go on from there."""
        return self.first if len(self.first) else None

    @property
    def short_rows(self) -> Array | None:
        """Rows along a few directions, where they are kept."""
        return self.leaf.short if isinstance(self.leaf, RowPlacement) else None

    @property
    def piece_unit(self) -> str:
        """Leaves stand for their rows where these lie in balls."""
        return self.detail

    def keep(self, rows: Array, nodes: list[Array], hierarchy: Hierarchy) -> IslandsLayout:
        """The same without the other rows and nodes (per level); `hierarchy`: what is left."""
        leaf = self.leaf
        kept = (
            leaf.keep(rows, nodes[0], hierarchy.levels[0].grouping)
            if isinstance(leaf, RowPlacement)
            else leaf.take(nodes[0])
        )
        return self.grown(self.positions[rows], kept, hierarchy)

    def grown(self, positions: Array, leaf: Any, hierarchy: Hierarchy) -> IslandsLayout:
        """The same with more rows or fewer: where all lie, in which leaves, and the new tree."""
        parents = tuple(level.members for level in hierarchy.levels)
        first = first_places(hierarchy, positions, self.unit)
        return replace(self, positions=positions, leaf=leaf, first=first, parents=parents)

    def check_promise(self, hierarchy: Hierarchy, n_threads: int) -> Audit:
        """Rows inside the balls of their leaves, or measured alone."""
        balls = None if isinstance(self.leaf, RowPlacement) else self.leaf
        return audit_leaves(hierarchy, self.positions, balls, n_threads)

    def labels(self, level: int) -> Array:
        """Node of each row on a level."""
        found = self.parents[0]
        for parents in self.parents[1 : level % len(self.parents) + 1]:
            found = parents[found]
        return found

    def outlines(self, level: int) -> Coasts:
        """The coasts of the clusters of a level: 0 the finest, -1 the top."""
        labels = self.labels(level)
        return trace_coasts(self.positions, labels, int(labels.max()) + 1)


def first_level(hierarchy: Hierarchy) -> int:
    """The lowest level with at most 20,000 nodes, or the top."""
    few = [k for k, n in enumerate(hierarchy.level_sizes) if n <= SCHEDULE.first_nodes]
    return few[0] if few else hierarchy.n_levels - 1


def first_places(hierarchy: Hierarchy, positions: Array, unit: float) -> Array:
    """Where nodes of the islands' first level lie, in t-SNE's units: `relayout` goes on from it."""
    k = first_level(hierarchy)
    labels = hierarchy.labels(k)
    n = hierarchy.levels[k].n_nodes
    counts = np.bincount(labels, minlength=n)
    return np.stack(
        [np.bincount(labels, column, n) / (unit * counts) for column in positions.T], axis=1
    )
