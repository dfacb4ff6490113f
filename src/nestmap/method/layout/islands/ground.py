"""What islands are made on: the tree, the items of the neighbour graph, and their order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import Array
from ...arrangement import Arrangement
from ...arrangement.frames import DistinctRows, Frames
from ...arrangement.old import OldPlaces
from ..balls import Anchored, Placement, make_placement, separate
from ..base import LayoutInput
from ..similarity import Similarity, align
from .items import Items, base_items, node_items, node_ranks
from .layout import IslandsLayout
from .leaves import RowPlacement


@dataclass(frozen=True, eq=False)
class IslandsInput(LayoutInput):
    """What a map of islands is made from.

    The preliminary embedding says where the nodes of the first level begin: the lowest one with at
    most 20,000 nodes. The hashes of the rows decide in which order items are added up.

    Attributes
    ----------
    radius : float
        Of a leaf's ball, as a fraction of the distance to the nearest other leaf (detail="leaves").
    detail : {'leaves', 'rows'}
    tightness : float
        Attraction in the last phases, in t-SNE's units: more makes islands smaller and seas wider.
    """

    radius: float = 1 / 3
    detail: str = "leaves"
    tightness: float = 1.0


@dataclass(frozen=True, eq=False)
class Ground:
    """The input, and what follows from it for all levels."""

    given: IslandsInput
    base: Items  # of the neighbour graph
    ranks: list[Array]  # of the nodes, per level
    distinct: DistinctRows | None

    @classmethod
    def of(cls, given: IslandsInput) -> Ground:
        hierarchy = given.hierarchy
        rows = given.preliminary.rows
        distinct = DistinctRows.of(hierarchy.levels[0], given.first_equal)
        ranks = node_ranks(hierarchy, given.preliminary)
        base = base_items(
            hierarchy, given.graph, rows, ranks, given.row_keys, distinct, given.n_threads
        )
        return cls(given, base, ranks, distinct)

    def items(self, k: int) -> Items:
        """The nodes of level k."""
        return node_items(self.given.hierarchy, k, self.ranks, self.base)

    def some(self, of_rows: Array) -> Array:
        """What belongs to rows, of equal ones to the first alone."""
        return of_rows if self.distinct is None else of_rows[self.distinct.rows]

    def every(self, of_some: Array) -> Array:
        """The way back: for all rows."""
        return of_some if self.distinct is None else of_some[self.distinct.of_row]

    def clusters(self, k: int) -> Array | None:
        """Of `labels_`, for the nodes of level k; None if these are coarser.

        k = -1: the rows, of equal ones the first.

        The paper's are none to keep together: neighbours are often in another one.
        """
        tree = self.given.hierarchy
        if tree.kind != "graph" or k > tree.default_level():
            return None
        if k < 0:
            return self.some(tree.labels(tree.default_level()))
        return tree.climb(np.arange(tree.levels[k].n_nodes), tree.default_level(), k)

    def place_members(
        self, k: int, positions: Array, ball: float, arrangement: Arrangement | None = None
    ) -> PlacedMembers:
        """The members of level k around their nodes as arranged; of leaves, of equal rows one."""
        given = self.given
        placement, frames = make_placement(
            Anchored(
                given.hierarchy,
                k,
                arrangement or given.arrangement,
                positions,
                ball,
                1.0,
                None if k else self.distinct,
                given.n_threads,
            )
        )
        members = given.hierarchy.levels[k].members
        positions = placement.settle(members, frames.offsets, given.n_threads)
        if k:
            positions = separate(positions, members, placement)
        return PlacedMembers(placement, positions, frames)

    def finish(
        self, leaf: Placement | RowPlacement, positions: Array, first: Array, unit: float
    ) -> IslandsLayout:
        """The map: `positions` of all rows; `first`: of the first level before `tightness`."""
        given = self.given
        return IslandsLayout(
            positions if given.first_equal is None else positions[given.first_equal],
            leaf,
            first,
            tuple(level.members for level in given.hierarchy.levels),
            given.detail,
            given.tightness,
            given.radius,
            given.arrangement.kind,
            unit=unit,
        )


@dataclass(frozen=True, eq=False)
class PlacedMembers:
    """The members of the nodes of a level: how they are placed, where, and their frames."""

    placement: Placement
    positions: Array
    frames: Frames


def onto_old(positions: Array, places: OldPlaces | None, k: int) -> Similarity:
    """What takes nodes of level k (-1: the rows) onto their places in an older map, if any."""
    if places is None:
        return Similarity(np.eye(2), np.zeros(2), 1.0)
    lay, known = places.on_level(k)
    return align(positions[known], lay[known])
