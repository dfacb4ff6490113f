"""Section 3.2: one map for rows and centroids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import digits, make_preliminary
from scipy import sparse
from scipy.linalg import hadamard
from sklearn.decomposition import PCA

from nestmap import Communities, build_hierarchy
from nestmap.method.preliminary import eigen
from nestmap.method.preliminary.build import KINDS, pca_source
from nestmap.method.preliminary.maps import LinearMap
from nestmap.method.preliminary.pca import fit_pca

pytestmark = pytest.mark.usefixtures("one_blas_thread")


def same_up_to_sign(a: np.ndarray, b: np.ndarray) -> None:
    for x, y in zip(a.T, b.T, strict=True):
        np.testing.assert_allclose(x, y * np.sign((x * y).sum()), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(200, 12), (12, 200)])
def test_pca_is_pca(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).normal(size=shape) * np.linspace(1, 4, shape[1]) + 10
    same_up_to_sign(fit_pca(X, 3)(X, 1), PCA(3, svd_solver="full").fit_transform(X))


def test_sparse_pca_equals_dense_pca() -> None:
    X = np.where(digits() > 8, digits(), 0).astype(np.float64)
    S = sparse.csr_matrix(X)
    same_up_to_sign(fit_pca(S, 3)(S, 1), fit_pca(X, 3)(X, 1))


def test_components_beyond_the_rank_are_zero() -> None:
    X = np.zeros((20, 5))
    X[:, 1] = np.arange(20)
    z = fit_pca(X, 4)(X, 1)
    assert np.ptp(z[:, 0]) == pytest.approx(19)
    np.testing.assert_array_equal(z[:, 1:], 0)


def test_rule_for_the_level() -> None:
    rng = np.random.default_rng(0)
    small = build_hierarchy(digits())
    assert (
        pca_source(digits(), small)[0] is not small.levels[0].centroids
    )  # X itself: level 0 is small
    X = rng.normal(size=(9000, 3)).astype(np.float32)
    tree = build_hierarchy(X, n_jobs=2)
    chosen = [k for k, level in enumerate(tree) if level.centroids is pca_source(X, tree)[0]]
    assert chosen and tree.level_sizes[chosen[0]] >= 1000 > tree.level_sizes[chosen[0] + 1]
    assert pca_source(X, tree)[1] is None  # the paper: each centroid counts once


def test_communities_count_as_their_rows() -> None:
    X = np.random.default_rng(0).normal(size=(9000, 3)).astype(np.float32)
    tree = Communities().fit(X).hierarchy_
    centroids, weights = pca_source(X, tree)
    assert weights is not None and weights.sum() == len(X)
    repeated = np.repeat(centroids, weights.astype(int), axis=0)
    for rows, counts in ((centroids, weights), (sparse.csr_matrix(centroids), weights)):
        found = fit_pca(rows, 2, weights=counts)
        same_up_to_sign(found(repeated, 1), fit_pca(repeated, 2)(repeated, 1))


def test_fewer_weighted_rows_than_columns() -> None:
    X = np.random.default_rng(0).normal(size=(6, 300))
    weights = np.array([1.0, 2, 3, 4, 5, 6])
    repeated = np.repeat(X, weights.astype(int), axis=0)
    same_up_to_sign(fit_pca(X, 2, weights=weights)(X, 1), fit_pca(repeated, 2)(X, 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_nodes_are_means_of_their_rows(kind: str, d: int) -> None:
    X = digits()
    tree = build_hierarchy(X)
    pre = make_preliminary(X, tree, d, kind, seed=4)
    assert pre.rows.shape == (1797, d) and pre.rows.dtype == np.float64
    for k in range(tree.n_levels):
        labels = tree.labels(k)
        means = np.stack([pre.rows[labels == g].mean(axis=0) for g in range(tree.level_sizes[k])])
        np.testing.assert_allclose(pre.nodes[k], means, atol=1e-9)
    assert pre.transform is not None
    np.testing.assert_array_equal(pre.transform(X[5:9], 1), pre.rows[5:9])


def test_random_kinds_follow_the_seed_and_have_no_preferred_direction() -> None:
    X = digits()
    tree = build_hierarchy(X)
    for kind in ("random", "random_projection"):
        a, b, c = (make_preliminary(X, tree, 2, kind, seed=s).rows for s in (1, 1, 2))
        np.testing.assert_array_equal(a, b)
        assert np.abs(np.corrcoef(a[:, 0], c[:, 0])[0, 1]) < 0.9
    z = make_preliminary(X, tree, 2, "random", seed=1).rows
    assert np.abs(z.mean(axis=0)).max() < 0.05 and np.abs(z).max() <= 0.5


@pytest.mark.parametrize("dtype", ["u1", "i1", "f2", "f4", "f8"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_read_in_blocks_from_any_array(
    kind: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, tree = digits(), build_hierarchy(digits())
    whole = make_preliminary(X.astype("f8") if dtype == "f8" else X, tree, 2, kind, seed=3)
    mapped = np.memmap(tmp_path / "rows", dtype=dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    for module in ("maps", "pca"):
        monkeypatch.setattr(f"nestmap.method.preliminary.{module}.VALUES_PER_READ", 5000)
    found = [make_preliminary(mapped, tree, 2, kind, seed=3, n_threads=t) for t in (1, 3)]
    np.testing.assert_array_equal(found[0].rows, found[1].rows)
    np.testing.assert_allclose(found[0].rows, whole.rows, atol=1e-9 * np.ptp(whole.rows))
    assert whole.transform is not None
    np.testing.assert_array_equal(
        whole.transform(mapped, 2), whole.rows
    )  # the blocks make no difference


def test_wide_rows_are_read_in_blocks_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(12, 200)) * np.linspace(1, 4, 200) + 10
    whole = fit_pca(X, 3)
    monkeypatch.setattr(
        "nestmap.method.preliminary.pca.blocks",
        lambda n, width, values=0: [slice(i, i + 7) for i in range(0, n, 7)],
    )
    np.testing.assert_allclose(fit_pca(X, 3).basis, whole.basis, atol=1e-9)


def odd_data() -> dict[str, np.ndarray]:
    """Data with many equal variances, few dimensions, or none."""
    rng = np.random.default_rng(0)
    found = {f"eye {n}": np.eye(n) for n in (1, 2, 3, 39, 56, 199, 201, 256, 300)}
    found |= {f"{rows} equal rows": np.full((rows, 7), 3.25) for rows in (1, 2, 300)}
    return found | {
        "zeros": np.zeros((250, 220)),
        "one column": np.arange(40.0)[:, None],
        "one row": rng.normal(size=(1, 300)),
        "rank 1": np.outer(rng.normal(size=90), rng.normal(size=250)),
        "rank 2, wide": rng.normal(size=(230, 2)) @ rng.normal(size=(2, 600)),
        "one-hot": np.eye(230)[np.arange(460) % 230],
        "hadamard": hadamard(256).astype(np.float64),
        "a constant column": np.eye(64)[:, :5] + [0, 0, 7, 0, 0],
    }


ODD = odd_data()


def variances(X: np.ndarray, k: int) -> np.ndarray:
    """Of the k principal components, times the number of rows; by SVD."""
    centred = X - X.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)[:k] ** 2
    return np.pad(values, (0, k - len(values)))


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("name", ODD)
def test_components_of_odd_data(name: str, store: type) -> None:
    X = store(ODD[name])
    for k in (1, 2, 6):
        z = fit_pca(X, k)(X, 1)
        expected = variances(ODD[name], k)
        np.testing.assert_allclose(
            (z * z).sum(axis=0), expected, rtol=1e-7, atol=1e-10 * max(1.0, expected[0])
        )
        np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_any_kind_takes_odd_data(kind: str) -> None:
    for X in ODD.values():
        for rows in (X, sparse.csr_matrix(X)):
            tree = build_hierarchy(rows)
            pre = make_preliminary(rows, tree, 3, kind)
            assert pre.rows.shape == (len(X), 3) and np.isfinite(pre.rows).all()


@pytest.mark.parametrize("density", [0.05, 0.3])
@pytest.mark.parametrize("shape", [(1024, 300), (512, 512), (256, 900)])
def test_sparse_rows_in_any_number(shape: tuple[int, int], density: float) -> None:
    """Powers of two: the sum of a row was exactly its mean, and a start vector of ones vanished."""
    X = sparse.random(*shape, density, random_state=3, format="csr")
    z = fit_pca(X, 2)(X, 1)
    np.testing.assert_allclose((z * z).sum(axis=0), variances(X.toarray(), 2), rtol=1e-7)


@pytest.mark.parametrize("name", ["hadamard", "eye 56", "eye 300", "one-hot", "rank 2, wide"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
def test_the_same_directions_each_time(name: str, store: type) -> None:
    X = store(ODD[name])
    first = fit_pca(X, 3).basis
    for n_threads in (1, 2, 8):
        np.testing.assert_array_equal(fit_pca(X, 3, n_threads=n_threads).basis, first)


class TestEigenvectors:
    def matrix(self, values: np.ndarray) -> np.ndarray:
        turn = np.linalg.qr(np.random.default_rng(1).normal(size=(len(values), len(values))))[0]
        return (turn * values) @ turn.T

    @pytest.mark.parametrize("k", [1, 3, 8])
    @pytest.mark.parametrize(
        "values",
        [
            np.concatenate([[5.0] * 7, 1 / np.arange(1, 350)]),  # equal ones at the top
            np.concatenate([[9, 4.0, 4.0], np.full(300, 1e-3)]),
            np.linspace(1, 2, 400),
            np.full(260, 3.0),
            np.concatenate([[1.0, 1e-6, 1e-12], np.zeros(300)]),
        ],
    )
    def test_are_the_leading_ones(self, values: np.ndarray, k: int) -> None:
        matrix = self.matrix(values)
        found = eigen.leading_eigenvectors(matrix.dot, len(values), k)
        top = np.sort(values)[::-1][:k]
        length = (top > 1e-13 * top[0]).astype(float)
        np.testing.assert_allclose(found.T @ found, np.diag(length), atol=1e-9)
        np.testing.assert_allclose(
            np.diag(found.T @ matrix @ found), top * length, rtol=1e-9, atol=1e-12
        )

    def test_iterations_that_do_not_end_are_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        matrix = self.matrix(np.linspace(1, 1.001, 300))
        monkeypatch.setattr(eigen, "_MAX_CYCLES", 1)
        assert eigen._lanczos(matrix.dot, 300, 2, 20) is None
        found = eigen.leading_eigenvectors(matrix.dot, 300, 2)
        np.testing.assert_allclose(
            np.diag(found.T @ matrix @ found), [1.001, 1.001 - 0.001 / 299], rtol=1e-12
        )
        monkeypatch.setattr(eigen, "_MAX_FALLBACK_ROWS", 299)  # too large: the best there is
        about = eigen.leading_eigenvectors(matrix.dot, 300, 2)
        np.testing.assert_allclose(about.T @ about, np.eye(2), atol=1e-9)

    def test_nothing(self) -> None:
        for n in (1, 300):
            np.testing.assert_array_equal(
                eigen.leading_eigenvectors(np.zeros((n, n)).dot, n, 2), np.zeros((n, 2))
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 30])
def test_a_sparse_row_alone_gives_the_bits_of_the_batch(d: int, dtype: type) -> None:
    rng = np.random.default_rng(2)
    X = sparse.random(70, 400, 0.2, random_state=1, format="csr", dtype=dtype)
    linear = LinearMap(rng.normal(size=400), rng.normal(size=(d, 400)))
    z = linear(X, 2)
    for i in (0, 1, 69):
        np.testing.assert_array_equal(linear(X[i], 1), z[i : i + 1])
    np.testing.assert_array_equal(linear(X[10:33], 1), z[10:33])
    np.testing.assert_allclose(z, linear(X.toarray(), 1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("exponent", [-1000, -600, 300])
@pytest.mark.parametrize("kind", ["pca_centroids", "pca", "random_projection"])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
def test_coordinates_of_huge_and_tiny_data(store: type, kind: str, exponent: int) -> None:
    X = np.random.default_rng(0).normal(size=(120, 5))
    X[X < 0.5] = 0
    tree = build_hierarchy(X)
    a, b = (make_preliminary(store(X * factor), tree, 2, kind) for factor in (1.0, 2.0**exponent))
    np.testing.assert_array_equal(a.rows, b.rows)
    assert b.unit == a.unit * 2.0**-exponent
    assert 0.5 <= np.abs(a.rows).max() < 1


def test_given_coordinates_are_scaled_and_not_changed() -> None:
    X, given = digits()[:50], np.random.default_rng(0).normal(size=(50, 2)) * 1e200
    before = given.copy()
    pre = make_preliminary(X, build_hierarchy(X), 2, given)
    np.testing.assert_array_equal(pre.rows, given * pre.unit)
    np.testing.assert_array_equal(given, before)
    assert np.abs(pre.rows).max() < 1
