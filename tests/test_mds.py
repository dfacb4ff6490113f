"""Coordinates from distances: exact where the distances are euclidean, one map for old and new
rows.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_mutual_info_score

from nestmap import FINCH, HNNE, Descent, build_hierarchy
from nestmap.method.preliminary import mds
from nestmap.method.preliminary.mds import fit_landmarks, seen_in
from nestmap.method.run import Run
from nestmap.metrics import trustworthiness

RNG = np.random.default_rng(4)


@pytest.fixture
def few_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mds, "MAX_LANDMARKS", 60)


def test_euclidean_distances_come_back() -> None:
    X = RNG.normal(size=(200, 5))
    D = cdist(X, X)
    seen = fit_landmarks(D, build_hierarchy(D, "precomputed"))
    z = seen(D, 1)
    assert z.shape == (200, 5)
    np.testing.assert_allclose(cdist(z, z), D, atol=1e-9)


@pytest.mark.usefixtures("few_landmarks")
def test_rows_that_are_no_landmarks_and_new_rows_fall_into_place() -> None:
    X, new = RNG.normal(size=(400, 5)), RNG.normal(size=(30, 5))
    D = cdist(X, X)
    seen = fit_landmarks(D, build_hierarchy(D, "precomputed"))
    assert 5 < len(seen.landmarks) <= 60
    z, z_new = seen(D, 2), seen(cdist(new, X), 1)
    np.testing.assert_allclose(cdist(z, z), D, atol=1e-8)
    np.testing.assert_allclose(cdist(z_new, z), cdist(new, X), atol=1e-8)
    np.testing.assert_array_equal(seen(cdist(new, X)[3:4], 1), z_new[3:4])  # each by itself
    np.testing.assert_array_equal(z, seen(D, 1))


def test_distances_that_are_not_euclidean() -> None:
    D = cdist(digits()[:500], digits()[:500], "cityblock")
    z = fit_landmarks(D, build_hierarchy(D, "precomputed"))(D, 2)
    assert z.shape[1] <= 96 and np.isfinite(z).all()
    assert (
        np.corrcoef(cdist(z, z)[np.triu_indices(500, 1)], D[np.triu_indices(500, 1)])[0, 1] > 0.95
    )


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rows_that_are_all_equally_far_apart(value: float) -> None:
    D = value * (1 - np.eye(12))
    z = fit_landmarks(D, build_hierarchy(D, "precomputed"))(D, 1)
    assert np.isfinite(z).all()
    np.testing.assert_allclose(cdist(z, z), D, atol=1e-12)


def test_the_tree_over_coordinates_has_means() -> None:
    D = cdist(digits()[:300], digits()[:300])
    tree = build_hierarchy(D, "precomputed")
    z = fit_landmarks(D, tree)(D, 1)
    view = seen_in(tree, z, Run())
    assert view.level_sizes == tree.level_sizes and view.metric == "euclidean"
    for k in range(tree.n_levels):
        means = [z[tree.labels(k) == g].mean(axis=0) for g in range(tree.levels[k].n_nodes)]
        np.testing.assert_allclose(view.levels[k].centroids, means, atol=1e-10)


@pytest.mark.parametrize("layout", ["descent", "mosaic"])
def test_a_map_from_distances_alone(layout: str) -> None:
    X, new = digits()[:900], digits()[900:1000]
    D = cdist(X, X)
    model = HNNE(metric="precomputed", layout=layout).fit(D)
    assert trustworthiness(X, model.embedding_) > 0.98
    assert (
        layout == "mosaic" or HNNE(metric="precomputed", layout=Descent(radius=0.2)).fit(D).audit()
    )
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.transform(D[:50]), model.embedding_[:50])
    assert (
        trustworthiness(
            np.concatenate([X, new]),
            np.concatenate([model.embedding_, copy.transform(cdist(new, X))]),
        )
        > 0.97
    )
    np.testing.assert_array_equal(model.predict(D, level=0), model.hierarchy_.labels(0))
    np.testing.assert_array_equal(
        HNNE(metric="precomputed", layout=layout, n_jobs=1).fit(D).embedding_, model.embedding_
    )
    assert model.relayout(n_components=3, layout="descent").embedding_.shape == (900, 3)


def test_new_rows_by_their_nearest_training_row() -> None:
    X, new = digits()[:300], digits()[300:340]
    model = HNNE(metric="precomputed", new_points="neighbor").fit(cdist(X, X))
    nearest = cdist(new, X).argmin(axis=1)
    np.testing.assert_array_equal(
        model.predict(cdist(new, X), level=0), model.hierarchy_.labels(0)[nearest]
    )


def test_what_a_matrix_cannot_do_is_said(tmp_path: Path) -> None:
    D = cdist(digits()[:60], digits()[:60])
    with pytest.raises(ValueError, match="square matrix"):
        HNNE(metric="precomputed").fit(digits())
    with pytest.raises(ValueError, match=r"work_dir.*without"):
        HNNE(metric="precomputed", work_dir=tmp_path).fit(D)
    with pytest.raises(ValueError, match="60 features"):
        HNNE(metric="precomputed").fit(D).transform(D[:5, :40])


def test_a_map_sees_rows_as_their_metric_does() -> None:
    """Columns in wild units: seuclidean is euclidean after scaling, and so is the map (laid out
    unscaled: 0.983).
    """
    X = digits()[:, digits().std(axis=0) > 0].astype(np.float64)
    wild = X * 10.0 ** np.random.default_rng(4).uniform(-3, 3, X.shape[1])
    model = HNNE(metric="seuclidean").fit(wild)
    assert trustworthiness(wild, model.embedding_, metric="seuclidean") > 0.987
    np.testing.assert_array_equal(model.transform(wild[:20]), model.embedding_[:20])
    assert HNNE(metric="seuclidean", metric_params={"V": wild.var(axis=0)}).fit(
        wild
    ).embedding_.shape == (1797, 2)
    P = sparse.csr_matrix(np.abs(X[:200]))
    assert np.isfinite(HNNE(metric="hellinger").fit(P).transform(P[:5] * 2)).all()


def test_finch_of_a_matrix() -> None:
    X, y = make_blobs(400, centers=5, n_features=5, cluster_std=0.5, random_state=2)
    D = cdist(X, X)
    model = FINCH(5, metric="precomputed").fit(D[:300, :300])
    assert adjusted_mutual_info_score(y[:300], model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(D[:300, :300]), model.labels_)
    assert adjusted_mutual_info_score(y[300:], model.predict(D[300:, :300])) > 0.95
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(5))
    many = FINCH(150, metric="precomputed").fit(D[:300, :300])  # more than leaves
    np.testing.assert_array_equal(many.predict(D[:300, :300]), many.labels_)
    np.testing.assert_array_equal(
        many.predict(D[300:, :300]),
        D[300:, many.medoid_indices_].argmin(axis=1),
        "the nearest medoid",
    )


def test_tags_depend_on_the_metric() -> None:
    for kind in (HNNE, FINCH):
        tags = {
            m: kind(metric=m).__sklearn_tags__().input_tags
            for m in ("cosine", "correlation", "precomputed")
        }
        assert [tags[m].sparse for m in tags] == [True, False, False]
        assert [tags[m].pairwise for m in tags] == [False, False, True]
