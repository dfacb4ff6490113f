"""What happened between two fits: matched rows, changes of clusters, moves."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import digits
from hypothesis import given
from hypothesis import strategies as st

import nestmap
from nestmap import FINCH, HNNE, build_hierarchy
from nestmap.method.layout.similarity import align, spread
from nestmap.model.comparison.events import KINDS, find_changes
from nestmap.model.comparison.match import match_rows


def fit(X: np.ndarray, **parameters: object) -> HNNE:
    return HNNE(layout="descent", **parameters).fit(X)  # type: ignore[arg-type]


class TestRows:
    def test_by_value_in_any_order(self) -> None:
        X = digits()[:300]
        order = np.random.default_rng(0).permutation(250)
        a, b = match_rows(fit(X), fit(X[50:][order]))
        np.testing.assert_array_equal(a, np.arange(50, 300))
        np.testing.assert_array_equal(X[50:][order][b], X[a])

    def test_equal_rows_are_matched_one_by_one(self) -> None:
        X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 4, axis=0)
        a, b = match_rows(fit(X), fit(X[1:]))
        assert len(a) == 79 and len({*a}) == len({*b}) == 79
        np.testing.assert_array_equal(X[a], X[1:][b])

    def test_by_names(self) -> None:
        X, Z = digits()[:60], np.random.default_rng(0).normal(size=(40, 64))
        names = [f"row {i}" for i in range(60)], [f"row {i}" for i in range(30, 70)]
        a, b = match_rows(fit(X), fit(Z), names)
        np.testing.assert_array_equal(a, np.arange(30, 60))
        np.testing.assert_array_equal(b, np.arange(30))

    @pytest.mark.parametrize(
        "ids, text",
        [
            ((["a"] * 30, np.arange(30)), "'a' occurs 30 times among the old rows"),
            ((np.arange(29), np.arange(30)), r"old has shape \(29,\)"),
            (np.arange(30), "give a pair"),
        ],
    )
    def test_wrong_names(self, ids: object, text: str) -> None:
        model = fit(digits()[:30])
        with pytest.raises(ValueError, match=text):
            nestmap.compare(model, model, ids=ids)

    def test_what_has_no_values_needs_names(self) -> None:
        tree = build_hierarchy(digits()[:50])
        with pytest.raises(ValueError, match="give ids="):
            nestmap.compare(tree, tree)
        found = nestmap.compare(tree, tree, ids=(np.arange(50), np.arange(50)))
        assert all(c.kind == "same" for level in found.levels for c in level.changes)
        with pytest.raises(ValueError, match="old must be a fitted HNNE"):
            nestmap.compare(HNNE(), tree)


def kinds(
    old: list[int], new: list[int], common: tuple[list[int], list[int]] | None = None
) -> list[str]:
    a, b = np.array(old), np.array(new)
    rows = (
        (np.arange(len(a)), np.arange(len(b))) if common is None else tuple(map(np.array, common))
    )
    return sorted(change.kind for change in find_changes(a, b, rows, None))  # type: ignore[arg-type]


class TestChanges:
    def test_kinds(self) -> None:
        assert kinds([0] * 4 + [1] * 4, [1] * 4 + [0] * 4) == ["same", "same"]
        assert kinds([0] * 8, [0] * 4 + [1] * 4) == ["split"]
        assert kinds([0] * 4 + [1] * 4, [0] * 8) == ["merged"]
        assert kinds([0] * 4 + [1] * 4, [0] * 4, ([0, 1, 2, 3], [0, 1, 2, 3])) == ["gone", "same"]
        assert kinds([0] * 4, [0] * 4 + [1] * 4, ([0, 1, 2, 3], [0, 1, 2, 3])) == ["born", "same"]
        assert kinds([0] * 4, [0] * 6, ([0, 1, 2, 3], [0, 1, 2, 3])) == ["grown"]
        assert kinds([0] * 6, [0] * 4, ([0, 1, 2, 3], [0, 1, 2, 3])) == ["shrunk"]
        # a cluster whose rows go to four others in equal parts is gone; these are the same as ever
        assert (
            kinds([0] * 4 + [1, 2, 3, 4] * 9, [0, 1, 2, 3] + [0, 1, 2, 3] * 9)
            == ["gone"] + ["same"] * 4
        )

    def test_rows_that_lie_still_have_not_moved(self) -> None:
        places = np.random.default_rng(0).normal(size=(12, 2))
        old, new = (
            np.repeat([0, 1], [7, 5]),
            np.repeat([0, 1], [5, 7]),
        )  # two rows went to the other cluster
        rows = np.arange(12)
        assert [c.moved for c in find_changes(old, new, (rows, rows), (places, places))] == [0, 0]
        there = places + np.array([3.0, 4.0])
        assert [
            c.moved for c in find_changes(old, new, (rows, rows), (places, there))
        ] == pytest.approx([5, 5])

    @given(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60),
        st.integers(0, 99),
    )
    def test_every_cluster_takes_part_once(self, pairs: list[tuple[int, int]], seed: int) -> None:
        old, new = (np.unique(side, return_inverse=True)[1] for side in np.array(pairs).T)
        rows = np.flatnonzero(np.random.default_rng(seed).random(len(old)) < 0.8)
        found = find_changes(old, new, (rows, rows), None)
        assert sorted(i for c in found for i in c.old) == [*range(old.max() + 1)]
        assert sorted(j for c in found for j in c.new) == [*range(new.max() + 1)]
        assert sum(c.n_old for c in found) == len(old) and {c.kind for c in found} <= {*KINDS}
        assert all(c.n_common <= min(c.n_old, c.n_new) for c in found)
        back = find_changes(new, old, (rows, rows), None)  # the same changes the other way round
        mirror = {
            "split": "merged",
            "merged": "split",
            "born": "gone",
            "gone": "born",
            "grown": "shrunk",
            "shrunk": "grown",
        }
        assert sorted(mirror.get(c.kind, c.kind) for c in found) == sorted(c.kind for c in back)

    def test_a_new_class_is_born(self) -> None:
        rng = np.random.default_rng(0)
        blobs = [rng.normal(scale=0.3, size=(60, 5)) + 10 * rng.normal(size=5) for _ in range(5)]
        before, after = np.concatenate(blobs[:4]), np.concatenate(blobs)
        found = nestmap.compare(FINCH().fit(before), FINCH().fit(after))
        top = found.levels[-1]
        assert len(top.of_kind("born")) >= 1 and sum(c.n_new for c in top.of_kind("born")) == 60
        assert found.born_level == top.new_level and f"up to level {top.new_level}" in repr(found)
        with pytest.raises(ValueError, match="kinds of changes"):
            top.of_kind("vanished")

    def test_on_which_level_a_class_is_born(self) -> None:
        rng = np.random.default_rng(0)
        means = np.array([[0, 0], [50, 0], [0, 50], [50, 50], [8, 0]])  # the last is near the first
        blobs = [rng.normal(size=(60, 2)) + mean for mean in means]
        model = HNNE().fit(np.concatenate(blobs[:4]))
        more = model.extend(blobs[4][:12])
        found = nestmap.compare(model, more)
        level = found.born_level
        assert level is not None and level < more.hierarchy_.n_levels - 1
        for k in range(more.hierarchy_.n_levels):  # above that level they are among others
            labels = more.hierarchy_.labels(k)
            apart = ~np.isin(labels[240:], labels[:240])
            assert (apart.mean() > 0.5) == (k <= level) and found.levels[k].n_apart == apart.sum()
        assert nestmap.compare(model, model).born_level is None
        among = nestmap.compare(model, model.extend(blobs[0][:20] + 0.001))
        assert among.born_level is None and "of their own" not in repr(among)


class TestMaps:
    def test_a_turned_map_has_not_moved(self) -> None:
        rng = np.random.default_rng(0)
        places = rng.normal(size=(50, 3))
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        other = 2 * places @ turn + 5
        np.testing.assert_allclose(align(other, places)(other), places, atol=1e-12)

    def test_displacement_of_the_same_map_is_none(self) -> None:
        model = fit(digits()[:200])
        found = nestmap.compare(model, model)
        assert found.displacement is not None and found.displacement.max() < 1e-12
        assert "median 0.000" in repr(found) and len(repr(found).splitlines()) < 24

    def test_moves_are_shares_of_the_spread(self) -> None:
        X = digits()[:200]
        old, new = fit(X), fit(X)
        new.embedding_ = old.embedding_ + np.array([3 * spread(old.embedding_), 0])
        assert nestmap.compare(old, new, align_maps=False).displacement == pytest.approx(
            np.full(200, 3.0)
        )
        assert nestmap.compare(old, new).displacement == pytest.approx(np.zeros(200), abs=1e-12)

    def test_no_map_no_moves(self) -> None:
        X = digits()[:100]
        found = nestmap.compare(FINCH().fit(X), fit(X))
        assert found.displacement is None and np.isnan(found.levels[0].changes[0].moved)

    def test_table(self) -> None:
        X = digits()[:300]
        found = nestmap.compare(fit(X), fit(X[20:]))
        frame = found.to_frame()
        assert len(frame) == sum(len(level.changes) for level in found.levels)
        assert {*frame["kind"]} <= {*KINDS} and (frame["rows_common"] <= frame["rows_before"]).all()


class TestPicture:
    def test_two_maps_and_their_flows(self) -> None:
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        X = digits()[:400]
        old, new = fit(X[:300]), fit(X[50:])
        axes = nestmap.plot_changes(old, new)
        sizes = [len(c.get_offsets()) for ax in axes for c in ax.collections]
        assert sizes == [300, 350] and axes[0].figure.artists
        plt.close("all")
        with pytest.raises(ValueError, match="no row in common; give ids="):
            nestmap.plot_changes(old, fit(X + 1))
        assert "no common rows" in repr(nestmap.compare(old, fit(X + 1)))
        plt.close("all")

    @pytest.mark.parametrize("kind", ["finch", "hierarchy", "3-D"])
    def test_bars_and_bands_without_maps(self, kind: str) -> None:
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        X = digits()[:400]
        make = {
            "finch": lambda X: FINCH().fit(X),
            "hierarchy": build_hierarchy,
            "3-D": lambda X: fit(X, n_components=3),
        }[kind]
        names = np.arange(300), np.arange(50, 400)
        old, new = make(X[:300]), make(X[50:])
        found = nestmap.compare(old, new, ids=names)
        for level in range(len(found.levels)):
            axes = nestmap.plot_changes(old, new, level, ids=names)
            told, trees = (
                found.levels[level],
                [getattr(each, "hierarchy_", each) for each in (old, new)],
            )
            labels = trees[0].labels(level), trees[1].labels(told.new_level)
            for ours, ax in zip(labels, axes, strict=True):
                heights = np.array([bar.get_height() for bar in ax.patches])
                np.testing.assert_allclose(heights / heights.sum(), np.bincount(ours) / len(ours))
                ends = np.sort(
                    [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches], axis=0
                )
                assert (
                    (ends[1:, 0] >= ends[:-1, 1] - 1e-9).all()
                    and ends.min() >= 0
                    and ends.max() <= 1
                )
            pairs = {*zip(labels[0][50:], labels[1][:250], strict=True)}
            assert len(axes[0].figure.artists) == len(pairs)
            axes[0].figure.canvas.draw()
            plt.close("all")
