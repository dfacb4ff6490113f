"""Levels that nest: how nodes, rows and ancestors are found, and the tree in other formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core.arrays import Array
from .level import Grouping, Level


@dataclass(frozen=True, eq=False)
class LevelTree:
    """A tree over rows, level by level: the part of `Hierarchy` that knows no clustering."""

    levels: tuple[Level, ...]

    @property
    def n_rows(self) -> int:
        return len(self.levels[0].members)

    @property
    def n_levels(self) -> int:
        return len(self.levels)

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """Number of nodes per level, fine to coarse."""
        return tuple(level.n_nodes for level in self.levels)

    def climb(self, nodes: npt.ArrayLike, level: int, start: int = 0) -> Array:
        """The ancestors of nodes on a coarser level.

        Parameters
        ----------
        nodes : array-like of int
            Nodes of level `start`.
        level, start : int
            Levels, `start` not above `level`.

        Returns
        -------
        ndarray of the shape of nodes
            The caller's own.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import build_hierarchy
        >>> tree = build_hierarchy(load_digits().data)
        >>> (tree.climb(tree.labels(0), level=2) == tree.labels(2)).all()
        np.True_
        """
        first = self.check_level(start)
        last = self.check_level(level)
        if first > last:
            raise ValueError(
                f"level={level}: must not be below start={start}, the level of the nodes"
            )
        given = np.asarray(nodes)
        n_nodes = self.levels[first].n_nodes
        if given.size and (
            given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n_nodes
        ):
            raise ValueError(
                f"nodes: level {start} has nodes 0 to {n_nodes - 1}, got {given.min()} to "
                f"{given.max()}"
            )
        found = given.astype(np.int64)
        for above in self.levels[first + 1 : last + 1]:
            found = np.asarray(above.members[found])
        return found

    def check_level(self, level: int) -> int:
        """The level as a number from 0; raises for one that does not exist."""
        if not isinstance(level, int | np.integer) or not -self.n_levels <= level < self.n_levels:
            raise ValueError(
                f"level={level!r}: the hierarchy has levels 0 (finest) to {self.n_levels - 1} "
                f"(or -1, the top), with {list(self.level_sizes)} clusters"
            )
        return int(level) % self.n_levels

    def members(self, level: int, node: int) -> Array:
        """Rows below a node, in depth-first order of the tree."""
        number = self.check_level(level)
        if not isinstance(node, int | np.integer) or not 0 <= node < self.levels[number].n_nodes:
            raise ValueError(
                f"node={node!r}: level {level} has nodes 0 to {self.levels[number].n_nodes - 1}"
            )
        items = np.array([node])
        for below in reversed(self.levels[: number + 1]):
            items = below.grouping.items_of(items)
        return items

    def path(self, row: int) -> Array:
        """The ancestors of a row, from level 0 to the top."""
        if not -self.n_rows <= row < self.n_rows:
            raise ValueError(f"row={row!r}: the hierarchy has rows 0 to {self.n_rows - 1}")
        nodes = [int(self.levels[0].members[row])]
        for level in self.levels[1:]:
            nodes.append(int(level.members[nodes[-1]]))
        return np.array(nodes)

    def parents(self, level: int) -> Array | None:
        """Parent of each node on the next coarser level; None for the top."""
        number = self.check_level(level)
        return self.levels[number + 1].members if number + 1 < self.n_levels else None

    def edges(self) -> Array:
        """The tree as a table: level and number of the parent, number of the child, rows below it.

        Children of a level-0 node are rows; children of a node of level k are nodes of level k - 1.
        """
        rows = []
        below = np.ones(self.n_rows, dtype=np.int64)
        for k, level in enumerate(self.levels):
            child = np.arange(len(level.members))
            rows.append(np.rec.fromarrays([np.full(len(child), k), level.members, child, below]))
            below = level.sizes
        table = np.concatenate(rows)
        table.dtype.names = ("level", "parent", "child", "size")
        return table

    def to_linkage(self) -> Array:
        """The tree as a linkage matrix of scipy.cluster.hierarchy: (n_rows - 1, 4).

        Members of a node merge one after the other at height level + 1; the top nodes merge at
        height n_levels + 1. Ready for `dendrogram`, `fcluster(Z, level + 1.5, "distance")`, ….
        """
        clusters = _Clusters(np.arange(self.n_rows), np.ones(self.n_rows, dtype=np.int64))
        groupings = [level.grouping for level in self.levels]
        groupings.append(Grouping.of(np.zeros(self.levels[-1].n_nodes, dtype=np.int64), 1))
        tables: list[Array] = []
        n_merges = 0
        for height, group in enumerate(groupings, start=1):
            clusters, table = _merge_members(group, clusters, self.n_rows + n_merges, height)
            n_merges += len(table)
            tables.append(table)
        return np.concatenate(tables)

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    def __len__(self) -> int:
        return self.n_levels


@dataclass(frozen=True, eq=False)
class _Clusters:
    """Clusters as SciPy's linkage matrix names them."""

    ids: Array
    counts: Array  # rows


def _merge_members(
    group: Grouping, clusters: _Clusters, next_id: int, height: int
) -> tuple[_Clusters, Array]:
    """Merge the members of each group one after the other: the merged clusters, and linkage rows.

    The member at position p of group g, unless it is the first, takes part in merge p - g - 1.
    """
    first = group.starts[:-1]
    last = group.starts[1:] - 1
    size = np.diff(group.starts)
    ids = clusters.ids[group.order]
    counts = clusters.counts[group.order]
    total = np.cumsum(counts)
    total -= np.repeat(total[first] - counts[first], size)
    # id of the cluster of each member together with those before it in its group
    so_far = np.arange(len(ids)) - np.repeat(np.arange(len(size)), size) - 1 + next_id
    so_far[first] = ids[first]
    later = np.delete(np.arange(len(ids)), first)
    table = np.stack(
        [so_far[later - 1], ids[later], np.full(len(later), height), total[later]], axis=1
    )
    return _Clusters(so_far[last], total[last]), table.astype(np.float64)
