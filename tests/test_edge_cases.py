"""Tiny, flat, repeated and wide data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import BACKENDS, using
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.linalg import hadamard

from nestmap import FINCH, HNNE, Descent, Mosaic
from nestmap.core.threads import single_threaded_blas
from nestmap.method.placement import RowTable
from nestmap.method.preliminary.build import KINDS
from tools.flat import make_hnne

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
    model = HNNE(n_components, layout="descent").fit(X)
    check(model, X)
    np.testing.assert_allclose(model.embedding_[:, 1:], 0, atol=1e-12)


def test_constant_columns_and_more_components_than_columns() -> None:
    X = np.zeros((150, 3))
    X[:, 1] = RNG.normal(size=150)
    X[:, 2] = 7
    check(HNNE().fit(X), X)
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


LAYOUTS = [Descent(arrangement="local"), Descent(arrangement="global"), Mosaic()]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("exponent", [-996, -500, -133, 133, 299])
def test_huge_and_tiny_values(exponent: int, layout: Any) -> None:
    """A power of two changes no digit: of the data, of the map, of the places of new rows."""
    rng, factor = np.random.default_rng(3), 2.0**exponent
    X = rng.normal(size=(120, 5))
    new = X[:40] + rng.normal(size=(40, 5))
    a, b = (HNNE(layout=layout).fit(rows) for rows in (X, X * factor))
    check(b, X * factor)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.embedding_ * factor, b.embedding_)
    np.testing.assert_allclose(
        b.transform(new * factor) * 2.0**-exponent, a.transform(new), rtol=1e-6, atol=1e-9
    )
    assert str(a.audit()) == str(b.audit())


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-40, 1.0])
@pytest.mark.parametrize("outlier", [1e8, 1e20, 1e80, 1e99])
def test_outlier(outlier: float, scale: float, layout: Any) -> None:
    X = np.random.default_rng(4).normal(size=(150, 5)) * scale
    X[100] = outlier
    check(HNNE(layout=layout).fit(X), X)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "manhattan"])
def test_huge_and_tiny_values_under_other_metrics(metric: str) -> None:
    X = np.random.default_rng(3).normal(size=(120, 5))
    for layout in LAYOUTS:
        for factor in (1e-150, 1e90):
            check(
                make_hnne(metric=metric, layout=layout).fit(X * factor),
                X * factor,
            )


class TestEqualRows:
    """Equal rows have equal places, whatever the layout; `check` sees that `transform` finds them
    there.
    """

    def equal_places(self, model: HNNE, X: np.ndarray) -> None:
        check(model, X)
        _, first, of_row = np.unique(X, axis=0, return_index=True, return_inverse=True)
        np.testing.assert_array_equal(model.embedding_, model.embedding_[first[of_row.ravel()]])

    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    @pytest.mark.parametrize(
        ("n", "n_distinct", "n_features"), [(5000, 4000, 19), (3000, 3, 5), (600, 30, 300)]
    )
    def test_in_every_layout(self, n: int, n_distinct: int, n_features: int, layout: Any) -> None:
        rng = np.random.default_rng(n)
        X = rng.normal(size=(n_distinct, n_features))[rng.integers(n_distinct, size=n)]
        model = HNNE(layout=layout).fit(X)
        self.equal_places(model, X)
        assert len(np.unique(model.embedding_, axis=0)) == len(np.unique(X, axis=0))
        for d in (1, 3, 9) if isinstance(layout, Descent) else ():
            self.equal_places(model.relayout(n_components=d), X)

    @pytest.mark.parametrize("kind", [*KINDS, "given"])
    @pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
    def test_for_every_preliminary_embedding(self, kind: str, store: type) -> None:
        rng = np.random.default_rng(0)
        X = (rng.random((200, 12)) < 0.3).astype(np.float32)[rng.integers(200, size=700)]
        given = rng.normal(size=(700, 2))  # different places for equal rows: the first decides
        for layout in LAYOUTS:
            model = HNNE(layout=layout)
            if isinstance(layout, Descent):
                start = given if kind == "given" else kind
                model = HNNE(layout=Descent(arrangement=layout.arrangement, preliminary=start))
            model.fit(store(X))
            np.testing.assert_array_equal(model.transform(store(X)), model.embedding_)
            _, first, of_row = np.unique(X, axis=0, return_index=True, return_inverse=True)
            np.testing.assert_array_equal(model.embedding_, model.embedding_[first[of_row.ravel()]])

    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    def test_that_neighbours_given_by_the_user_part(self, layout: Any) -> None:
        X = np.tile(np.random.default_rng(0).normal(size=(40, 4)), (2, 1))
        pairs = np.arange(80) ^ 1  # each row with the next one, its copy in another leaf
        self.equal_places(HNNE(layout=layout, neighbors=pairs).fit(X), X)

    @pytest.mark.parametrize("arrangement", ["local", "global"])
    def test_alone_in_their_leaf_lie_at_its_anchor(self, arrangement: str) -> None:
        X = np.repeat(np.random.default_rng(0).normal(size=(9, 6)), 40, axis=0)
        model = HNNE(layout=Descent(arrangement=arrangement)).fit(X)
        place = model.layout_.placements[0]
        np.testing.assert_array_equal(model.embedding_, place.anchors[model.hierarchy_.labels(0)])
        assert not place.scales.any()

    @pytest.mark.parametrize("layout", LAYOUTS, ids=str)
    @pytest.mark.parametrize("value", [0.0, 1e-300, 3.5, 1e90])
    def test_and_no_other_ones(self, value: float, layout: Any) -> None:
        X = np.full((7, 3), value)
        model = HNNE(layout=layout).fit(X)
        self.equal_places(model, X)
        assert np.isfinite(model.transform(X + 1)).all()

    def test_first_equal(self) -> None:
        rng = np.random.default_rng(0)
        for n_values in (1, 5, 40, 2000):
            hashes = rng.integers(n_values, size=60).astype(np.uint64)
            found = RowTable.of(hashes).first_equal()
            expected = [int(np.flatnonzero(hashes == value)[0]) for value in hashes]
            assert (
                np.arange(60).tolist() == expected if found is None else found.tolist() == expected
            )
        assert RowTable.of(np.arange(5, dtype=np.uint64)).first_equal() is None


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
def test_rows_of_the_identity(store: type) -> None:
    """All distances, and all variances, are equal."""
    for n in (2, 3, 39, 56, 100, 256, 300):
        X = store(np.eye(n))
        for layout in ("descent", "mosaic"):
            model = HNNE(layout=layout).fit(X)
            assert np.isfinite(model.embedding_).all()
            np.testing.assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.parametrize(
    "X", [hadamard(256).astype(float), sparse.csr_matrix(np.eye(56))], ids=["hadamard", "eye"]
)
def test_the_same_map_each_time(X: Any) -> None:
    for layout in LAYOUTS:
        maps = [HNNE(layout=layout, n_jobs=n).fit_transform(X) for n in (1, 2, 8, None)]
        for found in maps[1:]:
            np.testing.assert_array_equal(found, maps[0])


@pytest.mark.parametrize("layout", ["descent", "mosaic"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_one_thread_opens_no_pool(
    layout: str, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("a pool of threads")

    with single_threaded_blas():  # which finds out once, in a thread, how BLAS counts its threads
        pass
    monkeypatch.setattr("nestmap.core.threads.ThreadPoolExecutor", refuse)
    monkeypatch.setattr("nestmap.method.layout.regions._VERTICES_PER_TASK", 50)
    for module in ("layout.mosaic", "layout.balls", "arrangement.local"):
        monkeypatch.setattr(f"nestmap.method.{module}._VALUES_PER_TASK", 50)
    X = np.random.default_rng(0).normal(size=(300, 30))
    model = HNNE(layout=layout, metric=metric, n_jobs=1).fit(X)
    assert (
        len(model.relayout(layout=Descent(arrangement="global")).audit().levels)
        == model.hierarchy_.n_levels
    )


@pytest.mark.filterwarnings(
    "ignore::nestmap.errors.FarRowsWarning"
)  # rows of 1e-30, and new ones of 1
@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.integers(1, 5)),
        elements=st.one_of(
            st.integers(-2, 2).map(float), st.floats(-1e6, 1e6, width=32), st.just(1e-30)
        ),
    ),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["euclidean", "cosine", "manhattan", "correlation"]),
)
def test_odd_input(X: np.ndarray, n_components: int, metric: str) -> None:
    model = HNNE(n_components, metric=metric, layout=Descent(radius=0.2)).fit(X)
    check(model, X)
    assert all(level.n_outside == 0 for level in model.audit().levels)
    assert np.isfinite(model.transform(X + 1)).all()
