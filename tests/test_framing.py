"""What pictures show of a map: nearly all rows, and counts of those further out."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_digits

import nestmap
from nestmap.core.framing import FRAMING, Frame, find_frame, is_outside, project_to_edge
from nestmap.views.plots.notebook import draw_svg

RNG = np.random.default_rng(0)
CLASSES = load_digits().target


def square(n: int = 1000) -> np.ndarray:
    return np.random.default_rng(1).random((n, 2))


def outside(frame: Frame, positions: np.ndarray) -> int:
    return int(is_outside(positions, frame).sum())


@st.composite
def maps(draw: st.DrawFn) -> np.ndarray:
    """Clumps of rows of any size, far and near, in one to three dimensions."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_dims = draw(st.integers(1, 3))
    clumps = draw(
        st.lists(
            st.tuples(
                st.integers(1, 900),
                st.floats(0, 1000, allow_subnormal=False),
                st.floats(0, 10, allow_subnormal=False),
            ),
            min_size=1,
            max_size=6,
        )
    )
    parts = [
        away * rng.normal(size=n_dims) + width * rng.normal(size=(n, n_dims))
        for n, away, width in clumps
    ]
    return np.concatenate(parts)


@given(maps())
def test_few_rows_are_left_out_and_only_where_it_saves_much(positions: np.ndarray) -> None:
    frame = find_frame(positions)
    n = len(positions)
    left_out = outside(frame, positions)
    few = min(FRAMING.few, n // FRAMING.fewest)
    assert left_out == frame.n_outside <= max(0.005 * n, few)
    inside = positions[~is_outside(positions, frame)]
    np.testing.assert_array_equal(frame.low, inside.min(axis=0))
    np.testing.assert_array_equal(frame.high, inside.max(axis=0))
    if left_out:
        whole = np.ptp(positions, axis=0)
        shown = frame.high - frame.low
        sides = [np.maximum(each, each.max() / 2) for each in (shown, whole)]
        gained = 1 - np.prod(sides[0] / sides[1])
        assert gained >= (0.9 if left_out > 0.005 * n else 1 / 3) - 1e-12


@given(maps(), st.integers(0, 1000))
def test_the_order_of_rows_is_of_no_account(positions: np.ndarray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(positions))
    one = find_frame(positions)
    other = find_frame(positions[order])
    np.testing.assert_array_equal(one.low, other.low)
    np.testing.assert_array_equal(one.high, other.high)


@given(
    arrays(
        np.float32,
        st.tuples(st.integers(1, 60), st.just(2)),
        elements=st.floats(-1e6, 1e6, width=32),
    )
)
def test_any_positions_have_a_frame(positions: np.ndarray) -> None:
    frame = find_frame(positions)
    assert (frame.low <= frame.high).all() and frame.n_outside <= len(positions) // 20


@pytest.mark.parametrize("n", [10, 300, 5000])
def test_compact_maps_are_shown_whole(n: int) -> None:
    for rows in (
        RNG.random((n, 2)),
        RNG.random((n, 2)) * [20, 1],
        RNG.normal(size=(n, 2)),
        np.ones((n, 2)),
        np.stack([np.arange(n), np.zeros(n)], axis=1),
    ):
        assert find_frame(rows).n_outside == 0


@pytest.mark.parametrize(
    "far",
    [
        [[50, 0.5]] * 4,
        [[50, 0.5], [-30, 0.2], [0, 40], [60, 60]],
        [[0.5, 1e9], [0.5, 1e8], [0.5, 10], [0.5, 5]],
    ],
)
def test_far_rows_do_not_empty_the_picture(far: list[list[float]]) -> None:
    rows = np.vstack([square(), far])
    frame = find_frame(rows)
    assert frame.n_outside == 4 and (frame.low >= 0).all() and (frame.high <= 1).all()


def test_more_than_half_a_percent_is_never_left_out() -> None:
    assert find_frame(np.vstack([square(1000), [[50, 0.5]] * 5])).n_outside == 5
    assert find_frame(np.vstack([square(1000), [[50, 0.5]] * 6])).n_outside == 0


def test_a_small_map_leaves_out_only_rows_that_are_really_far() -> None:
    few = square(100)
    assert find_frame(np.vstack([few, [[3, 0.5]]])).n_outside == 0
    assert find_frame(np.vstack([few, [[50, 0.5], [0, 90], [-70, 1]]])).n_outside == 3
    assert find_frame(np.vstack([few, [[50, 0.5]] * 4])).n_outside == 0
    assert find_frame(np.vstack([few[:15], [[50, 0.5]]])).n_outside == 0


def test_a_small_island_is_left_out_only_where_it_saves_a_third() -> None:
    island = np.random.default_rng(2).random((40, 2)) / 20
    for away, n_outside in ((1.1, 0), (1.3, 0), (1.7, 40), (3.0, 40)):
        assert (
            find_frame(np.vstack([square(10_000), island + np.array([away, 0.5])])).n_outside
            == n_outside
        )


def test_thinning_edges_stay_when_far_rows_go() -> None:
    rows = np.vstack([np.random.default_rng(3).normal(size=(20_000, 2)), [[500.0, 0]]])
    assert find_frame(rows).n_outside == 1


def test_the_edge_of_a_line_has_two_sides() -> None:
    rows = np.vstack([np.stack([np.arange(1000.0), np.zeros(1000)], axis=1), [[5, 9e5], [5, -9e5]]])
    frame = find_frame(rows)
    assert frame.n_outside == 2
    assert project_to_edge(rows[-2:], frame).sides.tolist() == [3, 2]


def test_the_edge_is_where_rows_are_seen_from_the_middle() -> None:
    frame = Frame(np.array([0.0, 0.0]), np.array([4.0, 2.0]), 0)
    edge = project_to_edge(np.array([[-8.0, 1], [102, 1], [2, -9], [2, 3], [6, 3]]), frame)
    assert edge.sides.tolist()[:4] == [0, 1, 2, 3]
    np.testing.assert_allclose(edge.places, [[0, 1], [4, 1], [2, 0], [2, 2], [4, 2]])


# -- plots


@cache
def model() -> nestmap.HNNE:
    return nestmap.HNNE().fit(digits())


def strewn(n: int = 8) -> Any:
    """The digits with rows of its largest cluster far out: to the right, and one far above."""
    far = copy.copy(model())
    positions = np.array(far.embedding_)
    middle = positions.mean(axis=0)
    width = np.ptp(positions, axis=0).max()
    rows = np.flatnonzero(far.labels_ == np.bincount(far.labels_).argmax())[:n]
    positions[rows] = middle + width * np.stack([20.0 + np.arange(n), np.arange(n) % 3], axis=1)
    positions[rows[0]] = middle + np.array([0, 50 * width])
    far.embedding_ = positions
    return far


@pytest.fixture
def plt() -> Any:
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


def told(axes: Any) -> set[str]:
    return {text.get_text() for text in axes.texts if "further" in text.get_text()}


def drawn(axes: Any) -> np.ndarray:
    """Places of all that `scatter` drew."""
    from matplotlib.collections import PathCollection

    return np.concatenate(
        [
            np.asarray(each.get_offsets())
            for each in axes.collections
            if isinstance(each, PathCollection) and each.get_offset_transform() is axes.transData
        ]
    )


def is_within(axes: Any, places: np.ndarray) -> bool:
    x = axes.get_xlim()
    y = axes.get_ylim()
    return bool(
        ((places >= [x[0], y[0]]) & (places <= [x[1], y[1]])).all(),
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shade": True},
        {"color": "digit"},
        {"color": CLASSES.astype(float) / 7},
        {"outlines": False, "labels": False, "legend": False},
        {"theme": "dark", "level": 0},
    ],
)
def test_rows_further_out_are_marked_and_counted(plt: Any, options: dict[str, Any]) -> None:
    far = strewn()
    axes = nestmap.plot(far, metadata={"digit": CLASSES.astype(str)}, **options)
    assert told(axes) == {"7 rows further out", "1 row further out"}
    width = axes.get_xlim()[1] - axes.get_xlim()[0]
    assert width < 1.6 * np.ptp(model().embedding_, axis=0).max()
    assert is_within(axes, drawn(axes))
    for text in axes.texts:
        assert is_within(axes, np.array([text.get_position()])), text.get_text()
    axes.figure.canvas.draw()


