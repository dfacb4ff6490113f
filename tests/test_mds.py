"""Coordinates from distances: exact where the distances are euclidean, one map for old and new rows."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from conftest import digits
from scipy.spatial.distance import cdist

from nestmap import build_hierarchy, mds
from nestmap._points.duplicates import hash_points
from nestmap._run import Run
from nestmap.fitted import MapSettings, fit_map
from nestmap.layout import audit_layout
from nestmap.mds import Through, fit_landmarks, seen_in
from nestmap.metrics import trustworthiness
from nestmap.placement import FittedTree, RowTable

RNG = np.random.default_rng(4)


@pytest.fixture
def few_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mds, "MOST_LANDMARKS", 60)


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
    assert np.corrcoef(cdist(z, z)[np.triu_indices(500, 1)], D[np.triu_indices(500, 1)])[0, 1] > 0.95


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
    view = seen_in(tree, z)
    assert view.level_sizes == tree.level_sizes and view.metric == "euclidean"
    for k in range(tree.n_levels):
        means = [z[tree.labels(k) == g].mean(axis=0) for g in range(tree.levels[k].n_nodes)]
        np.testing.assert_allclose(view.levels[k].centroids, means, atol=1e-10)


def test_a_map_from_distances_alone() -> None:
    """What an estimator has to wire for metric='precomputed'."""
    X, new = digits()[:900], digits()[900:1000]
    D = cdist(X, X)
    hierarchy = build_hierarchy(D, "precomputed")
    seen = fit_landmarks(D, hierarchy)
    z = seen(D, 2)
    tree = FittedTree(hierarchy, RowTable.of(hash_points(D, 2)), np.dtype(np.float64), False)
    settings = MapSettings(2, "descent", 0.2, True, False, "pca_centroids", False, 0)
    made = fit_map(z, replace(tree, hierarchy=seen_in(hierarchy, z)), settings, Run(2))
    assert trustworthiness(X, made.layout.positions) > 0.98
    assert audit_layout(made.tree.hierarchy, made.layout)
    fitted = replace(made, tree=tree, coordinates=Through(seen, made.coordinates))
    fitted = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(fitted.place(D[:50], 1)[0], made.layout.positions[:50])
    both = np.concatenate([made.layout.positions, fitted.place(cdist(new, X), 1)[0]])
    assert trustworthiness(np.concatenate([X, new]), both) > 0.975
