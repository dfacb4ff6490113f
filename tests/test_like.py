"""Fits that follow an older map: the map lies on it, clusters keep their numbers, and everything
fits together.
"""

from __future__ import annotations

import pickle
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import digits, using
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from test_living import check_consistent, components_of_labels

import nestmap
from nestmap import HNNE, Descent
from nestmap.core.native import forces
from nestmap.method.arrangement.old import OldPlaces
from nestmap.method.hierarchy import build_hierarchy
from nestmap.method.layout.islands.alike import ALLOWANCE, part_ends, share_kept
from nestmap.method.layout.islands.graph import Attraction, weigh_neighbors
from nestmap.method.layout.islands.leaps import Neighbors, better_places
from nestmap.method.layout.islands.schedule import Phase, count_steps, cut
from nestmap.method.layout.similarity import align, fit_scale, spread
from nestmap.metrics import trustworthiness
from nestmap.model.growth.like import keep_numbers, renumber
from tools.flat import make_hnne

RNG = np.random.default_rng(0)


@cache
def rows() -> np.ndarray:
    return digits()[np.random.default_rng(0).permutation(1797)]


@cache
def old() -> HNNE:
    return HNNE().fit(rows()[:800])


@cache
def new() -> HNNE:
    """80 of 800 rows replaced."""
    return HNNE().fit(rows()[80:880], like=old())


def test_a_level_that_was_decided_stays_in_pickles() -> None:
    tree = old().hierarchy_
    other = (tree.default_level() + 1) % tree.n_levels
    found = pickle.loads(pickle.dumps(tree.with_default_level(other)))
    assert found.default_level() == other != tree.default_level()


def moves(before: HNNE, after: HNNE, **options: object) -> np.ndarray:
    """How far the common rows have moved, as the maps lie."""
    found = nestmap.compare(before, after, align_maps=False, **options)  # type: ignore[arg-type]
    assert found.displacement is not None
    return found.displacement


