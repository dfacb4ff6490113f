"""The k-nearest-neighbour graph: exact where it says so, recall as reported, the same for any
number of threads.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import builds, using
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import nestmap
from nestmap import HNNE, Communities, RecallWarning
from nestmap.core.native import core
from nestmap.core.points.duplicates import hash_points
from nestmap.method.neighbors import NeighborGraph, neighbor_graph, sampled
from nestmap.method.neighbors.effort import TABLE
from nestmap.method.neighbors.graph import _with_copies
from nestmap.method.neighbors.item_graph import find_row_graph, with_nearest
from nestmap.method.neighbors.metric import known_metric


def mixture(n: int, d: int, seed: int = 0, groups: int = 20) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 2 * rng.standard_normal((groups, d))
    return (centres[rng.integers(0, groups, n)] + rng.standard_normal((n, d))).astype(np.float32)


def brute_force(X: np.ndarray, k: int, metric: str) -> np.ndarray:
    """Distances of the k nearest other rows, in float64."""
    X = np.asarray(X, dtype=np.float64)
    return NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(X).kneighbors()[0]


def recall(graph: NeighborGraph, truth: np.ndarray) -> float:
    return float(np.mean(graph.distances <= truth[:, -1:] * (1 + 1e-7)))


def check_form(graph: NeighborGraph, n: int, k: int) -> None:
    assert graph.ids.shape == graph.distances.shape == (n, k)
    assert (graph.ids >= 0).all() and (graph.ids < n).all()
    assert (graph.ids != np.arange(n)[:, None]).all(), "no row is its own neighbour"
    assert (np.diff(np.sort(graph.ids, axis=1), axis=1) > 0).all(), "each neighbour is there once"
    assert (np.diff(graph.distances, axis=1) >= 0).all(), "nearest first"


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "correlation", "chebyshev"])
def test_few_rows_are_exact(metric: str) -> None:
    X = mixture(300, 7)
    graph = neighbor_graph(X, 6, metric)
    check_form(graph, 300, 6)
    np.testing.assert_allclose(graph.distances, brute_force(X, 6, metric), rtol=1e-6, atol=1e-7)
    assert graph.report.exact and graph.report.recall == 1


@cache
def truth_of_the_mixture(metric: str) -> np.ndarray:
    return brute_force(mixture(6_000, 20), 10, metric)


@pytest.mark.parametrize("build", [*builds(), "off"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_descent_reaches_its_target(metric: str, build: str) -> None:
    X = mixture(6_000, 20)
    with using(build):
        graph = neighbor_graph(X, 10, metric, target_recall=0.9)
    check_form(graph, 6_000, 10)
    reached = recall(graph, truth_of_the_mixture(metric))
    assert reached > 0.88 and abs(graph.report.recall - reached) < 0.06
    assert graph.report.exact == (build == "off")


@pytest.mark.parametrize("n, said", [(4096, False), (4097, True)])
def test_an_exact_graph_for_want_of_kernels_says_so(n: int, said: bool) -> None:
    """Kernels would look for the neighbours of more rows approximately."""
    X = mixture(n, 3)
    with using("off"):
        report = Communities().fit(X).hierarchy_.reports[-1]
    assert report.exact and ("clusters that come from them, may be others" in report.note) == said


@pytest.mark.skipif(core() is None, reason="the approximate search needs compiled kernels")
def test_a_higher_target_finds_more() -> None:
    X = np.random.default_rng(0).standard_normal((8_000, 40)).astype(np.float32)
    truth = brute_force(X, 10, "euclidean")
    low, high = (neighbor_graph(X, 10, target_recall=target) for target in (0.5, 0.97))
    assert 0.45 < recall(low, truth) < recall(high, truth) and recall(high, truth) > 0.94
    assert high.report.n_rounds > low.report.n_rounds


def test_true_neighbours_of_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """By bounds, where these tell most rows to be too far away, and by all distances."""
    truths, X = [], mixture(6_000, 60)
    recall_of = sampled.SampledRows.measured

    def keep_truth(found: sampled.SampledRows, *args: Any, **how: Any) -> sampled.MeasuredRecall:
        distances = found.rows.points.to_metric(found.distances)
        truths.append((found.rows.partition.order[found.positions], distances))
        return recall_of(found, *args, **how)

    monkeypatch.setattr(sampled.SampledRows, "measured", keep_truth)
    for share in (1, -1):
        monkeypatch.setattr(sampled, "_WITHIN_SHARE", share)
        neighbor_graph(X, 10)
    (rows, by_bounds), (same_rows, by_all) = truths
    np.testing.assert_array_equal(rows, same_rows)
    np.testing.assert_array_equal(by_bounds, by_all)
    np.testing.assert_allclose(by_all, brute_force(X, 10, "euclidean")[rows], rtol=1e-6)


@pytest.mark.parametrize("kind", ["float64", "float16", "uint8", "csr"])
def test_rows_of_any_kind(kind: str) -> None:
    X = mixture(5_000, 12)
    rows = (
        sparse.csr_matrix(X)
        if kind == "csr"
        else (8 * X + 100 if kind == "uint8" else X).astype(kind)
    )
    graph = neighbor_graph(rows, 5)
    dense = rows.toarray() if kind == "csr" else rows.astype(np.float64)
    check_form(graph, 5_000, 5)
    assert recall(graph, brute_force(dense, 5, "euclidean")) > 0.93


def test_same_bits_for_any_number_of_threads() -> None:
    X = mixture(9_000, 60, groups=3)
    one, many = (neighbor_graph(X, 12, "cosine", target_recall=0.9, n_jobs=n) for n in (1, 4))
    np.testing.assert_array_equal(one.ids, many.ids)
    np.testing.assert_array_equal(one.distances, many.distances)
    assert one.report.recall == many.report.recall and one.report.n_rounds == many.report.n_rounds


def test_equal_rows_are_neighbours() -> None:
    X = mixture(5_000, 8)
    X[100:140], X[200] = X[7], X[9]
    graph = neighbor_graph(X, 10)
    check_form(graph, 5_000, 10)
    assert (graph.distances[np.r_[7, 100:140]] == 0).all()
    assert graph.ids[9, 0] == 200 and graph.ids[200, 0] == 9
    np.testing.assert_array_equal(graph.distances[9], graph.distances[200])
    assert recall(graph, brute_force(X, 10, "euclidean")) > 0.93


def test_lists_with_copies() -> None:
    """Rows 0 and 3 are equal, and so are 1, 4 and 5; lists of the first of each set are given."""
    ids = np.array([[1, 2], [2, 0], [1, 0], [-9, -9], [-9, -9], [-9, -9]])
    away = np.array([[1.0, 2], [0.5, 1], [0.5, 2], [9, 9], [9, 9], [9, 9]])
    found, distances = _with_copies(ids, away, np.array([0, 1, 2, 0, 1, 1]))
    assert found.tolist() == [[3, 1], [4, 5], [1, 4], [0, 1], [1, 5], [1, 4]]
    assert distances.tolist() == [[0, 1], [0, 0], [0.5, 0.5], [0, 1], [0, 0], [0, 0]]


def test_few_distinct_rows() -> None:
    X = np.repeat(mixture(40, 3), 150, axis=0)
    graph = neighbor_graph(X, 20)
    check_form(graph, 6_000, 20)
    assert (graph.distances == 0).all() and "few distinct rows" in graph.report.note


def test_forms_of_other_programs() -> None:
    graph = neighbor_graph(mixture(50, 4), 3)
    matrix = graph.to_csr()
    assert matrix.shape == (50, 50) and (np.diff(matrix.indptr) == 3).all()
    assert matrix[0, graph.ids[0, 2]] == graph.distances[0, 2]
    nearest = NearestNeighbors(n_neighbors=3, metric="precomputed").fit(matrix).kneighbors(matrix)
    np.testing.assert_array_equal(nearest[1], graph.ids)
    ids, distances = graph.with_self()
    assert ids.dtype == np.int32 and distances.dtype == np.float32 and ids.shape == (50, 4)
    assert (
        (ids[:, 0] == np.arange(50)).all()
        and (distances[:, 0] == 0).all()
        and (ids[:, 1:] == graph.ids).all()
    )


def test_a_target_out_of_reach_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(TABLE), "longest_list", 40)
    X = np.random.default_rng(0).standard_normal((6_000, 120)).astype(np.float32)
    with pytest.warns(RecallWarning, match="was not reached"):
        neighbor_graph(X, 15, target_recall=0.999)


def test_many_neighbours_are_found_by_all_distances() -> None:
    X = mixture(4_200, 5)
    graph = neighbor_graph(X, 70)
    assert graph.report.exact
    np.testing.assert_allclose(
        graph.distances, brute_force(X, 70, "euclidean"), rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("k", [0, 4, -1, 2.5, True, "all"])
def test_bad_k(k: object) -> None:
    with pytest.raises(ValueError, match=r"k=.*: must be an integer from 1 to 3"):
        neighbor_graph(np.eye(4), k)  # type: ignore[arg-type]


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="method='fast'"):
        neighbor_graph(np.eye(4), 1, method="fast")
    with pytest.raises(ValueError, match=r"target_recall=1\.5"):
        neighbor_graph(np.eye(4), 1, target_recall=1.5)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_the_graph_of_a_fit_gets_the_first_neighbours_that_it_missed(metric: str) -> None:
    known = known_metric(metric)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 8))
    X = np.concatenate([X, X[:5]])  # equal rows are one item
    truth = find_row_graph(X, known, hash_points(X, 1), 1)
    assert truth is not None and truth.rows is not None
    spoilt = replace(truth, report=replace(truth.report, exact=False))
    some = np.arange(0, 60, 3)
    spoilt.ids[some, :-1], spoilt.distances[some, :-1] = (
        truth.ids[some, 1:].copy(),
        truth.distances[some, 1:].copy(),
    )
    nearest = np.arange(65)
    nearest[:60] = find_row_graph(X[:60], known, hash_points(X[:60], 1), 1).ids[:, 0]  # type: ignore[union-attr]
    found = with_nearest(spoilt, nearest, X, known, 1)
    expected = find_row_graph(X, known, hash_points(X, 1), 1)
    assert expected is not None
    np.testing.assert_array_equal(found.ids[:, :-1], expected.ids[:, :-1])
    np.testing.assert_allclose(found.distances[:, :-1], expected.distances[:, :-1], rtol=1e-6)
    assert with_nearest(truth, nearest, X, known, 1) is truth  # it is exact


def test_a_fit_has_all_first_neighbours_in_its_graph() -> None:
    X = np.random.default_rng(0).normal(size=(6000, 20)).astype(np.float32)
    model = HNNE().fit(X)
    graph = model._fitted.graph
    assert graph is not None and not graph.report.exact
    np.testing.assert_array_equal(graph.ids[:, 0], nestmap.first_neighbors(X).ids)
