"""The quality figures of the benchmarks, on any map: exact on a stated sample of rows."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors


def quality(X: Any, Y: Any, y: Any = None, *, n_sample: int = 3000, seed: int = 0) -> dict[str, float]:
    """Trustworthiness (k=5), 10-NN recall, 10-fold 1-NN accuracy, centroid triplets."""
    out = dict(zip(("trust", "recall"), _neighbours(X, Y, n_sample, seed), strict=True))
    if y is not None:
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        out["acc1"] = float(cross_val_score(KNeighborsClassifier(1), Y, y, cv=folds).mean())
        out["triplets"] = triplets(X, Y, y)
    return out


def _neighbours(X: Any, Y: Any, n_sample: int, seed: int, k: int = 5) -> tuple[float, float]:
    n = len(X)
    rows = np.random.RandomState(seed).choice(n, min(n, n_sample), replace=False)
    X = X.astype(np.float32) - X.mean(axis=0, dtype=np.float64).astype(np.float32)
    sizes = np.einsum("ij,ij->i", X, X)
    near = NearestNeighbors(n_neighbors=11).fit(Y).kneighbors(Y[rows], return_distance=False)
    penalty, shared = 0.0, 0.0
    for start in range(0, len(rows), 256):
        part = rows[start : start + 256]
        distances = sizes[part, None] + sizes - 2 * X[part] @ X.T
        distances[np.arange(len(part)), part] = np.inf
        true = np.argpartition(distances, 10, axis=1)[:, :10]
        for i, row in enumerate(part):
            found = near[start + i][near[start + i] != row][:10]
            ranks = (distances[i][:, None] < distances[i][found]).sum(axis=0) + 1
            penalty += np.maximum(0, ranks[:k] - k).sum()
            shared += len(np.intersect1d(found, true[i])) / 10
    return 1 - 2 * penalty / (len(rows) * k * (2 * n - 3 * k - 1)), shared / len(rows)


def triplets(X: Any, Y: Any, y: Any) -> float:
    """Share of triplets of class centroids whose two distances keep their order."""
    classes = np.unique(y)

    def distances(values: Any) -> Any:
        centroids = np.stack([values[y == c].mean(axis=0, dtype=np.float64) for c in classes])
        return np.linalg.norm(centroids[:, None] - centroids, axis=2)

    high, low = distances(X), distances(Y)
    kept = [
        (high[i, j] < high[i, m]) == (low[i, j] < low[i, m])
        for a, b, c in combinations(range(len(classes)), 3)
        for i, j, m in ((a, b, c), (b, a, c), (c, a, b))
    ]
    return float(np.mean(kept))
