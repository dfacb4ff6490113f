"""Section 3.2: one map for rows and centroids."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from nestmap import build_hierarchy, preliminary
from nestmap.preliminary import KINDS, fit_pca, make_preliminary, pca_source


def same_up_to_sign(a: np.ndarray, b: np.ndarray) -> None:
    for x, y in zip(a.T, b.T, strict=True):
        np.testing.assert_allclose(x, y * np.sign((x * y).sum()), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(200, 12), (12, 200)])
def test_pca_is_pca(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).normal(size=shape) * np.linspace(1, 4, shape[1]) + 10
    same_up_to_sign(fit_pca(X, 3)(X, 1), PCA(3, svd_solver="full").fit_transform(X))


def test_standardized_pca() -> None:
    X = digits().astype(np.float64)
    same_up_to_sign(
        fit_pca(X, 2, True)(X, 2), PCA(2, svd_solver="full").fit_transform(StandardScaler().fit_transform(X))
    )


def test_sparse_pca_equals_dense_pca() -> None:
    X = np.where(digits() > 8, digits(), 0).astype(np.float64)
    S = sparse.csr_matrix(X)
    for standardize in (False, True):
        same_up_to_sign(fit_pca(S, 3, standardize)(S, 1), fit_pca(X, 3, standardize)(X, 1))


def test_components_beyond_the_rank_are_zero() -> None:
    X = np.zeros((20, 5))
    X[:, 1] = np.arange(20)
    z = fit_pca(X, 4)(X, 1)
    assert np.ptp(z[:, 0]) == pytest.approx(19)
    np.testing.assert_array_equal(z[:, 1:], 0)


def test_rule_for_the_level() -> None:
    rng = np.random.default_rng(0)
    small = build_hierarchy(digits())
    assert pca_source(digits(), small) is not small.levels[0].centroids  # X itself: level 0 is small
    X = rng.normal(size=(9000, 3)).astype(np.float32)
    tree = build_hierarchy(X, n_jobs=2)
    chosen = [k for k, level in enumerate(tree) if level.centroids is pca_source(X, tree)]
    assert chosen and tree.level_sizes[chosen[0]] >= 1000 > tree.level_sizes[chosen[0] + 1]


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
    whole = make_preliminary(X.astype("f8") if dtype == "f8" else X, tree, 2, kind, seed=3, standardize=True)
    mapped = np.memmap(tmp_path / "rows", dtype=dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    monkeypatch.setattr(preliminary, "_BLOCK_VALUES", 5000)
    found = [make_preliminary(mapped, tree, 2, kind, seed=3, standardize=True, n_threads=t) for t in (1, 3)]
    np.testing.assert_array_equal(found[0].rows, found[1].rows)
    np.testing.assert_allclose(found[0].rows, whole.rows, atol=1e-9 * np.ptp(whole.rows))
    assert whole.transform is not None
    np.testing.assert_array_equal(whole.transform(mapped, 2), whole.rows)  # the blocks make no difference


def test_wide_rows_are_read_in_blocks_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(12, 200)) * np.linspace(1, 4, 200) + 10
    whole = fit_pca(X, 3)
    monkeypatch.setattr(
        "nestmap.preliminary.blocks", lambda n, width, values=0: [slice(i, i + 7) for i in range(0, n, 7)]
    )
    np.testing.assert_allclose(fit_pca(X, 3).basis, whole.basis, atol=1e-9)
