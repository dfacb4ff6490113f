"""Pictures: colours, names, shading, all layouts; what is drawn, not how it looks."""

from __future__ import annotations

import io
import pickle
import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import digits
from sklearn.datasets import load_digits

import nestmap
from nestmap.views.plots import map as drawn_map
from nestmap.views.plots.colors import (
    PALETTE,
    THEMES,
    base_colors,
    color_levels,
    parse,
    to_oklab,
    to_rgb,
)
from nestmap.views.plots.label_boxes import find_anchors, find_inland, place_boxes
from nestmap.views.plots.rows import color_by_quality, find_column
from nestmap.views.plots.shading import Window, shade_points
from nestmap.views.plots.tree import fit_text, place_nodes

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

RNG = np.random.default_rng(0)
CLASSES = load_digits().target


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


@cache
def model() -> nestmap.HNNE:
    """Of 401, 155, 50 and 12 (`labels_`) clusters."""
    return nestmap.HNNE().fit(digits())


def points(axes: Any) -> Any:
    """What `scatter` drew."""
    return next(c for c in axes.collections if len(c.get_offsets()) == len(digits()))


def texts(axes: Any) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in axes.texts]


# Machado, Oliveira and Fernandes (2009), full severity, on linear colours
SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def seen(rgb: np.ndarray, kind: str) -> np.ndarray:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ SEEN[kind].T, 0, 1)
    return to_oklab(
        np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    )


@pytest.mark.parametrize("kind", SEEN)
@pytest.mark.parametrize("theme", THEMES)
def test_colour_blind_people_tell_the_palette_apart(kind: str, theme: str) -> None:
    lab = seen(base_colors(len(PALETTE), THEMES[theme]), kind)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2) + np.eye(len(lab))
    assert apart.min() > 0.05  # a difference of 0.02 is just visible
    background = seen(parse(THEMES[theme].background), kind)
    assert np.abs(lab[:, 0] - background[:, 0]).min() > 0.1


@pytest.mark.parametrize("theme", THEMES)
def test_more_groups_than_the_palette_has_differ(theme: str) -> None:
    lab = to_oklab(base_colors(2 * len(PALETTE), THEMES[theme]))
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2) + np.eye(len(lab))
    assert apart.min() > 0.05


def test_oklab_there_and_back() -> None:
    rgb = RNG.random((50, 3))
    np.testing.assert_allclose(to_rgb(to_oklab(rgb)), rgb, atol=1e-6)
    np.testing.assert_allclose(to_oklab(np.ones((1, 3))), [[1, 0, 0]], atol=1e-4)


@pytest.mark.parametrize("theme", THEMES)
def test_children_have_shades_of_their_parents_hue_and_differ(theme: str) -> None:
    tree = model().hierarchy_
    colors = color_levels(tree, 2, THEMES[theme])
    parent_of = tree.parents(2)
    lab, above = to_oklab(colors[2]), to_oklab(colors[3])
    for parent in range(tree.level_sizes[3]):
        own = np.flatnonzero(parent_of == parent)
        hue = np.arctan2(lab[own, 2], lab[own, 1]) - np.arctan2(above[parent, 2], above[parent, 1])
        assert np.abs((hue + np.pi) % (2 * np.pi) - np.pi).max() < 0.8
        assert len(np.unique(colors[2][own].round(3), axis=0)) == len(own)


def test_by_default_rows_have_the_colours_of_labels() -> None:
    axes = nestmap.plot(model())
    assert isinstance(axes, matplotlib.axes.Axes)
    drawn = points(axes)
    order = np.lexsort(drawn.get_offsets().T)
    mine = np.lexsort(model().embedding_.T)
    np.testing.assert_array_equal(drawn.get_offsets()[order], model().embedding_[mine])
    colors = color_levels(model().hierarchy_, model().label_level_, THEMES["light"])[
        model().label_level_
    ]
    np.testing.assert_allclose(drawn.get_facecolors()[order][:, :3], colors[model().labels_[mine]])
    assert set(texts(axes)) <= {str(i) for i in range(12)} and len(texts(axes)) > 9


@pytest.mark.parametrize("level", [0, 1, -1])
def test_any_level(level: int) -> None:
    axes = nestmap.plot(model(), color=level)
    n = len(np.unique(points(axes).get_facecolors(), axis=0))
    assert n >= 0.9 * model().hierarchy_.level_sizes[level]


