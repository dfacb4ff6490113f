"""First neighbours are the brute-force ones, whatever the metric, the dtype, the layout and the
build.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import BACKENDS, digits, using
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist

from nestmap import first_neighbors
from nestmap.core.native import twins
from nestmap.core.points.duplicates import hash_points
from nestmap.core.points.point_set import make_points
from nestmap.method.neighbors.index import Index, build_index
from nestmap.method.neighbors.join import join_points

RNG = np.random.default_rng(1)
SCIPY = {"manhattan": "cityblock"}
METRICS = ("euclidean", "cosine", "manhattan", "correlation")


def brute(
    X: np.ndarray, metric: str = "euclidean", given: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """By definition, in float64; `given`: the rows that are searched, where X are the same ones in
    other units.
    """
    D = cdist(X.astype(np.float64), X.astype(np.float64), SCIPY.get(metric, metric))
    np.fill_diagonal(D, np.inf)
    return nearest(D, X if given is None else given), D.min(axis=1)


def nearest(D: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The nearest row of each row; of several the one with the lowest hash, of equal ones the
    first.
    """
    by_key = np.argsort(twins.hash_rows(X.astype(np.float64)), kind="stable")
    return by_key[D[:, by_key].argmin(axis=1)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(2, 3), (70, 1), (700, 5), (1500, 40), (400, 300)])
def test_equals_brute_force(backend: str, metric: str, shape: tuple[int, int]) -> None:
    if shape[1] == 1 and metric in ("cosine", "correlation"):
        shape = (shape[0], 2)  # one column has no direction
    X = RNG.normal(size=shape) @ np.diag(np.linspace(0.1, 3, shape[1])) + 5
    ids, distances = brute(X, metric)
    with using(backend):
        found = first_neighbors(X, metric)
    if not (metric == "correlation" and shape[1] == 2):  # two columns: all rows at distance 0 or 2
        np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-7, atol=1e-12)
    assert found.report.exact


@pytest.mark.parametrize("backend", BACKENDS)
def test_ties_are_decided_by_values(backend: str) -> None:
    X = np.stack(np.meshgrid(np.arange(12), np.arange(11), np.arange(3)), axis=-1).reshape(-1, 3)
    X = X[RNG.permutation(len(X))]
    with using(backend):
        found = first_neighbors(X)
    np.testing.assert_array_equal(found.ids, brute(X)[0])
    assert (found.distances == 1).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_integer_pixels_with_ties_and_duplicates(backend: str) -> None:
    X = np.vstack([digits()[:900], digits()[:120], digits()[5:6]])
    with using(backend):
        found = first_neighbors(X)
    ids, distances = brute(X)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_allclose(found.distances, distances)


@pytest.mark.parametrize("metric", METRICS)
def test_same_bits_for_any_number_of_threads_and_build(metric: str) -> None:
    X = digits()
    results = []
    for backend in BACKENDS[:-1]:
        for n_jobs in (1, 2, 5):
            with using(backend):
                results.append(first_neighbors(X, metric, n_jobs=n_jobs))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].ids, other.ids)
        np.testing.assert_array_equal(results[0].distances, other.distances)


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, np.int64, bool]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_dtypes_and_orders(dtype: type, order: str) -> None:
    X = np.asarray(
        RNG.integers(0, 2 if dtype is bool else 100, (300, 12)), dtype=dtype, order=order
    )
    before = X.copy()
    X.flags.writeable = False
    found = first_neighbors(X)
    np.testing.assert_array_equal(found.ids, brute(X)[0])
    np.testing.assert_array_equal(X, before)


