"""Section 3.1: nesting, centroids, levels; labels, merges and exports."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BACKENDS, digits
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from nestmap import FINCH, build_hierarchy, first_neighbors
from nestmap._native import using
from nestmap.hierarchy.build import components


@pytest.mark.parametrize("backend", BACKENDS)
def test_levels_nest_and_hold_means(backend: str) -> None:
    X = digits()
    with using(backend):
        tree = build_hierarchy(X, n_jobs=2)
    assert tree.level_sizes == tuple(sorted(tree.level_sizes, reverse=True))
    assert tree.level_sizes[-1] >= 3
    for k, level in enumerate(tree):
        labels = tree.labels(k)
        assert np.bincount(labels).tolist() == level.sizes.tolist()
        means = np.stack([X[labels == g].mean(axis=0, dtype=np.float64) for g in range(level.n_nodes)])
        np.testing.assert_allclose(level.centroids, means, rtol=1e-5, atol=1e-5)
        if k:
            finer = tree.labels(k - 1)
            for node in range(level.n_nodes):
                assert not set(finer[labels == node]) & set(finer[labels != node])


def test_native_and_numpy_build_the_same_tree() -> None:
    trees = []
    for backend in BACKENDS:
        with using(backend):
            trees.append(build_hierarchy(digits()))
    for other in trees[1:]:
        for k in range(trees[0].n_levels):
            np.testing.assert_array_equal(trees[0].labels(k), other.labels(k))


def test_level_zero_is_the_components_of_the_first_neighbour_graph() -> None:
    X = digits()
    ids = first_neighbors(X).ids
    labels = build_hierarchy(X).labels(0)
    assert (labels[ids] == labels).all()
    assert labels[np.unique(labels, return_index=True)[1]].tolist() == sorted(set(labels))
    # every component holds exactly one pair of mutual neighbours (the bi-root)
    mutual = ids[ids] == np.arange(len(ids))
    assert (np.bincount(labels[mutual]) == 2).all()


def test_components_of_longer_cycles() -> None:
    assert components(np.array([1, 2, 0, 4, 3])).tolist() == [0, 0, 0, 1, 1]


def test_labels_by_number_of_clusters() -> None:
    X, y = make_blobs(400, centers=5, cluster_std=0.2, random_state=3)
    tree = build_hierarchy(X)
    for k in (1, 2, 5, 9, tree.level_sizes[0]):
        assert len(np.unique(tree.labels(n_clusters=k))) == k
    assert adjusted_rand_score(y, tree.labels(n_clusters=5)) == 1
    closest = tree.labels(n_clusters=tree.level_sizes[1] + 1, exact=False)
    np.testing.assert_array_equal(closest, tree.labels(1))
    with pytest.raises(ValueError, match="finest level has"):
        tree.labels(n_clusters=399)
    with pytest.raises(ValueError, match="between 1 and the number of rows, 400"):
        tree.labels(n_clusters=0)
    with pytest.raises(ValueError, match="either level or n_clusters"):
        tree.labels()


def test_merging_takes_the_two_nearest_each_time() -> None:
    X = np.array([[0.0], [1], [10], [11], [13], [14], [100], [101]])
    tree = build_hierarchy(X)
    assert tree.labels(n_clusters=3).tolist() == [0, 0, 1, 1, 1, 1, 2, 2]
    assert tree.labels(n_clusters=2).tolist() == [0, 0, 0, 0, 0, 0, 1, 1]


def test_members_paths_edges() -> None:
    tree = build_hierarchy(digits())
    path = tree.path(123)
    assert len(path) == tree.n_levels
    for k, node in enumerate(path):
        assert 123 in tree.members(k, node)
        assert len(tree.members(k, node)) == tree.levels[k].sizes[node]
    assert tree.parents(-1) is None
    edges = tree.edges()
    assert len(edges) == tree.n_rows + sum(tree.level_sizes[:-1])
    top = edges[edges["level"] == tree.n_levels - 1]
    assert top["size"].sum() == tree.n_rows
    with pytest.raises(ValueError, match=r"levels 0 .finest. to"):
        tree.labels(17)
    with pytest.raises(ValueError, match="node=-1"):
        tree.members(0, -1)
    with pytest.raises(ValueError, match="row=5000"):
        tree.path(5000)


def test_linkage_is_valid_and_cuts_to_the_levels() -> None:
    tree = build_hierarchy(digits()[:300])
    Z = tree.to_linkage()
    assert is_valid_linkage(Z)
    for k in range(tree.n_levels):
        cut = fcluster(Z, k + 1.5, criterion="distance")
        assert adjusted_rand_score(cut, tree.labels(k)) == 1


def test_row_order_changes_names_only() -> None:
    rng = np.random.default_rng(0)
    X = digits() + rng.normal(scale=0.01, size=digits().shape)  # no ties
    shuffle = rng.permutation(len(X))
    a, b = build_hierarchy(X), build_hierarchy(X[shuffle])
    assert a.n_levels == b.n_levels > 2
    for k in range(a.n_levels):
        assert adjusted_rand_score(a.labels(k)[shuffle], b.labels(k)) == 1


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_sparse_tree_equals_dense_tree(metric: str) -> None:
    X = np.where(digits() > 8, digits(), 0)
    a, b = build_hierarchy(X, metric), build_hierarchy(sparse.csr_matrix(X), metric)
    assert sparse.issparse(b.levels[0].centroids)
    assert adjusted_rand_score(a.labels(0), b.labels(0)) > 0.99


def test_repr_is_readable() -> None:
    assert repr(build_hierarchy(digits())).startswith("Hierarchy(1797 rows -> ")


def test_boolean_and_callable_metrics_build_trees() -> None:
    X = digits()[:150] > 7
    assert build_hierarchy(X.astype(np.float32), "jaccard").n_levels >= 2
    by_name = build_hierarchy(digits()[:60], "manhattan")
    by_function = build_hierarchy(digits()[:60], lambda a, b: np.abs(a - b).sum(dtype=np.float64))
    assert by_name.n_levels == by_function.n_levels > 1
    np.testing.assert_array_equal(by_function.labels(0), by_name.labels(0))


class TestFINCH:
    def test_partitions_are_the_levels(self) -> None:
        model = FINCH().fit(digits())
        assert model.partitions_.shape == (1797, len(model.n_clusters_))
        assert model.n_clusters_[-1] >= 2
        assert [len(set(p)) for p in model.partitions_.T] == model.n_clusters_
        np.testing.assert_array_equal(model.predict(digits()), model.labels_)

    def test_finds_blobs(self) -> None:
        X, y = make_blobs(500, centers=np.eye(6) * 30, cluster_std=0.5, random_state=1)
        assert adjusted_rand_score(FINCH().fit_predict(X), y) > 0.8
        model = FINCH(n_clusters=6).fit(X[:400])
        assert adjusted_rand_score(model.predict(X[400:]), y[400:]) == 1
        assert model.predict(X[400:], level=0).max() < model.n_clusters_[0]

    def test_errors(self) -> None:
        with pytest.raises(ValueError, match="n_clusters=9"):
            FINCH(n_clusters=9).fit(np.eye(4))
        with pytest.raises(ValueError, match="neighbors='some'"):
            FINCH(neighbors="some").fit(np.eye(4))

    def test_given_neighbors(self) -> None:
        X = digits()[:100]
        a, b = FINCH().fit(X), FINCH(neighbors=first_neighbors(X).ids).fit(X)
        np.testing.assert_array_equal(a.partitions_, b.partitions_)
