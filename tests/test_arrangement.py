"""Local frames: each node's own principal components, turned towards its neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BACKENDS, builds, digits, using
from scipy import sparse
from sklearn.datasets import load_digits

from nestmap import HNNE, Descent, build_hierarchy
from nestmap.core.arrays import blocks, runs
from nestmap.core.native import kernels
from nestmap.method.arrangement import local
from nestmap.method.arrangement.local import make_local, nearest_orthogonal, turn_frames
from nestmap.method.hierarchy.tree import Grouping
from nestmap.metrics import knn_accuracy, neighborhood_recall, trustworthiness

RNG = np.random.default_rng(5)


SIZES = (
    40,
    1,
    2,
    3,
    4,
    4,
    31,
    32,
    33,
    60,
    1,
    2,
)  # of groups: by the kernel, by Gram and by scatter matrices


def groups(p: int) -> tuple[np.ndarray, np.ndarray, Grouping]:
    """Rows in groups of all sizes, in mixed order, two of them without extent, and weights."""
    labels = RNG.permutation(np.repeat(np.arange(len(SIZES)), SIZES))
    z = RNG.normal(size=(len(labels), p)).astype(np.float32) + 100
    z[labels == 5] = z[np.argmax(labels == 5)]  # duplicates
    z[labels == 11] = z[np.argmax(labels == 11)]
    return z, RNG.integers(1, 5, len(z)).astype(float), Grouping.of(labels, len(SIZES))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("d", "p"), [(1, 7), (2, 7), (5, 7), (2, 50), (3, 1)])
def test_frames_are_the_principal_components_of_each_group(d: int, p: int, backend: str) -> None:
    z, weights, group = groups(p)
    with using(backend):
        offsets, maps = kernels.principal_frames(z, group.order, group.starts, weights, d, 2)
    for g in range(len(SIZES)):
        members = group.order[group.starts[g] : group.starts[g + 1]]
        x = z[members] - np.average(z[members].astype(np.float64), axis=0, weights=weights[members])
        values = np.linalg.svd(x * np.sqrt(weights[members])[:, None], compute_uv=False)[:d]
        found = np.sqrt((weights[members, None] * offsets[members] ** 2).sum(axis=0))
        np.testing.assert_allclose(
            found[: len(values)], np.where(values > 1e-5 * values[0], values, 0), atol=1e-5
        )
        np.testing.assert_allclose(offsets[members], x @ maps[g].T, atol=2e-6)
        product = maps[g] @ maps[g].T
        np.testing.assert_allclose(product, np.diag(np.diag(product) > 0.5), atol=1e-6)
        if g in (1, 5, 10, 11):
            assert not offsets[members].any() and not maps[g].any()


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize(("d", "p"), [(1, 3), (2, 9), (3, 50)])
def test_frames_match_the_twin(d: int, p: int, build: str) -> None:
    z, weights, group = groups(p)
    arguments = (z, group.order, group.starts, weights, d)
    with using("off"):
        offsets, maps = kernels.principal_frames(*arguments, 1)
    with using(build):
        found, directions = kernels.principal_frames(*arguments, 2)
        again = kernels.principal_frames(*arguments, 1)
    np.testing.assert_array_equal(found, again[0])
    np.testing.assert_array_equal(directions, again[1])
    np.testing.assert_allclose(found, offsets, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(directions, maps, atol=1e-7)


def test_frames_have_the_same_bits_for_any_number_of_threads_and_build() -> None:
    z, weights, group = groups(20)
    small = Grouping(group.order, group.starts[2:9])  # up to 32 members
    found = []
    for build in builds():
        with using(build):
            found += [
                kernels.principal_frames(z, small.order, small.starts, weights, 2, n)
                for n in (1, 2)
            ]
    for offsets, maps in found[1:]:
        np.testing.assert_array_equal(offsets, found[0][0])
        np.testing.assert_array_equal(maps, found[0][1])


def test_a_huge_group_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    z, weights, group = groups(7)
    arguments = (z, group.order, group.starts, weights, 2, 2)
    whole = kernels.principal_frames(*arguments)
    monkeypatch.setattr(
        "nestmap.core.native.frames.blocks", lambda n, width, values=70: blocks(n, width, 70)
    )
    for found, expected in zip(kernels.principal_frames(*arguments), whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_frames_turn_to_where_the_neighbours_are(backend: str) -> None:
    """Nodes in a plane whose map is the plane, turned and reflected: every frame finds that."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(30, 2)).astype(np.float32)
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])
    anchors = 3 * centres @ turn.T
    around = np.argsort(((centres[:, None] - centres) ** 2).sum(axis=2), axis=1)[:, 1:5]
    spun = np.stack([np.linalg.qr(rng.normal(size=(2, 2)))[0] for _ in range(30)]).astype(
        np.float32
    )
    maps = spun.copy()
    with using(backend):
        turns = turn_frames(maps, centres, anchors, around)
    np.testing.assert_allclose(turns @ spun, np.broadcast_to(turn, (30, 2, 2)), atol=1e-5)
    np.testing.assert_allclose(turns @ spun, maps, atol=1e-6)


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("n", [300, 170])  # nodes; the others are only around them
def test_alignments_match_the_twin(d: int, build: str, n: int) -> None:
    maps, centres = (
        RNG.normal(size=(300, *shape)).astype(np.float32) for shape in ((d, 13), (13,))
    )
    anchors, around = (
        RNG.normal(size=(300, d)),
        RNG.integers(300, size=(300, 6)),
    )  # some are their own neighbours
    with using("off"):
        expected = kernels.alignments(maps, centres, anchors, around, 2)
    with using(build):
        found = kernels.alignments(maps[:n], centres, anchors, around[:n], 2)
    np.testing.assert_allclose(found, expected[:n], rtol=1e-9, atol=1e-12)


