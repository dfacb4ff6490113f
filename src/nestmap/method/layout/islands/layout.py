"""The islands as a value."""

from __future__ import annotations

from dataclasses import dataclass

from ....core.arrays import Array
from ..descent import Placement
from ..frozen import Frozen
from .coasts import Coasts, trace_coasts
from .leaves import RowPlacement


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
