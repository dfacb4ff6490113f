"""Clustering without a map.

FINCH (Sarfraz et al., CVPR 2019), and communities of the neighbour graph.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.habits import refuse_habits
from ..core.input.memory import memory_budget
from ..core.input.training import assign_fitted, read_new, read_training
from ..core.input.validate import check_number
from ..core.progress import Progress
from ..core.threads import resolve_n_jobs
from ..errors import ModelFileError
from ..method.hierarchy import Grouping
from ..method.hierarchy.build import merge_items
from ..method.hierarchy.graph_levels import membership
from ..method.hierarchy.medoids import find_medoids
from ..method.neighbors.blocked import BlockedIndex
from ..method.placement import FittedTree
from ..method.rows import RowsHere
from ..method.run import Run
from ..model.files.model import SavedModel, check_array, save_model
from ..model.fit import Grown, grow_tree
from ..model.settings import FitSettings
from .parameters import MetricEstimator


class TreeClustering(ClusterMixin, MetricEstimator):
    """What `FINCH` and `Communities` share: a hierarchy, and labels from it."""

    _hierarchy = "first_neighbors"  # as `nestmap.HNNE` calls it
    _min_nodes = 3  # of a level

    @refuse_habits
    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        neighbors: Any = "auto",
        target_recall: float = 0.9,
        max_memory: int | str | None = None,
        work_dir: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.neighbors = neighbors
        self.target_recall = target_recall
        self.max_memory = max_memory
        self.work_dir = work_dir
        self.callback = callback
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Build all partitions of X; y is ignored.

        A fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : array-like, CSR matrix, path of a .npy file, or what has shape, dtype and row slicing
        """
        settings = self._asked()
        run = Run(resolve_n_jobs(self.n_jobs), Progress(self.verbose, self.callback))
        budget = memory_budget(self.max_memory)
        X, features = read_training(
            self, X, budget.size, settings.folder(), run.progress.share, run.n_threads
        )
        self._check_parameters(X.shape[0])
        settings.check(X.shape[0])
        grown = grow_tree(RowsHere(X, run), settings, run)
        run.progress.done()
        tree = grown.tree
        labels = self._choose(tree)
        known = features | self._measure(grown, labels)
        self._assign(tree, known, labels, *_centers(X, labels, tree, grown.run))
        return self

    def _asked(self) -> FitSettings:
        """What a fit with these parameters is asked for."""
        return FitSettings(
            metric=self.metric,
            metric_params=self.metric_params,
            hierarchy=self._hierarchy,
            min_nodes=self._min_nodes,
            neighbors=self.neighbors,
            target_recall=self.target_recall,
            max_memory=self.max_memory,
            work_dir=self.work_dir,
        )

    def _check_parameters(self, n_rows: int) -> None:
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, 1, n_rows, integer=True)

    def _measure(self, grown: Grown, labels: Array) -> dict[str, Any]:
        """Further fitted attributes, which depend on the labels."""
        return {}

    def _choose(self, tree: FittedTree) -> Array:
        if self.n_clusters is None:
            return tree.hierarchy.labels(tree.hierarchy.default_level())
        return tree.hierarchy.labels(n_clusters=int(self.n_clusters))

    def _assign(
        self,
        tree: FittedTree,
        features: dict[str, Any],
        labels: Array,
        centers: Any,
        medoids: Array | None,
    ) -> None:
        """All fitted attributes at once; those of `features` come first."""
        hierarchy = tree.hierarchy
        leaf = tree.hierarchy.levels[0]
        n_clusters = int(labels.max()) + 1
        label_of_leaf = None
        if n_clusters <= leaf.n_nodes:  # clusters hold whole leaves, so a leaf tells the label
            label_of_leaf = np.empty(leaf.n_nodes, dtype=np.int64)
            label_of_leaf[leaf.members] = labels
        state = {
            "labels_": labels,
            "cluster_centers_": centers,
            "medoid_indices_": medoids,
            "partitions_": np.stack(
                [hierarchy.labels(k) for k in range(hierarchy.n_levels)], axis=1
            ),
            "n_clusters_": list(hierarchy.level_sizes),
            "hierarchy_": hierarchy,
            "_fitted": tree,
            "_clusters": labels,
            "_label_of_leaf": label_of_leaf,
            **features,
        }
        assign_fitted(self, state)

    def predict(self, X: Any, level: int | None = None, *, n_clusters: int | None = None) -> Array:
        """Cluster of new rows, by the nearest finest-level centroid (default: as in `labels_`).

        On a level, or for a number of clusters up to that of the finest level, as in
        `Hierarchy.labels`. Where `labels_` has more clusters than the finest level: by the nearest
        of `cluster_centers_`.
        """
        check_is_fitted(self)
        tree = self._fitted
        n_threads = resolve_n_jobs(self.n_jobs)
        label_of = self._label_of_leaf
        if level is not None or n_clusters is not None:
            label_of = self.hierarchy_.labels_of_leaves(level, n_clusters=n_clusters)
        labels = []
        for rows in read_new(self, X, tree.dtype, n_threads):
            rows = tree.stored_alike(rows)
            found = tree.assign(rows, n_threads)
            if label_of is not None:
                labels.append(label_of[found.leaves])
            else:
                known = self._clusters[found.known]
                labels.append(np.where(found.known >= 0, known, self._nearest(rows, n_threads)))
        return np.concatenate(labels)

    def _nearest(self, rows: Any, n_threads: int) -> Array:
        """The nearest of `cluster_centers_`."""
        if self.cluster_centers_ is None:  # rows of distances
            return np.asarray(rows[:, self.medoid_indices_].argmin(axis=1))
        return BlockedIndex(self.cluster_centers_, self.hierarchy_.metric).query(rows, n_threads)[0]

    def save(self, path: Any) -> None:
        """Write the fitted model to one file for `nestmap.load`, as `nestmap.HNNE.save` does."""
        check_is_fitted(self)
        save_model(path, self, self._fitted, self._extra())

    def _extra(self) -> dict[str, Any]:
        """What a file keeps beside the tree."""
        return {
            "labels": self._clusters,
            "centers": self.cluster_centers_,
            "medoids": self.medoid_indices_,
        }

    @classmethod
    def _restore(cls, saved: SavedModel) -> Self:
        """The estimator that was saved."""
        assert isinstance(saved.fitted, FittedTree)
        n_rows = saved.fitted.hierarchy.n_rows
        centers = saved.extra.get("centers")
        medoids = saved.extra.get("medoids")
        labels = check_array(saved.extra.get("labels"), "i", (n_rows,), "labels")
        n_clusters = int(labels.max()) + 1
        if labels.min() < 0 or (centers is None and medoids is None):
            raise ModelFileError("labels or the centres of their clusters are missing")
        if medoids is not None:
            check_array(medoids, "i", (n_clusters,), "medoids")
        if centers is not None and getattr(centers, "shape", None) != (
            n_clusters,
            saved.features["n_features_in_"],
        ):
            raise ModelFileError("the centres do not fit the labels")
        model = cls(**saved.parameters)
        model._assign(
            saved.fitted, saved.features | model._restored(saved, labels), labels, centers, medoids
        )
        return model

    def _restored(self, saved: SavedModel, labels: Array) -> dict[str, Any]:
        """What else is known of labels, from a file."""
        return {}


