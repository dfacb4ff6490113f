"""Maps whose rows come and go: what was published stays, and everything fits together."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import nestmap
from nestmap import HNNE, Descent, Islands, Mosaic
from nestmap.method.hierarchy.merge import components, link_graph
from nestmap.method.layout.islands.leaves import SHORT
from nestmap.method.neighbors import first_neighbors
from nestmap.method.neighbors.report import FirstNeighbors
from nestmap.method.placement import RowTable
from nestmap.metrics import trustworthiness
from nestmap.model.growth.links import join_or_found
from nestmap.model.growth.rows import meet_rows
from nestmap.model.growth.taken import TakenPlaces
from tools.flat import make_hnne

CLASSES = load_digits().target


@cache
def fitted() -> HNNE:
    return HNNE().fit(digits()[:600])


def check_consistent(model: HNNE, X: np.ndarray) -> None:
    """All parts of a model tell the same story about its rows."""
    tree, layout = model.hierarchy_, model.layout_
    n = len(X)
    assert model.embedding_.shape == (n, 2) and np.isfinite(model.embedding_).all()
    assert tree.n_rows == n and len(model.labels_) == n
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    items, sizes = n, np.ones(n)
    for k, level in enumerate(tree.levels):
        assert level.members.shape == (items,)
        sizes = np.bincount(level.members, sizes, level.n_nodes)
        np.testing.assert_array_equal(sizes, level.sizes)
        assert (level.sizes > 0).all() and level.centroids.shape[0] == level.n_nodes
        if tree.links:  # links of a level connect what is below one node of the next
            np.testing.assert_array_equal(
                components(link_graph(tree.links[k].ids)), components_of_labels(level.members)
            )
        items = level.n_nodes
    for k in (1, 2, 5, n // 2):
        assert len(np.unique(tree.labels(n_clusters=k))) == k
    assert (tree.path(n - 1) == [tree.labels(k)[n - 1] for k in range(tree.n_levels)]).all()
    if layout.kind == "islands":
        assert [len(p) for p in layout.parents] == [len(level.members) for level in tree.levels]
        assert len(layout.leaf.anchors) == tree.levels[0].n_nodes
    for k in (tree.default_level(), -1):
        outlines = layout.outlines(k)
        assert len(outlines) == tree.level_sizes[k] and np.isfinite(outlines.points).all()
    assert model.audit()


def components_of_labels(labels: np.ndarray) -> np.ndarray:
    """The same groups, numbered by their lowest item."""
    first = np.unique(labels, return_index=True)[1]
    return np.argsort(np.argsort(first))[np.unique(labels, return_inverse=True)[1]]


def _goes_on(links: np.ndarray, row: int, n_first: int) -> bool:
    """Whether a chain of links goes from one of the first rows to a later one; negative: to a row
    of the model.
    """
    seen: set[int] = set()
    while row >= 0 and row not in seen:
        seen.add(row)
        if row < n_first <= links[row]:
            return True
        row = int(links[row])
    return False


class TestLinks:
    def test_rows_join_or_found(self) -> None:
        X = np.array([[0.0], [0.1], [50.0], [51.0], [10.4], [10.9]])
        others = first_neighbors(X)
        # old centroids at 0 and 10
        distances = np.abs(X[:, :1] - [0, 10])
        found = join_or_found(distances.argmin(axis=1), distances.min(axis=1), others, 2)
        assert found.parents.tolist() == [0, 0, 2, 2, 1, 1] and found.n_new == 1
        alone = join_or_found(np.array([1]), np.array([3.0]), None, 2)
        assert alone.parents.tolist() == [1] and alone.n_new == 0

    @given(
        st.lists(st.integers(0, 30), min_size=2, max_size=30),
        st.lists(st.integers(0, 30), min_size=1, max_size=4),
    )
    def test_each_group_has_one_home(self, values: list[int], centres: list[int]) -> None:
        X = np.array(values, dtype=float)[:, None] + np.arange(len(values))[:, None] / 100
        distances = np.abs(X - np.array(centres))
        others: FirstNeighbors = first_neighbors(X)
        near = distances.argmin(axis=1)
        found = join_or_found(near, distances.min(axis=1), others, len(centres))
        joined = found.nearest < 0
        np.testing.assert_array_equal(found.parents[joined], near[joined])
        np.testing.assert_array_equal(found.parents[~joined], found.parents[found.nearest[~joined]])
        assert {*found.parents[found.parents >= len(centres)]} == {
            *range(len(centres), len(centres) + found.n_new)
        }


class TestExtend:
    def test_nothing_that_was_published_moves(self) -> None:
        model, X = fitted(), digits()
        before = model.embedding_.copy()
        more = model.extend(X[600:900])
        np.testing.assert_array_equal(more.embedding_[:600], before)
        np.testing.assert_array_equal(model.embedding_, before)
        for k in range(model.hierarchy_.n_levels):
            np.testing.assert_array_equal(
                more.hierarchy_.labels(k)[:600], model.hierarchy_.labels(k)
            )
        np.testing.assert_array_equal(more.labels_[:600], model.labels_)
        check_consistent(more, X[:900])

    def test_a_new_class_becomes_a_cluster_of_its_own(self) -> None:
        X, own = digits(), CLASSES == 0
        model = HNNE().fit(X[~own])
        more = model.extend(X[own])
        n = int((~own).sum())
        new = more.hierarchy_.labels(1) >= model.hierarchy_.level_sizes[1]
        assert new[n:].mean() > 0.9 and new[:n].sum() == 0
        near = KNeighborsClassifier(1).fit(more.embedding_[:n], CLASSES[~own])
        nearest_old = near.kneighbors(more.embedding_[n:])[0][:, 0]
        nearest_new = (
            KNeighborsClassifier(2).fit(more.embedding_[n:], CLASSES[own]).kneighbors()[0][:, 0]
        )
        assert (nearest_new < nearest_old).mean() > 0.9  # it does not lie on top of others
        check_consistent(more, np.concatenate([X[~own], X[own]]))

    def test_rows_that_are_known_stay_with_their_twins(self) -> None:
        model, X = fitted(), digits()
        more = model.extend(X[[5, 5, 9]])
        np.testing.assert_array_equal(more.embedding_[600:], model.embedding_[[5, 5, 9]])
        np.testing.assert_array_equal(
            more.hierarchy_.labels(0)[600:], model.hierarchy_.labels(0)[[5, 5, 9]]
        )
        assert more.hierarchy_.level_sizes == model.hierarchy_.level_sizes

    def test_equal_new_rows_have_one_place(self) -> None:
        model = fitted()
        far = np.repeat(np.random.default_rng(0).normal(size=(4, 64)) * 100 + 500, 5, axis=0)
        more = model.extend(far)
        places = more.embedding_[600:].reshape(4, 5, 2)
        np.testing.assert_array_equal(places, places[:, :1].repeat(5, axis=1))
        np.testing.assert_array_equal(more.transform(far), more.embedding_[600:])

    @pytest.mark.parametrize("seed", range(4))
    def test_where_batches_make_a_difference(self, seed: int) -> None:
        """Only where the chain of nearest rows goes from the first batch to the second
        (docs/use/living.md).
        """
        rng = np.random.default_rng(seed)
        n, n_first = 300, 70
        far = rng.normal(size=(60, 10)) + 12 * rng.normal(size=(6, 10)).repeat(10, axis=0)
        new = rng.permutation(np.concatenate([rng.normal(size=(80, 10)), far]))
        model = HNNE().fit(rng.normal(size=(n, 10)))
        together = model.extend(new).hierarchy_.labels(0)[n:]
        in_turn = model.extend(new[:n_first]).extend(new[n_first:]).hierarchy_.labels(0)[n:]
        short = meet_rows(model._fitted, new, 1).short
        assert short is not None
        rows = np.concatenate([model._fitted.layout.leaf.short, short]).astype(np.float64)
        away = np.sqrt(((rows[n:, None] - rows[None]) ** 2).sum(axis=2))
        away[np.arange(len(new)), n + np.arange(len(new))] = np.inf
        crosses = np.array(
            [_goes_on(away.argmin(axis=1) - n, row, n_first) for row in range(len(new))]
        )
        assert 0 < crosses.sum() < 0.7 * len(new)
        own = together >= model.hierarchy_.level_sizes[0]
        assert (own & ~crosses).any() and (~own & ~crosses).any()
        np.testing.assert_array_equal(together[~own & ~crosses], in_turn[~own & ~crosses])
        np.testing.assert_array_equal(
            *(components_of_labels(leaf[own & ~crosses]) for leaf in (together, in_turn))
        )

    @pytest.mark.parametrize("layout", ["descent", "mosaic"])
    def test_batches_make_no_difference_where_nothing_is_founded(self, layout: str) -> None:
        X = digits()
        model = HNNE(layout=layout).fit(X[:200])
        one, two = model.extend(X[200:300]), model.extend(X[200:240]).extend(X[240:300])
        np.testing.assert_array_equal(one.embedding_, two.embedding_)
        np.testing.assert_array_equal(one.hierarchy_.labels(0), two.hierarchy_.labels(0))

    def test_rows_lie_beside_the_nearest_row(self) -> None:
        model, X = fitted(), digits()
        more = model.extend(X[600:])
        new, Y = X[600:], more.embedding_
        away = np.sqrt(((new[:, None] - X[None]) ** 2).sum(axis=2))
        nearest = away[:, :600].argmin(axis=1)
        away[np.arange(len(new)), 600 + np.arange(len(new))] = np.inf
        joins = away.argmin(axis=1) < 600
        near = np.sqrt(((Y[600:, None] - Y[None, :600]) ** 2).sum(axis=2))
        # not all: what is linked lies beside one row
        assert (near.argmin(axis=1) == nearest)[joins].mean() > 0.85
        before = model.transform(new)
        assert (
            np.abs(before - Y[600:]).max(axis=1) > 0
        ).mean() > 0.1  # rows of the leaf are another choice
        np.testing.assert_array_equal(more.transform(new), Y[600:])

    def test_short_rows_stay_with_the_model(self, tmp_path: Path) -> None:
        model, X = fitted(), digits()
        short = model.layout_.leaf.short
        assert short.shape == (600, SHORT) and short.dtype == np.float16
        more = model.extend(X[600:650])
        np.testing.assert_array_equal(more.layout_.leaf.short[:600], short)
        assert more.layout_.leaf.short.shape == (650, SHORT)
        gone = more.forget(range(100)).layout_.leaf.short
        np.testing.assert_array_equal(gone, more.layout_.leaf.short[100:])
        again = model.forget(range(100)).extend(X[:100])
        # new rows are seen along the same directions; the last digit of float16 may turn, sums of a
        # fit are float32
        np.testing.assert_allclose(
            again.layout_.leaf.short[500:], short[:100], rtol=2**-9, atol=2**-13
        )
        model.save(tmp_path / "short.nestmap")
        loaded = nestmap.load(tmp_path / "short.nestmap")
        np.testing.assert_array_equal(
            loaded.extend(X[600:700]).embedding_, model.extend(X[600:700]).embedding_
        )

    def test_tight_leaves_that_are_far_apart_are_told_apart(self) -> None:
        rng = np.random.default_rng(0)
        X = (
            np.repeat(rng.normal(size=(30, 5)), 20, axis=0) * 1000
            + rng.normal(size=(600, 5)) * 0.001
        )
        model = HNNE().fit(X[::2])
        assert model.layout_.leaf.short.dtype == np.float32
        more = model.extend(X[1::2])
        np.testing.assert_array_equal(more.transform(X[1::2]), more.embedding_[300:])

    def test_models_without_short_rows_grow_too(self) -> None:
        model, X = fitted(), digits()
        layout = replace(
            model.layout_, leaf=replace(model.layout_.leaf, short=None)
        )  # as in older files
        old = model._with(replace(model._fitted, layout=layout))
        more = old.extend(X[600:700])
        assert more.layout_.leaf.short is None
        check_consistent(more, X[:700])
        leaf, distance = model.hierarchy_.leaf_index().query(X[600:700], 1)
        alone = distance <= first_neighbors(X[600:700]).distances
        np.testing.assert_array_equal(more.hierarchy_.labels(0)[600:][alone], leaf[alone])
        np.testing.assert_array_equal(
            more.embedding_[600:][alone], old.transform(X[600:700])[alone]
        )

    def test_threads_make_no_difference(self) -> None:
        X = digits()
        a, b = (HNNE(n_jobs=k).fit(X[:500]).extend(X[500:700]).embedding_ for k in (1, 2))
        np.testing.assert_array_equal(a, b)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"layout": "descent"},
            {"layout": "mosaic"},
            {"n_components": 3},
            {"detail": "leaves"},
            {"layout": "descent", "arrangement": "global"},
            {"metric": "cosine"},
            {"new_points": "neighbor"},
            {"metric": "chebyshev"},
        ],
    )
    def test_every_kind_of_map_grows(self, parameters: dict[str, object]) -> None:
        X = digits()
        model = make_hnne(**parameters).fit(X[:300])  # type: ignore[arg-type]
        more = model.extend(X[300:400])
        np.testing.assert_array_equal(more.embedding_[:300], model.embedding_)
        np.testing.assert_array_equal(more.transform(X[:400]), more.embedding_)
        assert more.predict(X[:400]).tolist() == more.labels_.tolist()

    def test_sparse_rows(self) -> None:
        X = sparse.csr_matrix(digits())
        more = HNNE().fit(X[:300]).extend(X[300:400])
        np.testing.assert_array_equal(more.transform(X[:400]), more.embedding_)

    def test_files(self, tmp_path: Path) -> None:
        X = digits()
        more = fitted().extend(X[600:700])
        more.save(tmp_path / "more.nestmap")
        again = nestmap.load(tmp_path / "more.nestmap")
        np.testing.assert_array_equal(again.embedding_, more.embedding_)
        np.testing.assert_array_equal(again.transform(X[:720]), more.transform(X[:720]))
        check_consistent(again.extend(X[700:720]), X[:720])

    def test_clear_errors(self) -> None:
        x = np.arange(20.0) ** 1.1
        D = np.abs(x[:, None] - x)
        model = HNNE(metric="precomputed").fit(D)
        with pytest.raises(ValueError, match="metric='precomputed'"):
            model.extend(D[:2] + 1)
        with pytest.raises(ValueError, match="64 features"):
            fitted().extend(np.zeros((3, 5)))


@pytest.mark.parametrize("n", [3, 40, 3000])
def test_taken_places(n: int) -> None:
    rng = np.random.default_rng(n)
    places = np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) * 0.01 + 5])
    targets = np.concatenate([places[[0, n]], [[9.0, -9.0]]])  # the last one lies outside
    taken = TakenPlaces(places, targets)
    for target in targets:
        for away in (0, 0.001, 0.1, 3):
            points = target + away * rng.normal(size=(4, 2))
            distances = np.sqrt(((points[:, None] - places[None]) ** 2).sum(axis=2))
            for k in (1, 2, n):
                found, near = taken.nearest(target, points, k)
                np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :k])
                np.testing.assert_allclose(
                    np.sqrt(((points[:, None] - near) ** 2).sum(axis=2)), found
                )
    assert n < 1000 or taken.some.n < 1.5 * n  # of all 2 n
    same = TakenPlaces(np.ones((3, 2)), np.ones((1, 2)))
    assert same.extent == 0 and same.nearest(np.ones(2), np.ones((1, 2)), 3)[0].tolist() == [
        [0, 0, 0]
    ]


@given(
    st.lists(st.integers(0, 9), max_size=12), st.lists(st.integers(0, 9), min_size=1, max_size=12)
)
def test_tables_of_rows_grow(old: list[int], new: list[int]) -> None:
    hashes = np.array([*old, 3], dtype=np.uint64), np.array(new, dtype=np.uint64)
    grown, fresh = RowTable.of(hashes[0]).more(hashes[1]), RowTable.of(np.concatenate(hashes))
    np.testing.assert_array_equal(grown.hashes, fresh.hashes)
    np.testing.assert_array_equal(grown.rows, fresh.rows)


class TestForget:
    def test_the_others_stay(self) -> None:
        model, X = fitted(), digits()[:600]
        gone = np.random.default_rng(0).choice(600, 200, replace=False)
        left = np.setdiff1d(np.arange(600), gone)
        fewer = model.forget(gone)
        np.testing.assert_array_equal(fewer.embedding_, model.embedding_[left])
        check_consistent(fewer, X[left])
        for k in range(fewer.hierarchy_.n_levels):  # the same groups, in the same order
            old = model.hierarchy_.labels(k)[left]
            np.testing.assert_array_equal(
                np.unique(old, return_inverse=True)[1], fewer.hierarchy_.labels(k)
            )

    @pytest.mark.parametrize(
        "layout", [Descent(radius=0.2), Mosaic(), Islands(radius=0.2)], ids=str
    )
    def test_all_layouts(self, layout: Any) -> None:
        X = digits()[:300]
        fewer = HNNE(layout=layout).fit(X).forget(CLASSES[:300] == 3)
        np.testing.assert_array_equal(fewer.transform(X[CLASSES[:300] != 3]), fewer.embedding_)
        assert fewer.audit()

    def test_clear_errors(self) -> None:
        wrong = (
            ([600], "600 is not a row"),
            ([-1], "-1 is not a row"),
            ([0.5], "0 to 599"),
            (3, "a list"),
            ({1, 2}, "a list"),
            ([True] * 5, "each of the 600"),
            (range(600), "at least one"),
        )
        for rows, text in wrong:
            with pytest.raises(ValueError, match=text):
                fitted().forget(rows)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from(["extend", "new", "forget", "pickle", "relayout", "like"]),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(
        [{}, {"detail": "leaves"}, {"layout": "descent", "radius": 0.2}, {"layout": "mosaic"}]
    ),
    st.integers(0, 9),
)
def test_any_sequence_of_changes(
    steps: list[str], parameters: dict[str, object], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = digits()[rng.permutation(1797)[:300]]
    model, rows = make_hnne(**parameters).fit(X[:120]), X[:120]  # type: ignore[arg-type]
    at = 120
    for step in steps:
        kept = model.embedding_
        if step == "extend":
            model, rows = model.extend(X[at : at + 30]), np.concatenate([rows, X[at : at + 30]])
            at += 30
        elif step == "new":
            far = rng.normal(size=(12, 64)) * 3 + rng.normal(size=64) * 40
            model, rows = model.extend(far), np.concatenate([rows, far])
        elif step == "forget":
            gone = rng.choice(len(rows), 15, replace=False)
            left = np.setdiff1d(np.arange(len(rows)), gone)
            model, rows, kept = model.forget(gone), rows[left], kept[left]
        elif step == "pickle":
            model = pickle.loads(pickle.dumps(model))
        else:
            model = (
                make_hnne(**parameters).fit(rows, like=model)  # type: ignore[arg-type]
                if step == "like"
                else model.relayout(rows, layout=Islands(tightness=1.5))
            )
            kept = model.embedding_
        np.testing.assert_array_equal(model.embedding_[: len(kept)], kept)
        check_consistent(model, rows)


class TestDrift:
    def test_a_fresh_fit_has_none(self) -> None:
        found = HNNE(layout="descent").fit(np.random.default_rng(0).normal(size=(500, 5))).drift()
        assert found.apart == found.crowded == 0 and not found and "no refit" in str(found)
        assert np.isnan(found.recall) and found.n_sampled_new == 0 and "new rows" not in str(found)

    def test_new_rows_are_asked_for_themselves(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        X, more = rng.normal(size=(400, 8)), rng.normal(size=(30, 8))
        model = HNNE(layout="descent").fit(X)
        for row in more:
            model = model.extend(row[None])
        rows, leaves = np.concatenate([X, more]), model.labels(0)
        nearest = (
            NearestNeighbors(n_neighbors=2).fit(rows).kneighbors(more, return_distance=False)[:, 1]
        )
        together = float((leaves[nearest] == leaves[400:]).mean())
        model.save(tmp_path / "grown.nestmap")
        for each in (model, nestmap.load(tmp_path / "grown.nestmap")):
            found = each.drift(rows)
            assert found.recall == pytest.approx(together) and found.n_sampled_new == 30
            assert f"{together:.1%} of 30 new rows" in str(found)
        kept = np.flatnonzero(np.arange(430) % 2)
        assert model.forget(np.arange(0, 430, 2)).drift(rows[kept]).n_sampled_new == 15
        assert model.drift(rows, n_sample=7).n_sampled_new == 7

    def test_rows_from_elsewhere_are_noticed(self) -> None:
        rng = np.random.default_rng(0)
        X, more = rng.normal(size=(300, 8)), rng.normal(size=(900, 8))
        model = HNNE(layout="descent").fit(X)
        for part in np.array_split(more, 9):
            model = model.extend(part)
        found = model.drift(np.concatenate([X, more]))
        assert found and found.apart > 0.1 and "a refit is worth it" in str(found)
        assert found.crowded > 0.5 and model.drift(
            np.concatenate([X, more]), n_sample=1
        ).crowded in (0, 1)
        with pytest.raises(ValueError, match="does not have its rows"):
            model.drift()
        with pytest.raises(ValueError, match="not the data"):
            model.drift(np.concatenate([more, X]))
        for n_sample in (0, -1, 0.5):
            with pytest.raises(ValueError, match=f"n_sample={n_sample}: must be"):
                model.drift(X, n_sample=n_sample)  # type: ignore[arg-type]


class TestDistortion:
    def test_scores_of_rows(self) -> None:
        model, X = fitted(), digits()[:600]
        found = model.distortion()
        assert found.recall.shape == (600,) and "600 of 600 rows" in repr(found)
        assert (found.stretch >= 1 - 1e-12).all() and found.trustworthiness.mean() > 0.97
        some = model.distortion(X, rows=[3, 5])
        assert np.isnan(some.recall).sum() == 598
        np.testing.assert_array_equal(some.recall[[3, 5]], found.recall[[3, 5]])
        by_mask = model.distortion(rows=np.isin(np.arange(600), [3, 5]))
        np.testing.assert_array_equal(by_mask.stretch, some.stretch)

    def test_clear_errors(self) -> None:
        for rows, text in (
            ([600], "600 is not a row"),
            ([True], "each of the 600"),
            ([], "at least one row"),
        ):
            with pytest.raises(ValueError, match=text):
                fitted().distortion(rows=rows)
        with pytest.raises(ValueError, match="give X, all 630 of them"):
            fitted().extend(digits()[600:630]).distortion()

    def test_colours(self) -> None:
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        found = fitted().distortion(rows=range(0, 600, 2))  # the others are NaN
        for name in ("recall", "trustworthiness", "stretch"):
            nestmap.plot(fitted(), color=getattr(found, name))
        plt.close("all")
        with pytest.raises(ValueError, match=r"three scores; give one: \.recall"):
            nestmap.plot(fitted(), color=found)
        plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize(
    "parameters", [{}, {"detail": "leaves"}, {"layout": "descent", "radius": 0.2}]
)
def test_a_hundred_extensions_in_a_row(parameters: dict[str, object]) -> None:
    X = digits()[np.random.default_rng(0).permutation(1797)][:1400]
    model = first = make_hnne(**parameters).fit(X[:400])  # type: ignore[arg-type]
    for at in range(400, 1400, 10):
        before, model = model, model.extend(X[at : at + 10])
        np.testing.assert_array_equal(model.embedding_[:at], before.embedding_)
    check_consistent(model, X)
    n_levels = model.hierarchy_.n_levels
    for k in range(n_levels):
        np.testing.assert_array_equal(model.hierarchy_.labels(k)[:400], first.hierarchy_.labels(k))
    at_once = first.extend(X[400:])
    trust = [trustworthiness(X, each.embedding_) for each in (model, at_once)]
    assert trust[0] > trust[1] - 0.02 and trust[0] > 0.93


@pytest.mark.filterwarnings("ignore::nestmap.errors.FarRowsWarning")
@pytest.mark.parametrize("times", [1e5, 1e30, 1e60])
def test_rows_beyond_the_range_of_short_ones(times: float) -> None:
    """float16 ends at 65,504: casts overflowed, and infinite rows were looked for."""
    X = np.random.default_rng(0).normal(size=(130, 6))
    more = HNNE().fit(X[:100]).extend(times * X[100:])
    assert np.isfinite(more.embedding_).all() and np.isfinite(more._fitted.layout.leaf.short).all()
    np.testing.assert_array_equal(more.transform(times * X[100:]), more.embedding_[100:])