def test_dataframe() -> None:
    X = RNG.normal(size=(50, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_array_equal(first_neighbors(frame).ids, brute(X)[0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_equals_dense(backend: str, metric: str, dtype: type) -> None:
    X = sparse.random(600, 200, density=0.05, format="csr", random_state=0, dtype=dtype)
    X = sparse.vstack([X, X[:20], sparse.csr_matrix((3, 200), dtype=dtype)]).tocsr()
    with using(backend):
        found, dense = first_neighbors(X, metric), first_neighbors(X.toarray(), metric)
    np.testing.assert_allclose(found.distances, dense.distances, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(found.ids[-3:], [621, 620, 620])
    same = found.ids == dense.ids
    np.testing.assert_allclose(found.distances[~same], dense.distances[~same], atol=1e-7)
    assert same.mean() > 0.97


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
def test_data_far_from_the_origin(backend: str, offset: float) -> None:
    X = RNG.normal(size=(400, 20)) + offset
    with using(backend):
        found = first_neighbors(X)
    np.testing.assert_array_equal(found.ids, brute(X)[0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scale", [1e-320, 1e-315, 1e-309, 1e-300, 1e-150, 1e-30, 1e30, 1e99])
@pytest.mark.parametrize("metric", METRICS)
def test_huge_and_tiny_values(backend: str, scale: float, metric: str) -> None:
    X = RNG.normal(size=(200, 6)) * scale
    if metric == "correlation":
        X += 3 * scale
    exponent = int(np.frexp(np.abs(X).max())[1])
    same = np.ldexp(X, -exponent)  # in range, and not a digit changed
    ids, distances = brute(same, metric, X)
    with using(backend):
        found = first_neighbors(X, metric)
    np.testing.assert_array_equal(found.ids, ids)
    if metric in ("cosine", "correlation"):
        np.testing.assert_allclose(found.distances, distances, rtol=1e-7, atol=1e-12)
    else:
        np.testing.assert_allclose(
            found.distances, np.ldexp(distances, exponent), rtol=1e-9, atol=5e-324
        )


@pytest.mark.parametrize("is_sparse", [False, True])
def test_directions_of_rows_of_very_different_lengths(is_sparse: bool) -> None:
    X = RNG.normal(size=(200, 6))
    scale = 10.0 ** RNG.choice([-318, -310, -250, -100, 0, 99], 200)
    lifted = X * scale[:, None]
    expected = brute(np.ldexp(lifted, -np.frexp(np.abs(lifted).max(axis=1))[1][:, None]), "cosine")
    for n_threads in (1, 2):
        found = first_neighbors(
            sparse.csr_matrix(lifted) if is_sparse else lifted, "cosine", n_jobs=n_threads
        )
        np.testing.assert_array_equal(found.ids, expected[0])
        np.testing.assert_allclose(found.distances, expected[1], rtol=1e-7, atol=1e-12)


def correlation_by_long_double(X: np.ndarray) -> np.ndarray:
    """Correlation distances in extended precision, of rows centred twice."""
    x = X.astype(np.longdouble)
    for _ in range(2):
        x = x - x.mean(axis=1, keepdims=True)
    x /= np.sqrt((x * x).sum(axis=1, keepdims=True))
    D = np.array([((x - row) ** 2).sum(axis=1) for row in x]) / 2
    np.fill_diagonal(D, np.inf)
    return D


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("level", "noise"), [(1e8, 1.0), (1e8, 1e-3), (1e8, 1e-5), (1.0, 1e-10), (-5e3, 1e-9)]
)
def test_correlation_of_rows_that_are_almost_constant(
    backend: str, level: float, noise: float
) -> None:
    X = level * RNG.uniform(0.5, 1, (300, 1)) + noise * RNG.normal(size=(300, 12))
    D = correlation_by_long_double(X)
    with using(backend):
        found = first_neighbors(X, "correlation")
    # the bound of docs/explain/exactness.md: the mean is rounded to float64
    error = 2 * float((2.0**-53 * np.abs(X).max() / X.std(axis=1).min()) ** 2) + 1e-14
    chosen = D[np.arange(len(X)), found.ids].astype(float)
    assert np.abs(found.distances - chosen).max() <= error
    assert (chosen - D.min(axis=1).astype(float)).max() <= 2 * error


def test_one_far_outlier_does_not_spoil_the_others() -> None:
    X = RNG.normal(size=(500, 8)).astype(np.float32)
    X[17] = 1e7
    np.testing.assert_array_equal(first_neighbors(X).ids, brute(X)[0])


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_rows_without_direction(metric: str) -> None:
    X = RNG.normal(size=(30, 4))
    X[[3, 7, 9]] = 0.0 if metric == "cosine" else [[1.0], [2.0], [5.0]]
    found = first_neighbors(X, metric)
    others = {3: (7, 9), 7: (3, 9), 9: (3, 7)}
    assert all(found.ids[row] in others[row] for row in others)
    assert found.distances[[3, 7, 9]].tolist() == [0, 0, 0]
    lonely = first_neighbors(X[:5], metric)
    assert lonely.distances[3] == pytest.approx(1)


def test_many_duplicates_are_fast_and_right() -> None:
    X = np.repeat(RNG.normal(size=(7, 5)).astype(np.float32), 3000, axis=0)
    found = first_neighbors(X)
    assert (found.distances == 0).all()
    expected = np.repeat(np.arange(0, 21000, 3000), 3000)
    expected[::3000] += 1
    np.testing.assert_array_equal(found.ids, expected)
    assert found.report.n_distinct == 7


def test_errors_name_the_place_and_the_way_out() -> None:
    X = np.ones((30, 4))
    X[12, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN, first at row 12, column 3.*SimpleImputer"):
        first_neighbors(X)
    X[12, 3] = -np.inf
    with pytest.raises(ValueError, match=r"inf.*row 12, column 3"):
        first_neighbors(X)
    X[12, 3] = 1e200
    with pytest.raises(ValueError, match=r"1e\+200.*row 12, column 3.*rescale"):
        first_neighbors(X)
    S = sparse.csr_matrix(np.where(X > 1e100, np.nan, X))
    with pytest.raises(ValueError, match="NaN, first at row 12, column 3"):
        first_neighbors(S)
    with pytest.raises(ValueError, match="metric='nonsense'"):
        first_neighbors(np.ones((3, 2)), "nonsense")
    with pytest.raises(ValueError, match="minimum of 2"):
        first_neighbors(np.ones((1, 2)))
    with pytest.raises(ValueError, match="n_jobs=0"):
        first_neighbors(np.eye(3), n_jobs=0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", METRICS)
def test_queries_are_exact_and_do_not_depend_on_the_batch(backend: str, metric: str) -> None:
    X, Q = digits()[:900], digits()[900:1100]
    D = cdist(Q.astype(float), X.astype(float), SCIPY.get(metric, metric))
    with using(backend):
        index = build_index(make_points(X, metric), 2)
        ids, distances = index.query(Q, 2)
        alone = [index.query(Q[i : i + 1], 1) for i in range(20)]
    np.testing.assert_allclose(distances, D.min(axis=1), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(D[np.arange(len(Q)), ids], D.min(axis=1), rtol=1e-12, atol=1e-15)
    assert [int(a[0][0]) for a in alone] == ids[:20].tolist()
    assert [float(a[1][0]) for a in alone] == distances[:20].tolist()


def test_join_index_answers_for_rows_of_a_set_with_duplicates() -> None:
    X = np.vstack([digits()[:200], digits()[:50]])
    index = join_points(make_points(X, "euclidean"), 2).index
    assert isinstance(index, Index)
    np.testing.assert_array_equal(index.query(X, 2)[0], np.r_[:200, :50])


finite = st.floats(-1e6, 1e6, width=32)
small = st.integers(-3, 3).map(float)


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 40), st.integers(1, 6)),
        elements=st.one_of(small, finite, st.just(0.0), st.just(-0.0), st.just(1e-30)),
    ),
    st.sampled_from(["euclidean", "manhattan"]),
)
def test_odd_input(X: np.ndarray, metric: str) -> None:
    found = first_neighbors(X, metric)
    D = cdist(X, X, SCIPY.get(metric, metric))
    np.fill_diagonal(D, np.inf)
    chosen = D[np.arange(len(X)), found.ids]
    np.testing.assert_allclose(chosen, D.min(axis=1), rtol=1e-9, atol=1e-150)
    assert (found.ids != np.arange(len(X))).all()


def test_report_reads_well() -> None:
    report = first_neighbors(digits()).report
    assert "exact" in str(report) and "1797 rows" in str(report)
    assert set(report.seconds) >= {"reduction", "cells", "join"}


def test_ctrl_c_reaches_the_native_loop() -> None:
    def interrupt(share: float) -> None:
        raise KeyboardInterrupt

    X = RNG.normal(size=(60_000, 64)).astype(np.float32)
    with pytest.raises(KeyboardInterrupt):
        join_points(make_points(X, "euclidean"), 2, progress=interrupt)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("kind", ["nearest", "random", "another"])
def test_a_join_that_starts_from_guesses_finds_the_same(metric: str, kind: str) -> None:
    X = np.concatenate([digits(), digits()[:50]])  # some rows are there twice
    points = make_points(X, metric, n_threads=2, keys=hash_points(X, 1))
    expected = join_points(points, 2)
    n = len(X)
    guesses = {
        "nearest": expected.ids,
        "random": (np.arange(n) + RNG.integers(1, n, n)) % n,
        "another": (np.arange(n) + 1) % n,
    }[kind]
    found = join_points(points, 2, start=guesses)
    np.testing.assert_array_equal(found.squared, expected.squared)
    np.testing.assert_array_equal(found.ids, expected.ids)
