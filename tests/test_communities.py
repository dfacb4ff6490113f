"""The tree of communities: kernels against their twins, nesting, any number of clusters, any order
of the rows.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BACKENDS, digits
from fuzz.cases import make_case
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, pairwise_distances

import nestmap
from nestmap import HNNE, Communities, Descent
from nestmap.core.native import kernels, using
from nestmap.method.hierarchy.coarsen import join_smallest, merge_links
from nestmap.method.hierarchy.community_tree import build_communities
from nestmap.method.hierarchy.consensus import agree_on_communities, agree_on_samples
from nestmap.method.hierarchy.link_graph import (
    LinkGraph,
    borders,
    find_communities,
    modularity,
)
from nestmap.method.hierarchy.merge import join_shortest
from nestmap.method.hierarchy.scale import natural_scale
from nestmap.method.neighbors import neighbor_graph

RNG = np.random.default_rng(0)


def random_graph(rng: np.random.Generator, n: int, degree: float) -> LinkGraph:
    matrix = sparse.random(n, n, min(1.0, degree / n), format="csr", rng=rng)
    matrix.data = rng.integers(1, 9, len(matrix.data)).astype(np.float64)
    return LinkGraph.of_matrix(
        matrix + matrix.T + sparse.diags(rng.integers(1, 5, n).astype(np.float64))
    )


def groups_in_a_ring(n_groups: int, size: int) -> LinkGraph:
    """Cliques, each with a link to the next."""
    ids = np.arange(n_groups * size)
    pairs = [(a, b) for a in ids for b in ids if a // size == b // size and a != b]
    pairs += [(g * size, ((g + 1) % n_groups) * size) for g in range(n_groups)]
    a, b = np.array(pairs).T
    matrix = sparse.csr_matrix((np.ones(len(a)), (a, b)), shape=(len(ids), len(ids)))
    return LinkGraph.of_matrix(matrix + matrix.T)


# -- kernels and twins
# ---------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.floats(0.3, 8), st.floats(0.05, 50))
def test_kernels_give_what_twins_give(seed: int, n: int, degree: float, resolution: float) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n, degree)
    parents, order = rng.integers(0, 3, n).astype(np.int32), rng.permutation(n).astype(np.int32)
    arrays = (graph.starts, graph.ids, graph.weights, graph.volumes, parents)
    found = []
    for backend in BACKENDS:
        with using(backend):
            labels = kernels.communities(*arrays, order, resolution / graph.total)
            merges = kernels.merge_order(*arrays)
            found.append((labels, merges.first, merges.second, merges.similarities))
    for other in found[1:]:
        for ours, theirs in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    labels, first, second, similarities = found[0]
    assert all(len({*parents[labels == label].tolist()}) == 1 for label in range(labels.max() + 1))
    assert (
        (parents[first] == parents[second]).all()
        and (first < second).all()
        and (similarities > 0).all()
    )


@pytest.mark.parametrize(
    "name, change",
    [
        ("ids", lambda graph: graph.ids + 100),
        ("starts", lambda graph: graph.starts[::-1].copy()),
        ("weights", lambda graph: -graph.weights),
        ("volumes", lambda graph: graph.volumes * np.nan),
        ("parents", lambda graph: np.zeros(3, dtype=np.int32)),
        ("order", lambda graph: np.full(graph.n, graph.n, dtype=np.int32)),
    ],
)
def test_kernels_refuse_what_they_would_index_with(name: str, change: Any) -> None:
    graph = groups_in_a_ring(3, 4)
    zeros = np.zeros(graph.n, dtype=np.int32)
    arrays = {key: getattr(graph, key) for key in ("starts", "ids", "weights", "volumes")}
    arrays |= {"parents": zeros, "order": zeros, name: change(graph)}
    for backend in BACKENDS:
        if backend != "off":
            with using(backend), pytest.raises((ValueError, IndexError), match=name):
                kernels.communities(**arrays, resolution=1.0)


# -- the graph
# -----------------------------------------------------------------------------------------


def test_links_of_rows_are_counted_by_rank_and_by_equal_rows() -> None:
    neighbors = np.array([[1, 2], [0, 2], [3, -1], [2, 0]])
    graph = LinkGraph.between(np.array([0, 0, 1, 1]), 2, neighbors, np.array([1, 1, 1, 3]))
    assert graph.matrix().toarray().tolist() == [
        [0, 5],
        [5, 0],
    ]  # rows 0, 1: 1 each; row 3, of three equal ones: 3
    assert graph.volumes.tolist() == [2 * 4 + 5, 2 * 8 + 5]
    assert borders(graph, np.array([0, 1])) == (10 / 34, (13**2 + 21**2) / 34**2)


def test_contraction_keeps_volumes_and_modularity() -> None:
    graph = random_graph(RNG, 40, 5)
    labels = RNG.integers(0, 6, 40)
    small = graph.contract(labels, 6)
    assert small.total == graph.total
    np.testing.assert_array_equal(small.volumes, np.bincount(labels, weights=graph.volumes))
    assert modularity(small, np.arange(6), 0.7) == pytest.approx(modularity(graph, labels, 0.7))


def test_samples_leave_out_a_few_links_in_both_directions() -> None:
    graph = random_graph(RNG, 300, 20)
    whole, shares = graph.matrix().toarray(), []
    for number in range(8):
        sample = graph.sample(number)
        links = sample.matrix().toarray()
        assert (links == links.T).all() and ((links == whole) | (links == 0)).all()
        np.testing.assert_array_equal(links, graph.sample(number).matrix().toarray())
        np.testing.assert_array_equal(sample.volumes, graph.volumes)
        shares.append(1 - len(sample.ids) / len(graph.ids))
    assert len({*shares}) > 1 and np.mean(shares) == pytest.approx(8 / 256, abs=0.01)


def test_groups_are_found() -> None:
    graph = groups_in_a_ring(6, 7)
    expected = np.repeat(np.arange(6), 7)
    np.testing.assert_array_equal(find_communities(graph, 1.0), expected)
    np.testing.assert_array_equal(agree_on_communities(graph, 1.0, 2).labels, expected)
    np.testing.assert_array_equal(agree_on_samples(graph, 1.0, 2).labels, expected)
    merged = join_shortest(merge_links(graph, np.zeros(graph.n, dtype=np.int64)), 6)
    np.testing.assert_array_equal(merged, expected)


def test_merges_are_those_of_the_most_similar_pair_again_and_again() -> None:
    graph = random_graph(RNG, 25, 4)
    links, volumes = graph.matrix().toarray(), graph.volumes.copy()
    labels = np.arange(graph.n)
    drawn = merge_links(graph, np.zeros(graph.n, dtype=np.int64))
    for n_clusters in range(graph.n - 1, graph.parts().max(), -1):
        similarity = links / np.outer(volumes, volumes)
        a, b = sorted(np.unravel_index(np.argmax(similarity), links.shape))
        links[a] += links[b]
        links[:, a] += links[:, b]
        links[b], links[:, b], links[a, a] = 0, 0, 0
        volumes[a] += volumes[b]
        labels[labels == b] = a
        same = join_shortest(drawn, n_clusters)
        assert (np.unique(labels, return_inverse=True)[1] == same).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_joins_what_it_has_most_links_to(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed), 30, 4)
    links, volumes, labels = graph.matrix().toarray(), graph.volumes.copy(), np.arange(graph.n)
    assert graph.parts().max() == 0
    for n_clusters in range(graph.n - 1, 0, -1):
        small = int(np.argmin(volumes))
        into = int(np.argmax(links[small] / volumes))
        links[into] += links[small]
        links[:, into] += links[:, small]
        links[small], links[:, small], links[into, into] = 0, 0, 0
        volumes[into] += volumes[small]
        volumes[small] = np.inf
        labels[labels == small] = into
        np.testing.assert_array_equal(
            join_smallest(graph, n_clusters), np.unique(labels, return_inverse=True)[1]
        )


def test_coarse_levels_are_even() -> None:
    """Small parts that nothing connects would stay alone up to the top, beside one cluster of all
    the rest.
    """
    X = np.concatenate([digits(), *(1e3 * (k + 1) + RNG.normal(size=(20, 64)) for k in range(8))])
    levels = Communities().fit(X).hierarchy_.levels
    for level in levels[1:]:
        assert (
            level.n_nodes <= 12
            or 1 / np.sum((level.sizes / level.sizes.sum()) ** 2) > 0.3 * level.n_nodes
        )
    assert levels[-1].n_nodes <= 20 and levels[-1].sizes.max() < 0.8 * len(X)


def test_levels_nest_and_do_not_depend_on_threads_or_order() -> None:
    graph = LinkGraph.between(np.arange(600), 600, neighbor_graph(digits()[:600], 8).ids)
    levels = build_communities(graph, np.arange(600), 1)
    order = RNG.permutation(600)
    ranks = np.empty(600, dtype=np.int64)
    ranks[np.arange(600)] = np.arange(600)[order]
    moved = build_communities(graph.take(order), ranks, 2)
    assert len(moved.partitions) == len(levels.partitions) and moved.default == levels.default
    labels, others = np.arange(600), np.arange(600)
    for ours, theirs in zip(levels.partitions, moved.partitions, strict=True):
        labels, others = ours.members[labels], theirs.members[others]
        pairs = {*zip(labels[order].tolist(), others.tolist(), strict=True)}
        assert len(pairs) == labels.max() + 1 == others.max() + 1


def test_a_scale_stands_out_where_there_are_clusters() -> None:
    blobs = np.concatenate([RNG.normal(10 * i, 1, size=(200, 5)) for i in range(4)])
    cloud = RNG.normal(size=(800, 5))
    assert Communities().fit(blobs).labels_.max() + 1 == 4
    for X, stands_out in ((blobs, True), (cloud, False)):
        graph = LinkGraph.between(np.arange(800), 800, neighbor_graph(X, 15).ids)
        assert (natural_scale(graph) is not None) == stands_out


def test_labels_stay_with_a_few_rows_less() -> None:
    X = digits()
    before = Communities().fit(X).labels_
    for seed in range(3):
        kept = np.sort(np.random.default_rng(seed).permutation(len(X))[len(X) // 100 :])
        assert adjusted_rand_score(before[kept], Communities().fit(X[kept]).labels_) > 0.95


# -- the tree of an estimator
# --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> HNNE:
    return HNNE().fit(digits())


def test_clusters_are_better_than_the_papers(model: HNNE) -> None:
    y = load_digits().target
    paper = HNNE(hierarchy="first_neighbors", layout="descent").fit(digits())
    assert (
        adjusted_mutual_info_score(y, model.labels_)
        > adjusted_mutual_info_score(y, paper.labels_) + 0.05
    )
    assert (
        model.hierarchy_.labels(0) == paper.hierarchy_.labels(0)
    ).all()  # leaves stay the paper's


def test_levels_have_steps_and_a_top_to_read(model: HNNE) -> None:
    sizes = model.hierarchy_.level_sizes
    assert all(fine >= 2 * coarse for fine, coarse in pairwise(sizes))
    assert 3 <= sizes[-1] <= 12 and model.hierarchy_.default_level() == model.label_level_ > 0


def test_any_number_of_clusters_nests(model: HNNE) -> None:
    tree = model.hierarchy_
    finer = np.arange(tree.n_rows)
    for n_clusters in (1797, 900, 401, 200, 75, 40, 12, 11, 5, 3, 2, 1):
        labels = tree.labels(n_clusters=n_clusters)
        assert labels.max() + 1 == n_clusters
        assert len({*zip(finer.tolist(), labels.tolist(), strict=True)}) == finer.max() + 1
        finer = labels
    assert is_valid_linkage(tree.to_linkage())


def test_the_order_of_the_rows_and_threads_make_no_difference(model: HNNE) -> None:
    order = RNG.permutation(len(digits()))
    other = HNNE(hierarchy="graph", n_jobs=1).fit(digits()[order])
    np.testing.assert_array_equal(other.embedding_, model.embedding_[order])
    for level in range(model.hierarchy_.n_levels):
        pairs = zip(model.labels(level)[order].tolist(), other.labels(level).tolist(), strict=True)
        assert len({*pairs}) == model.hierarchy_.level_sizes[level]


def test_without_kernels_clusters_are_the_same(model: HNNE) -> None:
    with using("off"):
        other = HNNE(hierarchy="graph", layout="descent").fit(digits())
    for level in range(model.hierarchy_.n_levels):
        np.testing.assert_array_equal(other.labels(level), model.labels(level))


def test_files_keep_the_tree(model: HNNE, tmp_path: Path) -> None:
    model.save(tmp_path / "model.nestmap")
    again = nestmap.load(tmp_path / "model.nestmap")
    assert (
        again.hierarchy_.kind == "graph" and again.hierarchy_.default_level() == model.label_level_
    )
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.labels(n_clusters=9), model.labels(n_clusters=9))
    np.testing.assert_array_equal(again.transform(digits()[:9]), model.embedding_[:9])


def test_maps_grow_and_shrink_on_it(model: HNNE) -> None:
    more = model.extend(digits()[:40] + 0.5)
    assert more.label_level_ == model.label_level_ and more.hierarchy_.kind == "graph"
    np.testing.assert_array_equal(more.labels_[: len(digits())], model.labels_)
    fewer = more.forget(np.arange(30))
    assert len(fewer.labels_) == len(digits()) + 10
    assert (model.predict(digits()[:5] + 0.25) == model.labels_[:5]).all()
    assert model.relayout(layout=Descent(radius=0.2)).audit().ok
    assert model.relayout(layout="mosaic").audit().ok


def test_neighbours_that_users_bring_give_the_whole_tree(model: HNNE) -> None:
    graph = neighbor_graph(digits(), 15)
    for given_graph in ((graph.ids, graph.distances), graph.ids, graph.to_csr(), graph.with_self()):
        other = HNNE(hierarchy="graph", layout="descent", neighbors=given_graph).fit(digits())
        np.testing.assert_array_equal(other.labels_, model.labels_)


def test_sparse_rows(model: HNNE) -> None:
    other = HNNE(hierarchy="graph", layout="descent").fit(sparse.csr_matrix(digits()))
    np.testing.assert_array_equal(other.labels_, model.labels_)


@pytest.mark.parametrize(
    "metric", ["cosine", "manhattan", "seuclidean", "canberra", "hamming", "precomputed"]
)
def test_metrics(metric: str) -> None:
    X = np.round(digits()[:200, 2:6])
    X = pairwise_distances(X) if metric == "precomputed" else X
    tree = HNNE(hierarchy="graph", layout="descent", metric=metric).fit(X).hierarchy_
    assert tree.n_levels > 1 and tree.labels(n_clusters=7).max() == 6


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 10, 20, 50])
def test_few_rows(n: int) -> None:
    tree = HNNE(hierarchy="graph").fit(digits()[:n]).hierarchy_
    assert tree.n_rows == n
    for n_clusters in range(1, n + 1):
        assert tree.labels(n_clusters=n_clusters).max() + 1 == n_clusters


def test_equal_rows_and_parts_without_links() -> None:
    equal = np.repeat(digits()[:30], 40, axis=0)
    tree = HNNE(hierarchy="graph").fit(equal).hierarchy_
    assert (
        len({*zip(tree.labels(0).tolist(), np.repeat(np.arange(30), 40).tolist(), strict=True)})
        == 30
    )
    blobs = np.concatenate(
        [RNG.normal(1000 * i, 1, size=(60, 3)) for i in range(20)]
    )  # none has a link to another
    found = HNNE(hierarchy="graph").fit(blobs).hierarchy_
    of_blob = np.repeat(np.arange(20), 60)
    assert len({*zip(found.labels(n_clusters=20).tolist(), of_blob.tolist(), strict=True)}) == 20
    assert 3 <= found.level_sizes[-1] <= 12
    np.testing.assert_array_equal(np.sort(found.labels(n_clusters=20)), np.sort(of_blob))
    halves = found.labels(n_clusters=2).reshape(20, 60)[
        :, 0
    ]  # parts are joined by distance: along the line
    assert len(np.flatnonzero(np.diff(halves))) == 1


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="hierarchy='grap' is not an option"):
        HNNE(hierarchy="grap").fit(digits()[:50])


# -- the tree alone
# ------------------------------------------------------------------------------------


def test_the_tree_alone_is_that_of_the_map(model: HNNE, tmp_path: Path) -> None:
    alone = Communities().fit(digits())
    np.testing.assert_array_equal(alone.labels_, model.labels_)
    assert alone.n_clusters_ == list(model.hierarchy_.level_sizes)
    np.testing.assert_array_equal(alone.predict(digits()), model.labels_)
    np.testing.assert_array_equal(
        alone.predict(digits()[:9], n_clusters=10), model.labels(n_clusters=10)[:9]
    )
    assert (Communities(10).fit(digits()).labels_ == model.labels(n_clusters=10)).all()
    alone.save(tmp_path / "alone.nestmap")
    again = nestmap.load(tmp_path / "alone.nestmap")
    assert isinstance(again, Communities)
    np.testing.assert_array_equal(again.membership_, alone.membership_)
    np.testing.assert_array_equal(again.labels_, alone.labels_)


def test_membership_is_the_share_of_links_that_stay() -> None:
    model = Communities().fit(digits())
    ids = neighbor_graph(digits(), 15).ids
    stays = model.labels_[ids] == model.labels_[:, None]
    expected = (stays * np.arange(15, 0, -1)).sum(axis=1) / 120
    np.testing.assert_allclose(model.membership_, expected, rtol=1e-6)
    y, sure = load_digits().target, model.membership_ > 0.5
    assert 0.9 < sure.mean() < 1
    scores = [adjusted_mutual_info_score(y[rows], model.labels_[rows]) for rows in (sure, ~sure)]
    assert scores[0] > scores[1]  # rows between clusters are those that clusters are wrong about
    twice = Communities().fit(np.repeat(digits()[:200], 2, axis=0))
    np.testing.assert_array_equal(twice.membership_[::2], twice.membership_[1::2])
    given_graph = Communities(neighbors=ids).fit(digits())
    np.testing.assert_array_equal(given_graph.membership_, model.membership_)
    assert (Communities().fit(np.zeros((5, 2))).membership_ == 1).all()


@pytest.mark.parametrize("metric", ["euclidean", "hamming", "correlation"])
@pytest.mark.parametrize("kind", ["one-hot", "small integers"])
def test_ties_are_decided_by_values(metric: str, kind: str) -> None:
    X = (
        np.eye(12)[RNG.integers(0, 12, 90)]
        if kind == "one-hot"
        else RNG.integers(0, 4, (120, 3)).astype(float)
    )
    order = RNG.permutation(len(X))
    ours, theirs = (Communities(metric=metric).fit(rows).hierarchy_ for rows in (X, X[order]))
    assert ours.level_sizes == theirs.level_sizes
    for level in range(ours.n_levels):
        pairs = zip(ours.labels(level)[order].tolist(), theirs.labels(level).tolist(), strict=True)
        assert len({*pairs}) == ours.level_sizes[level]


def test_parts_at_equal_distances_are_joined_in_any_order_of_the_rows() -> None:
    """Rows of few whole numbers, found by the fuzzer: which of two equal distances joins parts went
    by order.
    """
    case = make_case(2911, 1577)
    order = np.random.default_rng(case.number).permutation(len(case.X))
    one, other = (Communities().fit(rows).hierarchy_ for rows in (case.X, case.X[order]))
    assert one.level_sizes == other.level_sizes
    for k in range(one.n_levels):
        pairs = np.unique(np.stack([one.labels(k)[order], other.labels(k)]), axis=1)
        assert pairs.shape[1] == one.level_sizes[k]
