"""Leading eigenvectors of positive semi-definite matrices, reproducible to the bit everywhere.

ARPACK restarts from a random state of its own where a Krylov space is exhausted, as it is for data
with many equal variances, and fails on some of them. Here restarts are seeded, and a dense
decomposition is the fallback.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.arrays import Array
from ...core.exact import product
from ...core.native import kernels

_MAX_DIRECT_ROWS = 200  # of a matrix that is decomposed at once
_MAX_RESIDUAL = 1e-12  # of a good eigenvector, as a share of the largest eigenvalue
# growth of the sum of eigenvalues, as a share of the largest, that a new start may bring at the end
_MAX_GAIN = 1e-10
_MAX_CYCLES = 300  # Lanczos restarts
_MAX_FALLBACK_ROWS = 2000  # of a matrix that is decomposed at once where iterations do not end
_EXHAUSTED = 1e-13  # norm of the next direction, as a share of the largest entry: it is rounding
_ZERO_EIGENVALUE = 1e-14  # as a share of the largest: smaller ones are rounding errors

Apply = Callable[[Array], Array]  # v -> A v


def leading_eigenvectors(apply: Apply, n: int, k: int) -> Array:
    """Leading k eigenvectors, as columns, of a symmetric matrix.

    It has no negative eigenvalues; columns beyond its rank are zero.

    Parameters
    ----------
    apply : callable
        Multiplies a vector with the matrix.
    n : int
        Rows of the matrix.

    Examples
    --------
    >>> matrix = np.diag([4.0, 9.0, 0.0])
    >>> np.abs(leading_eigenvectors(matrix.dot, 3, 3)).round(6).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    n_basis = 2 * k + 16
    found = None
    if n > _MAX_DIRECT_ROWS and 2 * n_basis < n:
        found = _lanczos(apply, n, k, n_basis)
    values, vectors = _full(apply, n, k) if found is None else found
    vectors[:, values <= _ZERO_EIGENVALUE * max(values[0], 0.0)] = 0.0
    return np.asarray(np.pad(vectors, ((0, 0), (0, k - vectors.shape[1]))))


def _full(apply: Apply, n: int, k: int) -> tuple[Array, Array]:
    """By a dense decomposition, which always converges."""
    values, vectors = _eigenvectors(np.stack([apply(row) for row in np.eye(n)]))
    return values[:k], vectors[:k].T.copy()


def _eigenvectors(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, the largest first, and eigenvectors as rows."""
    values, vectors = kernels.eigenvectors(matrix[None])
    return values[0, ::-1].copy(), vectors[0, ::-1]


def _lanczos(apply: Apply, n: int, k: int, n_basis: int) -> tuple[Array, Array] | None:
    """By thick-restart Lanczos iteration.

    None where it does not converge (and n is small).

    A Krylov space holds one eigenvector of each eigenvalue. So a result stands only if a new start,
    orthogonal to it, adds nothing.
    """
    random = np.random.default_rng(0)
    # small: basis @ A @ basis.T
    basis = np.empty((n_basis, n))
    small = np.zeros((n_basis, n_basis))
    n_kept = 0
    total = -np.inf
    start = _new_direction(random, basis[:0])
    for _ in range(_MAX_CYCLES):
        start, rest = _extend(apply, basis, small, n_kept, start, random)
        values, turn = _eigenvectors(small)
        n_kept = k + 6
        kept = turn[:n_kept]
        values = values[:n_kept]
        basis[:n_kept] = product(kept, basis, 3)
        small[:] = 0.0
        small[np.arange(n_kept), np.arange(n_kept)] = values
        if rest * np.abs(kept[:k, -1]).max() > _MAX_RESIDUAL * values[0]:
            continue
        if values[:k].sum() - total <= _MAX_GAIN * values[0]:
            return values[:k], basis[:k].T.copy()
        total = values[:k].sum()
        start = _new_direction(random, basis[:n_kept])
    return None if n <= _MAX_FALLBACK_ROWS else (values[:k], basis[:k].T.copy())


def _extend(
    apply: Apply, basis: Array, small: Array, n_kept: int, start: Array, random: np.random.Generator
) -> tuple[Array, float]:
    """Fill the basis from row n_kept on; the next direction, and how much of it there is."""
    rest = 0.0
    for j in range(n_kept, len(basis)):
        basis[j] = start
        so_far = basis[: j + 1]
        image = apply(start)
        shares = (so_far * image).sum(axis=1)
        image = image - (shares[:, None] * so_far).sum(axis=0)
        again = (so_far * image).sum(axis=1)  # once more: what rounding left behind
        image -= (again[:, None] * so_far).sum(axis=0)
        small[j, : j + 1] = small[: j + 1, j] = shares + again
        rest = float(np.sqrt((image * image).sum()))
        # the Krylov space is exhausted: go on in another direction
        if rest <= _EXHAUSTED * np.abs(small).max():
            start = _new_direction(random, so_far)
            rest = 0.0
        else:
            start = image / rest
    return start, rest


def _new_direction(random: np.random.Generator, basis: Array) -> Array:
    """A generic unit vector, orthogonal to the rows of basis."""
    found = np.asarray(random.random(basis.shape[1])) - 0.5
    for _ in range(3):
        shares = (basis * found).sum(axis=1)
        found = found - (shares[:, None] * basis).sum(axis=0)
        found = found / np.sqrt((found * found).sum())
    return found
