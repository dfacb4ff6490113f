"""Short rows that the graph of the rows and the exact join share."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import builds
from scipy import sparse

from nestmap.core.points.duplicates import hash_points
from nestmap.core.points.point_set import make_points
from nestmap.method.neighbors.graph import neighbor_graph
from nestmap.method.neighbors.item_graph import ItemGraph, find_row_graph
from nestmap.method.neighbors.join import join_points
from nestmap.method.neighbors.metric import known_metric
from nestmap.method.neighbors.shared import ALL_DISTANCES_ROWS, Shared, share_rows, shares_rows

pytestmark = pytest.mark.skipif(not builds(), reason="there is no compiled module")
COPIES = 400


def some_rows(rank: int = 12, columns: int = 150) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, rank)) @ rng.normal(size=(rank, columns)) + rng.normal(
        size=(6000, columns)
    )
    X[-COPIES:] = X[:COPIES]
    return X.astype(np.float32)


def shared_graph(X: np.ndarray, metric: str, n_threads: int = 2) -> tuple[Shared, ItemGraph]:
    hashes = hash_points(X, 1)
    shared = share_rows(X, known_metric(metric), hashes, n_threads)
    assert shared is not None
    graph = find_row_graph(X, known_metric(metric), hashes, n_threads, None, shared)
    assert graph is not None
    return shared, graph


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_the_join_finds_the_same_with_short_rows_of_the_graph(metric: str) -> None:
    X = some_rows()
    shared, graph = shared_graph(X, metric)
    expected = join_points(make_points(X, metric, keys=hash_points(X, 1)), 2)
    found = join_points(shared.points, 2, start=graph.nearest(len(X)), shared=shared)
    np.testing.assert_array_equal(found.squared, expected.squared)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert shared.reduced is None  # nobody else holds them


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
@pytest.mark.parametrize("rank", [12, 149])  # few directions tell much, or little
def test_the_graph_of_shared_rows_is_of_distinct_ones_and_near_the_truth(
    metric: str, rank: int
) -> None:
    X = some_rows(rank)
    graph = shared_graph(X, metric)[1]
    distinct = X[:-COPIES]
    assert graph.rows is not None and graph.counts is not None
    np.testing.assert_array_equal(graph.rows, np.arange(len(distinct)))
    assert graph.counts.sum() == len(X)
    truth = neighbor_graph(distinct, graph.ids.shape[1], metric, method="exact").ids
    found = [len(np.intersect1d(a, b)) for a, b in zip(graph.ids[:500], truth[:500], strict=True)]
    assert np.mean(found) >= 0.93 * truth.shape[1]  # the target is 0.95
    assert graph.report.recall > 0.93


def test_neither_threads_nor_the_order_of_rows_decide() -> None:
    X = some_rows()[:-COPIES]
    one, two = (shared_graph(X, "euclidean", n)[1] for n in (1, 2))
    np.testing.assert_array_equal(one.ids, two.ids)
    np.testing.assert_array_equal(one.distances, two.distances)
    order = np.random.default_rng(1).permutation(len(X))
    mixed = shared_graph(X[order], "euclidean")[1]
    np.testing.assert_array_equal(mixed.distances, one.distances[order])
    np.testing.assert_array_equal(order[mixed.ids], one.ids[order])


def test_sparse_rows_share_theirs() -> None:
    X = np.where(some_rows() > 2, some_rows(), 0)
    rows = sparse.csr_matrix(X)
    shared, graph = shared_graph(rows, "cosine")
    expected = join_points(make_points(rows, "cosine", keys=hash_points(rows, 1)), 2)
    found = join_points(shared.points, 2, start=graph.nearest(len(X)), shared=shared)
    np.testing.assert_array_equal(found.ids, expected.ids)


def test_who_shares() -> None:
    euclidean = known_metric("euclidean")
    few = ALL_DISTANCES_ROWS
    assert shares_rows(few + 1, 784, euclidean, 256)
    assert shares_rows(few + 1, 20, known_metric("l2"), 32)
    assert not shares_rows(few, 784, euclidean, 256)
    assert not shares_rows(few + 1, 784, euclidean, 128)  # memory is short: one after the other
    assert not shares_rows(few + 1, 784, known_metric("manhattan"), 256)
    X = np.repeat(some_rows()[:100], 60, axis=0)
    assert (
        share_rows(X, known_metric("euclidean"), hash_points(X, 1), 1) is None
    )  # few distinct rows
