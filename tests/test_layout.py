"""Section 3.3: the descent, Lemma 1, inflation."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from conftest import digits, make_preliminary
from scipy.spatial.distance import cdist, pdist

from nestmap import HNNE, Descent, build_hierarchy
from nestmap.method.arrangement.frames import apply_maps
from nestmap.method.arrangement.inflate import inflation_maps
from nestmap.method.arrangement.plain import GlobalArrangement
from nestmap.method.hierarchy.tree import Grouping
from nestmap.method.layout import Layout, balls
from nestmap.method.layout.audit import audit_layout
from nestmap.method.layout.balls import Placement, neighbors_in_map
from nestmap.method.layout.descent import DescentLayout, descend
from nestmap.method.preliminary.build import KINDS

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("d", [1, 2, 3, 12])
@pytest.mark.parametrize("kind", KINDS)
def test_lemma_1(d: int, kind: str) -> None:
    model = HNNE(d, layout=Descent(radius=0.2, preliminary=kind, random_state=0)).fit(digits())
    audit = model.audit()
    assert audit.ok and bool(audit)
    assert all(level.n_crossing == 0 and level.worst <= 1 + 1e-9 for level in audit.levels)
    assert len(audit.levels) == model.hierarchy_.n_levels


def test_audit_tells_when_the_guarantee_is_given_up() -> None:
    model = HNNE(layout=Descent(radius=0.5)).fit(digits())
    audit = model.audit()
    assert not audit.ok
    assert "is violated" in str(audit) and "level 0" in str(audit)
    right = model.relayout(layout=Descent(radius=0.2))
    assert right.audit().ok
    positions = right.embedding_.copy()
    positions[3] += 1e3
    broken = audit_layout(right.hierarchy_, replace(right.layout_, positions=positions))
    assert broken.levels[0].n_outside == 1


def test_nearest_neighbours_in_the_map_stay_in_the_cluster() -> None:
    """What Lemma 1 is for: at radius 0.2 the nearest point in the map is of the same leaf."""
    model = HNNE(layout=Descent(radius=0.2)).fit(
        digits() + RNG.normal(scale=1e-3, size=digits().shape)
    )
    D = cdist(model.embedding_, model.embedding_)
    np.fill_diagonal(D, np.inf)
    leaf = model.hierarchy_.labels(0)
    assert (leaf[D.argmin(axis=1)] == leaf).all()


def test_members_fill_their_ball_exactly() -> None:
    model = HNNE(layout=Descent(radius=0.3)).fit(digits())
    place = model.layout_.placements[0]
    leaf = model.hierarchy_.labels(0)
    away = np.linalg.norm(model.embedding_ - place.anchors[leaf], axis=1)
    farthest = Grouping.of(leaf, len(place.anchors)).maximum(away)
    np.testing.assert_allclose(farthest, place.radii, rtol=1e-9)
    np.testing.assert_allclose(place.radii, 0.3 * place.nearest)


@pytest.mark.parametrize("d", [1, 2, 3, 9, 40])
def test_nearest_distances_between_anchors_are_exact(d: int) -> None:
    anchors = RNG.normal(size=(500, d))
    D = cdist(anchors, anchors)
    np.fill_diagonal(D, np.inf)
    nearest, around = neighbors_in_map(anchors, 2)
    np.testing.assert_allclose(nearest, D.min(axis=1), rtol=1e-9)
    expected = np.argsort(D, axis=1)[:, : around.shape[1]]
    np.testing.assert_array_equal(around, expected)
    assert around.shape[1] == (6 if d <= 8 else 1)


@pytest.mark.parametrize(
    ("d", "squeeze", "left"),
    [
        (2, [1.0, 0.02], 1.2),
        (2, [1.0, 0.3], 1.02),
        (3, [1.0, 0.02, 0.3], 33.0),
        (3, [1.0, 0.3, 0.6], 2.5),
    ],
)
def test_inflation_undoes_a_squeeze(d: int, squeeze: list[float], left: float) -> None:
    """In the plane even a needle becomes round; in space, where angles are not independent, only
    rounder.
    """
    rng = np.random.default_rng(2)
    for _ in range(5):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        squeezed = rng.normal(size=(400, d)) @ np.diag(squeeze) @ turn
        parents = np.repeat([0, 1], 200)
        maps = inflation_maps(squeezed, parents, 2)
        for g in (0, 1):
            before = np.linalg.svd(squeezed[parents == g], compute_uv=False)
            after = np.linalg.svd(
                apply_maps(maps, parents, squeezed)[parents == g], compute_uv=False
            )
            assert after[0] / after[-1] < min(left, 0.7 * before[0] / before[-1])


def test_inflation_off_is_a_plain_scaling() -> None:
    tree = build_hierarchy(digits())
    pre = make_preliminary(digits(), tree, 2)
    layout = descend(tree, GlobalArrangement(pre, False), pre, radius=0.2)
    leaf = tree.labels(0)
    inside = layout.positions - layout.placements[0].anchors[leaf]
    flat = pre.rows - pre.nodes[0][leaf]
    np.testing.assert_allclose(inside, flat * layout.placements[0].scales[leaf, None], atol=1e-12)


def test_equal_centroids_do_not_swallow_what_is_below() -> None:
    """Rings around one centre: centroids coincide, the map must not collapse."""
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    rings = [r * np.stack([np.cos(angles), np.sin(angles)], axis=1) for r in (1.0, 5.0, 25.0)]
    far = RNG.normal(size=(30, 2)) + 500
    X = np.vstack([*rings, far])
    for d in (1, 2):
        model = HNNE(d, layout=Descent(radius=0.2)).fit(X)
        assert len(np.unique(model.embedding_, axis=0)) > (0.99 if d == 2 else 0.3) * len(X)
        assert np.isfinite(model.embedding_).all()
        assert model.audit().ok


def separate_one_by_one(anchors: np.ndarray, parents: np.ndarray, above: Placement) -> np.ndarray:
    """What `separate` does, spot by spot."""
    out = anchors.copy()
    for spot in np.unique(anchors, axis=0):
        nodes = np.flatnonzero((anchors == spot).all(axis=1))
        if len(nodes) == 1:
            continue
        limit, middle = above.radii[parents[nodes[0]]], above.anchors[parents[nodes[0]]]
        turn = 2 * np.pi * np.arange(len(nodes)) / len(nodes)
        steps = (
            [np.linspace(-1, 1, len(nodes))]
            if anchors.shape[1] == 1
            else [np.cos(turn), np.sin(turn)]
        )
        for i, step in enumerate(steps):
            out[nodes, i] += 0.25 * limit * step
        away = out[nodes] - middle
        length = np.linalg.norm(away, axis=1, keepdims=True)
        out[nodes] = middle + away * np.minimum(1, limit / np.maximum(length, 1e-300))
    return out


@pytest.mark.parametrize("d", [1, 2, 3])
def test_many_coincident_anchors_move_apart(d: int) -> None:
    rng = np.random.default_rng(6)
    tops = rng.normal(size=(40, d)) * 9
    parents = rng.integers(40, size=3000)
    parents[:5] = 7
    anchors = tops[parents] + np.where(
        rng.random((3000, d)) < 0.5, 0.0, rng.integers(-2, 3, (3000, d)) / 4
    )
    anchors[:5] = np.where(np.arange(5) % 2, 0.0, -0.0)[:, None]  # equal, too
    ones, empty = np.full(40, 0.9), np.empty((40, 1, 1))
    above = Placement(tops, ones, ones, ones, empty, tops)
    found = balls.separate(anchors, parents, above)
    np.testing.assert_allclose(found, separate_one_by_one(anchors, parents, above), atol=1e-12)
    assert len(np.unique(found, axis=0)) > len(np.unique(anchors, axis=0))
    alone = rng.normal(size=(50, d))
    assert balls.separate(alone, parents[:50], above) is alone


def test_anchors_that_rounding_alone_tells_apart_move_apart() -> None:
    tops = np.array([[0.0, 0.0], [100.0, 0.0]])
    ones, empty = np.ones(2), np.empty((2, 1, 1))
    above = Placement(tops, ones, ones, ones, empty, tops)
    anchors = np.array([[0.5, 0.0], [0.5, 1e-14], [0.5 + 1e-14, 0.0], [100.5, 0.0]])
    found = balls.separate(anchors, np.array([0, 0, 0, 1]), above)
    assert pdist(found[:3]).min() > 0.4
    np.testing.assert_array_equal(found[3], anchors[3])
    top = balls.separate_top(np.array([[0.0, 0.0], [1e-13, 0.0], [8.0, 0.0]]), 1.0)
    assert 1 < pdist(top[:2])[0] <= 4
    assert balls.separate_top(tops, 1.0) is tops


def test_queries_in_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    anchors = RNG.normal(size=(500, 2))
    nearest, around = neighbors_in_map(anchors, 1)
    model, positions = (
        HNNE(layout="descent").fit(digits()),
        HNNE(layout="descent").fit_transform(digits()),
    )
    audit = str(model.audit())
    for name in ("_ROWS_PER_QUERY", "_VALUES_PER_TASK"):
        monkeypatch.setattr(balls, name, 37)
    monkeypatch.setattr("nestmap.method.layout.audit._ROWS_PER_QUERY", 37)
    for found, expected in zip(neighbors_in_map(anchors, 2), (nearest, around), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(HNNE(layout="descent").fit_transform(digits()), positions)
    assert str(model.audit()) == audit


def test_audit_counts_rows_that_are_nearer_to_another_anchor() -> None:
    model = HNNE(layout=Descent(radius=0.5)).fit(digits())
    rng = np.random.default_rng(1)
    positions = model.embedding_ + rng.normal(size=(1797, 2)) * np.ptp(model.embedding_) / 50
    audit = audit_layout(model.hierarchy_, replace(model.layout_, positions=positions))
    for k, level in enumerate(audit.levels):
        D = cdist(positions, model.layout_.placements[k].anchors)
        own = D[np.arange(1797), model.hierarchy_.labels(k)]
        assert level.n_crossing == (D.min(axis=1) < own * (1 - 1e-9)).sum() > 0


def test_layouts_cannot_be_changed_in_place() -> None:
    for layout in ("descent", "mosaic"):
        model = HNNE(layout=layout).fit(digits()[:300])
        for fitted in (model, pickle.loads(pickle.dumps(model))):
            parts = [
                fitted.layout_,
                fitted.layout_.leaf,
                *getattr(fitted.layout_, "placements", ()),
            ]
            parts += getattr(fitted.layout_, "regions", ())
            arrays = [
                value
                for part in parts
                for value in vars(part).values()
                if isinstance(value, np.ndarray)
            ]
            assert len(arrays) > 6
            for values in (*arrays, fitted.embedding_, fitted.layout_.outlines(0).areas):
                with pytest.raises(ValueError, match="read-only"):
                    values[:] = 0


def test_a_layout_is_a_descent_or_a_mosaic() -> None:
    model = HNNE(layout="descent").fit(digits()[:100])
    assert isinstance(model.layout_, DescentLayout) and isinstance(model.layout_, Layout)
    assert isinstance(model.relayout(layout="mosaic").layout_, Layout)


def test_new_rows_of_one_column_follow_their_frames() -> None:
    """In one dimension, too, a frame may be turned: a row next to a training row lands next to it."""
    X = np.random.default_rng(0).normal(size=(300, 1))
    for seed in range(4):
        model = HNNE(
            1,
            layout=Descent(preliminary="random_projection", random_state=seed),
            new_points="neighbor",
        ).fit(X)
        placed = model.transform(X * (1 + 1e-7))
        np.testing.assert_allclose(placed, model.embedding_, atol=1e-5 * np.ptp(model.embedding_))


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_of_one_leaf_is_as_large_as_its_preliminary_embedding(kind: str) -> None:
    """Whatever the unit of the data, and of the arrangement."""
    X = np.array([[3.0, 1, 0], [2, 5, 1], [7, 0, 0], [1, 1, 2]])
    for factor in (1e-30, 1.0, 3.0, 1e30):
        for arrangement in ("local", "global"):
            model = HNNE(
                layout=Descent(
                    preliminary=kind, arrangement=arrangement, random_state=0, inflate=False
                )
            ).fit(X * factor)
            assert model.hierarchy_.level_sizes == (1,)
            pre = make_preliminary(X * factor, model.hierarchy_, 2, kind, seed=model._fitted.seed)
            size = np.linalg.norm(pre.rows - pre.nodes[0], axis=1).max() / pre.unit
            found = np.linalg.norm(model.embedding_ - model.layout_.leaf.anchors, axis=1).max()
            assert found == pytest.approx(size)


def test_scale_of_the_data_only_scales_the_map() -> None:
    X = digits() + np.random.default_rng(0).normal(size=digits().shape).astype(
        np.float32
    )  # no ties
    a, b = HNNE(layout="descent").fit(X), HNNE(layout="descent").fit(X * np.float32(2.0**20))
    np.testing.assert_allclose(b.embedding_, a.embedding_ * 2.0**20, rtol=1e-6)
