"""The hierarchy as a value: clusters of the rows on each level, and for any number of clusters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.input.validate import check_number
from ...core.points.point_set import make_points
from ...core.points.reduce import fit_reducer
from ...tables.encoded import Encoder
from ..describe import Facts, LevelDescription, Namer, describe_clusters
from ..describe.tables import mark_label
from ..neighbors import NeighborReport
from ..neighbors.blocked import BlockedIndex
from ..neighbors.effort import exact_columns
from ..neighbors.grown import GrownIndex
from ..neighbors.index import Index, build_index
from ..neighbors.metric import Metric
from .described import read_described
from .level import Grouping, Level, read_only
from .level_tree import LevelTree
from .merge import Links, join_shortest
from .strengths import ClusterTable, Strengths, tabulate
from .summary import HierarchySummary, pick_level, summarize_levels
from .typical import find_typical

__all__ = ["KINDS", "Grouping", "Hierarchy", "Level"]
KINDS = ("first_neighbors", "graph")


@dataclass(frozen=True, eq=False)
class Hierarchy(LevelTree):
    """The tree of first-neighbour components over the rows of X.

    Attributes
    ----------
    levels : tuple of Level
        From fine (0) to coarse (-1). Their arrays are read-only.
    metric : Metric
        Prints as its name, which it also equals if it has no parameters.
    reports : tuple of NeighborReport
        How the first neighbours of the rows and of each level were found.
    links : tuple of Links
        First-neighbour links of the rows, of the nodes of level 0, and so on: components of
        links[k] are the nodes of level k. Links continue above the top, up to a single node.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap import build_hierarchy
    >>> X = np.array([[0.0], [1], [10], [11], [100], [101], [110], [111]])
    >>> tree = build_hierarchy(X)
    >>> tree
    Hierarchy(8 rows -> 4 nodes, metric='euclidean')
    >>> tree.labels(0).tolist()
    [0, 0, 1, 1, 2, 2, 3, 3]
    >>> tree.labels(n_clusters=2).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """

    metric: Metric
    reports: tuple[NeighborReport, ...] = ()
    found_index: Index | BlockedIndex | GrownIndex | None = field(default=None, repr=False)
    far_distance: float = float("nan")  # 999 of 1000 rows have a first neighbour nearer than this
    links: tuple[Links, ...] = field(default=(), repr=False)
    n_new: int = 0  # rows added after the fit: the last ones
    kind: str = "first_neighbors"  # or "graph": levels above the leaves are communities
    default: int | None = None  # the level of `labels_`; None: decided when first asked for
    strengths: Strengths | None = None  # memberships of rows in communities
    encoder: Encoder | None = field(default=None, repr=False)  # of the tables of `HNNE`

    def __post_init__(self) -> None:
        links = tuple(Links(read_only(each.ids), read_only(each.ranks)) for each in self.links)
        object.__setattr__(self, "links", links)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def leaf_index(self, n_threads: int = 1) -> Index | BlockedIndex | GrownIndex:
        """The index of level-0 centroids; built on first use, unless the search left one."""
        if self.found_index is None:
            object.__setattr__(self, "found_index", self._index_leaves(n_threads))
        assert self.found_index is not None
        return self.found_index

    def _index_leaves(self, n_threads: int) -> Index | BlockedIndex:
        leaf = self.levels[0]
        if not self.metric.has_kernels:
            return BlockedIndex(leaf.centroids, self.metric, leaf.keys)
        points = make_points(leaf.centroids, self.metric.name, n_threads=n_threads, keys=leaf.keys)
        if leaf.n_nodes < 2:
            return Index(points)
        return build_index(points, n_threads, fit_reducer(points, most=exact_columns(points.n)))

    def labels(
        self,
        level: int | None = None,
        *,
        n_clusters: int | None = None,
        exact: bool = True,
        noise: float = 0.0,
    ) -> Array:
        """Cluster of every row.

        Parameters
        ----------
        level : int, optional
            A level of the hierarchy: 0 the finest, -1 the top. Neither level nor n_clusters:
            `default_level`, the level of `labels_`.
        n_clusters : int, optional
            Instead of a level: the number of clusters wanted, from 1 to n_rows.
        exact : bool
            With n_clusters: True gives exactly that many; False the level closest to n_clusters (in
            ratio).
        noise : float
            From 0 to 1: rows whose `membership` is less get -1. Not with an exact n_clusters.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbered from 0 by their first rows (levels of `HNNE(like=old)`: as in the old one); the
            caller's own.

        Notes
        -----
        Between two levels, the nodes of the finer one (below level 0: the rows) are joined along
        their first-neighbour links, the shortest first, until n_clusters are left. That is single
        linkage inside each cluster of the coarser level (where first neighbours are exact). So the
        clusters for any two numbers nest, and duplicate rows are the last to be split. O(m log m)
        for m nodes of the finer level. FINCH merges the two nearest centroids instead, across the
        coarser clusters: docs/explain/tree.md has both.
        """
        check_number("noise", noise, 0, 1)
        if level is not None and n_clusters is not None:
            raise ValueError("labels: give either level or n_clusters")
        if n_clusters is not None:
            self._check_n_clusters(n_clusters)
            if exact and noise:
                raise ValueError(
                    f"noise={noise!r}: how sure rows are is known on levels; give a level instead "
                    f"of n_clusters, or fit nestmap.Communities(n_clusters={n_clusters}, "
                    f"noise={noise!r})"
                )
            if exact:
                return self._join_to(int(n_clusters))
            level = int(np.argmin(np.abs(np.log(np.array(self.level_sizes) / n_clusters))))
        level = self.default_level() if level is None else level
        labels = self.climb(self.levels[0].members, level)
        if noise:
            labels[self.membership(level) < noise] = -1
        return labels

    def membership(self, level: int | None = None) -> Array:
        """Membership of each row in its cluster: the share of its neighbour links that stay inside.

        A row has links to its 15 nearest rows, with weights 15, 14, …, 1. Membership is 1 deep
        inside a cluster and low between clusters. Beyond 100,000 rows, links connect leaves (or the
        nodes of a level above) to their 10 nearest, and rows take the membership of their node; on
        that level and below it is 1. See docs/use/levels.md.

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
            raise ValueError(
                "membership: the file of this model is older than that; fit the model again"
            )
        raise ValueError(
            "membership: a tree of first neighbours does not know how sure the cluster of a row "
            "is; fit with hierarchy='graph', or take nestmap.Communities"
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
            Per cluster: `size`; `inside`, the mean `membership` of its rows; and `agreement`, its
            stability: the mean Jaccard index (by links) with the most similar cluster of each
            partition of the consensus. NaN (–) where it is unknown: for levels finer than that of
            `labels_`, which need no consensus, and clusters that came by `extend`. Prints the
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
        is_whole = isinstance(n_clusters, int | np.integer) and not isinstance(n_clusters, bool)
        if is_whole and 1 <= n_clusters <= self.n_rows:
            return
        raise ValueError(
            f"n_clusters={n_clusters!r}: must be a whole number between 1 and the number of "
            f"rows, {self.n_rows}"
        )

    def _join_to(self, n_clusters: int) -> Array:
        finer = sum(n >= n_clusters for n in self.level_sizes)  # levels with at least as many nodes
        labels = self.climb(self.levels[0].members, finer - 1) if finer else np.arange(self.n_rows)
        n_found = self.levels[finer - 1].n_nodes if finer else self.n_rows
        for links in self.links[finer:]:  # more than one only above the top
            if n_found == n_clusters:
                break
            joined = join_shortest(links, n_clusters)
            labels = joined[labels]
            n_found = int(joined.max()) + 1
        if n_found != n_clusters:
            raise ValueError(
                f"n_clusters={n_clusters}: this hierarchy was made without its links and can only "
                f"be cut at its levels, with {list(self.level_sizes)} clusters"
            )
        return labels

    def labels_of_leaves(self, level: int | None = None, *, n_clusters: int | None = None) -> Array:
        """Cluster of every leaf, numbered as by `labels`; at most as many as there are leaves."""
        leaf = self.levels[0]
        if n_clusters is None:
            level = self.default_level() if level is None else level
            return self.climb(np.arange(leaf.n_nodes), level)
        labels = self.labels(level, n_clusters=n_clusters)
        if n_clusters > leaf.n_nodes:
            raise ValueError(
                f"n_clusters={n_clusters}: new rows are told apart down to the {leaf.n_nodes} "
                f"leaves; use at most {leaf.n_nodes}, or labels(n_clusters={n_clusters}) for the "
                "rows of the fit"
            )
        found = np.empty(leaf.n_nodes, dtype=np.int64)
        found[leaf.members] = labels
        return found

    def default_level(self) -> int:
        """The level of `labels_`.

        For communities, the level at the resolution with the clearest clusters. For first
        neighbours, the level with the best score: separation relative to cohesion, times stability
        (`summary` has the figures, docs/use/levels.md the rule).
        """
        if self.default is None:
            object.__setattr__(self, "default", pick_level(self))
        assert self.default is not None
        return self.default

    def with_default_level(self, level: int) -> Hierarchy:
        """A copy whose `labels_` are those of a given level, such as that of an older tree."""
        return replace(self, default=level)

    def summary(self) -> HierarchySummary:
        """A table of the levels: number and sizes of clusters, cohesion, separation, stability.

        Returns
        -------
        HierarchySummary
            Prints as a table, with a star at the level of `labels_`; `to_frame()` gives a pandas
            DataFrame.

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
        label: str | None = None,
        n_typical: int = 5,
        namer: Namer | None = None,
    ) -> LevelDescription:
        """Describe the clusters of a level: size, typical rows, distinctive traits, a short name.

        Parameters
        ----------
        level : int, optional
            Default: the level of `labels_`.
        X : the training rows, optional
            Of a model with an encoder the raw table. With X, typical rows are those nearest to the
            centroid, by the metric; without, rows of the leaf whose centroid is nearest. Named
            columns (of a table, or by `feature_names`) are described, too.
        metadata : DataFrame or dict of columns, optional
            Text, bool and whole numbers of at most 20 kinds are categories (over-represented ones
            are named), other numbers and times are compared by their ranks.
        texts : sequence of str, optional
            One text per row: distinctive words by class-based TF-IDF.
        names : sequence, optional
            One name per row, such as words or titles: clusters are named by their typical rows.
        feature_names : sequence of str, optional
            Names of the columns of X.
        label : str, optional
            The column of metadata that names come from first, if most rows of a cluster agree.
        n_typical : int
            Rows that are given as typical.
        namer : callable, optional
            Gets a `ClusterToName` for each cluster and returns its name, such as a language model
            does (docs/use/names.md). `HNNE.describe` asks for several levels.

        Returns
        -------
        LevelDescription
            `names`, no two alike; by number a `ClusterDescription` (name, size, typical, traits,
            evidence).

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from nestmap import build_hierarchy
        >>> iris = load_iris()
        >>> species = {"species": iris.target_names[iris.target]}
        >>> told = build_hierarchy(iris.data).describe(metadata=species)
        >>> sorted(told.names)
        ['setosa', 'versicolor', 'virginica']
        """
        number = self.default_level() if level is None else self.check_level(level)
        check_number("n_typical", n_typical, 1, np.inf, integer=True)
        rows, columns = read_described(self, X, feature_names)
        typical = find_typical(self, number, rows, int(n_typical))
        facts = Facts.of(self.n_rows, metadata=metadata, texts=texts, names=names)
        facts = replace(facts, columns=mark_label((*columns, *facts.columns), label))
        told = describe_clusters(
            self.labels(number),
            typical,
            level=number,
            columns=facts.columns,
            texts=facts.words,
            names=names,
            finer=self.labels(number - 1) if number else None,
        )
        from .asking import describe_level_with  # these two describe hierarchies
        from .naming import name_mixed

        told = name_mixed(self, told, facts)
        if namer is None:
            return told
        return describe_level_with(self, told, namer, facts, texts)

    def __repr__(self) -> str:
        sizes = " -> ".join(str(n) for n in self.level_sizes)
        return f"Hierarchy({self.n_rows} rows -> {sizes} nodes, metric={self.metric!r})"
