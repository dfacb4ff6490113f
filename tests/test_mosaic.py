"""The space-filling layout: nested regions, area by number of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import BACKENDS, builds, digits, using
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import NearestNeighbors

from nestmap import HNNE, Descent
from nestmap.core.native import kernels, mosaic
from nestmap.method.arrangement.frames import DistinctRows, Frames
from nestmap.method.hierarchy.tree import Grouping, Level
from nestmap.method.layout.audit import audit_layout
from nestmap.method.layout.mosaic import _row_positions, margins, outline
from nestmap.method.layout.regions import Regions
from nestmap.metrics import map_fill, trustworthiness

RNG = np.random.default_rng(8)


def ring(n: int, centre: float = 0.0) -> np.ndarray:
    turn = 2 * np.pi * np.arange(n) / n
    return np.stack([2 * np.cos(turn), np.sin(turn)], axis=1) + centre


def divide(
    sizes: list[int], rounds: int = 1, offsets: np.ndarray | None = None, n_threads: int = 2
):
    """Random children of a row of ellipses."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    regions = Regions(
        np.arange(len(sizes) + 1) * 12, np.vstack([ring(12, 5.0 * i) for i in range(len(sizes))])
    )
    random = np.random.default_rng(1)
    offsets = random.normal(size=(len(labels), 2)) if offsets is None else offsets
    shares = random.integers(1, 30, len(labels)).astype(float)
    centres, polygons = kernels.divide_regions(
        regions, Grouping.of(labels, len(sizes)), offsets, shares, rounds, n_threads
    )
    return regions, labels, shares, centres, polygons


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("rounds", [0, 2])
def test_polygons_match_the_twin(build: str, rounds: int) -> None:
    sizes = [5, 1, 9, 2, 70]
    with using("off"):
        *_, centres, expected = divide(sizes, rounds)
    with using(build):
        *_, found, polygons = divide(sizes, rounds)
        *_, again, _ = divide(sizes, rounds, n_threads=1)
    np.testing.assert_array_equal(found, again)
    np.testing.assert_allclose(found, centres, atol=1e-9)
    np.testing.assert_array_equal(polygons.starts, expected.starts)
    np.testing.assert_allclose(polygons.points, expected.points, atol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_areas_are_shares_and_polygons_tile_their_region(backend: str) -> None:
    with using(backend):
        regions, labels, shares, centres, polygons = divide([7, 60, 3])
    for g in range(3):
        own = labels == g
        expected = regions.areas[g] * shares[own] / shares[own].sum()
        np.testing.assert_allclose(polygons.areas[own], expected, rtol=0.02)
        assert polygons.areas[own].sum() == pytest.approx(regions.areas[g], rel=1e-9)
    corners = np.repeat(labels, np.diff(polygons.starts))
    assert regions.outside(corners, polygons.points).max() < 1e-9
    assert polygons.outside(np.arange(len(polygons)), centres).max() < 0
    # a random point of a region lies in exactly one of its polygons
    for point in RNG.uniform(-1, 1, (50, 2)):
        inside = [
            c
            for c in np.flatnonzero(labels == 0)
            if polygons.outside(np.array([c]), point[None])[0] < 0
        ]
        assert len(inside) == (1 if regions.outside(np.array([0]), point[None])[0] < 0 else 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_and_collinear_places_are_divided_too(backend: str) -> None:
    for offsets in (
        np.zeros((6, 2)),
        np.outer(np.arange(6.0), [1.0, 2.0]),
        np.eye(2)[[0, 0, 0, 0, 0, 1]] * 1e9,
    ):
        with using(backend):
            _, _, shares, centres, polygons = divide([6], offsets=offsets)
        np.testing.assert_allclose(
            polygons.areas / polygons.areas.sum(), shares / shares.sum(), rtol=0.05
        )
        assert len(np.unique(centres.round(9), axis=0)) == 6


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", [24, 66])
def test_no_polygon_is_lost(seed: int, backend: str) -> None:
    """Most places in a clump on a line, two far from it: the way to the right areas led through
    empty polygons.
    """
    random = np.random.default_rng(seed)
    n = int(random.integers(20, 48))
    along = -1 / random.integers(5, 45, n)
    offsets = np.column_stack([1e-16 * random.normal(size=n), along])
    offsets[:2] = [[-0.7, 0.65], [0.7, 0.65]]
    shares = random.integers(2, 9, n).astype(float)
    region, all_in_one = (
        Regions(np.array([0, 12]), ring(12)),
        Grouping.of(np.zeros(n, dtype=np.int64), 1),
    )
    with using(backend):
        found = [
            kernels.divide_regions(region, all_in_one, offsets, shares, rounds, 1)[1]
            for rounds in (0, 1)
        ]
    assert all((polygons.areas > 0).all() for polygons in found)
    np.testing.assert_allclose(found[1].areas / region.areas, shares / shares.sum(), rtol=0.02)


def test_regions_know_their_moments() -> None:
    polygon = np.array([[0.0, 0], [4, 0], [4, 1], [0, 1]])
    regions = Regions(np.array([0, 4, 16]), np.vstack([polygon, ring(12)]))
    assert len(regions) == 2 and len(list(regions)) == 2
    for i, each in enumerate(regions):
        found = mosaic.moments(each)
        assert regions.areas[i] == pytest.approx(found.area)
        np.testing.assert_allclose(regions.centres[i], found.centre, atol=1e-12)
        np.testing.assert_allclose(regions.covariances[i], found.covariance, atol=1e-12)
    np.testing.assert_allclose(regions.covariances[0], np.diag([16 / 12, 1 / 12]), atol=1e-12)
    small = regions.shrunk(np.array([0.5, 1.0]))
    np.testing.assert_allclose(small.areas, regions.areas * [0.25, 1])
    np.testing.assert_allclose(
        regions.reach(np.array([0, 0]), np.array([[1.0, 0], [0, 0.1]])), [2, 5]
    )
    np.testing.assert_allclose(
        regions.outside(np.array([0, 0]), np.array([[5.0, 0.5], [1, 0.25]])), [1, -0.25]
    )


@pytest.mark.parametrize("build", builds())
def test_outside_matches_the_twin(build: str) -> None:
    *_, polygons = divide([5, 1, 9, 2, 70])
    ids = RNG.integers(len(polygons), size=9000)
    points = polygons.centres[ids] + RNG.normal(size=(9000, 2)) * 0.3
    with using("off"):
        expected = polygons.outside(ids, points)
    with using(build):
        np.testing.assert_allclose(polygons.outside(ids, points, 2), expected, atol=1e-12)
    assert 0.05 < (expected < 0).mean() < 0.95
    empty = Regions(np.array([0, 0, 3]), np.array([[0.0, 0], [1, 0], [0, 1]]))
    with using(build):
        assert empty.outside(np.array([0, 1]), np.array([[5.0, 5], [2, -1]])).tolist() == [
            -np.inf,
            1.0,
        ]


def test_polygons_in_pieces_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HNNE(layout="mosaic").fit(digits())
    new = digits()[:200] + 0.5
    placed = model.transform(new)
    monkeypatch.setattr("nestmap.method.layout.regions._VERTICES_PER_TASK", 50)
    monkeypatch.setattr("nestmap.method.layout.mosaic._VALUES_PER_TASK", 50)
    again = HNNE(layout="mosaic").fit(digits())
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    np.testing.assert_array_equal(again.transform(new), placed)


def test_the_mosaic_is_nested_on_every_level() -> None:
    model = HNNE(layout="mosaic").fit(digits())
    audit = model.audit()
    assert audit.ok and "regions are nested: holds" in str(audit)
    assert all(level.n_crossing == 0 for level in audit.levels)
    for level, regions in enumerate(model.layout_.regions):
        assert len(regions) == model.hierarchy_.level_sizes[level]
        labels = model.hierarchy_.labels(level)
        assert regions.outside(labels, model.embedding_).max() < 0
    positions = model.embedding_.copy()
    positions[3] += 1e3
    broken = audit_layout(model.hierarchy_, replace(model.layout_, positions=positions))
    assert not broken.ok and broken.levels[0].n_outside == 1


def test_area_is_the_number_of_rows() -> None:
    """Between siblings, up to the gaps: the same share of the parent for the same share of its
    rows.
    """
    model = HNNE(layout="mosaic").fit(digits())
    top = model.layout_.outlines(-1)
    density = top.areas / model.hierarchy_.levels[-1].sizes
    assert density.max() / density.min() < 1.35


def test_the_mosaic_fills_the_picture_and_stays_faithful() -> None:
    descent = HNNE(layout="descent").fit(digits())
    full = descent.relayout(layout="mosaic")
    assert (
        map_fill(full.embedding_)
        > 0.7
        > 5 * map_fill(HNNE(layout=Descent(radius=0.2)).fit_transform(digits()))
    )
    paper = trustworthiness(
        digits(), descent.relayout(layout=Descent(arrangement="global")).embedding_
    )
    assert trustworthiness(digits(), full.embedding_) > paper


def test_new_rows_lie_inside_their_leaf() -> None:
    X = digits() + RNG.normal(scale=0.1, size=digits().shape)
    model = HNNE(layout="mosaic").fit(X[:1500])
    new = X[1500:] + RNG.normal(scale=3, size=X[1500:].shape)
    placed = model.transform(new)
    assert model.layout_.outlines(0).outside(model.predict(new, level=0), placed).max() < 0
    np.testing.assert_array_equal(placed[5:6], model.transform(new[5:6]))
    np.testing.assert_array_equal(model.transform(X[:1500]), model.embedding_)
    near = HNNE(layout="mosaic", new_points="neighbor").fit(X[:1500])
    shift = near.transform(X[:300] * (1 + 1e-9)) - near.embedding_[:300]
    leaf = near.hierarchy_.labels(0)[:300]
    assert (
        np.linalg.norm(shift, axis=1) < 0.8 * np.sqrt(near.layout_.outlines(0).areas[leaf])
    ).mean() > 0.9


def test_threads_order_and_relayout_make_no_difference() -> None:
    X = RNG.normal(size=(1200, 30)) * np.linspace(3, 0.1, 30)
    order = RNG.permutation(len(X))
    model = HNNE(layout="mosaic", n_jobs=1).fit(X)
    np.testing.assert_array_equal(
        model.embedding_, HNNE(layout="mosaic", n_jobs=3).fit_transform(X)
    )
    again = model.relayout(layout="descent").relayout(layout="mosaic")
    np.testing.assert_array_equal(model.embedding_, again.embedding_)
    turned = HNNE(layout="mosaic").fit_transform(X[order])
    moved = np.linalg.norm(turned - model.embedding_[order], axis=1)
    assert np.median(moved) < 1e-6 * np.ptp(model.embedding_)


def test_margins_are_wide_where_neighbours_differ() -> None:
    centres = np.array([[0.0], [1.0], [2.0], [12.0]])
    around = np.argsort(np.abs(centres - centres.T), axis=1)[:, 1:3]
    found = margins(centres, around, 0.2)
    np.testing.assert_allclose(found, [0.2, 0.2, 0.2, 0.3])
    assert margins(centres[:1], np.empty((1, 0), dtype=int), 0.2).tolist() == [0.2]


def test_equal_rows_are_one_site_whose_share_is_their_number() -> None:
    """Three equal rows and another one in a box: a border at three quarters, rows at the centres of
    both parts.
    """
    box = Regions(np.array([0, 4]), np.array([[0.0, 0], [4, 0], [4, 1], [0, 1]]))
    leaf = Level(None, np.array([4]), np.zeros(4, dtype=np.int64), 1.0, np.nan)
    offsets = np.array([[-1.0, 0], [3, 0], [-1, 0], [-1, 0]])
    frames = Frames(offsets, np.ones((1, 1, 1)), np.zeros((1, 2)))
    distinct = DistinctRows.of(leaf, np.array([0, 1, 0, 0]))
    places = _row_positions(box, leaf, frames, distinct, 1)
    np.testing.assert_array_equal(places[[0, 2]], places[[2, 3]])
    np.testing.assert_allclose(places[:2], [[1.5, 0.5], [3.5, 0.5]], atol=0.02)


def test_a_leaf_of_equal_rows_has_them_at_its_centre() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(9, 6)), 40, axis=0)
    model = HNNE(layout="mosaic").fit(X)
    centres = model.layout_.outlines(0).centres
    np.testing.assert_allclose(model.embedding_, centres[model.hierarchy_.labels(0)], atol=1e-12)
    np.testing.assert_allclose(model.transform(X + 1e-3), model.embedding_, atol=1e-12)


