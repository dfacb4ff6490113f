"""Where items of the tree lie in a map: centres, radii, tiles with their boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import Frame
from ...method.layout.pieces import Pieces
from .order import ROWS, TreeOrder

_COVERED_SHARE = 0.9  # of a node's rows that its radius covers


@dataclass(frozen=True, eq=False)
class Tiles:
    """Tiles of one level: items cuts[t] to cuts[t + 1], their origin, the box of all rows below."""

    cuts: Array
    origins: Array  # (n_tiles, 2) float64
    boxes: Array  # (n_tiles, 4): low x, low y, high x, high y

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def record(self) -> dict[str, Any]:
        """As columns, for meta.json."""
        return {
            "begin": self.cuts[:-1].tolist(),
            "end": self.cuts[1:].tolist(),
            "origin": self.origins.tolist(),
            "box": self.boxes.tolist(),
        }


def make_tiles(tree: TreeOrder, level: int, positions: Array, frame: Frame) -> Tiles:
    """Cut a level; `positions`: of the rows, in tree order.

    Origins are in the middle of what of a tile lies in the frame: float32 is precise near them.
    """
    cuts = tree.tiles(level)
    first = cuts if level == ROWS else tree.starts(level)[cuts]
    low = np.minimum.reduceat(positions, first[:-1], axis=0)
    high = np.maximum.reduceat(positions, first[:-1], axis=0)
    is_shown = ((low <= frame.high) & (high >= frame.low)).all(axis=1, keepdims=True)
    from_here = np.where(is_shown, np.maximum(low, frame.low), low)
    to_here = np.where(is_shown, np.minimum(high, frame.high), high)
    return Tiles(cuts, from_here + (to_here - from_here) / 2, np.hstack([low, high]))


def centres(starts: Array, positions: Array, outside: Array | None = None) -> Array:
    """The mean place of the rows of each group: of group g, positions[starts[g]:starts[g + 1]].

    Rows `outside` the frame count only in groups that have no others: a few rows far out would move
    a group, and its name, to where none of its rows is.
    """
    middle = positions[0]  # sums of differences keep more digits than sums of coordinates
    sizes = np.diff(starts)
    away = positions - middle
    if outside is not None and outside.any():
        n_outside = np.add.reduceat(outside.astype(np.int64), starts[:-1])
        has_others = n_outside < sizes
        away[outside & np.repeat(has_others, sizes)] = 0
        sizes = np.where(has_others, sizes - n_outside, sizes)
    sums = np.add.reduceat(away, starts[:-1], axis=0)
    return np.asarray(middle + sums / sizes[:, None])


def radii(starts: Array, positions: Array, middle: Array) -> Array:
    """The distance from its centre within which 90% of a group's rows lie.

    One sort for all groups: distances as float32 bits, which sort like the numbers, below the
    number of the group.
    """
    sizes = np.diff(starts)
    away = np.hypot(*(positions - np.repeat(middle, sizes, axis=0)).T).astype(np.float32)
    keys = np.repeat(np.arange(len(sizes), dtype=np.uint64) << np.uint64(32), sizes)
    keys |= away.view(np.uint32)
    keys.sort()
    last = starts[:-1] + np.ceil(_COVERED_SHARE * sizes).astype(np.int64) - 1
    return np.asarray((keys[last] & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32))


@dataclass(frozen=True, eq=False)
class SplitNodes:
    """Nodes of a level that do not lie in one place, in tree order."""

    nodes: Array
    places: Array  # how many; 0: scattered
    centres: Array  # (n, 2): of the largest piece of each
    radii: Array  # hold 90% of the rows of that piece


def find_split(tree: TreeOrder, pieces: Pieces, of_row: Array, positions: Array) -> SplitNodes:
    """Nodes that do not lie in one place; `of_row` (pieces) and `positions` are in tree order."""
    clusters = tree.clusters[pieces.level]
    nodes = np.flatnonzero(pieces.n_places[clusters] != 1)
    largest = pieces.largest[clusters[nodes]]
    if not len(nodes):
        return SplitNodes(nodes, largest, np.empty((0, 2)), np.empty(0))
    wanted = np.zeros(len(pieces.rows), dtype=bool)
    wanted[largest] = True
    own = positions[wanted[of_row]]  # of one node after the other
    starts = np.concatenate([[0], np.cumsum(pieces.rows[largest])])
    middle = centres(starts, own)
    return SplitNodes(nodes, pieces.n_places[clusters[nodes]], middle, radii(starts, own, middle))
