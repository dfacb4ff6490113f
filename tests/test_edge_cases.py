"""Tiny, flat, repeated and wide data."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BACKENDS
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nestmap import FINCH, HNNE
from nestmap._native import using

RNG = np.random.default_rng(3)


def check(model: HNNE, X: np.ndarray) -> None:
    assert model.embedding_.shape == (len(X), model.n_components)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert len(model.labels_) == len(X)
    model.audit()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_few_rows(backend: str, n: int, d: int) -> None:
    X = RNG.normal(size=(n, 6))
    with using(backend):
        model = HNNE(d).fit(X)
        check(model, X)
        assert np.isfinite(model.transform(X + 0.1)).all()
        assert FINCH().fit(X).labels_.shape == (n,)
    if n > 1 and d > 1:
        assert len(np.unique(model.embedding_, axis=0)) == n


@pytest.mark.parametrize("n", [2, 5, 100, 5000])
def test_all_rows_identical(n: int) -> None:
    X = np.full((n, 4), 3.5)
    model = HNNE().fit(X)
    check(model, X)
    assert model.hierarchy_.level_sizes == (1,)
    assert len(np.unique(model.embedding_, axis=0)) == 1


def test_duplicates_stay_together_and_leave_the_tree_right() -> None:
    base = RNG.normal(size=(300, 8))
    X = np.vstack([base, base, base[:50]])
    model = HNNE().fit(X)
    check(model, X)
    np.testing.assert_array_equal(model.embedding_[:300], model.embedding_[300:600])
    labels = model.hierarchy_.labels(0)
    np.testing.assert_array_equal(labels[:300], labels[300:600])
    assert len(np.unique(model.embedding_, axis=0)) == 300


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_one_column(n_components: int) -> None:
    X = RNG.normal(size=(200, 1))
    model = HNNE(n_components).fit(X)
    check(model, X)
    np.testing.assert_allclose(model.embedding_[:, 1:], 0, atol=1e-12)


def test_constant_columns_and_more_components_than_columns() -> None:
    X = np.zeros((150, 3))
    X[:, 1] = RNG.normal(size=150)
    X[:, 2] = 7
    for standardize in (False, True):
        check(HNNE(standardize=standardize).fit(X), X)
    wide = HNNE(6).fit(X)
    assert wide.embedding_.shape == (150, 6)


@pytest.mark.slow
def test_many_columns() -> None:
    X = RNG.normal(size=(300, 16384)).astype(np.float32)
    X[:150] += 2
    model = HNNE().fit(X)
    check(model, X)
    tops = model.hierarchy_.labels(n_clusters=2)
    assert len(set(tops[:150])) == 1 and tops[0] != tops[-1]


@pytest.mark.parametrize("scale", [1e-200, 1e-40, 1e40, 1e90])
def test_huge_and_tiny_values(scale: float) -> None:
    X = RNG.normal(size=(120, 5))
    a, b = HNNE().fit(X), HNNE().fit(X * scale)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    if scale > 1e-100:
        np.testing.assert_allclose(b.embedding_ / scale, a.embedding_, rtol=1e-4, atol=1e-4)


def test_outlier() -> None:
    X = RNG.normal(size=(500, 5))
    X[100] = 1e8
    check(HNNE().fit(X), X)


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 5)),
        elements=st.one_of(st.integers(-2, 2).map(float), st.floats(-1e6, 1e6, width=32), st.just(1e-30)),
    ),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["euclidean", "cosine", "manhattan", "correlation"]),
)
def test_odd_input(X: np.ndarray, n_components: int, metric: str) -> None:
    model = HNNE(n_components, metric=metric, radius=0.2).fit(X)
    check(model, X)
    assert all(level.n_outside == 0 for level in model.audit().levels)
    assert np.isfinite(model.transform(X + 1)).all()
