"""The authors' map: `inflate=True` on made-up rows, with numbers that follow from the definition.

`python -m benchmarks.versus_paper` compares with their package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import digits, make_preliminary

from nestmap import Descent
from nestmap.method.arrangement.frames import apply_maps
from nestmap.method.arrangement.inflate import inflation_maps, rotation
from nestmap.method.arrangement.plain import GlobalArrangement
from nestmap.method.hierarchy import build_hierarchy
from tools.flat import make_hnne

DIAGONAL = np.array([1.0, 1.0]) / np.sqrt(2)
RADIUS = 0.2
PAPER: dict[str, Any] = {
    "hierarchy": "first_neighbors",
    "layout": "descent",
    "arrangement": "global",
}


def inflate_one_by_one(points: np.ndarray) -> np.ndarray:
    """The definition on the points of one group: unit spread along the axes, before and after each
    rotation.
    """
    for share in np.linspace(0, 0.25, 6):  # of a whole turn
        turn = rotation(points.shape[1], share)
        points = (points - points.mean(axis=0)) / points.std(axis=0)
        points = points @ turn.T
        points = (points - points.mean(axis=0)) / points.std(axis=0)
        points = points @ turn
    return points


def unit(points: np.ndarray) -> np.ndarray:
    """Scaled so that the farthest point has length 1, as the descent does."""
    return points / np.linalg.norm(points, axis=1).max()


def inflated(offsets: np.ndarray) -> np.ndarray:
    """One group by the library."""
    parents = np.zeros(len(offsets), dtype=int)
    return unit(apply_maps(inflation_maps(offsets, parents, 1), parents, offsets))


@pytest.mark.parametrize("d", [2, 3])
def test_groups_are_inflated_by_definition(d: int) -> None:
    sizes = (2, 3, 4, 7, 50)
    rng = np.random.default_rng(8)
    parents = rng.permutation(np.repeat(np.arange(5), sizes))
    points = rng.normal(size=(len(parents), d)) * [1.0, 0.1, 0.4][:d] + 5
    offsets = points - np.stack([points[parents == g].mean(axis=0) for g in range(5)])[parents]
    moved = apply_maps(inflation_maps(offsets, parents, 5), parents, offsets)
    for g in range(5):
        own = parents == g
        np.testing.assert_allclose(
            unit(moved[own]), unit(inflate_one_by_one(points[own])), atol=1e-6
        )
        spread = moved[own].std(
            axis=0
        )  # the last rotation is a right angle, which changes axes only
        np.testing.assert_allclose(spread, spread[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("end", "expected"),
    [((3.0, 1.0), (1, 1)), ((3.0, -1.0), (1, -1)), ((-0.01, 7.0), (-1, 1)), ((2.0, 0.0), (1, 1))],
)
def test_pairs_and_lines_turn_to_a_diagonal(
    end: tuple[float, float], expected: tuple[int, int]
) -> None:
    for steps in (np.array([-1.0, 1]), np.array([-3.0, -1, 4])):
        line = steps[:, None] * np.array(expected) / np.sqrt(2) / np.abs(steps).max()
        np.testing.assert_allclose(inflated(np.outer(steps, end)), line, atol=1e-9)


def test_a_rectangle_becomes_a_square() -> None:
    corners = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    np.testing.assert_allclose(inflated(corners * [5, 0.2]), corners / np.sqrt(2), atol=1e-12)


def test_rounding_is_not_inflated() -> None:
    """A line along an axis, up to rounding, is a line afterwards; a spot stays a spot."""
    line = np.array([[-1.0, 1e-16], [0.0, -2e-16], [1.0, 1e-16]])
    np.testing.assert_allclose(
        inflated(line), np.array([-1.0, 0, 1])[:, None] * DIAGONAL, atol=1e-9
    )
    maps = inflation_maps(np.zeros((3, 2)), np.zeros(3, dtype=int), 1)
    np.testing.assert_allclose(maps, np.eye(2)[None], atol=1e-15)


def groups_of_two_leaves() -> np.ndarray:
    """Three groups of five rows: a leaf of two, (3, -1) off its middle, and one of three on a
    horizontal line.
    """
    group = np.array([[3.0, -1], [-3, 1], [60, 20], [61, 20], [63, 20]])
    return np.vstack([group, group + np.array([1000, 0]), group + np.array([0, 2000])])


def test_a_whole_map_with_inflation() -> None:
    X = groups_of_two_leaves()
    model = make_hnne(**PAPER, inflate=True, preliminary=X, radius=RADIUS).fit(X)
    assert model.hierarchy_.level_sizes == (6, 3)
    for g, nearest in enumerate((1000.0, 1000.0, 2000.0)):
        top = X[5 * g : 5 * g + 5].mean(axis=0)
        away = (
            RADIUS * nearest * DIAGONAL
        )  # two leaves are a pair: each as far from the top as the other
        small = RADIUS * 2 * RADIUS * nearest  # of the leaves, 2 * RADIUS * nearest apart
        pair = top - away + small * np.array([[1, -1], [-1, 1]]) / np.sqrt(2)
        three = (
            top + away + small * np.array([-0.8, -0.2, 1])[:, None] * DIAGONAL
        )  # (0, 1, 3) around 4 / 3
        np.testing.assert_allclose(
            model.embedding_[5 * g : 5 * g + 5], np.vstack([pair, three]), atol=1e-9
        )


def test_a_whole_map_without_inflation() -> None:
    X = groups_of_two_leaves()
    model = make_hnne(**PAPER, preliminary=X, radius=RADIUS).fit(X)
    for g, nearest in enumerate((1000.0, 1000.0, 2000.0)):
        top = X[5 * g : 5 * g + 5].mean(axis=0)
        way = np.array([60 + 4 / 3, 20]) / np.hypot(60 + 4 / 3, 20)
        # two rows against three: their leaf lies on the ball, the other at two thirds of the way
        leaves = np.array([-1.0, 2 / 3])[:, None] * RADIUS * nearest * way
        small = RADIUS * np.linalg.norm(leaves[1] - leaves[0])
        pair = leaves[0] + small * np.array([[3, -1], [-3, 1]]) / np.sqrt(10)
        three = leaves[1] + small * np.array([[-0.8, 0], [-0.2, 0], [1, 0]])
        np.testing.assert_allclose(
            model.embedding_[5 * g : 5 * g + 5], top + np.vstack([pair, three]), atol=1e-9
        )


def test_maps_are_inflated_on_request_only() -> None:
    model = make_hnne(**PAPER).fit(digits())
    np.testing.assert_array_equal(
        model.relayout(layout=Descent(arrangement="global", inflate=False)).embedding_,
        model.embedding_,
    )
    inflated = model.relayout(layout=Descent(arrangement="global", inflate=True))
    assert not np.allclose(inflated.embedding_, model.embedding_)
    np.testing.assert_array_equal(
        model.relayout(layout=Descent(arrangement="global", inflate=np.True_)).embedding_,
        inflated.embedding_,
    )


@pytest.mark.parametrize("d", [2, 3])
def test_new_rows_are_inflated_like_those_of_the_fit(d: int) -> None:
    """A leaf's map is affine: what lies half-way between two of its rows lands half-way between
    their positions.
    """
    X = digits().astype(np.float64)
    model = make_hnne(d, **PAPER, inflate=True, radius=0.2).fit(X)
    leaf = model.hierarchy_.levels[0].grouping
    pairs = np.stack([leaf.order[leaf.starts[:-1]], leaf.order[leaf.starts[:-1] + 1]])
    half_way = X[pairs].mean(axis=0)
    stays = model.predict(half_way, level=0) == np.arange(len(half_way))
    assert stays.mean() > 0.9
    placed, expected = model.transform(half_way), model.embedding_[pairs].mean(axis=0)
    np.testing.assert_allclose(placed[stays], expected[stays], atol=1e-9 * np.ptp(model.embedding_))
    assert model.audit().ok


def test_members_are_centred_with_each_counting_once() -> None:
    tree = build_hierarchy(digits())
    pre = make_preliminary(digits(), tree, 2)
    around, members = np.empty((0, 0)), tree.levels[1].members
    for inflate, weights in ((False, tree.levels[0].sizes), (True, np.ones(len(members)))):
        centres = GlobalArrangement(pre, inflate).frames(tree, 1, around, around).centres
        for g in (0, 5):
            own = members == g
            expected = np.average(pre.nodes[0][own], axis=0, weights=weights[own])
            np.testing.assert_allclose(centres[g], expected, rtol=1e-12)