class FINCH(TreeClustering):
    """Clustering by first-neighbour relations, without parameters.

    Parameters
    ----------
    n_clusters : int or None
        None: `labels_` are those of the partition that a rule picks (`Hierarchy.default_level`).
        A number from 1 to n_rows: exactly that many, between two partitions by
        their first-neighbour links, the shortest first (`Hierarchy.labels`).
    metric, metric_params, neighbors, target_recall, max_memory, work_dir, callback, n_jobs, verbose
        As in `nestmap.HNNE`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
    cluster_centers_ : array or CSR matrix of shape (n_clusters, n_features)
        Means of the rows of each cluster of `labels_`, or medoids where means make no sense; None
        for metric='precomputed'.
    medoid_indices_ : ndarray of shape (n_clusters,) or None
        The rows that are the medoids, for metrics that have them.
    partitions_ : ndarray of shape (n_rows, n_partitions)
        All partitions, fine to coarse, down to the last with at least two clusters.
    n_clusters_ : list of int
        Clusters per partition.
    hierarchy_ : Hierarchy

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from nestmap import FINCH
    >>> X, y = make_blobs(300, centers=3, cluster_std=0.3, random_state=0)
    >>> len(set(FINCH(n_clusters=3).fit_predict(X)))
    3
    """

    _min_nodes = 2