@pytest.mark.parametrize("layout", ["descent", "mosaic"])
def test_other_layouts_are_framed_too(plt: Any, layout: str) -> None:
    far = copy.copy(nestmap.HNNE(layout=layout).fit(digits()))
    far.embedding_ = np.array(far.embedding_)
    far.embedding_[:5] += 100 * np.ptp(far.embedding_, axis=0)
    axes = nestmap.plot(far)
    assert sum(int(text.split()[0]) for text in told(axes)) == 5
    assert is_within(axes, drawn(axes))


def test_marks_are_on_the_edge_in_the_colour_of_their_rows(plt: Any) -> None:
    far = strewn()
    axes = nestmap.plot(far, labels=False)
    marks = {
        each.get_label(): each
        for each in axes.collections
        if str(each.get_label()).startswith("_beyond")
    }
    assert set(marks) == {"_beyond right", "_beyond top"}
    unit = np.ptp(axes.get_xlim()) / 100
    assert (axes.get_xlim()[1] - marks["_beyond right"].get_offsets()[:, 0] < unit).all()
    assert (axes.get_ylim()[1] - marks["_beyond top"].get_offsets()[:, 1] < unit).all()
    row = int(np.argmax(far.embedding_[:, 1]))
    near = np.flatnonzero(far.labels_ == far.labels_[row])[-1]
    points = next(each for each in axes.collections if len(each.get_offsets()) == len(CLASSES) - 8)
    at = np.abs(points.get_offsets() - far.embedding_[near]).sum(axis=1).argmin()
    np.testing.assert_allclose(
        marks["_beyond top"].get_facecolors()[0][:3], points.get_facecolors()[at][:3]
    )


