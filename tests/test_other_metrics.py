"""Metrics beside the four native ones: sets, parameters, callables, given distances, given
neighbours.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from threading import get_ident

import numpy as np
import pytest
from conftest import BACKENDS, digits, using
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_mutual_info_score, pairwise_distances

from nestmap import FINCH, HNNE, NativeMissingWarning, build_hierarchy, first_neighbors
from nestmap.core.points.duplicates import hash_points
from nestmap.core.threads import map_blocks
from nestmap.method import neighbors as search_module
from nestmap.method.hierarchy.medoids import find_medoids
from nestmap.method.hierarchy.resume import identity
from nestmap.method.hierarchy.tree import Grouping
from nestmap.method.neighbors import (
    blocked,
    check_metric,
    given_neighbors,
    known_metric,
)
from nestmap.method.neighbors.blocked import given_distances
from nestmap.method.neighbors.metric import EUCLIDEAN
from nestmap.method.neighbors.metric.library import LibraryMetric
from nestmap.method.neighbors.metric.matrix import PRECOMPUTED, MedoidDistances
from nestmap.method.neighbors.metric.sets import as_sets
from nestmap.method.run import Run

RNG = np.random.default_rng(3)
CUBIC = LibraryMetric("minkowski", {"p": 3})
SETS = ("jaccard", "dice", "matching", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


def nearest(D: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The nearest other row; of several the one with the lowest hash, of equal ones the first."""
    D = D + np.diag(np.full(len(D), np.inf))
    by_key = np.argsort(hash_points(X.astype(np.float64), 1), kind="stable")
    return by_key[D[:, by_key].argmin(axis=1)]


def some_sets(n: int = 60, n_items: int = 25, share: float = 0.3) -> np.ndarray:
    return RNG.uniform(size=(n, n_items)) < share


@pytest.mark.parametrize("metric", ["manhattan", "euclidean", "cosine", "correlation"])
@pytest.mark.parametrize("scale", [1e-309, 1e-320])
def test_a_fit_of_subnormal_rows(metric: str, scale: float) -> None:
    X = RNG.normal(size=(60, 5)) * scale
    same = np.ldexp(X, -int(np.frexp(np.abs(X).max())[1]))
    model = HNNE(metric=metric).fit(X)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_array_equal(
        model.hierarchy_.labels(0), build_hierarchy(same, metric).labels(0)
    )


@pytest.mark.parametrize(
    "metric", ["chebyshev", "canberra", "braycurtis", lambda a, b: abs(a - b).max()]
)
def test_other_metrics_and_callables(metric: object) -> None:
    X = RNG.uniform(size=(60, 4))
    D = cdist(X, X, "chebyshev" if callable(metric) else metric)
    np.testing.assert_array_equal(first_neighbors(X, metric).ids, nearest(D, X))


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("metric", ["chebyshev", "canberra", "sqeuclidean", "hamming", CUBIC])
def test_distances_are_those_of_scikit_learn(metric: object, dtype: type) -> None:
    X = (3 * RNG.uniform(size=(30, 7))).astype(dtype)
    known = known_metric(metric)
    expected = pairwise_distances(X[:20], X, metric=known.name, **known.parameters)
    np.testing.assert_array_equal(known.pairwise(X[:20], X), expected)


