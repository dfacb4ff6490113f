"""How sure clusters are: memberships of rows, noise, figures per cluster; files and growing maps
keep them.
"""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_mutual_info_score

import nestmap
from nestmap import FINCH, HNNE, Communities, Hierarchy, ModelFileError
from nestmap.method.hierarchy.consensus import agreement
from nestmap.method.hierarchy.link_graph import LinkGraph
from nestmap.method.hierarchy.strengths import measure_shares
from nestmap.method.neighbors import neighbor_graph
from nestmap.model import tree as fit_tree_module

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def model() -> HNNE:
    return HNNE().fit(digits())


@pytest.fixture
def few_rows_have_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees of communities from the graph of leaves, as those of many rows are."""
    monkeypatch.setattr(fit_tree_module, "MOST_ROWS", 100)


def shares(labels: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """By definition, row by row; -1 is no neighbour."""
    weights = np.arange(ids.shape[1], 0, -1)
    found = []
    for own, near in zip(labels, ids, strict=True):
        stays = [
            w for w, other in zip(weights, near, strict=True) if other >= 0 and labels[other] == own
        ]
        all_of_them = [w for w, other in zip(weights, near, strict=True) if other >= 0]
        found.append(sum(stays) / max(1, sum(all_of_them)))
    return np.array(found)


def columns(tree: Hierarchy, rows: Any = slice(None)) -> np.ndarray:
    """Memberships of rows on all levels."""
    return np.stack([tree.membership(k)[rows] for k in range(tree.n_levels)], axis=1)


# -- rows
# ----------------------------------------------------------------------------------------------


def test_by_definition(model: HNNE) -> None:
    ids, tree = neighbor_graph(digits(), 15).ids, model.hierarchy_
    for level in range(tree.n_levels):
        found = tree.membership(level)
        assert (
            found.dtype == np.float32
            and found.shape == (1797,)
            and found.min() >= 0
            and found.max() <= 1
        )
        np.testing.assert_allclose(found, shares(tree.labels(level), ids), atol=1e-7)
    np.testing.assert_array_equal(tree.membership(), tree.membership(model.label_level_))
    np.testing.assert_array_equal(tree.membership(-1), model.membership(tree.n_levels - 1))
    assert (
        np.diff(columns(tree), axis=1) >= 0
    ).all()  # what stays in a cluster stays in the one around it
    found[:] = 7  # the caller's own
    assert tree.membership(-1).max() <= 1


@pytest.mark.parametrize("n", [1, 2, 3, 5, 20, 60])
def test_few_rows(n: int) -> None:
    tree = Communities().fit(digits()[:n]).hierarchy_
    k = min(15, max(3, n // 10), n - 1)
    ids = neighbor_graph(digits()[:n], k).ids if n > 1 else np.full((1, 1), -1)
    for level in range(tree.n_levels):
        expected = shares(tree.labels(level), ids) if n > 1 else np.ones(1)
        np.testing.assert_allclose(tree.membership(level), expected, atol=1e-7)


def test_shares_of_links_that_are_missing_or_many() -> None:
    labels, ids = RNG.integers(0, 3, 50), np.argsort(RNG.random((50, 50)), axis=1)
    for k, whole in ((22, 253), (23, 255), (40, 255)):
        found, one = measure_shares([labels], ids[:, :k])
        assert one == whole
        np.testing.assert_allclose(
            found[0] / one, shares(labels, ids[:, :k]), atol=1e-7 if whole < 255 else 0.5 / 255
        )
    some = np.where(RNG.random((50, 15)) < 0.3, -1, ids[:, :15])
    some[7] = -1  # a row without neighbours
    found, one = measure_shares([labels, np.zeros(50, dtype=np.int64)], some, 2)
    np.testing.assert_allclose(found[0] / one, shares(labels, some), atol=0.5 / 255)
    assert found[1].tolist() == [0 if row == 7 else 255 for row in range(50)]


def test_neighbours_that_users_bring(model: HNNE) -> None:
    wide = neighbor_graph(digits(), 40)
    tree = Communities(neighbors=wide.ids).fit(digits()).hierarchy_
    np.testing.assert_allclose(tree.membership(1), shares(tree.labels(1), wide.ids), atol=0.5 / 255)
    same = Communities(neighbors=neighbor_graph(digits(), 15).ids).fit(digits()).hierarchy_
    np.testing.assert_array_equal(columns(same), columns(model.hierarchy_))


def test_equal_rows_share_theirs() -> None:
    rows = np.concatenate([digits()[:300], digits()[:300], digits()[:40]])
    found = columns(Communities().fit(rows).hierarchy_)
    np.testing.assert_array_equal(found[:300], found[300:600])
    np.testing.assert_array_equal(found[:40], found[600:])
    assert (Communities().fit(np.zeros((9, 2))).membership_ == 1).all()


def test_order_of_the_rows_threads_and_sparse_rows_make_no_difference(model: HNNE) -> None:
    order = RNG.permutation(len(digits()))
    other = Communities(n_jobs=1).fit(sparse.csr_matrix(digits()[order])).hierarchy_
    np.testing.assert_array_equal(columns(other), columns(model.hierarchy_, order))
    again = Communities(n_jobs=3).fit(digits()[order]).hierarchy_
    np.testing.assert_array_equal(columns(again), columns(other))
    for level in range(other.n_levels):
        place = again.labels(level)
        ours, theirs = (
            [c.agreement for c in tree.clusters(level)] for tree in (model.hierarchy_, again)
        )
        pairs = {*zip(model.hierarchy_.labels(level)[order].tolist(), place.tolist(), strict=True)}
        assert repr([ours[a] for a, _ in sorted(pairs)]) == repr(
            [theirs[b] for _, b in sorted(pairs)]
        )


@pytest.mark.parametrize("most", [600_000, 100])
def test_rows_share_those_of_their_node(
    most: int, few_rows_have_a_graph: None, monkeypatch: Any
) -> None:
    monkeypatch.setattr(fit_tree_module, "MOST_NODES", most)
    tree = HNNE(layout="descent").fit(digits()).hierarchy_
    assert tree.strengths is not None
    k = tree.strengths.level
    assert k == (0 if most > 100 else 1)
    n = tree.level_sizes[k]
    ids = neighbor_graph(tree.levels[k].centroids, min(10, n // 10)).ids
    for level in range(k + 1, tree.n_levels):
        of_node = shares(tree.climb(np.arange(n), level, k), ids)
        np.testing.assert_allclose(tree.membership(level), of_node[tree.labels(k)], atol=1e-7)
    assert all((tree.membership(level) == 1).all() for level in range(k + 1))
    assert np.isnan(tree.clusters(k)[0].inside) and np.isnan(tree.summary()[k].sure)
    alone = Communities(n_clusters=20).fit(digits())
    of_node = np.empty(n, dtype=np.int64)
    of_node[tree.labels(k)] = alone.labels_
    np.testing.assert_allclose(alone.membership_, shares(of_node, ids)[tree.labels(k)], atol=1e-7)
    assert (Communities(n_clusters=n + 1).fit(digits()).membership_ == 1).all()


def test_rows_between_clusters_are_less_sure(model: HNNE) -> None:
    y, sure = load_digits().target, model.membership() > 0.9
    right, wrong = (
        adjusted_mutual_info_score(y[rows], model.labels_[rows]) for rows in (sure, ~sure)
    )
    assert right > wrong + 0.1


def test_trees_that_do_not_know_say_so(model: HNNE) -> None:
    for other in (HNNE(hierarchy="first_neighbors", layout="descent"), FINCH()):
        tree = other.fit(digits()).hierarchy_
        with pytest.raises(
            ValueError,
            match=r"membership: a tree of first neighbours .* fit with hierarchy='graph'",
        ):
            tree.membership(1)
        with pytest.raises(ValueError, match=r"fit with hierarchy='graph'"):
            tree.labels(noise=0.5)
        assert np.isnan(tree.clusters()[0].inside) and "sure" not in repr(tree.summary())
    with pytest.raises(ValueError, match=r"level=9: the hierarchy has levels 0"):
        model.membership(9)


# -- noise
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.5, 1.0])
def test_noise(model: HNNE, noise: float) -> None:
    for level in (None, 0, 2, -1):
        expected = np.where(model.membership(level) < noise, -1, model.labels(level))
        np.testing.assert_array_equal(model.labels(level, noise=noise), expected)
        np.testing.assert_array_equal(model.hierarchy_.labels(level, noise=noise), expected)
    number = model.hierarchy_.level_sizes[2] + 1
    found = model.hierarchy_.labels(n_clusters=number, exact=False, noise=noise)
    np.testing.assert_array_equal(found, model.labels(2, noise=noise))
    summary = model.hierarchy_.summary()
    assert summary[1].sure == (model.labels(1, noise=0.5) >= 0).mean()
    assert (model.labels_ >= 0).all()


def test_wrong_noise_is_refused(model: HNNE) -> None:
    for noise in (-0.1, 1.5, "half", np.nan, True, None):
        with pytest.raises(ValueError, match="noise="):
            model.hierarchy_.labels(noise=noise)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="noise="):
            Communities(noise=noise).fit(digits()[:50])  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"noise=0.5: .* give a level .*Communities\(n_clusters=9, noise=0.5\)"
    ):
        model.labels(n_clusters=9, noise=0.5)


@pytest.mark.parametrize("n_clusters", [None, 9, 700])
def test_communities_with_noise(n_clusters: int | None, tmp_path: Path) -> None:
    plain = Communities(n_clusters).fit(digits())
    model = Communities(n_clusters, noise=0.6).fit(digits())
    expected = shares(plain.labels_, neighbor_graph(digits(), 15).ids)
    np.testing.assert_allclose(model.membership_, expected, atol=1e-7)
    np.testing.assert_array_equal(
        model.labels_, np.where(model.membership_ < 0.6, -1, plain.labels_)
    )
    assert model.coverage_ == (model.labels_ >= 0).mean() < plain.coverage_ == 1
    np.testing.assert_array_equal(model.predict(digits()), plain.labels_)  # never noise
    np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
    model.save(tmp_path / "m")
    for again in (
        nestmap.load(tmp_path / "m"),
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(digits()),
    ):
        assert again.noise == 0.6 and again.coverage_ == model.coverage_
        np.testing.assert_array_equal(again.labels_, model.labels_)
        np.testing.assert_array_equal(again.predict(digits()), plain.labels_)


def test_in_the_place_of_hdbscan() -> None:
    """What BERTopic 0.17 asks of its `hdbscan_model`, in this order; it was run once by hand."""
    asked: Any = Communities(noise=0.6)
    asked.fit(digits()[:1500], y=None)
    topics = asked.labels_.tolist()
    assert all(type(topic) is int for topic in topics)
    assert {*topics} == {-1, *range(max(topics) + 1)}
    assert not hasattr(asked, "probabilities_") and not hasattr(asked, "partial_fit")
    again = pickle.loads(pickle.dumps(asked))  # a saved model of topics
    for model in (asked, again):
        assert {*model.predict(digits()[1500:]).tolist()} <= {*topics} - {-1}
    guided = Communities(noise=0.6).fit(digits()[:1500], y=np.arange(1500) % 3 - 1)
    np.testing.assert_array_equal(guided.labels_, asked.labels_)  # y counts for nothing
    np.testing.assert_array_equal(
        Communities(noise=0.6).fit_predict(digits()[:1500]), asked.labels_
    )


def test_dask_arrays_come_for_dask_rows(model: HNNE) -> None:
    pytest.importorskip("dask.array")
    from nestmap.distributed.results import Chunks

    other = copy.copy(model)
    other._chunks = Chunks((1000, 797), None, model.hierarchy_.levels[0].members)
    assert other.membership(1).chunks == other.labels(1, noise=0.5).chunks == ((1000, 797),)
    np.testing.assert_array_equal(other.membership(1).compute(), model.membership(1))
    np.testing.assert_array_equal(other.labels(1, noise=0.5).compute(), model.labels(1, noise=0.5))


# -- clusters
# ------------------------------------------------------------------------------------------


def test_figures_of_clusters(model: HNNE) -> None:
    tree = model.hierarchy_
    for level in range(tree.n_levels):
        table = tree.clusters(level)
        labels, sure = tree.labels(level), tree.membership(level)
        assert table.level == level and [c.size for c in table] == tree.levels[level].sizes.tolist()
        means = [sure[labels == i].mean() for i in range(len(table))]
        np.testing.assert_allclose([c.inside for c in table], means, rtol=1e-5)
        agreed = np.array([c.agreement for c in table])
        if level < model.label_level_:
            assert np.isnan(agreed).all()
        else:
            assert (agreed > 0.3).all() and (agreed <= 1).all()
    pd = pytest.importorskip("pandas")
    frame = tree.clusters().to_frame()
    assert isinstance(frame, pd.DataFrame) and [*frame.columns] == ["size", "inside", "agreement"]
    assert len(frame) == len(tree.clusters()) and frame["size"].sum() == 1797
    assert "… and " in repr(tree.clusters(0)) and len(repr(tree.clusters(0)).splitlines()) == 22


def test_agreement_by_definition() -> None:
    n = 60
    ids = np.argsort(RNG.random((n, n)), axis=1)[:, :5]
    graph = LinkGraph.between(np.arange(n), n, ids)
    labels, others = RNG.integers(0, 4, n), [RNG.integers(0, 3 + i, n) for i in range(4)]
    found = agreement(graph, labels, others)
    for cluster in range(4):
        best = []
        for other in others:
            pairs = [(labels == cluster, other == own) for own in range(other.max() + 1)]
            best.append(
                max(graph.volumes[a & b].sum() / graph.volumes[a | b].sum() for a, b in pairs)
            )
        assert found[cluster] == pytest.approx(np.mean(best), rel=1e-6)


def test_clusters_that_stand_alone_are_agreed_on() -> None:
    blobs = np.concatenate([RNG.normal(30 * i, 1, size=(100, 4)) for i in range(6)])
    table = Communities().fit(blobs).hierarchy_.clusters()
    assert [(c.size, c.inside) for c in table] == [(100, 1)] * 6
    assert all(c.agreement > 0.9 for c in table)


# -- what follows
# --------------------------------------------------------------------------------------


def test_files_and_pickles_keep_them(model: HNNE, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    for again in (
        nestmap.load(tmp_path / "m"),
        nestmap.load(tmp_path / "m", mmap=True),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(columns(again.hierarchy_), columns(model.hierarchy_))
        assert all(
            repr(again.hierarchy_.clusters(k)) == repr(model.hierarchy_.clusters(k))
            for k in range(4)
        )
        with pytest.raises(ValueError, match="read-only"):
            again.hierarchy_.strengths.shares[0, 0] = 1


def test_files_of_graphs_of_nodes(few_rows_have_a_graph: None, tmp_path: Path) -> None:
    rows = np.concatenate([digits()[:400], digits()[:3] + 1000])
    for own in (
        rows,
        np.repeat(np.array([[0.0, 1], [5, 7]]), 60, axis=0),
    ):  # the last has two nodes, no communities
        model = HNNE(layout="descent").fit(own)
        model.save(tmp_path / "m")
        again = nestmap.load(tmp_path / "m")
        assert again.hierarchy_.strengths.level == model.hierarchy_.strengths.level == 0
        np.testing.assert_array_equal(columns(again.hierarchy_), columns(model.hierarchy_))


def test_old_files_say_that_they_do_not_know(model: HNNE, tmp_path: Path, monkeypatch: Any) -> None:
    other = copy.deepcopy(model)
    object.__setattr__(other._fitted.tree.hierarchy, "strengths", None)
    other.save(tmp_path / "m")
    with pytest.raises(ValueError, match="older than that; fit the model again"):
        nestmap.load(tmp_path / "m").membership()
    wrong = Communities().fit(digits()[:100])
    wrong.membership_ = wrong.membership_ + 1
    wrong.save(tmp_path / "wrong")
    with pytest.raises(ModelFileError, match="membership"):
        nestmap.load(tmp_path / "wrong")


@pytest.mark.parametrize("of_nodes", [False, True])
def test_rows_come_and_go(of_nodes: bool, monkeypatch: Any) -> None:
    if of_nodes:
        monkeypatch.setattr(fit_tree_module, "MOST_ROWS", 100)
    model = HNNE().fit(digits()[:1000])
    far = digits()[:60] + 500  # they found leaves, and a cluster of `labels_`
    more = model.extend(np.concatenate([digits()[1000:1100], far]))
    before, after = columns(model.hierarchy_), columns(more.hierarchy_)
    np.testing.assert_array_equal(after[:1000], before)
    assert (after >= 0).all() and (after <= 1).all()
    leaves = more.hierarchy_.labels(0)
    known = [row for row in range(1000, 1160) if leaves[row] < model.hierarchy_.level_sizes[0]]
    assert len(known) > 20
    for row in known:
        mean = before[leaves[:1000] == leaves[row]].mean(axis=0)
        np.testing.assert_allclose(after[row], mean, atol=0.5 / 50)  # kept in whole numbers
    if of_nodes:  # a cluster of its own up to the top: as all leaves
        first = np.unique(model.labels(0), return_index=True)[1]
        np.testing.assert_allclose(after[-1], before[first].mean(axis=0), atol=0.5 / 55 + 1e-6)
    else:  # as the first cluster around it that has old rows
        around = before[more.labels(-1)[:1000] == more.labels(-1)[-1]]
        np.testing.assert_allclose(after[-1], around.mean(axis=0), atol=0.5 / 120 + 1e-6)
    table, old = more.hierarchy_.clusters(), model.hierarchy_.clusters()
    assert len(table) > len(old) and np.isnan(table[len(old)].agreement)
    gone = np.arange(0, 1160, 3)
    left = np.setdiff1d(np.arange(1160), gone)
    fewer = more.forget(gone).hierarchy_
    np.testing.assert_array_equal(columns(fewer), after[left])
    kept = {*zip(more.labels_[left].tolist(), fewer.labels().tolist(), strict=True)}
    assert all(repr(table[a].agreement) == repr(fewer.clusters()[b].agreement) for a, b in kept)


@pytest.mark.parametrize("of_nodes", [False, True])
def test_maps_like_older_ones_keep_them(of_nodes: bool, monkeypatch: Any) -> None:
    if of_nodes:
        monkeypatch.setattr(fit_tree_module, "MOST_ROWS", 100)
    order = RNG.permutation(600)
    old = HNNE(layout="descent").fit(digits()[order])
    fresh = HNNE(layout="descent").fit(digits()[:600]).hierarchy_
    other = HNNE(layout="descent").fit(digits()[:600], like=old).hierarchy_
    np.testing.assert_array_equal(columns(other), columns(fresh))
    np.testing.assert_array_equal(columns(other, order), columns(old.hierarchy_))
    for level in range(fresh.n_levels):
        numbers = {*zip(fresh.labels(level).tolist(), other.labels(level).tolist(), strict=True)}
        ours, theirs = fresh.clusters(level), other.clusters(level)
        assert all(repr(ours[a].agreement) == repr(theirs[b].agreement) for a, b in numbers)