class TestMaps:
    def test_the_map_lies_on_the_old_one(self) -> None:
        X = rows()[80:880]
        fresh = HNNE().fit(X)
        assert np.median(moves(old(), new())) < 0.02
        assert np.median(moves(old(), fresh)) > 0.2
        gap = trustworthiness(X, fresh.embedding_) - trustworthiness(X, new().embedding_)
        assert gap < 0.004
        turn = align(new().embedding_[:720], old().embedding_[80:])
        np.testing.assert_allclose(
            turn(new().embedding_), new().embedding_, atol=1e-8
        )  # nothing is left to turn

    def test_all_parts_fit_together(self) -> None:
        check_consistent(new(), rows()[80:880])
        check_consistent(new().extend(rows()[880:900]), rows()[80:900])
        check_consistent(new().forget(range(30)), rows()[110:880])
        # new rows go beside the most similar ones, on the map as it lies
        np.testing.assert_allclose(
            new().transform(rows()[900:1000]).mean(axis=0),
            new().embedding_.mean(axis=0),
            atol=spread(new().embedding_),
        )

    def test_the_same_data_give_nearly_the_same_map(self) -> None:
        again = HNNE().fit(rows()[:800], like=old())
        assert np.median(moves(old(), again)) < 0.01
        for k in range(old().hierarchy_.n_levels):
            np.testing.assert_array_equal(again.hierarchy_.labels(k), old().hierarchy_.labels(k))

    def test_threads_make_no_difference(self) -> None:
        for parameters in ({}, {"detail": "leaves"}):
            maps = [
                make_hnne(n_jobs=k, **parameters).fit(rows()[80:480], like=old()) for k in (1, 2)
            ]
            np.testing.assert_array_equal(maps[0].embedding_, maps[1].embedding_)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"detail": "leaves"},
            {"layout": "descent", "radius": 0.2},
            {"layout": "mosaic"},
            {"n_components": 3},
            {"layout": "descent", "arrangement": "global", "radius": 0.2},
            {"layout": "descent", "arrangement": "global"},
            {"metric": "cosine"},
            {"metric": "chebyshev"},
            {"new_points": "neighbor"},
            {"n_components": 1},
        ],
    )
    def test_every_kind_of_map_follows(self, parameters: dict[str, object]) -> None:
        X = rows()
        before = make_hnne(**parameters).fit(X[:300])  # type: ignore[arg-type]
        fresh = make_hnne(**parameters).fit(X[30:330])  # type: ignore[arg-type]
        after = make_hnne(**parameters).fit(X[30:330], like=before)  # type: ignore[arg-type]
        assert np.median(moves(before, after)) <= np.median(moves(before, fresh)) + 0.05
        np.testing.assert_array_equal(after.transform(X[30:330]), after.embedding_)
        assert np.isfinite(after.transform(X[330:400])).all()
        np.testing.assert_array_equal(after.predict(X[30:330]), after.labels_)
        assert bool(after.audit()) == bool(fresh.audit())
        centres = [after.embedding_[:270].mean(axis=0), before.embedding_[30:].mean(axis=0)]
        np.testing.assert_allclose(*centres, atol=0.03 * spread(before.embedding_))

    @pytest.mark.parametrize(
        "change", [{"detail": "leaves"}, {"tightness": 2.0}, {"layout": "descent"}]
    )
    def test_other_kinds_of_maps_may_be_followed(self, change: dict[str, object]) -> None:
        X = rows()[80:480]
        after = make_hnne(**change).fit(X, like=old())  # type: ignore[arg-type]
        assert np.median(moves(old(), after)) < np.median(moves(old(), make_hnne(**change).fit(X)))  # type: ignore[arg-type]
        back = HNNE().fit(X, like=after)
        np.testing.assert_array_equal(back.transform(X), back.embedding_)

    def test_many_maps_in_a_row_stay_in_place(self) -> None:
        X, model = rows(), HNNE().fit(rows()[:300])
        first, last = model, model
        for i in range(1, 5):
            last = HNNE().fit(X[20 * i : 300 + 60 * i], like=last)  # grows, too
        assert last.layout_.unit < 0.95  # more rows in the same space
        assert np.median(moves(first, last)) < 0.15
        assert trustworthiness(X[80:540], last.embedding_) > 0.975

    def test_rows_that_are_all_new_in_a_place(self) -> None:
        X, own = digits(), nestmap_classes() == 0
        before = HNNE().fit(X[~own][:400])
        after = HNNE().fit(np.concatenate([X[~own][:400], X[own]]), like=before)
        near = np.sqrt(((after.embedding_[400:, None] - after.embedding_[None]) ** 2).sum(axis=2))
        near[np.arange(len(near)), 400 + np.arange(len(near))] = np.inf
        assert (near.argmin(axis=1) >= 400).mean() > 0.9  # they do not lie on top of others

    def test_copies_and_single_rows(self) -> None:
        X = np.repeat(rows()[:40], 3, axis=0)
        before = HNNE().fit(X)
        after = HNNE().fit(np.concatenate([X[3:], X[3:4]]), like=before)
        np.testing.assert_array_equal(after.embedding_[0], after.embedding_[-1])
        for few in (X[:1], X[:4], X[2:5]):
            assert np.isfinite(HNNE().fit(few, like=before).embedding_).all()

    def test_sparse_rows(self) -> None:
        X = sparse.csr_matrix(rows())
        after = HNNE().fit(
            rows()[20:220], like=HNNE().fit(X[:200])
        )  # dense: the same values are the same rows
        assert np.isfinite(after.embedding_).all()


def nestmap_classes() -> np.ndarray:
    from sklearn.datasets import load_digits

    return load_digits().target