def test_categories_have_a_legend_and_numbers_a_bar() -> None:
    axes = nestmap.plot(model(), color="digit", metadata={"digit": CLASSES})
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        str(i) for i in range(10)
    ]
    assert len(np.unique(points(axes).get_facecolors(), axis=0)) == 10
    values = digits()[:, 20].astype(float)
    values[:3] = np.nan
    axes = nestmap.plot(model(), color=values)
    assert axes.get_legend() is None and len(axes.child_axes) == 1
    low, high = axes.child_axes[0].get_xlim()
    assert (low, high) == pytest.approx(tuple(np.nanquantile(values, [0.01, 0.99])))
    assert nestmap.plot(model(), color=values, legend=False).child_axes == []


def rows_under(axes: Any, drawn: Any) -> int:
    """Points of a picture that lie under a legend or a colour bar."""
    axes.figure.canvas.draw()
    box = drawn.get_window_extent()
    places = axes.transData.transform(
        next(c for c in axes.collections if len(c.get_offsets()) > 1000).get_offsets()
    )
    return int(((places >= box.min) & (places <= box.max)).all(axis=1).sum())


@pytest.mark.parametrize("length", [3, 30, 300])
def test_legends_lie_beside_the_map(length: int) -> None:
    names = np.array([f"{i} " + "x" * length for i in range(14)])
    drawn = nestmap.plot(model(), names[np.arange(len(model().labels_)) % 14], labels=False)
    assert rows_under(drawn, drawn.get_legend()) == 0
    low, high = model().embedding_.min(axis=0), model().embedding_.max(axis=0)
    (x0, x1), (y0, y1) = drawn.get_xlim(), drawn.get_ylim()
    assert x0 < low[0] and high[0] < x1 and y0 < low[1] and high[1] < y1
    assert max(len(text.get_text()) for text in drawn.get_legend().get_texts()) <= 32


def test_odd_names_are_names() -> None:
    kinds = np.array(["$x$ for $\\frac$", "_hidden", "", "plain"])[np.arange(len(digits())) % 4]
    drawn = nestmap.plot(model(), "$\\frac$", metadata={"$\\frac$": kinds}, title="$\\nothing$")
    drawn.figure.canvas.draw()  # what is no formula is not read as one
    shown = [text.get_text().strip() for text in drawn.get_legend().get_texts()]
    assert sorted(shown) == sorted(["$x$ for $\\frac$", "_hidden", "none", "plain"])
    nestmap.plot(
        model(), np.arange(len(digits())) * 1.0, labels=["$\\frac$"] * len(set(model().labels_))
    )
    plt.gcf().canvas.draw()


def test_colour_bars_lie_beside_the_map() -> None:
    square = np.stack(np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41)), axis=-1).reshape(
        -1, 2
    )
    full = SimpleNamespace(embedding_=square, hierarchy_=nestmap.HNNE().fit(square).hierarchy_)
    drawn = nestmap.plot(full, square[:, 0], labels=False)
    assert rows_under(drawn, drawn.child_axes[0]) == 0


def test_many_categories_share_a_grey() -> None:
    names = np.array([f"kind {i % 40}" for i in range(len(digits()))])
    axes = nestmap.plot(model(), color=names, labels=False)
    entries = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(entries) == 17 and entries[-1] == "other"


def test_quality_is_that_of_the_metrics() -> None:
    found = color_by_quality(model(), "trustworthiness", None, THEMES["light"])
    scores = nestmap.metrics.pointwise_trustworthiness(digits(), model().embedding_)
    order = np.argsort(scores)
    assert (np.diff(found.codes[order]) >= 0).all()
    axes = nestmap.plot(model(), color="recall")
    assert axes.child_axes[0].get_xlabel() == "recall"


def test_quality_of_many_rows_is_measured_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestmap.views.plots.rows._SCORED", 300)
    found = color_by_quality(model(), "trustworthiness", None, THEMES["light"])
    assert len(found.codes) == len(digits()) and "300 rows" in found.title
    again = pickle.loads(pickle.dumps(model()))
    with pytest.raises(ValueError, match="give X="):
        nestmap.plot(again, color="trustworthiness")
    assert nestmap.plot(again, color="trustworthiness", X=digits()) is not None


def test_names_at_two_levels_do_not_overlap() -> None:
    axes = nestmap.plot(model(), 2, metadata={"digit": CLASSES})
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    sizes = {text.get_fontsize() for text in axes.texts}
    assert len(sizes) == 2 and len(boxes) >= 12
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    named = "".join(texts(axes))
    assert all(str(digit) in named for digit in range(10))


