"""The hierarchy as a value: levels, labels, paths, linkage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._input.source import load_rows
from .._input.validate import as_rows, check_number
from .._points.point_set import NATIVE_METRICS, make_points
from .._points.reduce import fit_reducer
from ..describe import LevelDescription, describe_clusters
from ..describe.tables import named_columns
from ..neighbors import NeighborReport
from ..neighbors.blocked import BlockedIndex
from ..neighbors.choice import most_columns
from ..neighbors.grown import GrownIndex
from ..neighbors.join import Index, build_index
from .level import Grouping, Level, read_only
from .merge import Links, join_shortest
from .strengths import ClusterTable, Strengths, tabulate
from .summary import HierarchySummary, pick_level, summarize_levels
from .typical import find_typical

__all__ = ["KINDS", "Grouping", "Hierarchy", "Level"]
KINDS = ("first_neighbors", "graph")


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The tree of first-neighbour components over the rows of X.

    Attributes
    ----------
    levels : tuple of Level
        From fine (0) to coarse (-1). Their arrays are read-only.
    metric : str or callable
    reports : tuple of NeighborReport
        How the first neighbours of the rows and of each level were found.
    links : tuple of Links
        First-neighbour links of the rows, of the nodes of level 0, and so on: what links[k] connect are
        the nodes of level k. They go on above the top until a single node is left.

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
    found_index: Index | BlockedIndex | GrownIndex | None = field(default=None, repr=False)
    far_distance: float = float("nan")  # 999 of 1000 rows have a first neighbour nearer than this
    links: tuple[Links, ...] = field(default=(), repr=False)
    n_new: int = 0  # rows that came after the fit: the last ones
    kind: str = (
        "first_neighbors"  # what upper levels are: components of first neighbours, or communities of a 'graph'
    )
    default: int | None = None  # the level of `labels_`, where it was decided when the tree was built
    strengths: Strengths | None = None  # of communities: how sure each row's cluster is

    def __post_init__(self) -> None:
        links = tuple(Links(read_only(each.ids), read_only(each.ranks)) for each in self.links)
        object.__setattr__(self, "links", links)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def leaf_index(self, n_threads: int = 1) -> Index | BlockedIndex | GrownIndex:
        """Answers which level-0 centroid is the nearest; built when first asked for, unless the search left one."""
        if self.found_index is None:
            object.__setattr__(self, "found_index", self._index_leaves(n_threads))
        assert self.found_index is not None
        return self.found_index

    def _index_leaves(self, n_threads: int) -> Index | BlockedIndex:
        leaf = self.levels[0]
        if self.metric not in NATIVE_METRICS:
            return BlockedIndex(leaf.centroids, self.metric, leaf.keys)
        points = make_points(leaf.centroids, self.metric, n_threads=n_threads, keys=leaf.keys)
        if leaf.n_nodes < 2:
            return Index(points)
        return build_index(points, n_threads, fit_reducer(points, most=most_columns(points.n)))

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

    def labels(
        self, level: int | None = None, *, n_clusters: int | None = None, exact: bool = True, noise: float = 0.0
    ) -> Array:
        """Cluster of every row.

        Parameters
        ----------
        level : int, optional
            A level of the hierarchy: 0 the finest, -1 the top. Neither level nor n_clusters: `default_level`, the
            level of `labels_`.
        n_clusters : int, optional
            Instead of a level: the number of clusters wanted, from 1 to n_rows.
        exact : bool
            With n_clusters: True gives exactly that many; False the level closest to n_clusters (in ratio).
        noise : float
            From 0 to 1: rows whose `membership` is less get -1. Not with an exact n_clusters.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbered from 0 by their first rows (levels of `HNNE(like=old)`: as in the old one); the caller's own.

        Notes
        -----
        Between two levels, the nodes of the finer one (below level 0: the rows) are joined along their
        first-neighbour links, the shortest first, until n_clusters are left. That is single linkage inside
        each cluster of the coarser level (where first neighbours are exact). So the clusters for any two numbers
        nest, and equal rows are the last to be split. Takes O(m log m) for m nodes of the finer level. FINCH
        merges the two nearest centroids instead, across the coarser clusters: docs/defaults.md compares them.
        """
        check_number("noise", noise, 0, 1)
        if level is not None and n_clusters is not None:
            raise ValueError("labels: give either level or n_clusters")
        if n_clusters is not None:
            self._check_n_clusters(n_clusters)
            if exact and noise:
                raise ValueError(
                    f"noise={noise!r}: how sure rows are is known on levels; give a level instead of n_clusters, "
                    f"or fit nestmap.Communities(n_clusters={n_clusters}, noise={noise!r})"
                )
            if exact:
                return self._join_to(int(n_clusters))
            level = int(np.argmin(np.abs(np.log(np.array(self.level_sizes) / n_clusters))))
        labels = self.climb(self.levels[0].members, self.default_level() if level is None else level)
        if noise:
            labels[self.membership(level) < noise] = -1
        return labels

    def membership(self, level: int | None = None) -> Array:
        """How sure the cluster of each row is on a level: the share of the row's links that stay in it.

        A row has links to its 15 nearest rows; the nearest counts 15, the next 14, and so on. 1 is deep inside, rows
        between clusters have little. Of more than 100,000 rows, leaves (or the nodes of a level above) have links, to
        their 10 nearest, and rows share those of theirs; on that level and below it is 1. docs/levels.md tells more.

        Parameters
        ----------
        level : int, optional
            Default: the level of `labels_`.

        Returns
        -------
        ndarray of shape (n_rows,), float32
            From 0 to 1; the caller's own.

        Raises
        ------
        ValueError
            For a hierarchy of first neighbours: its rows have one link each, which never leaves.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import Communities
        >>> tree = Communities().fit(load_digits().data).hierarchy_
        >>> labels = tree.labels(noise=0.5)
        >>> bool(((labels == -1) == (tree.membership() < 0.5)).all())
        True
        """
        number = self.default_level() if level is None else self.check_level(level)
        if self.strengths is not None:
            return self.strengths.of_rows(number, self)
        if self.kind == "graph":
            raise ValueError("membership: the file of this model is older than that; fit the model again")
        raise ValueError(
            "membership: a tree of first neighbours does not know how sure the cluster of a row is; fit with "
            "hierarchy='graph', or take nestmap.Communities"
        )

    def clusters(self, level: int | None = None) -> ClusterTable:
        """The clusters of a level in numbers: how large, how well separated, how stable.

        Parameters
        ----------
        level : int, optional
            Default: the level of `labels_`.

        Returns
        -------
        ClusterTable
            By number `size`; `inside`, the mean `membership` of its rows, so the share of their links that stay
            inside; and `agreement`, how far the partitions that voted for the level agree on the cluster: its overlap
            (Jaccard index, by links) with the most similar cluster of each, in the mean. NaN (–) where it is unknown:
            levels finer than that of `labels_` are not voted for, nor are clusters that came by `extend`. Prints the
            largest; `to_frame()` gives a pandas DataFrame.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from nestmap import Communities
        >>> X, y = make_blobs(300, centers=3, cluster_std=0.3, random_state=0)
        >>> table = Communities().fit(X).hierarchy_.clusters()
        >>> [(cluster.size, round(cluster.inside, 2)) for cluster in table]
        [(100, 1.0), (100, 1.0), (100, 1.0)]
        """
        return tabulate(self, self.default_level() if level is None else self.check_level(level))

    def _check_n_clusters(self, n_clusters: Any) -> None:
        number = n_clusters if isinstance(n_clusters, int | np.integer) and not isinstance(n_clusters, bool) else 0
        if not 1 <= number <= self.n_rows:
            raise ValueError(
                f"n_clusters={n_clusters!r}: must be a whole number between 1 and the number of rows, {self.n_rows}"
            )

    def _join_to(self, n_clusters: int) -> Array:
        finer = sum(n >= n_clusters for n in self.level_sizes)  # levels that have at least as many nodes
        labels = self.climb(self.levels[0].members, finer - 1) if finer else np.arange(self.n_rows)
        n_found = self.levels[finer - 1].n_nodes if finer else self.n_rows
        for links in self.links[finer:]:  # more than one only above the top
            if n_found == n_clusters:
                break
            joined = join_shortest(links, n_clusters)
            labels, n_found = joined[labels], int(joined.max()) + 1
        if n_found != n_clusters:
            raise ValueError(
                f"n_clusters={n_clusters}: this hierarchy was made without its links and can only be cut "
                f"at its levels, with {list(self.level_sizes)} clusters"
            )
        return labels

    def labels_of_leaves(self, level: int | None = None, *, n_clusters: int | None = None) -> Array:
        """Cluster of every leaf, as `labels` numbers them; n_clusters up to the number of leaves."""
        leaf = self.levels[0]
        if n_clusters is None:
            return self.climb(np.arange(leaf.n_nodes), self.default_level() if level is None else level)
        labels = self.labels(level, n_clusters=n_clusters)
        if n_clusters > leaf.n_nodes:
            raise ValueError(
                f"n_clusters={n_clusters}: new rows are told apart down to the {leaf.n_nodes} leaves; "
                f"use at most {leaf.n_nodes}, or labels(n_clusters={n_clusters}) for the rows of the fit"
            )
        found = np.empty(leaf.n_nodes, dtype=np.int64)
        found[leaf.members] = labels
        return found

    def climb(self, nodes: Any, level: int, start: int = 0) -> Array:
        """The node of a level above each of some nodes of a finer level.

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
        first, last = self.check_level(start), self.check_level(level)
        if first > last:
            raise ValueError(f"level={level}: must not be below start={start}, the level of the nodes")
        given, n_nodes = np.asarray(nodes), self.levels[first].n_nodes
        if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n_nodes):
            raise ValueError(f"nodes: level {start} has nodes 0 to {n_nodes - 1}, got {given.min()} to {given.max()}")
        found = given.astype(np.int64)
        for above in self.levels[first + 1 : last + 1]:
            found = np.asarray(above.members[found])
        return found

    def check_level(self, level: int) -> int:
        """The level as a number from 0, or an error that names the range."""
        if not isinstance(level, int | np.integer) or not -self.n_levels <= level < self.n_levels:
            raise ValueError(
                f"level={level!r}: the hierarchy has levels 0 (finest) to {self.n_levels - 1} "
                f"(or -1, the top), with {list(self.level_sizes)} clusters"
            )
        return int(level) % self.n_levels

    def members(self, level: int, node: int) -> Array:
        """Rows below a node, in tree order: those of its first child, of its second child, and so on."""
        number = self.check_level(level)
        if not isinstance(node, int | np.integer) or not 0 <= node < self.levels[number].n_nodes:
            raise ValueError(f"node={node!r}: level {level} has nodes 0 to {self.levels[number].n_nodes - 1}")
        items = np.array([node])
        for below in reversed(self.levels[: number + 1]):
            items = below.grouping.items_of(items)
        return items

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
        """The level of `labels_`.

        Of communities, the scale that stands out. Of first neighbours, that whose clusters are far apart for
        what holds them together, around their own centroids: `summary` has the figures, docs/levels.md the rule.
        """
        if self.default is None:
            object.__setattr__(self, "default", pick_level(self))
        assert self.default is not None
        return self.default

    def with_default_level(self, level: int) -> Hierarchy:
        """The same, with a level for `labels_` that was decided before: that of an older tree."""
        return replace(self, default=level)

    def summary(self) -> HierarchySummary:
        """A table of the levels: clusters, their sizes, how tight they are, how far apart, and how stable.

        Returns
        -------
        HierarchySummary
            Prints as a table, with a star at the level of `labels_`; `to_frame()` gives a pandas DataFrame.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import build_hierarchy
        >>> build_hierarchy(load_digits().data).summary()
        level  clusters  smallest  median  largest  cohesion  separation  stability  score
            0       401         2       4       20     16.44       17.08      1.000      –
            1        88         4      14      110     17.08       19.05      0.947  0.975
           *2        21        27      77      178     19.05       23.92      0.963  1.026
            3         7        74     182      616     23.92       27.51      0.926  0.802
        """
        return summarize_levels(self)

    def describe(
        self,
        level: int | None = None,
        X: Any = None,
        *,
        metadata: Any = None,
        texts: Any = None,
        names: Any = None,
        feature_names: Any = None,
        n_typical: int = 5,
    ) -> LevelDescription:
        """What the clusters of a level hold: size, typical rows, what distinguishes each, and a short name.

        Parameters
        ----------
        level : int, optional
            Default: the level of `labels_`.
        X : the training rows, optional
            Typical rows are then those nearest to the centroid, by the metric; without X, rows of the leaf whose
            centroid is the nearest. Columns with names (of a DataFrame, or `feature_names`) are described, too.
        metadata : DataFrame or dict of columns, optional
            Text, bool and whole numbers of at most 20 kinds are categories (over-represented ones are named), other
            numbers and times are compared by their means.
        texts : sequence of str, optional
            One text per row: distinctive words by class-based TF-IDF.
        names : sequence, optional
            One name per row, such as words or titles: clusters are named by their typical rows.
        feature_names : sequence of str, optional
            Names of the columns of X.
        n_typical : int
            Rows that are given as typical.

        Returns
        -------
        LevelDescription
            `names`, no two alike; by number a `ClusterDescription` (name, size, typical, traits).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from nestmap import build_hierarchy
        >>> iris = load_iris()
        >>> told = build_hierarchy(iris.data).describe(metadata={"species": iris.target_names[iris.target]})
        >>> sorted(told.names)
        ['setosa', 'versicolor', 'virginica']
        """
        number = self.default_level() if level is None else self.check_level(level)
        check_number("n_typical", n_typical, 1, np.inf, integer=True)
        columns, rows = named_columns(X, feature_names, self.n_rows), None
        if X is not None:
            rows = as_rows(load_rows(X))
        typical = find_typical(self, number, rows, int(n_typical))
        return describe_clusters(
            self.labels(number), typical, level=number, columns=columns, metadata=metadata, texts=texts, names=names
        )

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
        names, counts = np.arange(self.n_rows), np.ones(self.n_rows, dtype=np.int64)
        groupings = [level.grouping for level in self.levels]
        groupings.append(Grouping.of(np.zeros(self.levels[-1].n_nodes, dtype=np.int64), 1))
        tables: list[Array] = []
        n_merges = 0
        for height, group in enumerate(groupings, start=1):
            names, counts, table = _chain(group, names, counts, self.n_rows + n_merges, height)
            n_merges += len(table)
            tables.append(table)
        return np.concatenate(tables)

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    def __len__(self) -> int:
        return self.n_levels

    def __repr__(self) -> str:
        sizes = " -> ".join(str(n) for n in self.level_sizes)
        return f"Hierarchy({self.n_rows} rows -> {sizes} nodes, metric={self.metric!r})"


def _chain(group: Grouping, names: Array, counts: Array, next_name: int, height: int) -> tuple[Array, Array, Array]:
    """Merges the items of each group one after the other: names and counts of the groups, and the merges.

    The item at position p of group g, unless it is the first, takes part in merge p - g - 1.
    """
    first, last, size = group.starts[:-1], group.starts[1:] - 1, np.diff(group.starts)
    names, counts = names[group.order], counts[group.order]
    total = np.cumsum(counts)
    total -= np.repeat(total[first] - counts[first], size)
    # what the item of each position is called together with those before it in its group
    so_far = np.arange(len(names)) - np.repeat(np.arange(len(size)), size) - 1 + next_name
    so_far[first] = names[first]
    later = np.delete(np.arange(len(names)), first)
    table = np.stack([so_far[later - 1], names[later], np.full(len(later), height), total[later]], axis=1)
    return so_far[last], total[last], table.astype(np.float64)
