"""Section 3.1: nesting, centroids, levels; labels, merges and exports."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BACKENDS, digits, using
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, is_valid_linkage, linkage
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from nestmap import FINCH, Hierarchy, build_hierarchy, first_neighbors
from nestmap.method.hierarchy.merge import Links, components, join_shortest, link_graph
from nestmap.method.hierarchy.tree import Level
from nestmap.method.neighbors import FirstNeighbors


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
        means = np.stack(
            [X[labels == g].mean(axis=0, dtype=np.float64) for g in range(level.n_nodes)]
        )
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
    assert components(link_graph(np.array([1, 2, 0, 4, 3]))).tolist() == [0, 0, 0, 1, 1]


def test_the_longest_link_of_a_cycle_is_never_needed() -> None:
    given = FirstNeighbors(
        np.array([1, 2, 0, 4, 3]), np.array([3.0, 1, 2, 9, 9]), first_neighbors(np.eye(2)).report
    )
    assert [join_shortest(Links.of(given), k).tolist() for k in (2, 3, 4, 5)] == [
        [0, 0, 0, 1, 1],
        [0, 0, 0, 1, 2],
        [0, 1, 1, 2, 3],
        [0, 1, 2, 3, 4],
    ]


def test_labels_by_number_of_clusters() -> None:
    X, y = make_blobs(400, centers=5, cluster_std=0.2, random_state=3)
    tree = build_hierarchy(X)
    assert adjusted_rand_score(y, tree.labels(n_clusters=5)) == 1
    np.testing.assert_array_equal(tree.labels(n_clusters=np.int32(9)), tree.labels(n_clusters=9))
    closest = tree.labels(n_clusters=tree.level_sizes[1] + 1, exact=False)
    np.testing.assert_array_equal(closest, tree.labels(1))
    for wrong in (0, 401, 2.5, True, "3"):
        with pytest.raises(ValueError, match="between 1 and the number of rows, 400"):
            tree.labels(n_clusters=wrong)
    with pytest.raises(ValueError, match="either level or n_clusters"):
        tree.labels(0, n_clusters=3)


def check_all_numbers(tree: Hierarchy) -> None:
    """Exactly k clusters for each k from n_rows to 1, each nested in the one before; levels among
    them.
    """
    finer = np.arange(tree.n_rows)
    levels = {n: k for k, n in enumerate(tree.level_sizes)}
    for k in range(tree.n_rows, 0, -1):
        labels = tree.labels(n_clusters=k)
        first_rows = np.unique(labels, return_index=True)[1]
        assert len(first_rows) == k and labels[first_rows].tolist() == list(range(k))
        assert (first_rows == np.sort(first_rows)).all()
        assert len(np.unique(np.stack([finer, labels]), axis=1).T) == min(k + 1, tree.n_rows)
        if k in levels:
            np.testing.assert_array_equal(labels, tree.labels(levels[k]))
        finer = labels


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "correlation", "chebyshev"])
def test_all_numbers_of_clusters_nest(metric: str) -> None:
    check_all_numbers(build_hierarchy(digits()[:250], metric))


def test_all_numbers_of_clusters_nest_for_other_rows() -> None:
    X = digits()[:150]
    check_all_numbers(build_hierarchy(X > 7, "jaccard"))
    check_all_numbers(build_hierarchy(X[:60], lambda a, b: np.abs(a - b).sum()))
    check_all_numbers(build_hierarchy(sparse.csr_matrix(X), "cosine"))
    check_all_numbers(build_hierarchy(X[:1]))
    check_all_numbers(build_hierarchy(X[:2]))


@pytest.mark.parametrize("min_nodes", [2, 3, 40])
def test_numbers_below_those_of_the_top_level(min_nodes: int) -> None:
    """The top may have many nodes, in several components of their first-neighbour graph."""
    tree = build_hierarchy(digits()[:250], min_nodes=min_nodes)
    assert tree.level_sizes[-1] >= min_nodes
    check_all_numbers(tree)
    full = build_hierarchy(digits()[:250], min_nodes=2)
    for k in range(1, 60):
        np.testing.assert_array_equal(tree.labels(n_clusters=k), full.labels(n_clusters=k))


def single_linkage_inside(points: np.ndarray, groups: np.ndarray, n_clusters: int) -> np.ndarray:
    """The oracle: the lowest merges of the single-linkage trees of all groups, by SciPy."""
    heights = [linkage(points[groups == g], "single")[:, 2] for g in range(groups.max() + 1)]
    height = np.sort(np.concatenate(heights))[len(points) - n_clusters - 1]
    labels = np.empty(len(points), dtype=np.int64)
    for g in range(groups.max() + 1):
        cut = fcluster(linkage(points[groups == g], "single"), height, "distance")
        labels[groups == g] = cut + len(points) * g
    return np.unique(labels, return_inverse=True)[1]


def test_between_two_levels_clusters_are_joined_by_single_linkage() -> None:
    rng = np.random.default_rng(1)
    X = digits().astype(np.float64) + rng.normal(scale=0.01, size=digits().shape)  # no ties
    tree = build_hierarchy(X)
    for k in (1500, 700, tree.level_sizes[0] + 1):
        oracle = single_linkage_inside(X, tree.labels(0), k)
        assert adjusted_rand_score(oracle, tree.labels(n_clusters=k)) == 1
    for level in range(tree.n_levels - 1):
        k = (tree.level_sizes[level] + tree.level_sizes[level + 1]) // 2
        oracle = single_linkage_inside(tree.levels[level].centroids, tree.parents(level), k)
        assert adjusted_rand_score(oracle[tree.labels(level)], tree.labels(n_clusters=k)) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "chebyshev"])
def test_equal_rows_are_split_last(backend: str, metric: str) -> None:
    rng = np.random.default_rng(2)
    which = rng.integers(0, 40, 150)
    n_distinct = len(np.unique(which))
    X = digits()[:40][which]
    with using(backend):
        tree = build_hierarchy(X, metric)
    for k in (n_distinct - 5, n_distinct):
        labels = tree.labels(n_clusters=k)
        assert len(np.unique(np.stack([which, labels]), axis=1).T) == n_distinct
    assert len(np.unique(tree.labels(n_clusters=n_distinct + 5))) == n_distinct + 5


def test_given_neighbors_give_the_same_clusters_for_any_number() -> None:
    X = digits()[:200]
    found, given = (
        FINCH().fit(X).hierarchy_,
        FINCH(neighbors=first_neighbors(X).ids).fit(X).hierarchy_,
    )
    for k in (180, 100, 30, 4):
        np.testing.assert_array_equal(found.labels(n_clusters=k), given.labels(n_clusters=k))


def test_a_hierarchy_without_links_says_so() -> None:
    tree = build_hierarchy(digits())
    bare = Hierarchy(tree.levels, tree.metric)
    np.testing.assert_array_equal(bare.labels(n_clusters=tree.level_sizes[1]), tree.labels(1))
    with pytest.raises(
        ValueError, match=f"n_clusters=50: .* at its levels, with .{tree.level_sizes[0]}, "
    ):
        bare.labels(n_clusters=50)


def test_nearest_nodes_are_joined_first() -> None:
    X = np.array([[0.0], [1], [10], [11], [13], [14], [100], [101.5]])
    tree = build_hierarchy(X)
    assert tree.labels(n_clusters=3).tolist() == [0, 0, 1, 1, 1, 1, 2, 2]
    assert tree.labels(n_clusters=2).tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    assert tree.labels(n_clusters=5).tolist() == [0, 0, 1, 1, 2, 2, 3, 4]


@pytest.mark.parametrize(
    "rows", [digits()[:300], sparse.csr_matrix(digits()[:300])], ids=["dense", "sparse"]
)
def test_a_tree_cannot_be_changed_by_accident(rows: Any) -> None:
    built = build_hierarchy(rows)
    built.members(-1, 0)  # makes the groupings, which are not pickled
    for tree in (built, pickle.loads(pickle.dumps(built)), copy.deepcopy(built)):
        before = tree.labels(0)
        tree.labels(0)[:] = 7
        tree.climb(before, 0)[:] = 7
        np.testing.assert_array_equal(tree.labels(0), before)
        np.testing.assert_array_equal(tree.members(1, 3), built.members(1, 3))
        centroids = tree.levels[0].centroids
        parts = (
            [centroids.data, centroids.indices, centroids.indptr]
            if sparse.issparse(centroids)
            else [centroids]
        )
        arrays = [
            *parts,
            tree.levels[0].members,
            tree.levels[0].sizes,
            tree.links[0].ids,
            tree.parents(0),
        ]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_a_mapped_level_is_read_only_and_its_file_is_not(tmp_path: Path) -> None:
    mapped = np.lib.format.open_memmap(tmp_path / "centroids.npy", "w+", np.float32, (2, 3))
    level = Level(mapped, np.array([2, 1]), np.array([0, 0, 1]), 0.0, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        level.centroids[0, 0] = 1
    mapped[0, 0] = 1  # the one who made the array may go on
    assert level.centroids[0, 0] == 1 and isinstance(level.centroids, np.memmap)


def test_climb() -> None:
    tree = build_hierarchy(digits())
    assert tree.climb(np.arange(tree.level_sizes[1]), -1, start=1).tolist() == [
        int(tree.labels(-1)[tree.labels(1) == node][0]) for node in range(tree.level_sizes[1])
    ]
    assert tree.climb([], 2).tolist() == [] and tree.climb([[3]], 0).tolist() == [[3]]
    with pytest.raises(ValueError, match="level=0: must not be below start=2"):
        tree.climb([0], 0, start=2)
    for wrong in ([-1], [tree.level_sizes[0]], [0.5]):
        with pytest.raises(
            ValueError, match=f"nodes: level 0 has nodes 0 to {tree.level_sizes[0] - 1}, got"
        ):
            tree.climb(wrong, 1)


def test_members_paths_edges() -> None:
    tree = build_hierarchy(digits())
    path = tree.path(123)
    assert len(path) == tree.n_levels
    for k, node in enumerate(path):
        assert 123 in tree.members(k, node)
        rows = tree.members(k, node)
        np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(tree.labels(k) == node))
        for finer in range(k):  # in tree order: clusters of all finer levels are runs
            assert (
                np.count_nonzero(np.diff(tree.labels(finer)[rows]))
                == len(np.unique(tree.labels(finer)[rows])) - 1
            )
    assert tree.parents(-1) is None
    edges = tree.edges()
    assert len(edges) == tree.n_rows + sum(tree.level_sizes[:-1])
    top = edges[edges["level"] == tree.n_levels - 1]
    assert top["size"].sum() == tree.n_rows
    with pytest.raises(ValueError, match=r"levels 0 .finest. to"):
        tree.labels(17)
    for wrong in (-1, tree.level_sizes[0], 1.5):
        with pytest.raises(
            ValueError, match=f"node={wrong}: level 0 has nodes 0 to {tree.level_sizes[0] - 1}"
        ):
            tree.members(0, wrong)
    with pytest.raises(ValueError, match="row=5000"):
        tree.path(5000)


def test_linkage_is_valid_and_cuts_to_the_levels() -> None:
    tree = build_hierarchy(digits()[:300])
    Z = tree.to_linkage()
    assert is_valid_linkage(Z)
    for k in range(tree.n_levels):
        cut = fcluster(Z, k + 1.5, criterion="distance")
        assert adjusted_rand_score(cut, tree.labels(k)) == 1
    np.testing.assert_array_equal(Z, chained(tree))
    assert build_hierarchy(digits()[:1]).to_linkage().shape == (0, 4)


def chained(tree: Hierarchy) -> np.ndarray:
    """The linkage matrix, merge by merge."""
    merges: list[list[float]] = []
    names, counts = list(range(tree.n_rows)), [1] * tree.n_rows
    parents = [level.members for level in tree] + [np.zeros(tree.level_sizes[-1], dtype=int)]
    for height, parent in enumerate(parents, start=1):
        found = {}
        for node in range(parent.max() + 1):
            name, *others = np.flatnonzero(parent == node)
            found[node] = names[name], counts[name]
            for item in others:
                total = found[node][1] + counts[item]
                merges.append([found[node][0], names[item], height, total])
                found[node] = tree.n_rows + len(merges) - 1, total
        names, counts = [name for name, _ in found.values()], [count for _, count in found.values()]
    return np.array(merges)


def test_row_order_changes_names_only() -> None:
    rng = np.random.default_rng(0)
    X = digits() + rng.normal(scale=0.01, size=digits().shape)  # no ties
    shuffle = rng.permutation(len(X))
    a, b = build_hierarchy(X), build_hierarchy(X[shuffle])
    assert a.n_levels == b.n_levels > 2
    for k in range(a.n_levels):
        assert adjusted_rand_score(a.labels(k)[shuffle], b.labels(k)) == 1


def test_row_order_does_not_decide_between_links_of_the_same_length() -> None:
    X = np.round(digits()[:500] / 4)  # many ties
    assert (
        len(np.unique(X, axis=0)) == len(X) and len(np.unique(first_neighbors(X).distances)) < 100
    )
    shuffle = np.random.default_rng(0).permutation(len(X))
    a, b = build_hierarchy(X), build_hierarchy(X[shuffle])
    for k in (450, 300, 150, 60, 20, 2):
        assert adjusted_rand_score(a.labels(n_clusters=k)[shuffle], b.labels(n_clusters=k)) == 1


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