@pytest.mark.parametrize("n", [1, 30, 200])
def test_boxes_stay_apart_and_inside(n: int) -> None:
    anchors, sizes = RNG.random((n, 2)) * 10, 0.2 + RNG.random((n, 2))
    placed = place_boxes(anchors, sizes, (0, 10, 0, 10), [(4, 6, 4, 6)])
    assert placed.shown.sum() >= min(n - 1, 25)
    low, high = (placed.centres + way * sizes / 2 for way in (-1, 1))
    low, high = low[placed.shown], high[placed.shown]
    assert (low >= -1e-9).all() and (high <= 10 + 1e-9).all()
    meet = (low[:, None] < high[None] - 1e-9).all(axis=2) & (high[:, None] > low[None] + 1e-9).all(
        axis=2
    )
    assert (meet == np.eye(len(low), dtype=bool)).all()


def test_anchors_lie_where_most_rows_are() -> None:
    ring = RNG.random(300) * np.pi
    arc = np.stack([np.cos(ring), np.sin(ring)], axis=1) * 10
    clump = RNG.normal(size=(900, 2)) * 0.1 + [-10, 0]
    anchor = find_anchors(np.concatenate([arc, clump]), np.zeros(1200, dtype=int), 2)
    assert np.linalg.norm(anchor[0] - [-10, 0]) < 0.5 and np.isnan(anchor[1]).all()


def square(x: float, y: float, side: float) -> np.ndarray:
    return np.array([[x, y], [x + side, y], [x + side, y + side], [x, y + side]], dtype=float)


def test_names_stand_inland_on_the_part_with_the_most_rows() -> None:
    parts = [
        RNG.random((n, 2)) * side + at for n, side, at in ((60, 4, 0), (30, 9, 20), (10, 1, 50))
    ]
    rings = [
        square(0, 0, 4),
        square(20, 20, 9),
        square(50, 50, 1),
        square(1, 1, 1)[::-1],
    ]  # the last one is a hole
    anchors, shares = find_inland(np.concatenate(parts), np.zeros(100, dtype=int), [rings, []])
    assert shares.tolist() == [0.6, 1.0] and np.isnan(anchors[1]).all()
    assert (
        (anchors[0] > 0).all()
        and (anchors[0] < 4).all()
        and not ((anchors[0] > 1) & (anchors[0] < 2)).all()
    )
    anchors, _ = find_inland(
        np.array([[1.0, 0.1], [5.0, 0.2], [4.0, 0.5]]), np.zeros(3, dtype=int), [[square(0, 0, 9)]]
    )
    assert anchors.tolist() == [[4.0, 0.5]]  # from the line, not from its corners


def test_scattered_clusters_are_named_only_where_finer_names_do_not_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = model().hierarchy_
    coarse, fine = (
        [f"{name} {i}" for i in range(tree.level_sizes[k])]
        for name, k in (("group", 3), ("part", 2))
    )
    monkeypatch.setattr("nestmap.views.plots.text._SCATTERED", 2.0)  # so all are
    assert set(texts(nestmap.plot(model(), labels={3: coarse, 2: fine}))) <= set(fine)
    fine[0] = ""
    shown = {*texts(nestmap.plot(model(), labels={3: coarse, 2: fine}))} & {*coarse}
    assert shown == {coarse[tree.climb(np.array([0]), 3, 2)[0]]}


def test_given_names() -> None:
    tree = model().hierarchy_
    told = [tree.describe(k, metadata={"digit": CLASSES}) for k in (2, 3)]
    assert "digit 0" in texts(nestmap.plot(model(), labels=told[0]))
    both = nestmap.plot(model(), labels=told)
    assert len({text.get_fontsize() for text in both.texts}) == 2
    twelve = [f"group {i}" for i in range(12)]
    assert set(texts(nestmap.plot(model(), color=3, labels=twelve))) <= set(twelve)
    assert "group 0" in texts(nestmap.plot(model(), labels={3: twelve}))
    assert texts(nestmap.plot(model(), labels=False)) == []
    assert "0" in texts(
        nestmap.plot(model(), labels="digit", metadata={"digit": CLASSES, "other": digits()[:, 3]})
    )
    assert "0" in texts(nestmap.plot(model(), labels=CLASSES))


@pytest.mark.parametrize("layout", ["mosaic", "descent"])
@pytest.mark.parametrize("theme", THEMES)
def test_other_layouts(layout: str, theme: str) -> None:
    axes = nestmap.plot(model().relayout(layout=layout), 2, theme=theme)
    paths = [len(c.get_paths()) for c in axes.collections]
    assert 50 in paths and 12 in paths
    assert matplotlib.colors.to_hex(axes.figure.get_facecolor()) == THEMES[theme].background


