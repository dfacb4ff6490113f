"""Missing cells: what is to be expected from the other columns of the row, no more.

A low-rank normal model of the encoded columns (probabilistic principal components, Tipping and
Bishop 1999), fitted to the filled cells by expectation and maximisation. The expected value of a
cell that nothing predicts is the mean of its column; one that others predict is what they say.

Relations may be curved: the model says how a row differs from the mean of the prototypes near it,
not from that of the whole table (`prototypes.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from ..core.arrays import Array, blocks
from .prototypes import Prototypes, choose, times

RANK = 20  # directions of the model; 3 to 20 were measured, benchmarks/tables_encoding.py
_PASSES = 3  # of prototypes whose own gaps are filled by prototypes; they hardly change after that
_PARTS = 5  # of the cells of prototypes, each hidden once
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
    prototypes : Prototypes
    """

    loadings: Array
    noise: float
    prototypes: Prototypes

    @property
    def pairs(self) -> Array:
        """Products of loadings, (n_columns, rank²)."""
        products = self.loadings[:, :, None] * self.loadings[:, None, :]
        return np.asarray(products.reshape(len(products), -1))

    def fill(self, rows: Array) -> None:
        """Put expected values in place of NaN, in place; the columns have mean 0.

        A row gets the same bits alone and among others.
        """
        width = rows.shape[1] + 2 * self.loadings.shape[1] ** 2 + 4 * len(self.prototypes.rows)
        for part in blocks(len(rows), width):
            block = rows[part]
            gaps = np.isnan(block)
            torn = np.flatnonzero(gaps.any(axis=1))
            if len(torn):
                known = ~gaps[torn]
                kept = np.where(known, block[torn], 0.0)
                block[torn] = np.where(known, kept, self._expected(kept, known))

    def _expected(self, kept: Array, known: Array) -> Array:
        """What the model says of rows, and the prototypes of what it leaves out."""
        linear = self._linear(kept, known)
        if not self.prototypes.trust.any():
            return linear
        return np.asarray(linear + self.prototypes.trust * self._curved(kept, known))

    def _linear(self, kept: Array, known: Array) -> Array:
        return times(self._scores(kept, known, times).scores, self.loadings.T)

    def _curved(self, kept: Array, known: Array, *, are_own: bool = False) -> Array:
        """How prototypes near a row lie beside what the model says of them."""
        around = self.prototypes.around(kept, known, are_own=are_own)
        return around - self._linear(np.where(known, around, 0.0), known)

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


def fit_filler(rows: Array, owners: Array, rank: int = RANK) -> Filler:
    """The model of centred columns with NaN for missing cells, and its prototypes.

    `owners`: the column of the table that each column is a number of.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 50)
    >>> rows = np.stack([x, x, -x], axis=1)
    >>> rows[0, 2] = np.nan
    >>> fit_filler(rows, np.arange(3)).fill(rows)
    >>> bool(abs(rows[0, 2] - 1) < 0.05)
    True
    """
    filler = _fit_low_rank(rows[:: max(1, -(-len(rows) // _SAMPLE))].astype(np.float64), rank)
    chosen = rows[choose(*rows.shape)].astype(np.float64)
    if not len(chosen):
        return filler
    for _ in range(_PASSES if np.isnan(chosen).any() else 1):
        whole = chosen.copy()
        filler.fill(whole)
        filler = replace(filler, prototypes=Prototypes.of(whole, ~np.isnan(chosen)))
        trust = _find_trust(filler, chosen, owners)
        filler = replace(filler, prototypes=replace(filler.prototypes, trust=trust))
    return filler


def _find_trust(filler: Filler, chosen: Array, owners: Array) -> Array:
    """How much of what prototypes say of hidden cells holds, by column: least squares."""
    there = ~np.isnan(chosen)
    shape = (len(chosen), owners.max() + 1)
    part = np.random.default_rng(0).integers(0, _PARTS, shape)[:, owners]
    products = np.zeros(chosen.shape[1])
    squares = np.full(chosen.shape[1], 1e-300)
    for hidden in range(_PARTS):
        known = there & (part != hidden)
        asked = there & (part == hidden)
        kept = np.where(known, chosen, 0.0)
        curved = np.where(asked, filler._curved(kept, known, are_own=True), 0.0)
        left = np.where(asked, chosen - filler._linear(kept, known), 0.0)
        products += (curved * left).sum(axis=0)
        squares += (curved**2).sum(axis=0)
    return np.asarray(np.clip(products / squares, 0.0, 1.0))


def _fit_low_rank(some: Array, rank: int) -> Filler:
    """The model alone."""
    gaps = np.isnan(some)
    known = ~gaps
    filled = np.where(gaps, 0.0, some)
    rank = max(1, min(rank, some.shape[1] - 1, len(some) - 1))
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
    return Filler(loadings, noise, Prototypes.none(width))
