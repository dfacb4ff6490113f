"""The hierarchy as a value: levels, labels, paths, linkage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._arrays import Array
from .._parallel import resolve_n_jobs
from .._points.point_set import NATIVE_METRICS, make_points
from .._points.reduce import fit_reducer
from ..neighbors import NeighborReport
from ..neighbors.blocked import BlockedIndex
from ..neighbors.choice import most_columns
from ..neighbors.join import Index, build_index
from .merge import merge_to


@dataclass(frozen=True, eq=False)
class Grouping:
    """Items sorted by group: group g is order[starts[g]:starts[g + 1]]."""

    order: Array
    starts: Array

    @classmethod
    def of(cls, labels: Array, n_groups: int) -> Grouping:
        starts = np.zeros(n_groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(labels, minlength=n_groups), out=starts[1:])
        return cls(np.argsort(labels, kind="stable"), starts)

    def maximum(self, values: Array) -> Array:
        """Largest value of each group (columns one by one)."""
        return np.asarray(np.maximum.reduceat(values[self.order], self.starts[:-1], axis=0))


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the hierarchy: its nodes are the components of the level below."""

    centroids: Any  # (n_nodes, n_features), dense or CSR
    sizes: Array  # rows below each node
    members: Array  # node of each item of the level below (of each row, at level 0)
    link: float  # mean distance of the first-neighbour links inside the nodes
    gap: float  # mean distance from a node to its nearest other node (nan for a single node)

    @property
    def n_nodes(self) -> int:
        return len(self.sizes)

    @cached_property
    def grouping(self) -> Grouping:
        """Items of the level below, by node."""
        return Grouping.of(self.members, self.n_nodes)


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The tree of first-neighbour components over the rows of X.

    Attributes
    ----------
    levels : tuple of Level
        From fine (0) to coarse (-1).
    metric : str or callable
    reports : tuple of NeighborReport
        How the first neighbours of the rows and of each level were found.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.hierarchy import build_hierarchy
    >>> X = np.array([[0.0], [1], [10], [11], [100], [101], [110], [111]])
    >>> tree = build_hierarchy(X)
    >>> tree
    Hierarchy(8 rows -> 4 nodes, metric='euclidean')
    >>> tree.labels(0).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    >>> tree.labels(n_clusters=2).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """

    levels: tuple[Level, ...]
    metric: Any
    reports: tuple[NeighborReport, ...] = ()
    found_index: Index | BlockedIndex | None = field(default=None, repr=False)
    far_distance: float = float("nan")  # 999 of 1000 rows have a first neighbour nearer than this

    @cached_property
    def leaf_index(self) -> Index | BlockedIndex:
        """Answers which level-0 centroid is the nearest; built when first asked for, unless the search left one."""
        if self.found_index is not None:
            return self.found_index
        centroids = self.levels[0].centroids
        if self.metric not in NATIVE_METRICS or self.levels[0].n_nodes < 2:
            return BlockedIndex(centroids, self.metric)
        points = make_points(centroids, self.metric)
        return build_index(points, resolve_n_jobs(None), fit_reducer(points, most=most_columns(points.n)))

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

    def labels(self, level: int | None = None, *, n_clusters: int | None = None, exact: bool = True) -> Array:
        """Cluster of every row.

        Parameters
        ----------
        level : int, optional
            A level of the hierarchy: 0 the finest, -1 the top.
        n_clusters : int, optional
            Instead of a level: the number of clusters wanted.
        exact : bool
            With n_clusters: True merges the nodes of the next finer level, always the two nearest,
            until exactly n_clusters are left (as FINCH does); False gives the level closest to
            n_clusters (in ratio).

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbered from 0.
        """
        if (level is None) == (n_clusters is None):
            raise ValueError("labels: give either level or n_clusters")
        if level is not None:
            return self._carry(self.check_level(level))
        assert n_clusters is not None
        if not 1 <= n_clusters <= self.n_rows:
            raise ValueError(f"n_clusters={n_clusters}: must be between 1 and the number of rows, {self.n_rows}")
        sizes = np.array(self.level_sizes)
        if not exact:
            return self._carry(int(np.argmin(np.abs(np.log(sizes / n_clusters)))))
        finer = np.flatnonzero(sizes >= n_clusters)
        if len(finer) == 0:
            raise ValueError(
                f"n_clusters={n_clusters}: the finest level has {sizes[0]} clusters; ask for at most that many"
            )
        start = int(finer[-1])
        merged = merge_to(self.levels[start].centroids, self.levels[start].sizes, n_clusters, self.metric)
        return np.asarray(merged[self._carry(start)])

    def _carry(self, level: int) -> Array:
        labels = self.levels[0].members
        for above in self.levels[1 : level + 1]:
            labels = above.members[labels]
        return labels

    def climb(self, nodes: Array, level: int, start: int = 0) -> Array:
        """The node of a level above each of some nodes of level `start`."""
        for above in self.levels[start + 1 : level + 1]:
            nodes = above.members[nodes]
        return nodes

    def check_level(self, level: int) -> int:
        """The level as a number from 0, or an error that names the range."""
        if not isinstance(level, int | np.integer) or not -self.n_levels <= level < self.n_levels:
            raise ValueError(
                f"level={level!r}: the hierarchy has levels 0 (finest) to {self.n_levels - 1} "
                f"(or -1, the top), with {list(self.level_sizes)} clusters"
            )
        return int(level) % self.n_levels

    def members(self, level: int, node: int) -> Array:
        """Rows below a node."""
        number = self.check_level(level)
        if not 0 <= node < self.levels[number].n_nodes:
            raise ValueError(f"node={node!r}: level {level} has nodes 0 to {self.levels[number].n_nodes - 1}")
        return np.flatnonzero(self._carry(number) == node)

    def path(self, row: int) -> Array:
        """The nodes that hold a row, from level 0 to the top."""
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

    def default_level(self) -> int:
        """The level whose nodes stand farthest apart for what holds them together.

        The largest ratio of the mean distance between neighbouring nodes to the mean length of the
        links inside them, among levels with at most sqrt(n_rows) nodes (or the top).
        """
        ratios = [
            level.gap / level.link if level.link > 0 and np.isfinite(level.gap) else 0.0 for level in self.levels
        ]
        few = [k for k, level in enumerate(self.levels) if level.n_nodes <= np.sqrt(self.n_rows)]
        candidates = few or [self.n_levels - 1]
        return max(candidates, key=lambda k: ratios[k])

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
        merges: list[tuple[float, float, float, float]] = []
        names = np.arange(self.n_rows)
        counts = np.ones(self.n_rows, dtype=np.int64)
        groupings = [level.grouping for level in self.levels]
        groupings.append(Grouping(np.arange(self.levels[-1].n_nodes), np.array([0, self.levels[-1].n_nodes])))
        for height, group in enumerate(groupings, start=1):
            new_names = np.empty(len(group.starts) - 1, dtype=np.int64)
            new_counts = np.empty_like(new_names)
            for g in range(len(new_names)):
                items = group.order[group.starts[g] : group.starts[g + 1]]
                name, count = names[items[0]], counts[items[0]]
                for item in items[1:]:
                    count += counts[item]
                    merges.append((float(name), float(names[item]), float(height), float(count)))
                    name = self.n_rows + len(merges) - 1
                new_names[g], new_counts[g] = name, count
            names, counts = new_names, new_counts
        return np.array(merges, dtype=np.float64).reshape(-1, 4)

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    def __len__(self) -> int:
        return self.n_levels

    def __repr__(self) -> str:
        sizes = " -> ".join(str(n) for n in self.level_sizes)
        return f"Hierarchy({self.n_rows} rows -> {sizes} nodes, metric={self.metric!r})"
