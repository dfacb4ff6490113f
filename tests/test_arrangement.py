"""Local frames: each node's own principal components, turned towards its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BACKENDS, digits
from scipy import sparse
from sklearn.datasets import load_digits

from nestmap import HNNE, build_hierarchy
from nestmap._native import using
from nestmap.arrangement.local import make_local, principal_frames, turn_frames
from nestmap.hierarchy import Grouping
from nestmap.metrics import knn_accuracy, neighborhood_recall, trustworthiness

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_frames_are_the_principal_components_of_each_group(d: int) -> None:
    z = RNG.normal(size=(200, 7)).astype(np.float32)
    z[60:64] = z[60]  # a group without extent
    labels = np.concatenate([np.zeros(40), [1], np.repeat(np.arange(2, 41), 4), [41, 41, 41]]).astype(int)
    labels[60:64] = 6
    labels = np.unique(labels, return_inverse=True)[1]
    weights = RNG.integers(1, 5, 200).astype(float)
    group = Grouping.of(labels, labels.max() + 1)
    centres = group.mean(z, weights)
    offsets, maps = principal_frames(z, centres, weights, group, d)
    for g in range(len(centres)):
        members = np.flatnonzero(labels == g)
        x = z[members] - centres[g]
        values = np.linalg.svd(x * np.sqrt(weights[members])[:, None], compute_uv=False)[:d]
        found = np.sqrt((weights[members, None] * offsets[members] ** 2).sum(axis=0))
        np.testing.assert_allclose(found[: len(values)], np.where(values > 1e-5 * values[0], values, 0), atol=1e-5)
        np.testing.assert_allclose(offsets[members], x @ maps[g].T, atol=1e-10)
        product = maps[g] @ maps[g].T
        np.testing.assert_allclose(product, np.diag(np.diag(product) > 0.5), atol=1e-8)


def test_frames_turn_to_where_the_neighbours_are() -> None:
    """Nodes in a plane whose map is the plane, turned and reflected: every frame finds that."""
    centres = RNG.normal(size=(30, 2))
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    anchors = 3 * centres @ turn.T
    around = np.argsort(((centres[:, None] - centres) ** 2).sum(axis=2), axis=1)[:, 1:5]
    spun = np.stack([np.linalg.qr(RNG.normal(size=(2, 2)))[0] for _ in range(30)])
    turns = turn_frames(spun, centres, anchors, around)
    np.testing.assert_allclose(turns @ spun, np.broadcast_to(turn, (30, 2, 2)), atol=1e-9)


def test_frames_without_neighbours_stay() -> None:
    maps = np.eye(2)[None]
    none = np.empty((1, 0), dtype=np.int64)
    np.testing.assert_array_equal(np.abs(turn_frames(maps, np.zeros((1, 2)), np.zeros((1, 2)), none)), maps)


def test_local_maps_are_more_faithful() -> None:
    X, y = load_digits(return_X_y=True)
    local = HNNE().fit(X)
    paper = local.relayout(arrangement="global")
    assert trustworthiness(X, local.embedding_) > trustworthiness(X, paper.embedding_) + 0.003
    assert neighborhood_recall(X, local.embedding_) > neighborhood_recall(X, paper.embedding_) + 0.04
    assert knn_accuracy(local.embedding_, y) > knn_accuracy(paper.embedding_, y)


@pytest.mark.parametrize("d", [1, 2, 3, 12])
def test_relayout_switches_the_arrangement(d: int) -> None:
    model = HNNE(d, arrangement="local").fit(digits())
    other = model.relayout(arrangement="global")
    np.testing.assert_array_equal(other.embedding_, HNNE(d, arrangement="global").fit_transform(digits()))
    np.testing.assert_array_equal(other.relayout(arrangement="local").embedding_, model.embedding_)
    assert (model.layout_.arrangement, other.layout_.arrangement) == ("local", "global")


def test_auto_is_local_in_few_dimensions() -> None:
    model = HNNE(8).fit(digits())
    assert model.layout_.arrangement == "local"
    assert model.relayout(n_components=9).layout_.arrangement == "global"


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan", "chebyshev"])
def test_any_metric_places_new_rows_where_their_twins_are(metric: str) -> None:
    """A row that differs from a training row by next to nothing lands next to it."""
    X = RNG.normal(size=(300, 20)) + 0.3
    model = HNNE(metric=metric, new_points="neighbor").fit(X)
    new = X[:50] * (1 + 1e-9)
    placed = model.transform(new)
    assert not np.array_equal(placed, model.embedding_[:50])
    np.testing.assert_allclose(placed, model.embedding_[:50], atol=1e-4 * np.ptp(model.embedding_))


def test_sparse_rows_are_arranged_like_dense_ones() -> None:
    X = sparse.random(400, 30, 0.3, random_state=1, format="csr")
    for metric in ("euclidean", "cosine"):
        dense, thin = HNNE(metric=metric).fit(X.toarray()), HNNE(metric=metric).fit(X)
        assert trustworthiness(X, thin.embedding_, metric=metric) == pytest.approx(
            trustworthiness(X, dense.embedding_, metric=metric), abs=0.02
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_coordinates_of_new_rows_are_those_of_the_fit(backend: str) -> None:
    X = RNG.normal(size=(500, 120)) * 1e3 + 5e3
    with using(backend):
        for metric in ("euclidean", "cosine"):
            found = make_local(X, build_hierarchy(X, metric), 2, np.arange(500), 2)
            np.testing.assert_allclose(found.transform(X, 1), found.rows, atol=2e-5 * np.abs(found.rows).max())


def test_the_order_of_rows_makes_no_difference() -> None:
    X = RNG.normal(size=(3000, 70)) * np.linspace(3, 0.1, 70)  # more rows than the sample of directions
    order = RNG.permutation(len(X))
    a, b = HNNE().fit_transform(X), HNNE().fit_transform(X[order])
    np.testing.assert_allclose(b, a[order], atol=1e-6 * np.ptp(a))