class TestNumbers:
    def test_clusters_keep_their_numbers(self) -> None:
        found = nestmap.compare(old(), new())
        for level in found.levels[1:]:
            for change in level.of_kind("same"):
                if (
                    change.n_common > 0.9 * max(change.n_old, change.n_new)
                    and change.old[0] < level.n_new
                ):
                    assert change.old == change.new
        assert (
            abs(new().hierarchy_.level_sizes[new().label_level_] - len(np.unique(old().labels_)))
            < 10
        )

    def test_the_tree_is_that_of_a_fresh_fit(self) -> None:
        fresh, tree = HNNE().fit(rows()[80:880]).hierarchy_, new().hierarchy_
        assert tree.level_sizes == fresh.level_sizes
        for k in range(tree.n_levels):
            np.testing.assert_array_equal(
                components_of_labels(tree.labels(k)), components_of_labels(fresh.labels(k))
            )
        for k in (3, 10, 100):
            np.testing.assert_array_equal(
                components_of_labels(tree.labels(n_clusters=k)),
                components_of_labels(fresh.labels(n_clusters=k)),
            )
        np.testing.assert_array_equal(
            tree.path(5), [tree.labels(k)[5] for k in range(tree.n_levels)]
        )

    @given(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40),
        st.integers(5, 9),
    )
    def test_each_number_once(self, pairs: list[tuple[int, int]], n: int) -> None:
        before, after = np.array(pairs).T
        found = keep_numbers(before, after, n)
        assert sorted(found) == [*range(n)]
        shared = np.zeros((n, 6), int)
        np.add.at(shared, (after, before), 1)
        for i in range(n):  # whoever shares the most, and nobody else more, has the number
            j = int(shared[i].argmax())
            if (
                j < n
                and shared[i, j] > max(np.delete(shared[i], j))
                and shared[i, j] > max(np.delete(shared[:, j], i))
            ):
                assert found[i] == j

    @settings(max_examples=10)
    @given(st.integers(0, 100))
    def test_renumbered_trees_are_the_same_tree(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3))
        tree = build_hierarchy(X)
        numbers = [rng.permutation(n) for n in tree.level_sizes]
        other = renumber(tree, numbers)
        for k, number in enumerate(numbers):
            np.testing.assert_array_equal(other.labels(k), number[tree.labels(k)])
            np.testing.assert_array_equal(other.levels[k].sizes[number], tree.levels[k].sizes)
            np.testing.assert_array_equal(
                other.levels[k].centroids[number], tree.levels[k].centroids
            )
        for n in (2, 7, 30):
            np.testing.assert_array_equal(
                components_of_labels(other.labels(n_clusters=n)),
                components_of_labels(tree.labels(n_clusters=n)),
            )
        leaf = other.leaf_index().query(X, 1)[0]
        np.testing.assert_array_equal(leaf, numbers[0][tree.leaf_index().query(X, 1)[0]])


class TestPlaces:
    def test_new_rows_lie_beside_what_they_are_like(self) -> None:
        X = np.array([[0.0], [1], [10], [11], [100], [101], [110], [111], [110.4]])
        tree, known = build_hierarchy(X), np.ones(9, bool)
        known[[1, 8]] = False
        places = OldPlaces.of(tree, np.arange(18.0).reshape(9, 2), known)
        np.testing.assert_array_equal(places.rows[[1, 8]], [[0, 1], [12, 13]])
        known[:4] = False
        places = OldPlaces.of(tree, np.arange(18.0).reshape(9, 2), known)
        assert np.isfinite(places.rows).all() and (places.rows[:4, 0] >= 8).all()

    def test_scales_and_turns(self) -> None:
        a = RNG.normal(size=(30, 2))
        turn = np.array([[0.6, 0.8], [0.8, -0.6]])
        found = align(a, 3 * a @ turn + [5, -1])
        np.testing.assert_allclose([*found.turn.ravel(), found.factor], [*turn.ravel(), 3])
        assert found.mirrors and not align(a, a).mirrors
        factor, shift = fit_scale(a, 2 * a + [1, 2])
        np.testing.assert_allclose([factor, *shift], [2, 1, 2])
        same = np.ones((4, 2))
        assert align(same, a[:4]).factor == align(a[:4], same).factor == 1  # nothing to scale by


