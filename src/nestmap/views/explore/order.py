"""Tree order: items sorted so that what is below a node is contiguous on every level; tiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.arrays import Array, brief_repr
from ...method.hierarchy import Hierarchy

ROWS = -1  # the level of the rows
MAX_TILE_ITEMS = 8192  # items of a tile


@dataclass(frozen=True, eq=False)
class TreeOrder:
    """The tree with its items renumbered; siblings by size, the largest first.

    Attributes
    ----------
    rows : ndarray
        The user's row at each place.
    clusters : tuple of ndarray
        Per level: the hierarchy's number of the node at each place.
    children : tuple of ndarray
        Per level: node i has the items children[i] to children[i + 1] of the level below.

    Examples
    --------
    >>> from nestmap import build_hierarchy
    >>> X = np.array([[0.0], [9], [1], [10], [11], [2], [99], [100], [101]])
    >>> tree = TreeOrder.of(build_hierarchy(X))
    >>> tree.rows.tolist(), tree.children[0].tolist()
    ([0, 2, 5, 1, 3, 4, 6, 7, 8], [0, 3, 6, 9])
    """

    rows: Array
    clusters: tuple[Array, ...]
    children: tuple[Array, ...]

    __repr__ = brief_repr

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> TreeOrder:
        """From the top down: nodes by the place of their parent, then by size, then by number."""
        levels = hierarchy.levels
        clusters = [np.argsort(-levels[-1].sizes.astype(np.int64), kind="stable")]
        children: list[Array] = []
        for k in range(len(levels) - 1, -1, -1):
            place = _inverse(clusters[-1])
            above = place[levels[k].members]
            counts = np.bincount(above, minlength=levels[k].n_nodes)
            children.append(np.concatenate([[0], np.cumsum(counts)]))
            if k:
                clusters.append(np.lexsort((-levels[k - 1].sizes.astype(np.int64), above)))
            else:
                rows = np.argsort(above, kind="stable")
        return cls(rows, tuple(reversed(clusters)), tuple(reversed(children)))

    @property
    def n_levels(self) -> int:
        return len(self.clusters)

    def size(self, level: int) -> int:
        """Items of a level, or rows."""
        return len(self.rows) if level == ROWS else len(self.clusters[level])

    @cached_property
    def places(self) -> Array:
        """The place of each of the user's rows."""
        return _inverse(self.rows)

    def starts(self, level: int, below: int = ROWS) -> Array:
        """Where items of each node begin on a level below, and the last end: n_nodes + 1 in all."""
        found = np.arange(self.size(level) + 1)
        for k in range(level, below, -1):
            found = self.children[k][found]
        return np.asarray(found)

    def parents(self, level: int) -> Array:
        """Place of each item's parent on the level above; not for the top."""
        above = self.children[level + 1]
        return np.repeat(np.arange(len(above) - 1), np.diff(above))

    def tiles(self, level: int, most: int = MAX_TILE_ITEMS) -> Array:
        """Where to cut a level into tiles: 0, …, the number of items.

        A tile holds as many siblings as fit; a node that is too large for one is cut among its
        children.
        """
        n = self.size(level)
        if n <= most:
            return np.array([0, n])
        starts = {k: self.starts(k, level) for k in range(level + 1, self.n_levels)}
        cuts = [0]
        self._cut(self.n_levels - 1, 0, self.size(self.n_levels - 1), level, starts, most, cuts)
        return np.array(cuts)

    def _cut(
        self,
        at: int,
        first: int,
        last: int,
        level: int,
        starts: dict[int, Array],
        most: int,
        cuts: list[int],
    ) -> None:
        """Cut the items below nodes first to last of level `at`, which are siblings."""
        if at == level:
            cuts.extend([*range(first + most, last, most), last])
            return
        begin = starts[at]
        while first < last:
            fit = min(last, int(np.searchsorted(begin, begin[first] + most, side="right")) - 1)
            if fit > first:
                cuts.append(int(begin[fit]))
                first = fit
                continue
            below = self.children[at]
            self._cut(at - 1, int(below[first]), int(below[first + 1]), level, starts, most, cuts)
            first += 1


def _inverse(order: Array) -> Array:
    found = np.empty(len(order), dtype=np.int64)
    found[order] = np.arange(len(order))
    return found
