"""The margin for rounding (docs/explain/exactness.md): no bound exceeds the distance, on pairs chosen to
break it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from conftest import BACKENDS, using
from scipy.spatial.distance import cdist

from nestmap import first_neighbors
from nestmap.core.points.point_set import PointSet, make_points
from nestmap.core.points.reduce import (
    Reducer,
    ShortRows,
    fit_reducer,
    reduce_rows,
    rounding_slack,
)

pytestmark = pytest.mark.usefixtures("one_blas_thread")
BELOW_FLOAT = 1e-35  # as in cpp/cells.hpp
RNG = np.random.default_rng(8)


def hard_rows(kind: str) -> np.ndarray:
    n = 400
    if (
        kind == "plane"
    ):  # half of the rows in the kept directions, half nearly at right angles to them
        X = np.zeros((n, 300))
        X[: n // 2, :20] = RNG.normal(size=(n // 2, 20)) * 10
        X[n // 2 :] = RNG.normal(size=(n // 2, 300)) * RNG.choice(
            [1e-9, 1e-6, 1e-3, 1], (n // 2, 1)
        )
        return X
    if kind == "pairs":  # neighbours at a millionth of the distance to the mean
        X = RNG.normal(size=(n // 2, 150))
        return np.concatenate([X, X + 1e-6 * RNG.normal(size=X.shape)])
    if kind == "far":
        return 1e6 + RNG.normal(size=(n, 30))
    if kind == "lengths":
        return RNG.normal(size=(n, 40)) * 10.0 ** RNG.uniform(-9, 3, (n, 1))
    if kind == "wide":
        return RNG.normal(size=(150, 6000)) @ np.diag(np.linspace(0, 3, 6000))
    return RNG.integers(0, 3, (n, 64)).astype(np.float32)


KINDS = ("plane", "pairs", "far", "lengths", "wide", "small integers")
METRICS = ("euclidean", "cosine", "manhattan", "correlation")


def reduced(kind: str, metric: str) -> tuple[PointSet, Reducer, ShortRows]:
    points = make_points(hard_rows(kind), metric)
    reducer = fit_reducer(points, most=64 if kind == "plane" else 256)
    return points, reducer, reduce_rows(points, reducer, 1)


def lower_bounds(
    short: ShortRows, i: np.ndarray, j: np.ndarray, head: int, slack: float, norm: str
) -> Iterator:
    """What tile.hpp and `tighten` of join.cpp compute, operation by operation in float32, and after
    more columns.
    """
    (a, b), (s, t) = (short.z[i], short.z[j]), (short.tails[i], short.tails[j])

    def add_up(terms: np.ndarray, start: np.ndarray) -> np.ndarray:
        for term in terms.T:  # one after the other, the least accurate order
            start = start + term
        return start

    def measure(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return abs(x - y) if norm == "L1" else (x - y) * (x - y)

    zero = np.zeros(len(i), dtype=np.float32)
    at = head // 8 - 1
    first = np.column_stack([a[:, :head], s[:, at]]), np.column_stack([b[:, :head], t[:, at]])
    sizes = short.sizes.astype(np.float64)
    with_margin = (sizes * (1 - slack) if norm == "L2" else -sizes * slack) - BELOW_FLOAT
    na, nb = with_margin.astype(np.float32)[i], with_margin.astype(np.float32)[j]
    if norm == "L2":
        bound = (nb + na) - np.float32(2) * add_up(first[0] * first[1], zero)
    else:
        bound = (nb + na) + add_up(measure(*first), zero)
    assert bound.dtype == np.float32
    yield bound
    k, step = head, 16
    while k < short.z.shape[1]:
        stop = min(short.z.shape[1], k + step)
        more = add_up(measure(a[:, k:stop], b[:, k:stop]), zero)
        now, then = stop // 8 - 1, k // 8 - 1
        bound = bound + ((more - measure(s[:, then], t[:, then])) + measure(s[:, now], t[:, now]))
        yield bound
        k, step = stop, 2 * step


def some_pairs(D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every row with its nearest ones, and with random ones."""
    n = len(D)
    near = np.argsort(D + np.diag(np.full(n, np.inf)), axis=1)[:, :5]
    i = np.repeat(np.arange(n), 25)
    j = np.column_stack([near, RNG.integers(0, n, (n, 20))]).ravel()
    return i[i != j], j[i != j]


def by_definition(points: PointSet) -> np.ndarray:
    """All distances, squared for L2, of the vectors that the points stand for."""
    x = np.column_stack([points.block(slice(None)), points.extra])
    return cdist(x, x, "cityblock" if points.norm == "L1" else "sqeuclidean")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_exceeds_the_distance(kind: str, metric: str) -> None:
    points, _, short = reduced(kind, metric)
    D = by_definition(points)
    i, j = some_pairs(D)
    limit = D[i, j] * (1 + 2.0**-22)
    for head in sorted({8, min(24, short.z.shape[1]), min(96, short.z.shape[1])}):
        slack = rounding_slack(head, points.n_cols)
        for bound in lower_bounds(short, i, j, head, slack, points.norm):
            assert (bound <= limit).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