def test_all_rows_can_be_shown(plt: Any) -> None:
    far = strewn()
    axes = nestmap.plot(far, frame="all")
    assert not told(axes)
    assert is_within(axes, far.embedding_) and len(drawn(axes)) == len(CLASSES)
    with pytest.raises(ValueError, match=r"frame='none'.*most.*all"):
        nestmap.plot(far, frame="none")


def test_names_stay_with_rows_that_are_shown(plt: Any) -> None:
    far = strewn()
    largest = int(np.bincount(far.labels_).argmax())
    axes = nestmap.plot(far)
    place = next(text for text in axes.texts if text.get_text() == str(largest)).get_position()
    own = model().embedding_[far.labels_ == largest]
    assert np.linalg.norm(own - place, axis=1).min() < np.ptp(own, axis=0).max() / 4


def test_coasts_are_as_fine_as_without_rows_further_out(plt: Any) -> None:
    def corners(axes: Any) -> int:
        return sum(len(path.vertices) for each in axes.collections for path in each.get_paths())

    ours = corners(nestmap.plot(strewn(), labels=False))
    assert ours > 0.8 * corners(nestmap.plot(model(), labels=False))


def test_compact_maps_look_as_with_all_rows(plt: Any) -> None:
    axes = [nestmap.plot(model(), frame=frame) for frame in ("most", "all")]
    assert axes[0].get_xlim() == axes[1].get_xlim() and not told(axes[0])
    np.testing.assert_array_equal(drawn(axes[0]), drawn(axes[1]))


def test_changes_are_framed_too(plt: Any) -> None:
    axes = nestmap.plot_changes(model(), strewn(), ids=(range(len(CLASSES)),) * 2)
    assert not told(axes[0]) and len(told(axes[1])) > 0
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert all(is_within(each, drawn(each)) for each in axes)
    whole = nestmap.plot_changes(model(), strewn(), ids=(range(len(CLASSES)),) * 2, frame="all")
    assert not told(whole[1])


def test_dots_of_a_notebook_are_framed_too() -> None:
    far = strewn()
    before = np.array(far.embedding_)
    page = draw_svg(far)
    np.testing.assert_array_equal(far.embedding_, before)
    assert "8 rows further out" in page
    places = np.array(re.findall(r'cx="([\d.-]+)" cy="([\d.-]+)"', page), dtype=float)
    assert places.min() >= 0 and places.max() <= 355
    assert np.ptp(np.quantile(places, [0.1, 0.9], axis=0), axis=0).min() > 150
    assert "further" not in draw_svg(model())


def test_the_picture_of_a_run_is_framed(
    plt: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nestmap.app.cli import pictures

    made = []
    monkeypatch.setattr(
        pictures, "plot", lambda *each, **options: made.append(nestmap.plot(*each, **options))
    )
    for frame in ("most", "all"):
        pictures.draw_map(
            str(tmp_path / "map.png"), strewn(), {}, pictures.Picture(frame=frame, dpi=30)
        )
    assert [sum(int(text.split()[0]) for text in told(axes)) for axes in made] == [8, 0]
    inches = [axes.figure.get_size_inches() for axes in made]
    width, height = np.ptp(model().embedding_, axis=0)
    assert inches[0][1] / inches[0][0] == pytest.approx(height / width, rel=0.1)
    assert inches[1][1] / inches[1][0] == pytest.approx(1.6)  # as tall as what is shown
