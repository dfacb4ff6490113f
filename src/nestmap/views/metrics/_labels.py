"""Known classes: are they found again from a point's neighbours, or by clustering the map?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ...core.arrays import Array, blocks
from ...core.input.validate import as_rows, check_number
from ...core.threads import resolve_n_jobs
from ._inputs import check_labels, check_map


def knn_accuracy(
    X_embedded: Any,
    y: Any,
    *,
    n_neighbors: int | Sequence[int] = 1,
    n_splits: int = 10,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Any:
    """Accuracy of a k-nearest-neighbour classifier in a map, by stratified cross-validation.

    Parameters
    ----------
    X_embedded : array-like of shape (n, n_components)
        A map, or the data itself.
    y : array-like of shape (n,)
        Classes.
    n_neighbors : int or sequence of int
        Several are scored at the cost of the largest.
    n_splits : int
        Folds; classes are spread evenly over them.
    random_state : int or RandomState
        Which rows go into which fold.
    n_jobs : int or None
        Threads; None means all cores.

    Returns
    -------
    float, or a dict from k to float for several
        Share of rows whose class wins the vote of the k nearest rows of the other folds; of equal
        votes, the first class in order wins, as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nestmap.metrics import knn_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = knn_accuracy(X, y, n_neighbors=[1, 5])
    >>> {k: round(score, 1) for k, score in scores.items()}
    {1: 1.0, 5: 1.0}
    """
    from sklearn.model_selection import StratifiedKFold
    from sklearn.neighbors import NearestNeighbors

    Y = as_rows(X_embedded, name="X_embedded", min_rows=2)
    classes, codes = check_labels(y, Y.shape[0])
    ks = _check_ks(n_neighbors, n_splits, Y.shape[0], codes)
    right = dict.fromkeys(ks, 0)
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
    for train, test in folds.split(np.empty(len(codes)), codes):
        index = NearestNeighbors(n_neighbors=max(ks), n_jobs=resolve_n_jobs(n_jobs)).fit(Y[train])
        votes = codes[train][index.kneighbors(Y[test], return_distance=False)]
        for k in ks:
            right[k] += int((_winner(votes[:, :k], len(classes)) == codes[test]).sum())
    found = {k: right[k] / len(codes) for k in ks}
    return found if isinstance(n_neighbors, Sequence | np.ndarray) else found[int(n_neighbors)]


def _check_ks(n_neighbors: Any, n_splits: int, n: int, codes: Array) -> list[int]:
    check_number("n_splits", n_splits, 2, n, integer=True)
    ks = list(n_neighbors) if isinstance(n_neighbors, Sequence | np.ndarray) else [n_neighbors]
    largest = n - int(np.ceil(n / n_splits))
    for k in ks:
        check_number("n_neighbors", k, 1, largest, integer=True)
    rare = np.bincount(codes).min()
    if rare < n_splits:
        raise ValueError(
            f"the smallest class of y has {rare} rows, fewer than n_splits={n_splits}; "
            "use fewer splits, or leave such classes out"
        )
    return [int(k) for k in ks]


def _winner(votes: Array, n_classes: int) -> Array:
    """The most frequent value of each row; the smallest of equally frequent ones."""
    if votes.shape[1] == 1:
        return votes[:, 0]
    out = np.empty(len(votes), dtype=votes.dtype)
    for part in blocks(len(votes), n_classes):
        rows = part.stop - part.start
        flat = votes[part] + n_classes * np.arange(rows)[:, None]
        counts = np.bincount(flat.ravel(), minlength=rows * n_classes).reshape(rows, n_classes)
        out[part] = counts.argmax(axis=1)
    return out


@dataclass(frozen=True)
class ClusterNMI:
    """Normalised mutual information of k-means with the classes, in the data and in the map."""

    before: float
    after: float


def cluster_nmi(
    X: Any,
    X_embedded: Any,
    y: Any,
    *,
    n_clusters: int | None = None,
    metric: Any = "euclidean",
    n_init: int = 3,
    max_rows: int = 200_000,
    random_state: Any = 0,
) -> ClusterNMI:
    """How well k-means finds the classes before and after projection (the paper's supplement, NMI).

    Parameters
    ----------
    X : array-like of shape (n, n_features)
    X_embedded : array-like of shape (n, n_components)
    y : array-like of shape (n,)
        Classes.
    n_clusters : int or None
        None: as many as there are classes.
    metric : 'euclidean' or 'cosine'
        Of X; for 'cosine', rows are brought to length 1 first.
    n_init : int
        Starts of k-means; the best by its own measure counts.
    max_rows : int
        Above, k-means runs on a sample of rows and the score is that of the sample.
    random_state : int or RandomState

    Returns
    -------
    ClusterNMI
        `before` and `after`, from 0 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nestmap.metrics import cluster_nmi
    >>> X, y = load_iris(return_X_y=True)
    >>> cluster_nmi(X, X[:, 2:], y).before > 0.7
    True
    """
    X, Y = check_map(X, X_embedded)
    classes, codes = check_labels(y, len(Y))
    k = len(classes) if n_clusters is None else n_clusters
    check_number("n_clusters", k, 1, len(Y), integer=True)
    options = {"n_init": n_init, "max_rows": max_rows, "random_state": random_state}
    return ClusterNMI(
        kmeans_nmi(X, codes, k, metric=metric, **options), kmeans_nmi(Y, codes, k, **options)
    )


def kmeans_nmi(
    X: Any,
    codes: Array,
    k: int,
    *,
    metric: Any = "euclidean",
    n_init: int,
    max_rows: int,
    random_state: Any,
) -> float:
    """NMI of one clustering with the classes."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score
    from sklearn.preprocessing import normalize

    if metric not in ("euclidean", "cosine"):
        raise ValueError(f"metric={metric!r}: k-means takes 'euclidean' or 'cosine'")
    random = check_random_state(random_state)
    if X.shape[0] > max_rows:
        rows = np.sort(random.choice(X.shape[0], max_rows, replace=False))
        X = X[rows]
        codes = codes[rows]
    if metric == "cosine":
        X = normalize(X)
    labels = KMeans(k, n_init=n_init, random_state=random).fit_predict(X)
    return float(normalized_mutual_info_score(codes, labels))
