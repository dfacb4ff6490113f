"""Missing cells: what is to be expected from the other columns of the row, no more.

A low-rank normal model of the encoded columns (probabilistic principal components, Tipping and
Bishop 1999), fitted to the filled cells by expectation and maximisation. The expected value of a
cell that nothing predicts is the mean of its column; one that others predict is what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from ..core.arrays import Array, blocks
from ..core.native import kernels

RANK = 20  # directions of the model; 3 to 20 were measured, benchmarks/tables_encoding.py
_ROUNDS = 20  # of expectation and maximisation
_SETTLED = 1e-3  # relative change of what is unsure that ends them
_SAMPLE = 10_000  # rows that the model is fitted to: 32 MB of their covariances
_FLOOR = 1e-3  # least noise, as a share of the mean variance of a column
_Multiply = Callable[[Array, Array], Array]  # rows and a matrix


@dataclass(frozen=True, eq=False)
class Filler:
    """Expected values of missing cells.

    Attributes
    ----------
    loadings : array of shape (n_columns, rank)
    noise : float
        Variance of a cell around what the model says.
    """

    loadings: Array
    noise: float

    @property
    def pairs(self) -> Array:
        """Products of loadings, (n_columns, rank²)."""
        products = self.loadings[:, :, None] * self.loadings[:, None, :]
        return np.asarray(products.reshape(len(products), -1))

    def fill(self, rows: Array) -> None:
        """Put expected values in place of NaN, in place; the columns have mean 0.

        A row gets the same bits alone and among others.
        """
        width = rows.shape[1]
        for part in blocks(len(rows), width + 2 * self.loadings.shape[1] ** 2):
            block = rows[part]
            gaps = np.isnan(block)
            torn = np.flatnonzero(gaps.any(axis=1))
            if len(torn):
                kept = np.where(gaps[torn], 0.0, block[torn])
                scores = self._scores(kept, ~gaps[torn], times).scores
                expected = times(scores, self.loadings.T)
                block[torn] = np.where(gaps[torn], expected, kept)

    def _scores(self, filled: Array, known: Array, multiply: _Multiply) -> Scores:
        """Where rows lie in the model, from the cells that they have."""
        rank = self.loadings.shape[1]
        bits = np.packbits(known, axis=1)
        packed = np.ascontiguousarray(bits).view(f"V{bits.shape[1]}")[:, 0]
        _, first, which = np.unique(packed, return_index=True, return_inverse=True)
        patterns = known[first]
        precision = multiply(patterns, self.pairs).reshape(-1, rank, rank)
        inverse = np.linalg.inv(precision + self.noise * np.eye(rank))
        wanted = multiply(filled, self.loadings)
        scores = np.einsum("nij,nj->ni", inverse[which], wanted)
        return Scores(scores, patterns, np.bincount(which), self.noise * inverse)


@dataclass(frozen=True, eq=False)
class Scores:
    """Where rows lie in the model, and how sure that is: it depends on what they have only.

    Attributes
    ----------
    scores : array of shape (n_rows, rank)
    patterns : array of bool, shape (n_patterns, n_columns)
        Which cells rows have.
    counts : array of shape (n_patterns,)
    covariance : array of shape (n_patterns, rank, rank)
    """

    scores: Array
    patterns: Array
    counts: Array
    covariance: Array


def _by_blas(rows: Array, matrix: Array) -> Array:
    """The product of rows and a matrix, fast; a fit has one batch of rows."""
    return np.asarray(rows.astype(np.float64) @ matrix)


def times(rows: Array, matrix: Array) -> Array:
    """The product of rows and a matrix, in float64.

    Not by BLAS, which sums in an order that depends on the number of rows: a row alone gives the
    bits that it gives among others.

    Examples
    --------
    >>> times(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0], [1.0, 3.0]])).tolist()
    [[3.0, 6.0]]
    """
    whole = np.ascontiguousarray(rows, dtype=np.float64)
    return kernels.project(whole, np.zeros(rows.shape[1]), matrix.T, 1)


def fit_filler(rows: Array, rank: int = RANK) -> Filler:
    """The model of centred columns with NaN for missing cells.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)
    >>> rows = np.stack([x, x, -x], axis=1)
    >>> rows[0, 2] = np.nan
    >>> fit_filler(rows).fill(rows)
    >>> bool(abs(rows[0, 2] - 1) < 0.05)
    True
    """
    some = rows[:: max(1, -(-len(rows) // _SAMPLE))].astype(np.float64)
    gaps = np.isnan(some)
    known = ~gaps
    filled = np.where(gaps, 0.0, some)
    rank = max(1, min(rank, rows.shape[1] - 1, len(some) - 1))
    n_known = np.maximum(1, known.sum(axis=0))
    unsure = gaps.sum(axis=0) * ((filled**2).sum(axis=0) / n_known)  # what zeros leave out
    filler = _leading(filled.T @ filled + np.diag(unsure), len(some), rank)
    if not gaps.any():
        return filler
    torn = gaps.any(axis=1)
    n_holes = gaps.sum(axis=0)
    whole = filled[~torn].T @ filled[~torn]  # the same in all rounds
    before = np.inf
    for _ in range(_ROUNDS):
        found = filler._scores(filled[torn], known[torn], _by_blas)
        now = np.where(gaps[torn], found.scores @ filler.loadings.T, filled[torn])
        holes = ~found.patterns * found.counts[:, None].astype(np.float64)
        spread = holes.T @ found.covariance.reshape(len(holes), -1)
        unsure = (spread * filler.pairs).sum(axis=1) + filler.noise * n_holes
        filler = _leading(whole + now.T @ now + np.diag(unsure), len(some), rank)
        if abs(unsure.sum() - before) <= _SETTLED * unsure.sum():
            break
        before = float(unsure.sum())
    return filler


def _leading(products: Array, n_rows: int, rank: int) -> Filler:
    """The model with these sums of products."""
    matrix = products / max(1, n_rows)
    width = len(matrix)
    values, vectors = eigh(matrix, subset_by_index=(width - rank, width - 1))
    values = np.maximum(values[::-1], 0.0)
    total = float(np.trace(matrix))
    left = max(0.0, total - float(values.sum()))
    noise = max(left / (width - rank) if rank < width else 0.0, _FLOOR * total / width, 1e-12)
    loadings = vectors[:, ::-1] * np.sqrt(np.maximum(values - noise, 0.0))
    return Filler(loadings, noise)
