"""All scores of a map in one call, with one pass over the data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ._global import centroid_triplet_accuracy, map_fill, random_triplet_accuracy
from ._inputs import Estimate, Sample, check_map, check_n_neighbors, mean_estimate
from ._labels import knn_accuracy
from ._local import Wanted, score_rows


@dataclass(frozen=True)
class MapQuality:
    """The scores of one map; None where labels or two dimensions would be needed."""

    trustworthiness: Estimate  # 5 neighbours
    continuity: Estimate  # 5 neighbours
    neighborhood_recall: Estimate  # 10 neighbours
    random_triplets: Estimate
    fill: float | None
    knn_accuracy: dict[int, float] | None
    centroid_triplets: Estimate | None

    def __str__(self) -> str:
        lines = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if isinstance(value, dict):
                value = ", ".join(f"{v:.4f} (k={k})" for k, v in value.items())
            elif isinstance(value, float):
                value = f"{value:.2f}"
            lines.append(f"{field.name.replace('_', ' '):20} {value}")
        return "\n".join(lines)


def map_quality(
    X: Any,
    X_embedded: Any,
    y: Any = None,
    *,
    metric: Any = "euclidean",
    n_neighbors: tuple[int, ...] = (1,),
    n_sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> MapQuality:
    """Score a map: local and global structure, use of space, and classes if there are labels.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features)
    X_embedded : array-like of shape (n, n_components)
    y : array-like of shape (n,) or None
        Classes, for k-NN accuracy and centroid triplets.
    metric : str or callable
        Of X.
    n_neighbors : tuple of int
        Numbers of neighbours for the k-NN accuracy.
    n_sample, random_state, n_jobs
        As for `trustworthiness`.

    Returns
    -------
    MapQuality

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nestmap import HNNE
    >>> from nestmap.metrics import map_quality
    >>> X, y = load_iris(return_X_y=True)
    >>> quality = map_quality(X, HNNE().fit_transform(X), y)
    >>> quality.trustworthiness.value > 0.95
    True
    """
    X, Y = check_map(X, X_embedded)
    n = len(Y)
    k = min(10, (n - 1) // 2)
    check_n_neighbors(k, n)
    rows = Sample(n_sample, random_state).rows(n)
    scores = score_rows(X, Y, rows, Wanted(min(5, k), min(5, k), k), metric, n_jobs, verbose=0)
    accuracy = triplets = None
    if y is not None:
        accuracy = knn_accuracy(
            Y, y, n_neighbors=n_neighbors, random_state=random_state, n_jobs=n_jobs
        )
        if len(np.unique(np.asarray(y))) > 2:
            triplets = centroid_triplet_accuracy(X, Y, y, metric=metric, return_estimate=True)
    return MapQuality(
        mean_estimate(scores.trustworthiness, n),
        mean_estimate(scores.continuity, n),
        mean_estimate(scores.recall, n),
        random_triplet_accuracy(
            X, Y, metric=metric, random_state=random_state, return_estimate=True
        ),
        map_fill(Y) if Y.shape[1] == 2 else None,
        accuracy,
        triplets,
    )
