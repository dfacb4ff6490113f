"""The last round of the exact join by products of matrices, for data where bounds are of no use."""

from __future__ import annotations

import numpy as np
import pytest

from nestmap.core.native import twins
from nestmap.core.points.duplicates import hash_points
from nestmap.core.points.point_set import make_points
from nestmap.method.neighbors.choice import Search, decide, predicted_pairs
from nestmap.method.neighbors.effort import TABLE
from nestmap.method.neighbors.join import Joined, join_points
from nestmap.method.neighbors.products import keep_nearest
from nestmap.method.neighbors.spaces import ProductSpace


def far_apart(n: int = 3000, n_cols: int = 400) -> np.ndarray:
    """Rows that are nearly all equally far from each other."""
    return np.random.default_rng(0).normal(size=(n, n_cols)).astype(np.float32)


def joined(X: np.ndarray, metric: str, n_threads: int = 2) -> Joined:
    return join_points(make_points(X, metric, keys=hash_points(X, 1)), n_threads)


def is_brute_force(X: np.ndarray, metric: str, found: Joined) -> bool:
    points = make_points(X, metric, keys=hash_points(X, 1))
    squared, ids = twins.nearest(points, points, norm="L2", exclude_self=True)
    return bool(
        np.array_equal(found.ids, ids) and np.allclose(found.squared, squared, rtol=1e-12, atol=0)
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_products_find_the_neighbours_of_brute_force(metric: str) -> None:
    X = far_apart()
    found = joined(X, metric)
    assert found.report.n_pairs_multiplied == 3000 * 2999 // 2
    assert found.report.exact and found.report.n_pairs_verified < 3000 * 2999 // 4
    assert is_brute_force(X, metric, found)


def test_ties_are_decided_by_keys() -> None:
    X = np.random.default_rng(1).choice([-1.0, 1.0], size=(2500, 300)).astype(np.float32)
    X[1200:1210] = X[:10]
    found = joined(X, "euclidean")
    assert found.report.n_pairs_multiplied
    assert is_brute_force(X, "euclidean", found)


def test_the_same_bits_for_any_number_of_threads() -> None:
    X = far_apart(5000)
    one, four = joined(X, "cosine", 1), joined(X, "cosine", 4)
    assert one.report.n_pairs_multiplied
    assert np.array_equal(one.ids, four.ids) and np.array_equal(one.squared, four.squared)


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_rows_of_very_different_lengths(offset: float) -> None:
    """Products are taken where they tell something, and right if they are not."""
    X = (far_apart(1200).astype(np.float64) + offset) * 10.0 ** np.linspace(-6, 6, 1200)[:, None]
    assert is_brute_force(X, "euclidean", joined(X, "euclidean"))


def test_products_are_not_taken_where_bounds_rule_out_much() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 4)) @ rng.normal(size=(4, 400))
    assert joined(X, "euclidean").report.n_pairs_multiplied == 0


@pytest.mark.parametrize("scale", [1.0, 1e-18])
def test_the_error_of_products_is_bounded(scale: float) -> None:
    X = (
        far_apart(300, 700)
        * np.geomspace(1, 1e4, 300, dtype=np.float32)[:, None]
        * np.float32(scale)
    )
    X[0] = 1  # the unit of the others
    space = ProductSpace(make_points(X, "euclidean"))
    rows = np.arange(300)
    rough, error = space.rough(rows, slice(0, 300))
    exact = space.exact(np.repeat(rows, 300), np.tile(rows, 300)).reshape(300, 300)
    assert np.all(np.abs(rough - exact) <= error[:, None])


def test_the_least_of_all_that_is_told_is_kept() -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 3, 50).astype(np.uint64)
    squared, ids = np.full(20, np.inf), np.full(20, -1)
    told: list[list[tuple[float, int, int]]] = [[] for _ in range(20)]
    for _ in range(30):
        places, rows, away = (
            rng.integers(0, 20, 40),
            rng.integers(0, 50, 40),
            rng.integers(0, 9, 40) / 4,
        )
        keep_nearest(squared, ids, places, rows, away, keys)
        for place, row, distance in zip(places, rows, away, strict=True):
            told[place].append((distance, int(keys[row]), int(row)))
    assert [(d, i) for d, i in zip(squared, ids, strict=True)] == [
        (min(t)[0], min(t)[2]) for t in told
    ]


def test_auto_is_exact_where_products_are_cheap() -> None:
    """Some ten thousand embeddings: all pairs in seconds. A million: not."""
    X = far_apart(2000, 768)
    assert (
        predicted_pairs(X, "cosine", 30_000)
        < TABLE.exact_pairs
        < predicted_pairs(X, "cosine", 100_000)
    )
    assert decide(X, "cosine", Search(), 30_000).method == "exact"
    assert decide(X, "cosine", Search(), 1_000_000).method == "approximate"