def test_outline_follows_the_data_within_a_factor_of_two() -> None:
    for spread, ratio in (([3.0, 2.0], 1.5), ([1.0, 0.0], 2.0), ([0.0, 0.0], 1.0)):
        width, height = np.ptp(outline(np.array(spread)).points, axis=0)
        assert width / height == pytest.approx(ratio)


def test_outlines_of_both_layouts_are_polygons() -> None:
    model = HNNE(layout="descent").fit(digits())
    balls = model.layout_.outlines(0)
    assert (
        len(balls)
        == len(model.relayout(layout="mosaic").layout_.outlines(0))
        == model.hierarchy_.level_sizes[0]
    )
    anchor = model.layout_.placements[0].anchors
    np.testing.assert_allclose(balls.centres, anchor, atol=1e-9 * np.abs(anchor).max())
    with pytest.raises(ValueError, match="outlines are for maps in 2-D; this one has 3"):
        model.relayout(n_components=3).layout_.outlines(0)


@pytest.mark.parametrize("exponent", [-1000, -500, 300, 900])
def test_regions_of_any_size_are_measured(exponent: int) -> None:
    """Areas of a map of 1e-300 or 1e270 are out of range; what is relative to the region is not."""
    unit = Regions(np.array([0, 12]), ring(12, 1.0))
    far = Regions(unit.starts, unit.points * 2.0**exponent)
    np.testing.assert_allclose(far.centres * 2.0**-exponent, unit.centres)
    ids, step = np.zeros(1, dtype=np.int64), np.array([[1.0, 0.5]])
    np.testing.assert_allclose(far.reach(ids, step * 2.0**exponent), unit.reach(ids, step))
    np.testing.assert_allclose(
        far.outside(ids, step * 2.0**exponent) * 2.0**-exponent, unit.outside(ids, step)
    )
    small = far.shrunk(np.array([0.5]))
    np.testing.assert_allclose(small.points * 2.0**-exponent, unit.shrunk(np.array([0.5])).points)
    if exponent == 300:
        np.testing.assert_allclose(far.areas * 2.0**-600, unit.areas)
        np.testing.assert_allclose(far.covariances * 2.0**-600, unit.covariances)