def test_outlines_can_be_left_out() -> None:
    assert len(nestmap.plot(model(), outlines=False).collections) < len(
        nestmap.plot(model()).collections
    )


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100])
def test_few_rows(n: int) -> None:
    small = nestmap.HNNE().fit(digits()[:n])
    axes = nestmap.plot(small)
    axes.figure.canvas.draw()
    assert nestmap.plot_tree(small) is not None
    assert nestmap.plot(small, color=np.arange(n) % 3) is not None


def test_points_become_smaller_with_their_number() -> None:
    sizes = [points_size(n) for n in (100, 1000, 10_000, 100_000)]
    assert sizes == sorted(sizes, reverse=True) and 20 < sizes[0] <= 40 and 0.5 < sizes[-1] < 3


def points_size(n: int) -> float:
    axes = plt.subplots(figsize=(9, 9))[1]
    rows = SimpleNamespace(codes=np.zeros(n, dtype=int), colors=np.zeros((1, 3)))
    drawn_map._draw_points(axes, RNG.random((n, 2)), rows, None, None)
    return float(axes.collections[0].get_sizes()[0])


def test_many_rows_are_shaded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not nestmap.plot(model()).images and nestmap.plot(model(), shade=True).images
    monkeypatch.setattr(drawn_map, "SHADED", 1000)
    axes = nestmap.plot(model())
    image = axes.images[0].get_array()
    left, right, bottom, top = axes.images[0].get_extent()
    assert (left, right) == axes.get_xlim() and (bottom, top) == axes.get_ylim()
    columns = np.flatnonzero((image[..., 3] > 0.2).any(axis=0))
    width = (right - left) / image.shape[1]
    low, high = left + width * columns[0], left + width * (columns[-1] + 1)
    assert low == pytest.approx(model().embedding_[:, 0].min(), abs=3 * width)
    assert high == pytest.approx(model().embedding_[:, 0].max(), abs=3 * width)


def test_shading_gives_the_mean_colour_and_more_opacity_to_dense_pixels() -> None:
    at = np.repeat([[0.5, 0.5], [1.5, 0.5], [2.5, 0.5]], [1, 40, 400], axis=0)
    codes = np.zeros(441, dtype=int)
    codes[1:21] = 1
    image = shade_points(at, np.array([[1.0, 0, 0], [0, 0, 1.0]]), codes, Window(0, 3, 0, 1, 3, 1))[
        0
    ]
    np.testing.assert_allclose(image[:, :3], [[1, 0, 0], [0.5, 0, 0.5], [1, 0, 0]])
    assert 0.2 < image[0, 3] < image[1, 3] < image[2, 3] <= 1


def test_shading_in_blocks_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    at, codes = RNG.random((5000, 2)), RNG.integers(0, 3, 5000)
    whole = shade_points(at, np.eye(3), codes, Window(0, 1, 0, 1, 50, 40))
    monkeypatch.setattr("nestmap.views.plots.shading._POINTS_AT_ONCE", 700)
    np.testing.assert_allclose(
        shade_points(at, np.eye(3), codes, Window(0, 1, 0, 1, 50, 40)), whole, atol=1e-12
    )


def test_the_same_picture_every_time() -> None:
    pictures = []
    for _ in range(2):
        buffer = io.BytesIO()
        nestmap.plot(model()).figure.savefig(buffer, format="raw", dpi=50)
        pictures.append(buffer.getvalue())
    assert pictures[0] == pictures[1]


def test_vector_formats_and_own_axes() -> None:
    own = plt.subplots()[1]
    assert nestmap.plot(model(), ax=own, title="digits") is own and own.get_title() == "digits"
    for kind in ("svg", "pdf"):
        buffer = io.BytesIO()
        own.figure.savefig(buffer, format=kind)
        assert len(buffer.getvalue()) > 10_000


def test_boxes_of_the_tree_nest() -> None:
    tree = model().hierarchy_
    starts = place_nodes(tree)
    for k in range(tree.n_levels):
        order = np.argsort(starts[k])
        np.testing.assert_array_equal(
            np.cumsum(tree.levels[k].sizes[order])[:-1], starts[k][order][1:]
        )
        if k + 1 < tree.n_levels:
            parent = tree.parents(k)
            assert (starts[k] >= starts[k + 1][parent]).all()
            ends, above = starts[k] + tree.levels[k].sizes, starts[k + 1] + tree.levels[k + 1].sizes
            assert (ends <= above[parent]).all()
    axes = nestmap.plot_tree(
        model(), labels=[tree.describe(k, metadata={"digit": CLASSES}) for k in (2, 3)]
    )
    assert [len(c.get_paths()) for c in axes.collections] == list(tree.level_sizes)
    assert any("digit 0" in text for text in texts(axes)) and any(
        "labels_" in text for text in texts(axes)
    )
    assert nestmap.plot_tree(tree) is not None


