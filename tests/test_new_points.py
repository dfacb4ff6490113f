"""New points: in the right ball, the same in any batch, training rows exactly where they were."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BACKENDS, digits, fitted_digits, using
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from nestmap import HNNE, Descent
from nestmap.method.placement import RULES
from nestmap.method.preliminary.build import KINDS

TRAIN, NEW = digits()[:1500], digits()[1500:]
GIVEN = TRAIN[:, [20, 43, 28]].astype(np.float64) + np.linspace(0, 1, 1500)[:, None]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_every_preliminary_embedding_and_dimension(rule: str, d: int, kind: str) -> None:
    model = HNNE(
        d, layout=Descent(preliminary=kind, radius=0.2, random_state=1), new_points=rule
    ).fit(TRAIN)
    np.testing.assert_array_equal(model.transform(TRAIN), model.embedding_)
    Y = model.transform(NEW)
    np.testing.assert_array_equal(Y[10:13], model.transform(NEW[10:13]))
    np.testing.assert_array_equal(Y[7:8], model.transform(NEW[7:8]))
    place, leaves = model.layout_.placements[0], model.predict(NEW, level=0)
    away = np.linalg.norm(Y - place.anchors[leaves], axis=1)
    rounding = 1e-15 * np.abs(place.anchors).max()
    assert (away <= place.radii[leaves] * (1 + 1e-9) + rounding).all()
    # at radius 0.2 nothing crosses over: the nearest anchor is its own
    assert (cdist(Y, place.anchors).argmin(axis=1) == leaves).all()


@pytest.mark.parametrize("d", [2, 3])
def test_given_coordinates(d: int) -> None:
    model = HNNE(d, layout=Descent(preliminary=GIVEN[:, :d])).fit(TRAIN)
    np.testing.assert_array_equal(model.transform(TRAIN), model.embedding_)
    assert np.isfinite(model.transform(NEW)).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_rules_are_what_they_say(backend: str) -> None:
    with using(backend):
        by_centroid = HNNE(layout="descent").fit(TRAIN)
        by_neighbor = HNNE(layout="descent", new_points="neighbor").fit(TRAIN)
        a, b = by_centroid.predict(NEW, level=0), by_neighbor.predict(NEW, level=0)
    D = cdist(NEW.astype(float), by_centroid.hierarchy_.levels[0].centroids.astype(float))
    np.testing.assert_allclose(D[np.arange(len(NEW)), a], D.min(axis=1), rtol=1e-6)
    D = cdist(NEW.astype(float), TRAIN.astype(float))
    allowed = [
        {*by_neighbor.hierarchy_.labels(0)[row == row.min()]} for row in D
    ]  # integers: some rows tie
    assert all(leaf in leaves for leaf, leaves in zip(b, allowed, strict=True))
    assert sum(len(leaves) == 1 for leaves in allowed) > 0.9 * len(NEW)


def test_labels_of_new_rows_nest() -> None:
    model = fitted_digits(1500)
    tree = model.hierarchy_
    np.testing.assert_array_equal(model.predict(TRAIN), model.labels_)
    for k in range(tree.n_levels):
        np.testing.assert_array_equal(model.predict(TRAIN, level=k), tree.labels(k))
    fine, top = model.predict(NEW, level=0), model.predict(NEW, level=-1)
    leaf_to_top = np.empty(tree.level_sizes[0], dtype=int)
    leaf_to_top[tree.labels(0)] = tree.labels(-1)
    np.testing.assert_array_equal(leaf_to_top[fine], top)


def test_new_rows_land_among_their_kind() -> None:
    from sklearn.datasets import load_digits

    y = load_digits().target
    model = fitted_digits(1500)
    accuracy = (
        KNeighborsClassifier(1)
        .fit(model.embedding_, y[:1500])
        .score(model.transform(NEW), y[1500:])
    )
    assert accuracy > 0.9


def test_far_away_rows_are_flagged() -> None:
    model = fitted_digits(1500)
    odd = np.vstack([NEW[:5], np.full((1, 64), 500.0, dtype=np.float32)])
    Y, distance = model.transform(odd, return_distance=True)
    assert Y.shape == (6, 2)
    assert (distance[:5] < 2 * model.far_distance_).all()
    assert distance[5] > 10 * model.far_distance_
    assert (model.transform(TRAIN, return_distance=True)[1] == 0).all()


def test_other_dtypes_of_the_same_rows_are_recognised() -> None:
    model = fitted_digits(1500)
    np.testing.assert_array_equal(model.transform(TRAIN.astype(np.float64)), model.embedding_)
    np.testing.assert_array_equal(model.transform(TRAIN.astype(np.uint8)), model.embedding_)
    np.testing.assert_array_equal(model.transform(np.asfortranarray(TRAIN)), model.embedding_)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_rows(metric: str) -> None:
    S, N = sparse.csr_matrix(TRAIN), sparse.csr_matrix(NEW)
    model = HNNE(metric=metric).fit(S)
    np.testing.assert_array_equal(model.transform(S), model.embedding_)
    Y = model.transform(N)
    np.testing.assert_array_equal(Y[3:4], model.transform(N[3:4]))


@pytest.mark.parametrize("metric", ["manhattan", "correlation", "chebyshev"])
def test_other_metrics(metric: str) -> None:
    model = HNNE(metric=metric).fit(TRAIN[:400])
    np.testing.assert_array_equal(model.transform(TRAIN[:400]), model.embedding_)
    assert np.isfinite(model.transform(NEW)).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_and_dense_new_rows_get_the_same_places(metric: str) -> None:
    X = digits()[:600]
    new = digits()[600:660]
    dense, thin = HNNE(metric=metric).fit(X), HNNE(metric=metric).fit(sparse.csr_matrix(X))
    wide = sparse.csr_matrix(new)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for model in (dense, thin):
        expected = model.predict(new)
        for rows in (sparse.csr_matrix(new), wide):
            np.testing.assert_array_equal(model.predict(rows), expected)