def test_other_dimensions_are_refused_before_any_work() -> None:
    with pytest.raises(ValueError, match="needs n_components=2, not 3; use layout='descent'"):
        HNNE(3, layout="mosaic").fit(digits())
    with pytest.raises(ValueError, match="layout='tiles'"):
        HNNE(layout="tiles").fit(digits())


def test_without_a_compiler_the_same_mosaic() -> None:
    X = digits()[:300]
    expected = HNNE(layout="mosaic").fit_transform(X)
    with using("off"):
        found = HNNE(layout="mosaic").fit_transform(X)
    moved = np.linalg.norm(found - expected, axis=1)
    assert np.median(moved) < 1e-6 * np.ptp(expected)
    pairs = NearestNeighbors(n_neighbors=1).fit(expected).kneighbors(found, return_distance=False)
    assert (pairs[:, 0] == np.arange(300)).mean() > 0.95


@pytest.mark.filterwarnings(
    "ignore::nestmap.errors.FarRowsWarning"
)  # rows of 1e-30, and new ones of 1
@settings(deadline=None, max_examples=40)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(2, 40), st.integers(1, 4)),
        elements=st.sampled_from([0.0, 1.0, -2.0, 1e-30, 3.5, 1e20]),
    ),
)
def test_odd_input(X: np.ndarray) -> None:
    model = HNNE(layout="mosaic").fit(X)
    assert np.isfinite(model.embedding_).all()
    assert model.audit().ok
    assert np.isfinite(model.transform(X + 1)).all()


def test_an_empty_polygon_has_no_area() -> None:
    """The last one began behind the last corner: IndexError."""
    square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    regions = Regions(np.array([0, 0, 4, 4]), square)
    assert regions.areas.tolist() == [0.0, 4.0, 0.0]
    assert regions.centres[1].tolist() == [1.0, 1.0]