class TestLeaps:
    @given(st.integers(3, 20), st.integers(0, 99))
    def test_better_places(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        k = min(n - 1, 4)
        ids = np.stack([rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)])
        attraction = weigh_neighbors(
            ids.astype(np.int32), rng.random((n, k), np.float32), np.ones(n), 2.0, 1
        )
        y, counts = np.float32(4) * rng.normal(size=(n, 2)).astype(np.float32), rng.random(n) < 0.7
        found = better_places(Neighbors.of(attraction), y, counts)
        for i in range(n):
            edges = slice(attraction.starts[i], attraction.starts[i + 1])
            near, w = (
                attraction.ids[edges],
                attraction.weights[edges] * counts[attraction.ids[edges]],
            )

            def pulls(at: np.ndarray, near: np.ndarray = near, w: np.ndarray = w) -> np.ndarray:
                return w / (1 + ((y[near] - at) ** 2).sum(axis=1) / 10)

            tried = near[np.argsort(-attraction.weights[edges], kind="stable")][:8]
            pull_of = [pulls(y[j])[near != j].sum() for j in tried]
            if max(pull_of) == 0:
                np.testing.assert_array_equal(found.places[i], y[i])
                continue
            pull = pulls(y[tried[np.argmax(pull_of)]])
            place = pull @ y[near] / pull.sum()
            np.testing.assert_allclose(found.places[i], place, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(
                found.times[i], pulls(place).sum() / pulls(y[i]).sum(), rtol=1e-4
            )

    def test_the_strongest_neighbours_count(self) -> None:
        starts = np.array([0, 40, 42])
        weights = np.concatenate([np.random.default_rng(0).permutation(40), [3, 5]]).astype(
            np.float32
        )
        found = Neighbors.of(Attraction(starts, np.arange(42, dtype=np.int32), weights))
        assert (
            found.weights[0].tolist() == [*range(39, 15, -1)]
            and found.weights[1].tolist() == [5, 3] + [0] * 22
        )
        np.testing.assert_array_equal(weights[found.ids[0]], found.weights[0])
        assert found.ids[1, :2].tolist() == [41, 40]

    def test_blocks_make_no_difference(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(0)
        ids = (np.arange(50)[:, None] + [1, 2, 7]) % 50
        attraction = weigh_neighbors(
            ids.astype(np.int32), rng.random((50, 3), np.float32), np.ones(50), 2.0, 1
        )
        y, counts = rng.normal(size=(50, 2)), np.ones(50, dtype=bool)
        with using("off"):
            whole = better_places(Neighbors.of(attraction), y, counts)
            monkeypatch.setattr(forces, "_NODES_PER_BLOCK", 7)
            np.testing.assert_array_equal(
                better_places(Neighbors.of(attraction), y, counts).places, whole.places
            )

    def test_a_row_that_lay_among_others_leaps(self) -> None:
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.normal(size=(300, 4)), rng.normal(size=(300, 4)) + 20])
        before = HNNE().fit(X)
        changed = X.copy()
        changed[:20] += 20  # the same names, values of the other group
        after = HNNE().fit(changed, ids=(range(600), range(600)), like=before)
        moved, own, other = np.split(after.embedding_, [20, 300])
        nearest = [
            ((moved[:, None] - group) ** 2).sum(axis=2).min(axis=1) for group in (own, other)
        ]
        assert (nearest[1] < nearest[0]).all()

    @given(st.lists(st.integers(1, 200), min_size=1, max_size=3))
    def test_parts_are_the_same_steps(self, lengths: list[int]) -> None:
        phases = tuple(Phase(n, float(i)) for i, n in enumerate(lengths))
        parts = cut(phases, part_ends(count_steps(phases)))
        told = [p.exaggeration for part in parts for p in part for _ in range(p.n_steps)]
        assert (
            told == [p.exaggeration for p in phases for _ in range(p.n_steps)] and len(parts) == 4
        )

    def test_ties_are_let_go_as_far_as_moves_are_allowed(self) -> None:
        homes = RNG.normal(size=(400, 2)).astype(np.float32) * 30
        ways = RNG.normal(size=(400, 2))
        ways *= spread(homes.astype(np.float64)) / np.sqrt((ways**2).sum(axis=1))[:, None]
        turn = np.array([[0.0, 2], [-2, 0]])  # turned and scaled: not a move
        kept = [
            share_kept((homes + times * ALLOWANCE * ways) @ turn + 7, homes, ALLOWANCE)
            for times in (0.4, 0.75, 1.1)
        ]
        assert kept[0] == 0 and kept[1] == pytest.approx(2 - 1 / 0.75, abs=0.05) and kept[2] == 1
        assert (
            share_kept(homes + 0.1 * ALLOWANCE * ways, homes, 0.0) == 1
        )  # nothing is new: nothing is let go
        for n in (0, 1):
            assert share_kept(homes[:n], homes[:n], ALLOWANCE) == 1