class TestThreads:
    """Brute force in several threads, in small blocks."""

    @pytest.fixture(autouse=True)
    def threads(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How many threads each map over blocks had."""
        had: list[int] = []

        def map_and_tell(
            function: Callable, parts: list, n_threads: int, progress: object = None
        ) -> list:
            had.append(n_threads)
            return map_blocks(function, parts, n_threads, progress)  # type: ignore[arg-type]

        monkeypatch.setattr(blocked, "_DISTANCES_PER_BLOCK", 1000)
        monkeypatch.setattr(blocked, "map_blocks", map_and_tell)
        return had

    @pytest.mark.parametrize("metric", ["chebyshev", "hamming", "jaccard", CUBIC])
    def test_same_bits(self, metric: object, threads: list[int]) -> None:
        X = (
            some_sets(150)
            if metric == "jaccard"
            else RNG.integers(0, 9, (150, 5)).astype(np.float32)
        )
        keys = hash_points(X.astype(np.float64), 1)
        shares: list[float] = []
        one, several = (
            blocked.blocked_neighbors(X, known_metric(metric), keys, n, shares.append)
            for n in (1, 3)
        )
        assert threads == [1, 3] and shares[-1] == 1
        for a, b in zip(one[1].query(X[:40], 1), several[1].query(X[:40], 3), strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one[0].ids, several[0].ids)
        np.testing.assert_array_equal(one[0].distances, several[0].distances)
        np.testing.assert_array_equal(one[0].ids, nearest(known_metric(metric).pairwise(X, X), X))

    def test_callables_stay_in_the_thread_of_the_caller(self, threads: list[int]) -> None:
        seen = set()

        def metric(a: np.ndarray, b: np.ndarray) -> float:
            seen.add(get_ident())
            return float(np.abs(a - b).max())

        X = RNG.uniform(size=(60, 4))
        found = first_neighbors(X, metric, n_jobs=3)
        np.testing.assert_array_equal(found.ids, first_neighbors(X, "chebyshev", n_jobs=3).ids)
        assert seen == {get_ident()} and threads == [1, 3]

    def test_bad_distances_are_told(self) -> None:
        X = RNG.uniform(size=(100, 3))
        X[70:] = np.nan
        with pytest.raises(ValueError, match=r"gives nan for rows .*; distances must be numbers"):
            blocked.blocked_neighbors(X, known_metric("sqeuclidean"), n_threads=3)


class TestSets:
    @pytest.mark.parametrize("metric", SETS)
    def test_distances_are_those_of_scipy(self, metric: str) -> None:
        a, b = some_sets(40), some_sets(30)
        expected = cdist(a, b, "hamming" if metric == "matching" else metric)
        known = known_metric(metric)
        np.testing.assert_allclose(known.pairwise(a, b), expected, atol=1e-15)
        sparse_a, sparse_b = (sparse.csr_matrix(rows.astype(float)) for rows in (a, b))
        np.testing.assert_array_equal(known.pairwise(sparse_a, sparse_b), known.pairwise(a, b))

    @pytest.mark.parametrize("metric", SETS)
    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_first_neighbours(self, metric: str, is_sparse: bool) -> None:
        X = some_sets(80)
        D = known_metric(metric).pairwise(X, X)
        found = first_neighbors(sparse.csr_matrix(X.astype(np.float32)) if is_sparse else X, metric)
        np.testing.assert_array_equal(found.ids, nearest(D, X))
        np.testing.assert_array_equal(found.distances, D[np.arange(len(X)), found.ids])

    def test_empty_sets(self) -> None:
        X = np.vstack([np.zeros((2, 6)), np.eye(6)])
        found = first_neighbors(X, "jaccard")
        assert found.ids[:2].tolist() == [1, 0] and found.distances[:2].tolist() == [0, 0]

    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_other_values_than_0_and_1_are_refused(self, is_sparse: bool) -> None:
        X = some_sets().astype(float)
        X[7, 3] = 0.3
        with pytest.raises(ValueError, match=r"'jaccard'.*0\.3 at row 7, column 3.*X != 0"):
            first_neighbors(sparse.csr_matrix(X) if is_sparse else X, "jaccard")
        model = HNNE(metric="jaccard").fit(np.round(X))
        with pytest.raises(ValueError, match="sets"):
            model.transform(X + 0.1)

    def test_majority_of_a_centroid(self) -> None:
        shares = np.array([[0.5, 0.6, 0.2, 0.0], [0.3, 0.3, 0.1, 0.0], [0, 0, 0, 0], [1, 0, 1, 0]])
        expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]]
        np.testing.assert_array_equal(as_sets(shares), expected)
        np.testing.assert_array_equal(as_sets(sparse.csr_matrix(shares)).toarray(), expected)

    @pytest.mark.parametrize("metric", ["hamming", "jaccard"])
    def test_upper_levels_know_the_classes(self, metric: str) -> None:
        # fractions are all equally far from each other: that gave 335 -> 31 -> 3 nodes, AMI at most
        # 0.57
        X, y = load_digits(return_X_y=True)
        tree = build_hierarchy(X > 7, metric)
        assert tree.n_levels >= 4
        assert (
            max(adjusted_mutual_info_score(y, tree.labels(k)) for k in range(tree.n_levels)) > 0.63
        )
        assert len(set(tree.labels(n_clusters=10))) == 10

    def test_hamming_of_codes_has_medoids(self) -> None:
        X = RNG.integers(0, 4, (90, 12))
        assert (
            check_metric("hamming", X) == "hamming" and check_metric("hamming", X > 1) == "matching"
        )
        tree = build_hierarchy(X, "hamming")
        rows = {tuple(row) for row in X}
        assert all(tuple(row) in rows for level in tree for row in level.centroids)
        np.testing.assert_array_equal(
            first_neighbors(X, "hamming").ids, nearest(cdist(X, X, "hamming"), X)
        )
        assert len(set(tree.labels(n_clusters=3))) == 3

    def test_sparse_fit_equals_dense_fit(self) -> None:
        X = some_sets(200, 40, 0.15)
        a, b = (
            FINCH(metric="jaccard").fit(x) for x in (X, sparse.csr_matrix(X.astype(np.float32)))
        )
        np.testing.assert_array_equal(a.partitions_, b.partitions_)
        np.testing.assert_array_equal(
            a.predict(X), b.predict(sparse.csr_matrix(X.astype(np.float32)))
        )


class TestSparse:
    def test_which_metrics_take_it(self) -> None:
        assert all(
            known_metric(m).accepts_sparse
            for m in ("euclidean", "l2", "cosine", "manhattan", "cityblock", "hellinger", *SETS)
        )
        assert not any(
            known_metric(m).accepts_sparse
            for m in ("correlation", "chebyshev", "precomputed", "hamming", max)
        )

    @pytest.mark.parametrize(
        "metric", ["correlation", "chebyshev", "precomputed", "hamming", "mahalanobis"]
    )
    def test_others_say_so(self, metric: str) -> None:
        with pytest.raises(
            ValueError, match=rf"metric='{metric}' does not take sparse rows.*'manhattan'.*toarray"
        ):
            first_neighbors(sparse.eye(5, format="csr"), metric)
        with pytest.raises(ValueError, match="callable metric"):
            first_neighbors(sparse.eye(5, format="csr"), max)

    def test_what_is_accepted_works(self) -> None:
        X = sparse.csr_matrix(some_sets(50, 12, 0.4).astype(np.float64))
        for metric in ("euclidean", "cosine", "manhattan", "hellinger", *SETS):
            assert FINCH(metric=metric).fit(X).predict(X).shape == (50,)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_manhattan_is_native(self, backend: str) -> None:
        X = sparse.random(700, 300, density=0.03, format="csr", random_state=1)
        with using(backend):
            found = first_neighbors(X, "manhattan")
            model = HNNE(metric="manhattan").fit(X)
        assert found.report.method == "exact"
        np.testing.assert_array_equal(
            found.ids, nearest(cdist(X.toarray(), X.toarray(), "cityblock"), X.toarray())
        )
        np.testing.assert_array_equal(model.transform(X[:5]), model.embedding_[:5])


class TestParameters:
    X = RNG.normal(size=(150, 6)) @ RNG.normal(size=(6, 6)) + 100

    @pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
    def test_estimated_from_all_rows(self, metric: str) -> None:
        D = pairwise_distances(self.X, metric=metric)
        found = first_neighbors(self.X, metric)
        np.testing.assert_array_equal(found.ids, nearest(D, self.X))
        np.testing.assert_allclose(found.distances, D[np.arange(len(D)), found.ids], rtol=1e-8)
        assert found.report.method == "exact" and found.report.backend in (*BACKENDS, "numpy")

    @pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
    def test_units_of_columns_make_no_difference(self, metric: str) -> None:
        # a covariance that has an inverse was refused where columns were in very different units
        units = 10.0 ** np.arange(-9, 9, 3)
        plain, other = (first_neighbors(X, metric) for X in (self.X - 100, (self.X - 100) * units))
        np.testing.assert_array_equal(plain.ids, other.ids)
        np.testing.assert_allclose(plain.distances, other.distances, rtol=1e-8)
        given = {"VI": np.linalg.inv(np.cov(self.X.T)) / units / units[:, None]}
        if metric == "mahalanobis":
            found = first_neighbors((self.X - 100) * units, metric, metric_params=given)
            np.testing.assert_array_equal(found.ids, plain.ids)

    def test_changed_rows_do_not_depend_on_the_batch(self) -> None:
        metric = check_metric("mahalanobis", self.X)
        np.testing.assert_array_equal(
            metric.rows(self.X, 2)[:3], np.vstack([metric.rows(row[None]) for row in self.X[:3]])
        )

    def test_given(self) -> None:
        V, VI, w = RNG.uniform(1, 2, 6), np.diag(RNG.uniform(1, 2, 6)), RNG.uniform(1, 2, 6)
        for metric, params in [
            ("seuclidean", {"V": V}),
            ("mahalanobis", {"VI": VI}),
            ("minkowski", {"p": 3}),
            ("canberra", {"w": w}),
            ("minkowski", {"p": 1.5, "w": w}),
            ("minkowski", {"p": 1}),
            ("minkowski", {}),
            ("minkowski", {"p": np.inf}),
        ]:
            D = cdist(self.X, self.X, metric, **params)
            found = first_neighbors(self.X, metric, metric_params=params)
            np.testing.assert_array_equal(found.ids, nearest(D, self.X))
            np.testing.assert_allclose(found.distances, D[np.arange(len(D)), found.ids], rtol=1e-8)

    def test_of_a_callable(self) -> None:
        def power(a: np.ndarray, b: np.ndarray, p: float) -> float:
            return float((np.abs(a - b) ** p).sum())

        found = first_neighbors(self.X[:40], power, metric_params={"p": 3})
        np.testing.assert_array_equal(
            found.ids, nearest(cdist(self.X[:40], self.X[:40], "minkowski", p=3), self.X[:40])
        )

    def test_a_fit_with_mahalanobis(self) -> None:
        white = pairwise_distances(self.X, metric="mahalanobis")
        model = HNNE(metric="mahalanobis").fit(self.X)
        ids = nearest(white, self.X)
        labels = model.hierarchy_.labels(0)
        assert (labels == labels[ids]).all()
        np.testing.assert_array_equal(model.transform(self.X[:9]), model.embedding_[:9])
        assert model.transform(self.X[:9] + 0.01).shape == (9, 2)
        assert len(set(FINCH(4, metric="mahalanobis").fit_predict(self.X))) == 4

    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_hellinger(self, is_sparse: bool) -> None:
        P = RNG.dirichlet(np.full(30, 0.2), 120)
        D = cdist(np.sqrt(P), np.sqrt(P)) / np.sqrt(2)
        X = sparse.csr_matrix(P) if is_sparse else P
        found = first_neighbors(X, "hellinger")
        np.testing.assert_array_equal(found.ids, nearest(D, P))
        np.testing.assert_allclose(found.distances, D[np.arange(120), found.ids], rtol=1e-9)
        assert found.report.method == "exact" and found.distances.max() <= 1
        np.testing.assert_allclose(
            check_metric("hellinger", X).pairwise(X[:9], X[:5]), D[:9, :5], atol=1e-7
        )
        with pytest.raises(ValueError, match=r"hellinger.*>= 0, got -1"):
            first_neighbors(-sparse.eye(4, format="csr") if is_sparse else -np.eye(4), "hellinger")

    @pytest.mark.parametrize(
        ("metric", "params", "message"),
        [
            ("minkowski", {"q": 3}, "'minkowski' takes 'p', 'w', not 'q'"),
            ("euclidean", {"w": 3}, "'euclidean' takes no parameters, not 'w'"),
            ("minkowski", {"p": "three"}, "metric='minkowski' does not work on these rows"),
            ("seuclidean", {"V": [1, 2]}, r"V has shape \(2,\).*6 positive variances"),
            ("seuclidean", {"V": [1, 2, 3, 0, 5, 6]}, "least of V is 0, of column 3"),
            ("mahalanobis", {"VI": np.eye(3)}, r"6 x 6, not of \(3, 3\)"),
            ("mahalanobis", {"VI": np.triu(np.ones((6, 6)))}, "symmetric"),
            ("mahalanobis", {"VI": -np.eye(6)}, "negative eigenvalue"),
        ],
    )
    def test_bad_ones_are_refused(self, metric: str, params: dict, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            first_neighbors(self.X, metric, metric_params=params)

    def test_what_cannot_be_estimated_is_refused(self) -> None:
        X = np.column_stack([self.X, self.X[:, 0]])
        with pytest.raises(ValueError, match=r"no inverse.*'VI'"):
            first_neighbors(X, "mahalanobis")
        with pytest.raises(ValueError, match="least of V is 0, of column 6"):
            first_neighbors(np.column_stack([self.X, np.ones(150)]), "seuclidean")

    def test_keys_tell_metrics_apart(self) -> None:
        made = [
            check_metric(name, self.X, params)
            for name, params in [
                ("cosine", None),
                ("mahalanobis", None),
                ("mahalanobis", {"VI": np.eye(6)}),
                ("seuclidean", None),
                ("minkowski", {"p": 3}),
                ("minkowski", {"p": 4}),
                ("canberra", {"w": np.ones(6)}),
            ]
        ]
        assert len({m.key for m in made}) == len(made)
        assert check_metric("mahalanobis", self.X).key == made[1].key
        with pytest.raises(ValueError, match="work_dir"):
            identity(self.X, hash_points(self.X, 1), known_metric(max), Run(1), None)


class TestBadDistances:
    @pytest.mark.parametrize("value", [-1.0, np.nan])
    def test_of_a_callable(self, value: float) -> None:
        X = np.arange(12.0)[:, None]

        def odd(a: np.ndarray, b: np.ndarray) -> float:
            return value if {a[0], b[0]} == {3, 7} else abs(a[0] - b[0])

        for run in (lambda: first_neighbors(X, odd), lambda: HNNE(metric=odd).fit(X)):
            with pytest.raises(
                ValueError, match=r"odd.* gives (-1|nan) for rows 3 and 7.*at least 0"
            ):
                run()

    def test_rounding_below_zero_is_none(self) -> None:
        found = first_neighbors(np.arange(5.0)[:, None], lambda a, b: -1e-17)
        assert (found.distances == 0).all()

    def test_of_a_matrix(self) -> None:
        D = cdist(np.arange(5.0)[:, None], np.arange(5.0)[:, None])
        with pytest.raises(ValueError, match="square"):
            first_neighbors(D[:3], "precomputed")
        bad = D.copy()
        bad[1, 3] = bad[3, 1] = -2
        with pytest.raises(ValueError, match="gives -2 for rows 1 and 3"):
            first_neighbors(bad, "precomputed")
        bad[1, 3], bad[3, 1] = 2, 2.5
        with pytest.raises(
            ValueError, match=r"rows 1 and 3 are 2 apart one way and 2\.5 the other.*D\.T"
        ):
            first_neighbors(bad, "precomputed")
        index = build_hierarchy(D, "precomputed").leaf_index()
        with pytest.raises(ValueError, match="at least 0"):
            index.query(D - 10, 1)


class TestGivenNeighbors:
    def test_are_checked(self) -> None:
        assert given_neighbors([1, 0, 1], 3).ids.tolist() == [1, 0, 1]
        with pytest.raises(ValueError, match="row 2 names itself"):
            given_neighbors([1, 0, 2], 3)
        with pytest.raises(ValueError, match="row 1 names row 7"):
            given_neighbors([1, 7, 0], 3)
        with pytest.raises(ValueError, match="expected 3 integers"):
            given_neighbors([0.5, 1.0, 2.0], 3)

    def test_claim_nothing(self) -> None:
        ids = first_neighbors(digits()).ids
        model = HNNE(neighbors=ids).fit(
            digits()
        )  # and no RecallWarning, which would be an error here
        report = model.neighbor_report_
        assert report.method == "given" and not report.exact
        assert np.isnan([report.recall, report.target]).all()
        assert str(report) == "given: 1797 rows"

    @pytest.mark.parametrize(
        "metric", ["euclidean", "cosine", "manhattan", "correlation", "chebyshev", "jaccard", "odd"]
    )
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_distances(self, metric: str, backend: str) -> None:
        X = some_sets(150, 12, 0.4) if metric == "jaccard" else RNG.normal(size=(150, 12))
        ids = (np.arange(150) + 1) % 150
        how: str | Callable = metric if metric != "odd" else lambda a, b: float(abs(a - b).sum())
        D = cdist(X, X, {"manhattan": "cityblock", "odd": "cityblock"}.get(metric, metric))
        with using(backend):
            found = given_distances(X, check_metric(how, X), ids, 2)
        np.testing.assert_allclose(found, D[np.arange(150), ids], rtol=1e-9, atol=1e-14)
        np.testing.assert_array_equal(
            given_distances(D, PRECOMPUTED, ids, 1), D[np.arange(150), ids]
        )


def test_approximate_search_without_compiled_kernels_says_what_it_did() -> None:
    X = RNG.normal(size=(300, 4))
    search_module._warn_that_search_is_exact.cache_clear()
    with using("off"), pytest.warns(NativeMissingWarning, match="approximate.*compiled"):
        found = first_neighbors(X, method="approximate")
    assert (
        found.report.exact
        and "compiled kernels" in found.report.note
        and "compiled kernels" in str(found.report)
    )
    with using("off"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert first_neighbors(X, method="approximate").report.note  # said once
    assert first_neighbors(X).report.note == ""


class TestMedoids:
    def test_by_definition(self) -> None:
        X, w = RNG.normal(size=(80, 3)), RNG.integers(1, 9, 80).astype(float)
        group = Grouping.of(RNG.integers(0, 12, 80), 12)
        D = cdist(X, X)
        medoids = find_medoids(X, w, group, EUCLIDEAN, None, 2)
        np.testing.assert_array_equal(medoids, find_medoids(D, w, group, PRECOMPUTED))
        for g, medoid in enumerate(medoids):
            rows = np.sort(group.order[group.starts[g] : group.starts[g + 1]])
            assert medoid == rows[(D[np.ix_(rows, rows)] @ w[rows]).argmin()]

    def test_of_a_pair_is_the_heavier_and_of_equals_the_lower_key(self) -> None:
        X = np.array([[0.0], [1], [5], [6]])
        group = Grouping.of(np.array([0, 0, 1, 1]), 2)
        assert find_medoids(X, np.array([1.0, 2, 3, 3]), group, EUCLIDEAN).tolist() == [1, 2]
        assert find_medoids(
            X, np.array([1.0, 2, 3, 3]), group, EUCLIDEAN, np.array([0, 0, 8, 5])
        ).tolist() == [
            1,
            3,
        ]

    def test_levels_of_a_matrix(self) -> None:
        X = make_blobs(300, centers=8, n_features=4, random_state=0)[0]
        D = cdist(X, X)
        tree = build_hierarchy(D, "precomputed")
        np.testing.assert_array_equal(
            tree.labels(0), build_hierarchy(X).labels(0)
        )  # rows need no medoids
        weights, members = np.ones(300), [tree.labels(k) for k in range(tree.n_levels)]
        for k, level in enumerate(tree):
            seen: MedoidDistances = level.centroids
            np.testing.assert_array_equal(seen.distances, D[np.ix_(seen.rows, seen.rows)])
            assert (members[k][seen.rows] == np.arange(level.n_nodes)).all(), (
                "a medoid is in its cluster"
            )
        leaf = tree.levels[0]
        by_definition = find_medoids(D, weights, leaf.grouping, PRECOMPUTED, hash_points(D, 1))
        np.testing.assert_array_equal(leaf.centroids.rows, by_definition)
        np.testing.assert_array_equal(
            tree.levels[1].members,
            build_hierarchy(leaf.centroids.distances, "precomputed").labels(0),
        )

    def test_new_rows_and_any_number_of_clusters_of_a_matrix(self) -> None:
        X, y = make_blobs(400, centers=5, n_features=5, cluster_std=0.5, random_state=2)
        D = cdist(X, X)
        tree = build_hierarchy(D[:300, :300], "precomputed")
        assert adjusted_mutual_info_score(y[:300], tree.labels(n_clusters=5)) > 0.95
        leaves, distances = tree.leaf_index().query(D[300:, :300], 1)
        medoids = tree.levels[0].centroids.rows
        np.testing.assert_array_equal(leaves, D[300:, medoids].argmin(axis=1))
        np.testing.assert_array_equal(distances, D[300:, medoids].min(axis=1))
        copy = pickle.loads(pickle.dumps(tree))
        np.testing.assert_array_equal(copy.leaf_index().query(D[300:, :300], 1)[0], leaves)

    def test_the_order_of_the_rows_makes_no_difference(self) -> None:
        X = RNG.integers(0, 3, (120, 8))  # hamming distances of codes: ties everywhere
        order = RNG.permutation(120)
        tree, other = build_hierarchy(X, "hamming"), build_hierarchy(X[order], "hamming")
        assert tree.level_sizes == other.level_sizes
        for a, b in zip(tree, other, strict=True):
            np.testing.assert_array_equal(
                np.unique(a.centroids, axis=0), np.unique(b.centroids, axis=0)
            )


def test_what_stands_for_a_cluster() -> None:
    X = RNG.normal(size=(20, 3))
    kinds = {
        m: known_metric(m).centroid_kind
        for m in ("euclidean", "chebyshev", *SETS, "hamming", "haversine", "precomputed")
    }
    assert {m for m, kind in kinds.items() if kind == "majority"} == set(SETS)
    assert {m for m, kind in kinds.items() if kind == "medoid"} == {
        "hamming",
        "haversine",
        "precomputed",
    }
    assert check_metric("mahalanobis", X).centroid_kind == "mean"
    assert known_metric(max).centroid_kind == "mean"


def test_metrics_of_a_space_on_the_sphere() -> None:
    # the mean of 179 and -179 degrees east would be on the other side of the world
    longitude = np.deg2rad(
        np.r_[RNG.uniform(178, 180, 20), RNG.uniform(-180, -178, 20), RNG.uniform(80, 84, 40)]
    )
    X = np.column_stack([RNG.uniform(-0.02, 0.02, 80), longitude])
    assert len(set(FINCH(2, metric="haversine").fit_predict(X)[:40])) == 1