def test_turns_in_the_plane_are_those_of_the_singular_vectors() -> None:
    matrices = RNG.normal(size=(200, 2, 2))
    left, _, right = np.linalg.svd(matrices)
    np.testing.assert_allclose(nearest_orthogonal(matrices), left @ right, atol=1e-5)
    np.testing.assert_array_equal(nearest_orthogonal(np.zeros((1, 2, 2))), np.eye(2)[None])


def test_frames_without_neighbours_stay() -> None:
    maps = np.eye(2, dtype=np.float32)[None]
    none = np.empty((1, 0), dtype=np.int64)
    turns = turn_frames(maps, np.zeros((1, 2), dtype=np.float32), np.zeros((1, 2)), none)
    np.testing.assert_array_equal(turns, np.eye(2)[None])
    np.testing.assert_array_equal(maps, np.eye(2)[None])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation"])
def test_leaves_are_fitted_in_pieces(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any size of the pieces gives the same map, any number of threads the same bits."""
    X = digits()
    one, three = (HNNE(metric=metric, layout="descent", n_jobs=n_jobs) for n_jobs in (1, 3))
    whole = one.fit_transform(X)
    np.testing.assert_array_equal(three.fit_transform(X), whole)
    monkeypatch.setattr(local, "_VALUES_PER_TASK", 2000)
    in_pieces = one.fit_transform(X)
    np.testing.assert_allclose(in_pieces, whole, atol=1e-5 * np.ptp(whole))
    np.testing.assert_array_equal(three.fit_transform(X), in_pieces)


def test_runs_cover_all_groups() -> None:
    starts = np.cumsum([0, 1, 500, 2, 3, 1, 400])
    for size, n_runs in ((1, 6), (40, 2), (400, 2), (10_000, 1)):
        pieces = runs(starts, size)
        assert np.concatenate([np.arange(6)[part] for part in pieces]).tolist() == list(range(6))
        assert len(pieces) == n_runs


def test_many_rows_have_fewer_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    X = RNG.normal(size=(300, 120))
    tree = build_hierarchy(X)
    assert make_local(X, tree, 2, np.arange(300), 1).nodes[0].shape[1] == local.N_COLUMNS
    monkeypatch.setattr(local, "MANY_ROWS", 299)
    few = make_local(X, tree, 2, np.arange(300), 1)
    assert few.nodes[0].shape[1] == local.N_COLUMNS_OF_MANY == few.transform(X[:1], 1).shape[1]


def test_local_maps_are_more_faithful() -> None:
    X, y = load_digits(return_X_y=True)
    local = HNNE(layout="descent").fit(X)
    paper = local.relayout(layout=Descent(arrangement="global"))
    assert trustworthiness(X, local.embedding_) > trustworthiness(X, paper.embedding_) + 0.003
    assert (
        neighborhood_recall(X, local.embedding_) > neighborhood_recall(X, paper.embedding_) + 0.03
    )
    assert knn_accuracy(local.embedding_, y) > knn_accuracy(paper.embedding_, y)


@pytest.mark.parametrize("d", [1, 2, 3, 12])
def test_relayout_switches_the_arrangement(d: int) -> None:
    model = HNNE(d, layout=Descent(arrangement="local")).fit(digits())
    other = model.relayout(layout=Descent(arrangement="global"))
    np.testing.assert_array_equal(
        other.embedding_, HNNE(d, layout=Descent(arrangement="global")).fit_transform(digits())
    )
    np.testing.assert_array_equal(
        other.relayout(layout=Descent(arrangement="local")).embedding_, model.embedding_
    )
    assert (model.layout_.arrangement, other.layout_.arrangement) == ("local", "global")


def test_auto_is_local_in_few_dimensions() -> None:
    model = HNNE(8).fit(digits())
    assert model.layout_.arrangement == "local"
    assert model.relayout(n_components=9).layout_.arrangement == "global"


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan", "chebyshev"])
def test_any_metric_places_new_rows_where_their_twins_are(metric: str) -> None:
    """A row that differs from a training row by next to nothing lands next to it."""
    X = RNG.normal(size=(300, 20)) + 0.3
    model = HNNE(layout="descent", metric=metric, new_points="neighbor").fit(X)
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
            tree = build_hierarchy(X, metric)
            found, leaf = make_local(X, tree, 2, np.arange(500), 2), tree.levels[0].grouping
            rows = found.project(np.arange(500))
            np.testing.assert_allclose(found.transform(X, 1), rows, atol=2e-5 * np.abs(rows).max())
            means = kernels.group_means(rows, leaf.order, leaf.starts, np.ones(500), 1)
            np.testing.assert_allclose(found.nodes[0], means, atol=1e-5 * np.abs(rows).max())


def test_frames_of_leaves_keep_leading_coordinates_where_asked() -> None:
    X = RNG.normal(size=(300, 120))
    X[250:] = X[:50]  # equal rows have the coordinates of the first
    tree, first = build_hierarchy(X), np.r_[:250, :50]
    anchors, around = (
        RNG.normal(size=(tree.levels[0].n_nodes, 2)),
        np.zeros((tree.levels[0].n_nodes, 1), np.int64),
    )
    for n_short in (0, 7, 500):
        found = make_local(X, tree, 2, np.arange(300), 2, first, n_short)
        short = found.frames(tree, 0, anchors, around).short
        if n_short == 0:
            assert short is None
            continue
        rows = found.project(np.arange(300))[:, :n_short]
        np.testing.assert_allclose(short, rows, atol=1e-5 * np.abs(rows).max())
        np.testing.assert_array_equal(short[250:], short[:50])


def test_the_order_of_rows_makes_no_difference() -> None:
    X = RNG.normal(size=(3000, 70)) * np.linspace(
        3, 0.1, 70
    )  # more rows than the sample of directions
    order = RNG.permutation(len(X))
    a, b = HNNE().fit_transform(X), HNNE().fit_transform(X[order])
    np.testing.assert_allclose(b, a[order], atol=1e-6 * np.ptp(a))


@pytest.mark.parametrize("n_rows", [5, 40, 300])
def test_signs_of_eigenvectors_make_no_difference(
    n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are LAPACK's choice, and another one on other machines."""
    X = np.random.default_rng(3).normal(size=(n_rows, 9))
    usual = np.linalg.eigh
    expected = HNNE(layout="descent").fit(X).embedding_

    def turned(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = usual(matrix)
        return values, -vectors

    monkeypatch.setattr(np.linalg, "eigh", turned)
    found = HNNE(layout="descent").fit(X).embedding_
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
