"""FINCH: the hierarchy's partitions as a clustering estimator (Sarfraz et al., CVPR 2019)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._arrays import Array
from ._input.validate import cast_rows, check_number, work_dtype
from ._parallel import resolve_n_jobs
from ._points.duplicates import hash_points
from ._progress import Progress
from .hierarchy.build import build_hierarchy
from .neighbors import check_metric, given_neighbors
from .neighbors.choice import Search
from .placement import RowTable, assign_rows


class FINCH(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Clustering by first-neighbour relations, without parameters.

    Parameters
    ----------
    n_clusters : int or None
        None: `labels_` are those of the partition whose clusters stand farthest apart for what
        holds them together. A number: exactly that many, by merging the nearest clusters of the
        next finer partition.
    metric, neighbors, n_jobs, verbose
        As in `nestmap.HNNE`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_rows,)
    partitions_ : ndarray of shape (n_rows, n_partitions)
        All partitions, fine to coarse, down to the last with at least two clusters.
    n_clusters_ : list of int
        Clusters per partition.
    hierarchy_ : Hierarchy

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from nestmap.cluster import FINCH
    >>> X, y = make_blobs(300, centers=3, cluster_std=0.3, random_state=0)
    >>> len(set(FINCH(n_clusters=3).fit_predict(X)))
    3
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Any = "euclidean",
        neighbors: Any = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Build all partitions of X; y is ignored."""
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
        X = cast_rows(X)
        self._dtype = work_dtype(X.dtype)
        if self.n_clusters is not None:
            check_number("n_clusters", self.n_clusters, 1, X.shape[0], integer=True)
        given = None if isinstance(self.neighbors, str) else given_neighbors(self.neighbors, X.shape[0])
        n_threads = resolve_n_jobs(self.n_jobs)
        hashes = hash_points(X, n_threads)
        how = Search(self.neighbors if given is None else "auto")
        metric = check_metric(self.metric, X)
        self.hierarchy_ = build_hierarchy(
            X, metric, first=given, hashes=hashes, min_nodes=2, n_threads=n_threads,
            progress=Progress(self.verbose), how=how,
        )  # fmt: skip
        tree = self.hierarchy_
        self.partitions_ = np.stack([tree.labels(k) for k in range(tree.n_levels)], axis=1)
        self.n_clusters_ = list(tree.level_sizes)
        if self.n_clusters is None:
            self.labels_ = tree.labels(tree.default_level())
        else:
            self.labels_ = tree.labels(n_clusters=self.n_clusters)
        self._table = RowTable.of(hashes)
        # merged clusters hold whole leaves, so a leaf tells the label
        self._label_of_leaf = np.empty(tree.levels[0].n_nodes, dtype=np.int64)
        self._label_of_leaf[tree.levels[0].members] = self.labels_
        return self

    def predict(self, X: Any, level: int | None = None) -> Array:
        """Cluster of new rows, by the nearest finest-level centroid (default: as in `labels_`)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
        X = cast_rows(X, dtype=self._dtype)
        tree = self.hierarchy_
        leaves, _, _ = assign_rows(X, tree, tree.leaf_index, self._table, "centroid", resolve_n_jobs(self.n_jobs))
        if level is None:
            return np.asarray(self._label_of_leaf[leaves])
        for above in tree.levels[1 : tree.check_level(level) + 1]:
            leaves = above.members[leaves]
        return leaves

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
