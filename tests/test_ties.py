"""Ties are decided by values: not by the order of the rows, not by their type, not by how they are
stored.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from conftest import BACKENDS, digits, using
from scipy import sparse

from nestmap import HNNE, Hierarchy, build_hierarchy, first_neighbors
from nestmap.core.points.duplicates import hash_points


def integers(n: int = 1500, d: int = 5, most: int = 6, seed: int = 0) -> np.ndarray:
    """Rows with very many equal distances."""
    return np.random.default_rng(seed).integers(0, most, (n, d)).astype(np.float64)


def assert_same_partitions(a: Hierarchy, b: Hierarchy, rows: np.ndarray) -> None:
    """Row i of b is row rows[i] of a."""
    assert a.level_sizes == b.level_sizes
    for k in range(a.n_levels):
        pairs = np.unique(np.stack([a.labels(k)[rows], b.labels(k)]), axis=1)
        assert pairs.shape[1] == a.levels[k].n_nodes, "one cluster of a is one cluster of b"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
def test_the_order_of_the_rows_does_not_decide(metric: str, backend: str) -> None:
    X = integers(400 if backend == "off" else 1500)
    order = np.random.default_rng(1).permutation(len(X))
    with using(backend):
        assert_same_partitions(build_hierarchy(X, metric), build_hierarchy(X[order], metric), order)


@cache
def fitted_integers(metric: str) -> HNNE:
    return HNNE(metric=metric).fit(integers(600, seed=2))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float16, np.float32, np.int64])
def test_the_type_of_the_rows_does_not_decide(dtype: type, metric: str) -> None:
    X = integers(600, seed=2)
    expected, found = fitted_integers(metric), HNNE(metric=metric).fit(X.astype(dtype))
    assert_same_partitions(expected.hierarchy_, found.hierarchy_, np.arange(len(X)))
    np.testing.assert_array_equal(expected.embedding_, found.embedding_)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_how_rows_are_stored_does_not_decide(metric: str) -> None:
    X = integers(seed=3)
    trees = [
        build_hierarchy(x, metric)
        for x in (X, np.asfortranarray(X), sparse.csr_matrix(X), X.tolist())
    ]
    for tree in trees[1:]:
        assert_same_partitions(trees[0], tree, np.arange(len(X)))


def test_native_and_numpy_decide_alike() -> None:
    X = integers(500, seed=4)
    found = []
    for backend in BACKENDS:
        with using(backend):
            found.append(first_neighbors(X).ids)
    for ids in found[1:]:
        np.testing.assert_array_equal(ids, found[0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_rows_without_direction_are_at_distance_one(metric: str, backend: str) -> None:
    """Not up to rounding, which would choose their neighbour: of nodes another one for another
    order of the rows.
    """
    X = np.random.default_rng(9).normal(size=(300, 7)).astype(np.float32)
    X[0] = 0
    lowest = 1 + np.argmin(hash_points(X, 1)[1:])
    with using(backend):
        for rows in (
            X,
            X.astype(np.float64),
            *([sparse.csr_matrix(X)] if metric == "cosine" else []),
        ):
            found = first_neighbors(rows, metric)
            assert (found.ids[0], found.distances[0]) == (lowest, 1)
        X[:9] = 0
        order = np.random.default_rng(1).permutation(len(X))
        assert_same_partitions(build_hierarchy(X, metric), build_hierarchy(X[order], metric), order)


def test_of_precomputed_distances_the_lower_index_is_taken() -> None:
    """The exception: there are no values to decide by."""
    D = 1.0 - np.eye(6)
    assert first_neighbors(D, "precomputed").ids.tolist() == [1, 0, 0, 0, 0, 0]
    X = integers(200, seed=5)
    D = np.abs(X[:, None] - X).sum(axis=2)
    others = D + np.diag(np.full(200, 99.0))
    np.testing.assert_array_equal(first_neighbors(D, "precomputed").ids, others.argmin(axis=1))
    tree = build_hierarchy(D, "precomputed")
    medoids = tree.levels[0].centroids.rows
    new = np.abs(integers(50, seed=6)[:, None] - X).sum(axis=2)
    assert ((new[:, medoids] == new[:, medoids].min(axis=1, keepdims=True)).sum(axis=1) > 1).any()
    np.testing.assert_array_equal(
        tree.leaf_index().query(new, 1)[0], new[:, medoids].argmin(axis=1)
    )


def test_precomputed_distances_without_ties_have_the_same_leaves_in_any_order() -> None:
    X = np.random.default_rng(7).normal(size=(300, 4))
    D, order = np.linalg.norm(X[:, None] - X, axis=2), np.random.default_rng(8).permutation(300)
    tree, other = (build_hierarchy(d, "precomputed") for d in (D, D[np.ix_(order, order)]))
    pairs = np.unique(np.stack([tree.labels(0)[order], other.labels(0)]), axis=1)
    assert pairs.shape[1] == tree.levels[0].n_nodes == other.levels[0].n_nodes


def test_rows_that_float32_would_round_keep_their_neighbours() -> None:
    """int64 and Fortran-ordered float64 rows near 2**27, whose differences float32 cannot hold."""
    rng = np.random.default_rng(5)
    rows = 2**27 + np.array([[0, 0], [2, 0], [5, 1], [9, 3]]) + rng.integers(0, 3, (40, 4, 2))
    for X in rows:
        expected = build_hierarchy((X - 2**27).astype(np.float64))
        for given in (X, np.asfortranarray(X.astype(np.float64))):
            assert_same_partitions(expected, build_hierarchy(given), np.arange(4))


def test_new_rows_between_two_centroids() -> None:
    X = digits()
    order = np.random.default_rng(6).permutation(len(X))
    a, b = (HNNE(layout="descent").fit(rows) for rows in (X, X[order]))
    middle = (X[:-1] + X[1:])[:300] / 2
    for k in (0, -1):
        pairs = np.unique(np.stack([a.hierarchy_.labels(k)[order], b.hierarchy_.labels(k)]), axis=1)
        of_b = dict(zip(*pairs, strict=True))
        np.testing.assert_array_equal([of_b[g] for g in a.predict(middle, k)], b.predict(middle, k))
