"""Eigenvectors and transforms as the library calls them: compiled where there is a build."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from . import core, eigen, fourier


def eigenvectors(matrices: Array, n_threads: int = 1) -> tuple[Array, Array]:
    """Eigenvalues (ascending) of a stack of symmetric matrices, eigenvectors as rows (see twin)."""
    scale = np.ones(len(matrices))
    if matrices.size:
        scale = np.ldexp(1.0, np.frexp(np.abs(matrices).max(axis=(1, 2)))[1])
    vectors = np.ascontiguousarray(matrices / scale[:, None, None])
    values = np.empty(matrices.shape[:2])
    if (native := core()) is None:
        for g, matrix in enumerate(vectors):
            values[g], vectors[g] = eigen.eigenvectors(matrix)
    else:
        native.eigenvectors(vectors, values, n_threads)
    return values * scale[:, None], vectors


def orthonormal(rows: Array) -> Array:
    """Orthonormal rows, each without what those before it hold (see the twin)."""
    rows = np.array(rows, dtype=np.float64, order="C")
    if (native := core()) is None:
        eigen.orthonormal(rows)
    else:
        native.orthonormal(rows)
    return rows


def convolve(charges: Array, shape: tuple[int, int], transfer: Array, n_threads: int) -> Array:
    """Charges on a grid, by transforms of the lengths `shape`, float32 (see the twin)."""
    if (native := core()) is None:
        return fourier.convolve(charges, *shape, transfer)
    of_rows, of_cols = (fourier.roots(n, "<f4") for n in shape)
    potential = np.empty_like(charges)
    native.convolve(charges, of_rows, of_cols, transfer, potential, n_threads)
    return potential


def even_transform(values: Array, shape: tuple[int, int], n_threads: int) -> Array:
    """The transform of values that are even along both axes (see the twin)."""
    if (native := core()) is None:
        return fourier.even_transform(values, *shape)
    of_rows, of_cols = (fourier.roots(n, "<f8") for n in shape)
    out = np.empty(values.shape[::-1])
    native.even_transform(values, of_rows, of_cols, out, n_threads)
    return out
