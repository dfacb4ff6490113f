"""The same bits on every machine: kernels against twins, committed hashes, products in any order."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import builds, using
from scipy import sparse

from nestmap.core import exact
from nestmap.core.native import fourier, kernels
from nestmap.core.rotations import polar
from tools import same_bits

WAYS = (*builds(), "off")
GOLDEN = Path(__file__).with_name("golden_bits.json")


def symmetric(n: int, rank: int | None = None) -> np.ndarray:
    x = np.random.default_rng(n).standard_normal((n, rank or n))
    return np.asarray(x @ x.T)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 17, 40])
@pytest.mark.parametrize("rank", [None, 1])
def test_eigenvectors_have_the_bits_of_the_twin(n: int, rank: int | None) -> None:
    matrices = np.stack([symmetric(n, rank), np.eye(n), np.zeros((n, n))])
    found = []
    for way in WAYS:
        with using(way):
            found.append(kernels.eigenvectors(matrices, 2))
    values, vectors = found[0]
    for others in found[1:]:
        np.testing.assert_array_equal(values, others[0])
        np.testing.assert_array_equal(vectors, others[1])
    np.testing.assert_allclose(vectors @ vectors.transpose(0, 2, 1), [np.eye(n)] * 3, atol=1e-13)
    back = np.einsum("gki,gk,gkj->gij", vectors, values, vectors)
    np.testing.assert_allclose(back, matrices, atol=1e-13 * max(1, np.abs(matrices).max()) * n)


def test_orthonormal_rows_have_the_bits_of_the_twin_and_span_what_was_given() -> None:
    rows = np.random.default_rng(0).standard_normal((9, 21))
    rows[4] = 2 * rows[1] - rows[0]  # dependent
    rows[6] = 0
    found = []
    for way in WAYS:
        with using(way):
            found.append(kernels.orthonormal(rows))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    np.testing.assert_allclose(found[0] @ found[0].T, np.eye(9), atol=1e-14)
    np.testing.assert_allclose(rows @ found[0].T @ found[0], rows, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (16, 9), (37, 50), (75, 128)])
def test_convolution_has_the_bits_of_the_twin(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    charges = rng.random(shape).astype(np.float32)
    lengths = fourier.good_length(2 * shape[0]), fourier.good_length(2 * shape[1])
    half = rng.random([n // 2 + 1 for n in lengths])
    ways = [np.minimum(np.arange(n), n - np.arange(n)) for n in lengths]
    transform = np.fft.rfft2(half[np.ix_(*ways)]).real
    found = []
    even = []
    for way in WAYS:
        with using(way):
            even.append(kernels.even_transform(half, lengths, 2))
            transfer = even[0][:, ways[0]] / (2 * lengths[0] * lengths[1])
            transfer = np.ascontiguousarray(transfer, dtype=np.float32)
            found.append(kernels.convolve(charges, lengths, transfer, 2))
    for i in range(1, len(WAYS)):
        np.testing.assert_array_equal(even[0], even[i])
        np.testing.assert_array_equal(found[0], found[i])
    np.testing.assert_allclose(even[0].T, transform[: lengths[0] // 2 + 1], atol=1e-9)
    expected = np.fft.irfft2(np.fft.rfft2(charges, s=lengths) * transform, s=lengths)
    expected = expected[: shape[0], : shape[1]]
    np.testing.assert_allclose(found[0], expected, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("count", [1, 2, 3])
def test_products_do_not_depend_on_the_order_of_their_terms(count: int) -> None:
    rng = np.random.default_rng(2)
    a = rng.standard_normal((20, 300)) * rng.random((20, 1)) ** 8
    b = rng.standard_normal((300, 7))
    order = rng.permutation(300)
    found = exact.product(a, b, count)
    np.testing.assert_array_equal(found, exact.product(a[:, order], b[order], count))
    np.testing.assert_allclose(found, a @ b, atol=1e3 * 2.0 ** (-20 * min(count, 2.4)))
    S = sparse.csr_matrix(np.where(a > 0, a, 0))
    found = exact.product(S, b, count)
    np.testing.assert_array_equal(found, exact.product(S[:, order], b[order], count))
    np.testing.assert_allclose(found, S @ b, atol=1e3 * 2.0 ** (-20 * min(count, 2.4)))


def test_functions_are_right_to_about_the_last_bit() -> None:
    x = np.random.default_rng(3).uniform(-690, 690, 20_000)
    assert np.abs(exact.exp(x) / [math.exp(each) for each in x] - 1).max() < 4e-16
    assert exact.exp(-800.0) == 0
    y = exact.exp(x)
    assert np.abs(exact.log(y) - x).max() < 3e-13
    share = np.random.default_rng(4).uniform(-3, 3, 20_000)
    c, s = exact.turn(share)
    angle = 2 * np.pi * share
    assert max(np.abs(c - np.cos(angle)).max(), np.abs(s - np.sin(angle)).max()) < 5e-15
    assert [float(part) for part in exact.turn(0.25)] == [0, 1]


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_polar_is_the_orthogonal_part_and_the_sum_of_singular_values(d: int) -> None:
    matrices = np.random.default_rng(d).standard_normal((20, d, d))
    left, values, right = np.linalg.svd(matrices)
    found, sums = polar(matrices)
    np.testing.assert_allclose(found, left @ right, atol=1e-6)
    np.testing.assert_allclose(sums, values.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("build", builds())
@pytest.mark.parametrize("case", same_bits.QUICK)
def test_clusters_maps_and_new_rows_have_the_committed_bits(build: str, case: str) -> None:
    """Of whatever machine these tests run on; `python -m tools.same_bits` has all cases."""
    before = json.loads(GOLDEN.read_text())
    with using(build):
        for key, found in same_bits.take(*case.split(), n_jobs=2).items():
            assert found == before[key], key