class TestEstimator:
    def test_clones_and_pickles(self) -> None:
        twin = clone(HNNE(layout=Descent(radius=0.25)).fit(rows()[80:880], like=old()))
        assert twin.layout.radius == 0.25 and not hasattr(twin, "hierarchy_")
        copy = deepcopy(new())
        np.testing.assert_array_equal(copy.embedding_, new().embedding_)
        plain = HNNE().fit(rows()[80:880])
        for each in (plain, new()):
            each.predict(rows()[:1])  # an index is built for the first new rows
        assert len(pickle.dumps(new())) < 1.2 * len(pickle.dumps(plain))
        again = pickle.loads(pickle.dumps(new()))
        np.testing.assert_array_equal(again.embedding_, new().embedding_)
        assert "HNNE" in repr(new())

    def test_files(self, tmp_path: Path) -> None:
        old().save(tmp_path / "old.nestmap")
        new().save(tmp_path / "new.nestmap")
        by_path = HNNE().fit(rows()[80:880], like=tmp_path / "old.nestmap")
        np.testing.assert_array_equal(by_path.embedding_, new().embedding_)
        again = nestmap.load(tmp_path / "new.nestmap")
        assert again.layout_.unit == new().layout_.unit
        np.testing.assert_array_equal(again.transform(rows()[:900]), new().transform(rows()[:900]))
        np.testing.assert_array_equal(again.labels_, new().labels_)

    def test_rows_matched_by_name(self) -> None:
        X = rows()
        names = [f"row {i}" for i in range(900)]
        other = (
            np.concatenate([X[80:880], X[80:880, :5]], axis=1) * 2
        )  # other values, other columns
        after = HNNE().fit(other, ids=(names[:800], names[80:880]), like=old())
        assert np.median(moves(old(), after, ids=(names[:800], names[80:880]))) < 0.2
        np.testing.assert_array_equal(
            HNNE().fit_transform(X[80:880], ids=(range(800), range(80, 880)), like=old()),
            new().embedding_,
        )

    @pytest.mark.parametrize(
        "parameters",
        [
            {"detail": "leaves"},
            {"layout": "descent"},
            {"layout": "mosaic"},
            {"layout": "descent", "n_components": 3},
        ],
    )
    def test_names_in_all_layouts(self, parameters: dict[str, object]) -> None:
        X = rows()[:240]
        before = make_hnne(**parameters).fit(X[:200])  # type: ignore[arg-type]
        by_name, by_value = (
            make_hnne(**parameters).fit(X[40:], ids=ids, like=before)  # type: ignore[arg-type]
            for ids in ((range(200), range(40, 240)), None)
        )
        np.testing.assert_array_equal(by_name.embedding_, by_value.embedding_)
        np.testing.assert_array_equal(by_name.labels_, by_value.labels_)

    def test_distances(self) -> None:
        x = np.sort(RNG.normal(size=60))
        D = np.abs(x[:, None] - x)
        before = HNNE(metric="precomputed").fit(D[:50, :50])
        after = HNNE(metric="precomputed").fit(
            D[10:, 10:], ids=(range(50), range(10, 60)), like=before
        )
        np.testing.assert_array_equal(after.transform(D[10:, 10:]), after.embedding_)
        assert before.forget(range(10)).hierarchy_.n_rows == 40

    def test_clear_errors(self, tmp_path: Path) -> None:
        X = rows()[:100]
        with pytest.raises(ValueError, match=r"like=.*fitted HNNE"):
            HNNE().fit(X, like=HNNE())
        with pytest.raises(ValueError, match=r"like=3.*fitted HNNE"):
            HNNE().fit(X, like=3)
        with pytest.raises(FileNotFoundError):
            HNNE().fit(X, like=tmp_path / "none.nestmap")
        with pytest.raises(ValueError, match="n_components=2, not 3"):
            HNNE(3).fit(X, like=old())
        with pytest.raises(ValueError, match="like: X has 5 columns, the old rows have 64"):
            HNNE().fit(X[:, :5], like=old())
        with pytest.raises(ValueError, match=r"like: none of the 100 rows.*values; give ids="):
            HNNE().fit(X + 1, like=old())
        with pytest.raises(ValueError, match=r"like: none of the 100 rows.*names"):
            HNNE().fit(X, ids=(range(800), range(1000, 1100)), like=old())
        with pytest.raises(ValueError, match="ids: new has shape"):
            HNNE().fit(X, ids=(range(800), range(7)), like=old())
        with pytest.raises(ValueError, match="ids: names of rows are for"):
            HNNE().fit(X, ids=(range(100), range(100)))