def test_names_in_boxes_are_cut_into_lines_or_stand_upright() -> None:
    assert fit_text("Coat / Pullover", 500, 50) == ("Coat / Pullover", 0)
    assert fit_text("Coat / Pullover", 55, 50) == ("Coat /\nPullover", 0)
    assert fit_text("Coat / Pullover", 12, 90) == ("Coat / Pullover", 90)
    assert fit_text("Coat / Pullover", 12, 20) == fit_text("", 50, 50) == ("", 0)
    assert fit_text("word " * 400, 60, 60) == ("", 0)


def test_layouts_side_by_side() -> None:
    axes = nestmap.plot_layouts(model(), theme="dark")
    assert [each.get_title() for each in axes] == ["islands", "mosaic", "descent"]
    one = nestmap.plot_layouts(model(), {"mine": model()}, CLASSES)
    assert len(one) == 1 and one[0].get_title() == "mine"


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (nestmap.plot, nestmap.plot_tree, nestmap.plot_layouts):
        with pytest.raises(ImportError, match=r"pip install 'nestmap\[plot\]'"):
            draw(model())


@pytest.mark.parametrize(
    "options, message",
    [
        ({"color": "colour"}, "color='colour': give a level, a column of metadata"),
        ({"color": "a", "metadata": {"b": CLASSES}}, "metadata has 'b'"),
        ({"color": 9}, "level=9"),
        ({"color": [1, 2]}, "needs one value for each of the 1797 rows"),
        ({"labels": ["a"]}, "labels: level 3 has 12 clusters, got 1 names"),
        ({"labels": "a"}, "labels='a'"),
        ({"theme": "blue"}, "theme='blue'"),
        ({"size": -1}, "size"),
        ({"alpha": 3}, "alpha"),
    ],
)
def test_wrong_input_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nestmap.plot(model(), **options)


def test_maps_that_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match=r"relayout\(n_components=2\)"):
        nestmap.plot(nestmap.HNNE(3).fit(digits()[:100]))
    from sklearn.exceptions import NotFittedError

    for draw in (nestmap.plot, nestmap.plot_tree):
        with pytest.raises(TypeError, match=r"of a fitted model, as in .*fit\(X\).*; got ndarray"):
            draw(digits())
    with pytest.raises(NotFittedError):
        nestmap.plot(nestmap.HNNE())


def test_columns_are_found_by_name_in_frames_and_dicts() -> None:
    assert find_column("a", {"a": [1.5, 2.5]}, 2).values.tolist() == [1.5, 2.5]
    pandas = pytest.importorskip("pandas")
    assert find_column("a", pandas.DataFrame({"a": ["x", "y"]}), 2).categories.tolist() == [
        "x",
        "y",
    ]
    assert find_column(pandas.Series([1.5, 2], name="age"), None, 2).name == "age"


class TestLayers:
    def test_a_name_per_row_and_level(self) -> None:
        kinds = load_digits().target
        model = nestmap.HNNE().fit(digits())
        layers = nestmap.label_layers(model, metadata={"digit": kinds})
        top = model.hierarchy_.n_levels - 1
        levels = [*range(min(model.label_level_, top - 1), top + 1)]
        assert len(layers) == len(levels) >= 2
        for level, layer in zip(levels, layers, strict=True):
            told = model.hierarchy_.describe(level, metadata={"digit": kinds})
            assert layer.tolist() == [told.names[c] for c in model.hierarchy_.labels(level)]
        assert (
            len(nestmap.label_layers(model.hierarchy_, [-1, 0, 0], metadata={"digit": kinds})) == 2
        )

    def test_clusters_without_a_name_are_unlabelled(self) -> None:
        model = nestmap.HNNE().fit(digits()[:300])
        (layer,) = nestmap.label_layers(
            model, [0], metadata={"same": np.zeros(300, dtype=int)}, unlabelled="?"
        )
        assert {*layer} == {"?"}
        with pytest.raises(ValueError, match="give metadata=, texts= or names="):
            nestmap.label_layers(model)