class Communities(TreeClustering):
    """Clusters on several scales from the neighbour graph of the rows, without parameters or a map.

    The tree of `nestmap.HNNE(hierarchy="graph")` alone (docs/use/levels.md).

    Parameters
    ----------
    n_clusters : int or None
        None: `labels_` are the communities on the scale that stands out. A number from 1 to n_rows:
        exactly that many.
    noise : float
        From 0 to 1: rows whose `membership_` is less have -1 in `labels_`. 0.5 leaves out rows most
        of whose links go elsewhere.
    metric, metric_params, neighbors, target_recall, max_memory, work_dir, callback, n_jobs, verbose
        As in `nestmap.HNNE`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
        -1 is noise.
    membership_ : ndarray of shape (n_rows,), float32
        How sure: the share of a row's links (to its 15 nearest rows, nearer ones count more) that
        stay in its cluster (`Hierarchy.membership`).
    coverage_ : float
        Share of the rows that are not noise.
    cluster_centers_, medoid_indices_, partitions_, n_clusters_, hierarchy_
        As in `FINCH`. Rows that are noise count for the clusters that they are in.

    Notes
    -----
    `predict` gives the cluster of each row, and never -1: how sure that is, is measured in a fit
    alone. With noise it is what BERTopic takes as `hdbscan_model`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from nestmap import Communities
    >>> X, y = make_blobs(300, centers=3, cluster_std=0.3, random_state=0)
    >>> model = Communities().fit(X)
    >>> len(set(model.labels_)), model.membership_.min() > 0.9
    (3, np.True_)
    """

    _hierarchy = "graph"

    @refuse_habits
    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        noise: float = 0.0,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        neighbors: Any = "auto",
        target_recall: float = 0.9,
        max_memory: int | str | None = None,
        work_dir: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            metric_params=metric_params,
            neighbors=neighbors,
            target_recall=target_recall,
            max_memory=max_memory,
            work_dir=work_dir,
            callback=callback,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.noise = noise

    def _check_parameters(self, n_rows: int) -> None:
        super()._check_parameters(n_rows)
        check_number("noise", self.noise, 0, 1)

    def _measure(self, grown: Grown, labels: Array) -> dict[str, Any]:
        hierarchy = grown.tree.hierarchy
        if self.n_clusters is None:
            return self._sure(labels, hierarchy.membership())
        lists = self._asked().given_lists(hierarchy.n_rows)
        return self._sure(
            labels, membership(labels, hierarchy, grown.graph, lists, grown.run.n_threads)
        )

    def _sure(self, labels: Array, strengths: Array) -> dict[str, Any]:
        """Attributes that say how sure the cluster of each row is."""
        sure = strengths >= self.noise
        return {
            "labels_": np.where(sure, labels, -1),
            "membership_": strengths,
            "coverage_": float(sure.mean()),
        }

    def _extra(self) -> dict[str, Any]:
        return {**super()._extra(), "membership": self.membership_}

    def _restored(self, saved: SavedModel, labels: Array) -> dict[str, Any]:
        strengths = check_array(saved.extra.get("membership"), "f", labels.shape, "membership")
        if strengths.min() < 0 or strengths.max() > 1:
            raise ModelFileError("'membership' is not within 0 and 1")
        return self._sure(labels, strengths)


def _centers(X: Any, labels: Array, tree: FittedTree, run: Run) -> tuple[Any, Array | None]:
    """What stands for each cluster, and its row where that is a medoid."""
    leaf = tree.hierarchy.levels[0]
    metric = tree.hierarchy.metric
    weights = np.ones(len(labels))
    n_clusters = int(labels.max()) + 1
    if metric.centroid_kind == "medoid":
        medoids = find_medoids(
            X, weights, Grouping.of(labels, n_clusters), metric, None, run.n_threads
        )
        return (None if metric.takes_distances else X[medoids]), medoids
    return merge_items(X, weights, labels, n_clusters, leaf.centroids.dtype, run)[0], None
