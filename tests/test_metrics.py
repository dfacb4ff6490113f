"""The measures of a map, against scikit-learn and against brute force by definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from conftest import BACKENDS, digits, using
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness as sklearn_trustworthiness
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from nestmap import HNNE, metrics
from nestmap.method.neighbors.scan import nearest_in_map, scan
from nestmap.method.neighbors.spaces import make_space
from nestmap.views.metrics._global import _random_triplets
from nestmap.views.metrics._labels import _winner

RNG = np.random.default_rng(0)


def brute_distances(X, metric="euclidean"):
    X = np.asarray(X, dtype=np.float64)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
    np.fill_diagonal(D, np.inf)
    return D


def brute_ranks(D, candidates):
    """Mean rank of each candidate among all others, ties shared."""
    out = np.empty(candidates.shape)
    for i, row in enumerate(candidates):
        for c, j in enumerate(row):
            nearer, equal = (D[i] < D[i, j]).sum(), (D[i] == D[i, j]).sum()
            out[i, c] = nearer + (equal - 1) / 2 + 1
    return out


def brute_rank_score(D_truth, D_shown, k):
    n = len(D_truth)
    shown = np.argsort(D_shown, axis=1, kind="stable")[:, :k]
    penalty = np.maximum(0, brute_ranks(D_truth, shown) - k).sum(axis=1)
    return 1 - 2 / (k * (2 * n - 3 * k - 1)) * penalty


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(700, n_features=30, centers=9, cluster_std=4.0, random_state=1)
    return X + 50, HNNE().fit_transform(X), y


# --- the pass over all rows -----------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3, 20])
def test_scan_is_brute_force(backend, dtype, columns):
    X = (
        np.random.RandomState(columns).randint(0, 4, (600, columns)).astype(dtype)
    )  # ties and duplicates
    rows = np.arange(0, 600, 7)
    candidates = RNG.integers(0, 600, (len(rows), 4))
    candidates += candidates == rows[:, None]
    D = brute_distances(X, "sqeuclidean")
    with using(backend):
        found = scan(make_space(X, "euclidean"), rows, candidates % 600, 6, 2)
    np.testing.assert_array_equal(found.ranks, brute_ranks(D[rows], candidates % 600))
    np.testing.assert_array_equal(
        found.neighbors, np.argsort(D[rows], axis=1, kind="stable")[:, :6]
    )


def test_scan_over_many_blocks_batches_and_crowds(monkeypatch):
    monkeypatch.setattr("nestmap.method.neighbors.scan._SCANNED_ROWS", 64)
    monkeypatch.setattr("nestmap.method.neighbors.scan._BLOCK_ROWS", 50)
    monkeypatch.setattr("nestmap.method.neighbors.scan._SAMPLE_ROWS", 20)
    monkeypatch.setattr("nestmap.method.neighbors.scan._MAX_NEAR_PER_BLOCK", 10)
    X = digits()[:400].copy()
    X[100:160] = X[0]  # a crowd: more equal rows than a block is willing to pass on
    rows = np.arange(400)
    D = brute_distances(X, "sqeuclidean")
    candidates = np.argsort(-D, axis=1)[:, 1:3]
    for n_threads in (1, 3):
        found = scan(make_space(X, "euclidean"), rows, candidates, 5, n_threads)
        np.testing.assert_array_equal(found.ranks, brute_ranks(D, candidates))
        np.testing.assert_array_equal(found.neighbors, np.argsort(D, axis=1, kind="stable")[:, :5])


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_scan_far_from_the_origin_settles_close_calls(shift):
    """Distances that float32 cannot tell apart are settled in float64."""
    X = np.random.RandomState(2).randn(300, 12) * 1e-3 + shift
    X[0] = shift + 40  # one far row makes the bound of the rounding error wide
    rows = np.arange(300)
    D = brute_distances(X)
    truth = np.argsort(D, axis=1)[:, :5]
    found = scan(make_space(X, "euclidean"), rows, truth, 5, 2)
    assert (found.neighbors == truth).mean() > 0.999  # the rest: rounding of the square root
    np.testing.assert_allclose(found.ranks.mean(axis=0), [1, 2, 3, 4, 5], atol=0.01)


@pytest.mark.parametrize(
    "metric", ["cosine", "correlation", "manhattan", "chebyshev", "precomputed"]
)
def test_scan_in_other_metrics(metric):
    X = np.random.RandomState(3).rand(200, 11)
    D = brute_distances(X, "euclidean" if metric == "precomputed" else metric)
    space = make_space(np.where(np.isinf(D), 0, D) if metric == "precomputed" else X, metric)
    rows, truth = np.arange(200), np.argsort(D, axis=1)[:, :7]
    found = scan(space, rows, truth, 7, 2)
    np.testing.assert_array_equal(found.neighbors, truth)
    np.testing.assert_array_equal(found.ranks, np.tile(np.arange(1.0, 8.0), (200, 1)))


def test_sparse_rows_score_like_dense_ones():
    X = sparse.random(300, 40, 0.2, random_state=0, format="csr")
    Y = RNG.random((300, 2))
    for metric in ("euclidean", "cosine"):
        dense = metrics.trustworthiness(X.toarray(), Y, metric=metric)
        assert metrics.trustworthiness(X, Y, metric=metric) == pytest.approx(dense, abs=1e-12)


def test_nearest_in_map_with_more_equal_points_than_neighbours():
    Y = np.zeros((50, 2))
    found = nearest_in_map(Y, np.arange(50), 3, 1)
    assert found.shape == (50, 3)
    assert (found != np.arange(50)[:, None]).all()


@pytest.mark.parametrize("columns", [2, 12])
def test_nearest_in_map_is_brute_force(columns):
    Y = np.random.RandomState(4).rand(300, columns)
    expected = np.argsort(brute_distances(Y), axis=1)[:, :6]
    np.testing.assert_array_equal(nearest_in_map(Y, np.arange(300), 6, 2), expected)


# --- local structure ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 5, 30])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_trustworthiness_is_that_of_scikit_learn(data, k, metric):
    X, Y, _ = data
    ours = metrics.trustworthiness(X, Y, n_neighbors=k, metric=metric)
    assert ours == pytest.approx(
        sklearn_trustworthiness(X, Y, n_neighbors=k, metric=metric), abs=1e-12
    )


def extreme_scores(D_truth, shown):
    """The lowest and the highest trustworthiness that any order of equal distances gives."""
    n, k = shown.shape
    penalties = np.zeros(2)
    for distances, neighbors in zip(D_truth, shown, strict=True):
        is_shown = np.isin(np.arange(n), neighbors)
        for i, last in enumerate(
            (is_shown, ~is_shown)
        ):  # shown rows behind their equals, or before them
            ranks = np.flatnonzero(is_shown[np.lexsort((last, distances))]) + 1
            penalties[i] += np.maximum(0, ranks - k).sum()
    return 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * penalties


@pytest.mark.slow
def test_trustworthiness_of_tied_integers():
    """Equal distances share their mean rank; scikit-learn takes the order that its sort leaves them
    in.
    """
    X = load_digits().data
    Y = PCA(2, random_state=0).fit_transform(X)
    truth, shown = brute_distances(X, "sqeuclidean"), brute_distances(Y)
    ours = metrics.trustworthiness(X, Y)
    assert ours == pytest.approx(brute_rank_score(truth, shown, 5).mean(), abs=1e-12)
    lowest, highest = extreme_scores(truth, np.argsort(shown, axis=1)[:, :5])
    assert lowest < ours < highest  # there are ties, and they count
    assert lowest - 1e-12 <= sklearn_trustworthiness(X, Y) <= highest + 1e-12


def test_local_scores_by_definition(data):
    X, Y, _ = data
    high, low = brute_distances(X), brute_distances(Y)
    np.testing.assert_allclose(
        metrics.pointwise_trustworthiness(X, Y), brute_rank_score(high, low, 5), atol=1e-12
    )
    assert metrics.continuity(X, Y) == pytest.approx(
        brute_rank_score(low, high, 5).mean(), abs=1e-12
    )
    near_high, near_low = (np.argsort(D, axis=1)[:, :10] for D in (high, low))
    shared = [len(np.intersect1d(a, b)) / 10 for a, b in zip(near_high, near_low, strict=True)]
    np.testing.assert_allclose(metrics.pointwise_recall(X, Y), shared, atol=1e-12)
    assert metrics.neighborhood_recall(X, Y) == pytest.approx(np.mean(shared), abs=1e-12)


def test_a_sample_is_exact_for_its_rows_and_knows_its_error(data):
    X, Y, _ = data
    whole = metrics.trustworthiness(X, Y, return_estimate=True)
    assert (whole.standard_error, whole.n_scored, whole.n_total) == (0, 700, 700)
    off = []
    for seed in range(40):
        part = metrics.trustworthiness(X, Y, n_sample=200, random_state=seed, return_estimate=True)
        assert part.n_scored == 200 and part.standard_error > 0
        off.append((part.value - whole.value) / part.standard_error)
    assert 0.6 < np.std(off) < 1.6  # the stated error is the real one
    rows = [5, 600, 7]
    np.testing.assert_array_equal(
        metrics.pointwise_trustworthiness(X, Y, rows=rows),
        metrics.pointwise_trustworthiness(X, Y)[rows],
    )
    assert float(whole) == whole.value and "200 of 700" in str(part) and "of" not in str(whole)


def test_large_data_is_sampled_by_default(monkeypatch, data):
    monkeypatch.setattr("nestmap.views.metrics._inputs.ALL_ROWS_UP_TO", 500)
    monkeypatch.setattr("nestmap.views.metrics._inputs.DEFAULT_SAMPLE", 100)
    X, Y, _ = data
    assert metrics.continuity(X, Y, return_estimate=True).n_scored == 100


@pytest.mark.parametrize("name", ["trustworthiness", "continuity", "neighborhood_recall"])
def test_threads_and_backends_do_not_change_a_score(data, name):
    X, Y, _ = data
    score = getattr(metrics, name)
    expected = score(X, Y, n_jobs=1)
    assert score(X, Y, n_jobs=3) == expected
    with using("off"):
        assert score(X, Y) == expected


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    st.integers(12, 60),
    st.integers(1, 12),
    st.sampled_from([0.0, 1e-30, 1.0, 1e30]),
    st.integers(0, 2**31 - 1),
)
def test_scores_of_odd_data_stay_in_range(n, columns, scale, seed):
    random = np.random.RandomState(seed)
    X = random.randint(-2, 3, (n, columns)) * scale  # duplicates, constant columns, all zero
    Y = random.randint(-2, 3, (n, 2)).astype(float)
    quality = metrics.map_quality(X, Y, random.randint(0, 1, n))
    for score in (
        quality.trustworthiness,
        quality.continuity,
        quality.neighborhood_recall,
        quality.random_triplets,
    ):
        assert 0 <= score.value <= 1
    assert quality.fill > 0


# --- global structure -----------------------------------------------------------------------------


def brute_triplets(X, Y, y):
    centroids = [np.stack([Z[y == c].mean(axis=0) for c in np.unique(y)]) for Z in (X, Y)]
    high, low = (pairwise_distances(c) for c in centroids)
    kept = [
        (high[i, j] < high[i, m]) == (low[i, j] < low[i, m])
        for a, b, c in combinations(range(len(high)), 3)
        for i, j, m in ((a, b, c), (b, a, c), (c, a, b))
    ]
    return np.mean(kept)


def test_centroid_triplets_by_definition(data):
    X, Y, y = data
    exact = metrics.centroid_triplet_accuracy(X, Y, y)
    assert exact == pytest.approx(brute_triplets(X, Y, y), abs=1e-12)
    named = np.array([f"class {c}" for c in y])
    assert metrics.centroid_triplet_accuracy(X, Y, named) == exact
    part = metrics.centroid_triplet_accuracy(X, Y, y, max_triplets=200, return_estimate=True)
    assert part.n_scored == 200 and part.n_total == 9 * 8 * 7 / 2
    assert abs(part.value - exact) < 4 * part.standard_error


def test_centroid_triplets_under_cosine_use_rows_of_length_one(data):
    X, Y, y = data
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert metrics.centroid_triplet_accuracy(X, Y, y, metric="cosine") == brute_triplets(unit, Y, y)
    assert metrics.centroid_triplet_accuracy(sparse.csr_matrix(X), Y, y) == brute_triplets(X, Y, y)
    with pytest.raises(ValueError, match="no centroids"):
        metrics.centroid_triplet_accuracy(X, Y, y, metric="manhattan")


def test_random_triplets_are_of_three_rows_and_estimate_the_share(data):
    some = _random_triplets(4, 5000, np.random.RandomState(0))
    a, b, c = some.a, some.b, some.c
    assert ((a != b) & (b != c) & (a != c)).all()
    assert len(set(zip(a, b, c, strict=True))) == 24
    X, Y, _ = data
    high, low = (brute_distances(Z) for Z in (X[:60], Y[:60]))
    everything = [
        (high[i, j] < high[i, m]) == (low[i, j] < low[i, m])
        for i in range(60)
        for j, m in combinations([r for r in range(60) if r != i], 2)
    ]
    found = metrics.random_triplet_accuracy(X[:60], Y[:60], return_estimate=True)
    assert abs(found.value - np.mean(everything)) < 4 * found.standard_error


def test_fill_by_definition():
    Y = np.random.RandomState(5).rand(3000, 2) ** 3
    low, high = np.percentile(Y, [0.5, 99.5], axis=0)
    counts, _, _ = np.histogram2d(*Y.T, bins=16, range=[[low[0], high[0]], [low[1], high[1]]])
    expected = (counts > 0).sum() / (256 * (1 - np.exp(-3000 / 256)))
    assert metrics.map_fill(Y, n_bins=16) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="2-D"):
        metrics.map_fill(np.zeros((5, 3)))


# --- classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 7])
def test_knn_accuracy_is_that_of_scikit_learn(data, k):
    _, Y, y = data
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    expected = cross_val_score(KNeighborsClassifier(k), Y, y, cv=folds).mean()
    assert metrics.knn_accuracy(Y, y, n_neighbors=k) == pytest.approx(
        expected, abs=1e-12
    )  # folds of 70 rows each
    assert metrics.knn_accuracy(Y, y, n_neighbors=(1, 2, 7))[k] == metrics.knn_accuracy(
        Y, y, n_neighbors=k
    )


def test_equal_votes_go_to_the_first_class(monkeypatch):
    monkeypatch.setattr("nestmap.core.arrays.BLOCK_VALUES", 8)
    votes = np.array([[2, 1, 1, 2], [3, 3, 0, 1], [0, 0, 0, 0]])
    assert _winner(votes, 4).tolist() == [1, 3, 0]


def test_cluster_nmi_finds_separated_classes_and_not_shuffled_ones():
    X, y = make_blobs(600, n_features=8, centers=5, cluster_std=0.3, random_state=3)
    found = metrics.cluster_nmi(X, RNG.random((600, 2)), y)
    assert found.before > 0.99 and found.after < 0.1
    assert metrics.cluster_nmi(X, X[:, :2], y, metric="cosine", max_rows=300).before > 0.5


def test_everything_in_one_call_is_the_single_scores(data):
    X, Y, y = data
    found = metrics.map_quality(X, Y, y, n_neighbors=(1, 5))
    assert found.trustworthiness.value == metrics.trustworthiness(X, Y)
    assert found.continuity.value == metrics.continuity(X, Y)
    assert found.neighborhood_recall.value == metrics.neighborhood_recall(X, Y)
    assert found.random_triplets.value == metrics.random_triplet_accuracy(X, Y)
    assert found.centroid_triplets.value == metrics.centroid_triplet_accuracy(X, Y, y)
    assert found.knn_accuracy == metrics.knn_accuracy(Y, y, n_neighbors=(1, 5))
    assert found.fill == metrics.map_fill(Y)
    assert "trustworthiness" in str(found) and "(k=5)" in str(found)
    bare = metrics.map_quality(X, X)
    assert bare.knn_accuracy is None and bare.fill is None and "knn" not in str(bare)


# --- bad input ------------------------------------------------------------------------------------


def test_bad_input_is_named(data):
    X, Y, y = data
    with pytest.raises(ValueError, match="X has 700 rows and X_embedded has 699"):
        metrics.trustworthiness(X, Y[1:])
    with pytest.raises(ValueError, match="n_neighbors=350: must be less than half of the 700 rows"):
        metrics.trustworthiness(X, Y, n_neighbors=350)
    with pytest.raises(ValueError, match="NaN"):
        metrics.neighborhood_recall(X, np.where(Y[3, 1] == Y, np.nan, Y))
    with pytest.raises(ValueError, match="y has 699 labels for 700 rows"):
        metrics.knn_accuracy(Y, y[1:])
    with pytest.raises(ValueError, match="at least three"):
        metrics.centroid_triplet_accuracy(X, Y, y > 3)
    with pytest.raises(ValueError, match="smallest class of y has 1 rows"):
        metrics.knn_accuracy(Y, np.where(np.arange(700) == 5, 99, y))
    with pytest.raises(ValueError, match="n_neighbors=700"):
        metrics.knn_accuracy(Y, y, n_neighbors=(1, 700))
    with pytest.raises(ValueError, match="row numbers from 0 to 699"):
        metrics.pointwise_recall(X, Y, rows=[700])
    with pytest.raises(ValueError, match="n_sample=0"):
        metrics.continuity(X, Y, n_sample=0)
    with pytest.raises(ValueError, match="k-means takes"):
        metrics.cluster_nmi(X, Y, y, metric="manhattan")
    with pytest.raises(ValueError, match="at least three rows"):
        metrics.random_triplet_accuracy(X[:2], Y[:2])
