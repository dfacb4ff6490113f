"""Global structure: do far distances keep their order, and does the map use its space?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ...core.arrays import Array, blocks
from ...core.input.validate import check_number
from ...method.neighbors.metric import EUCLIDEAN, known_metric
from ...method.neighbors.spaces import Space, make_space
from ._inputs import Estimate, as_answer, as_map, check_labels, check_map


def centroid_triplet_accuracy(
    X: Any,
    X_embedded: Any,
    y: Any,
    *,
    metric: Any = "euclidean",
    max_triplets: int = 10_000_000,
    random_state: Any = 0,
    return_estimate: bool = False,
) -> Any:
    """Share of triplets of class centroids whose two distances keep their order in the map.

    For classes a, b, c: is b nearer to a than c is, in the data and in the map alike? (Wang et al.,
    PaCMAP, 2021). Chance is 0.5.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features)
    X_embedded : array-like of shape (n, n_components)
    y : array-like of shape (n,)
        Classes, at least three.
    metric : str
        'euclidean', or 'cosine' and 'correlation': then rows are normalised before centroids are
        made.
    max_triplets : int
        All k (k-1) (k-2) / 2 triplets of k classes up to this number, else a sample of as many.
    random_state : int or RandomState
        For the sample.
    return_estimate : bool
        Return an `Estimate` instead of a float.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nestmap.metrics import centroid_triplet_accuracy
    >>> X, y = load_iris(return_X_y=True)
    >>> centroid_triplet_accuracy(X, X[:, 2:], y)
    1.0
    """
    X, Y = check_map(X, X_embedded)
    classes, codes = check_labels(y, len(Y))
    check_number("max_triplets", max_triplets, 1, np.inf, integer=True)
    k = len(classes)
    if k < 3:
        raise ValueError(f"y has {k} classes; triplets of centroids need at least three")
    high = _centroid_distances(X, codes, k, metric)
    low = _centroid_distances(Y, codes, k, "euclidean")
    n_all = k * (k - 1) * (k - 2) // 2
    if n_all <= max_triplets:
        kept = sum(_kept_triplets(high[i], low[i], i) for i in range(k))
        return as_answer(Estimate(kept / n_all, 0.0, n_all, n_all), return_estimate)
    some = _random_triplets(k, int(max_triplets), check_random_state(random_state))
    ab = (some.a, some.b)
    ac = (some.a, some.c)
    kept = ((high[ab] < high[ac]) == (low[ab] < low[ac])).mean()
    return as_answer(_share(kept, len(some), n_all), return_estimate)


def _centroid_distances(X: Any, codes: Array, k: int, metric: Any) -> Array:
    space = make_space(X, metric) if known_metric(metric) != EUCLIDEAN else None
    points = getattr(space, "points", None)
    if space is not None and points is None:
        raise ValueError(
            f"metric={metric!r} has no centroids; use 'euclidean', 'cosine' or 'correlation'"
        )
    sums = np.zeros((k, X.shape[1]))
    for part in blocks(X.shape[0], X.shape[1]):
        rows = points.block(part) if points is not None else X[part].astype(np.float64)
        member = np.zeros((k, part.stop - part.start))
        member[codes[part], np.arange(part.stop - part.start)] = 1
        sums += np.asarray(member @ rows)
    centroids = sums / np.bincount(codes, minlength=k)[:, None]
    squares = (centroids * centroids).sum(axis=1)
    return np.asarray(squares[:, None] + squares - 2 * centroids @ centroids.T)


def _kept_triplets(high: Array, low: Array, i: int) -> int:
    """Pairs of others whose order as seen from class i is the same."""
    high = np.delete(high, i)
    low = np.delete(low, i)
    j, m = np.triu_indices(len(high), 1)
    return int(((high[j] < high[m]) == (low[j] < low[m])).sum())


def random_triplet_accuracy(
    X: Any,
    X_embedded: Any,
    *,
    metric: Any = "euclidean",
    n_triplets: int = 200_000,
    random_state: Any = 0,
    return_estimate: bool = False,
) -> Any:
    """Share of random triplets of rows (a, b, c) whose distances ab and ac keep their order.

    Chance is 0.5. Parameters as for `centroid_triplet_accuracy`, without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.metrics import random_triplet_accuracy
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> random_triplet_accuracy(X, -2 * X, n_triplets=1000)
    1.0
    """
    X, Y = check_map(X, X_embedded)
    n = len(Y)
    check_number("n_triplets", n_triplets, 1, np.inf, integer=True)
    if n < 3:
        raise ValueError(f"triplets need at least three rows, got {n}")
    some = _random_triplets(n, int(n_triplets), check_random_state(random_state))
    kept = (_order(make_space(X, metric), some) == _order(make_space(Y, "euclidean"), some)).mean()
    return as_answer(_share(float(kept), len(some), n * (n - 1) * (n - 2) // 2), return_estimate)


def _order(space: Space, some: Triplets) -> Array:
    """Whether b or c is nearer to a."""
    return np.asarray(np.sign(space.exact(some.a, some.b) - space.exact(some.a, some.c)))


@dataclass(frozen=True, eq=False)
class Triplets:
    """Triples of three different numbers."""

    a: Array
    b: Array
    c: Array

    def __len__(self) -> int:
        return len(self.a)


def _random_triplets(n: int, size: int, random: np.random.RandomState) -> Triplets:
    """Three different numbers below n, `size` times."""
    a = random.randint(n, size=size)
    b = (a + 1 + random.randint(n - 1, size=size)) % n
    c = random.randint(n - 2, size=size)
    low = np.minimum(a, b)
    high = np.maximum(a, b)
    c += c >= low
    c += c >= high
    return Triplets(a, b, c)


def _share(kept: float, size: int, n_all: int) -> Estimate:
    return Estimate(float(kept), float(np.sqrt(kept * (1 - kept) / size)), size, n_all)


def map_fill(X_embedded: Any, *, n_bins: int = 64) -> float:
    """Share of a raster that a map uses, relative to as many uniform points; 1 is uniform.

    The box between the 0.5th and 99.5th percentile of each axis is cut into n_bins² pixels; those
    that hold a point are counted and divided by the number expected of as many uniform points,
    n_bins² (1 - exp(-n / n_bins²)). Low values are maps that collapsed into dots.

    Parameters
    ----------
    X_embedded : array-like of shape (n, 2)
    n_bins : int

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.metrics import map_fill
    >>> round(map_fill(np.random.RandomState(0).rand(100_000, 2)), 2)
    1.0
    >>> map_fill(np.zeros((100_000, 2))) < 0.001
    True
    """
    Y = as_map(X_embedded)
    if Y.shape[1] != 2:
        raise ValueError(f"map_fill is for maps in 2-D; X_embedded has {Y.shape[1]} columns")
    check_number("n_bins", n_bins, 1, 65_536, integer=True)
    low, high = np.percentile(Y, [0.5, 99.5], axis=0)
    width = np.where(high > low, high - low, 1.0)
    inside = ((low <= Y) & (high >= Y)).all(axis=1)
    cells = np.minimum(((Y[inside] - low) / width * n_bins).astype(np.int64), n_bins - 1)
    used = len(np.unique(cells[:, 0] * n_bins + cells[:, 1]))
    return float(used / (n_bins**2 * -np.expm1(-len(Y) / n_bins**2)))