@pytest.mark.parametrize("kind", KINDS)
def test_rounded_factors_stay_within_the_margin(kind: str, metric: str) -> None:
    """Not proved, but so on hard rows: an approximate search compares its sample with the true
    neighbours.
    """
    points = make_points(hard_rows(kind).astype(np.float32), metric)
    reducer = fit_reducer(points, most=64 if kind == "plane" else 256)
    found, full = (reduce_rows(points, reducer, 1, reproducible=own) for own in (True, False))
    assert (found.z != full.z).any()
    D = by_definition(points)
    i, j = some_pairs(D)
    for head in sorted({8, found.z.shape[1]}):
        slack = rounding_slack(head, points.n_cols)
        for bound in lower_bounds(found, i, j, head, slack, points.norm):
            assert (bound <= D[i, j] * (1 + 2.0**-22)).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_without_the_margin_bounds_would_exceed_distances(metric: str) -> None:
    points, _, short = reduced("pairs", metric)
    D = by_definition(points)
    i, j = some_pairs(D)
    assert any((bound > D[i, j]).any() for bound in lower_bounds(short, i, j, 96, 0.0, points.norm))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_short_rows_are_apart_by_at_most_the_distance_and_the_slack(kind: str, metric: str) -> None:
    points, _, short = reduced(kind, metric)
    root = np.sqrt if points.norm == "L2" else np.asarray
    D, lengths = root(by_definition(points)), root(short.sizes.astype(np.float64))
    for head in range(8, short.z.shape[1] + 1, 8):
        w = np.column_stack([short.z[:, :head], short.tails[:, head // 8 - 1]]).astype(np.float64)
        apart = cdist(w, w, "cityblock" if points.norm == "L1" else "euclidean")
        slack = rounding_slack(head, points.n_cols)
        assert (apart <= D + slack * (lengths[:, None] + lengths) + 1e-15 * lengths.max()).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_rough_distances_of_the_twin_are_off_by_at_most_half_of_their_margin(
    kind: str, metric: str
) -> None:
    points = make_points(hard_rows(kind), metric)
    rough, margin = points.rough_distances(slice(None), points, points.norm)
    i, j = some_pairs(rough)
    D, margin = points.pair_distances(i, points, j, points.norm), margin[i, 0]
    if (
        points.norm == "L1"
    ):  # in proportion to the distance: the margin is that of the nearest other row
        margin = margin * D / np.partition(rough, 1, axis=1)[i, 1]
    assert (np.abs(rough[i, j] - D) <= margin / 2).all()


def test_without_the_margin_the_twin_would_be_wrong() -> None:
    points = make_points(hard_rows("plane"), "euclidean")
    rough, _ = points.rough_distances(slice(None), points, points.norm)
    for distances in (rough, D := by_definition(points)):
        np.fill_diagonal(distances, np.inf)
    assert (D[np.arange(points.n), rough.argmin(axis=1)] > D.min(axis=1) * (1 + 1e-12)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_directions_are_as_orthonormal_as_the_derivation_takes_them_to_be(kind: str) -> None:
    _, reducer, _ = reduced(kind, "euclidean")
    m, p = reducer.directions.shape
    product = reducer.directions.T.astype(np.longdouble) @ reducer.directions.astype(np.longdouble)
    assert (
        np.linalg.norm((product - np.eye(p)).astype(np.float64), 2)
        <= (m * np.sqrt(p) + 2000) * 2.0**-53
    )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("scale", [1e-18, 3e-23, 1e-28, 1e-40])
def test_rows_below_the_range_of_float32_beside_one_large_row(metric: str, scale: float) -> None:
    n, d = 2500, 12
    X = (3 * RNG.normal(size=(60, d))[RNG.integers(0, 60, n)] + RNG.normal(size=(n, d))) * scale
    D = cdist(X / scale, X / scale, "cityblock" if metric == "manhattan" else metric)
    np.fill_diagonal(D, np.inf)
    # directions and their mean come from a sample of 2,000 rows: a large row that is not among them
    large = np.setdiff1d(np.arange(n), np.random.default_rng(0).choice(n, 2000, replace=False))[0]
    D[:, large] = np.inf
    X[large] = 1.0
    for backend in BACKENDS[:-1]:
        with using(backend):
            ids = first_neighbors(X, metric).ids
        np.testing.assert_array_equal(np.delete(ids, large), np.delete(D.argmin(axis=1), large))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_first_neighbours_of_hard_rows(kind: str, metric: str) -> None:
    X = hard_rows(kind)
    D = by_definition(make_points(X, metric))
    np.fill_diagonal(D, np.inf)
    for backend in BACKENDS:
        with using(backend):
            ids = first_neighbors(X, metric).ids
        chosen = D[np.arange(len(X)), ids]
        assert (chosen <= D.min(axis=1) * (1 + 1e-12)).all()  # cdist adds up in another order
