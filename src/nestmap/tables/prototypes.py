"""Rows that stand for a table: what a missing cell is likely to be where relations are curved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.native import kernels

MOST = 512  # prototypes; 128 to 1000 were measured, benchmarks/tables_encoding.py
_FEWEST = 40  # of fewer rows none are near
_MOST_NUMBERS = 2**15  # of all prototypes: 128 kB of a model file
_FILLED = 0.125  # weight of a cell of a prototype that was missing itself
NEAR = 10  # prototypes whose mean is taken; 5, 10 and 20 were measured


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Some rows of the fit without gaps; none where the table is small.

    Attributes
    ----------
    rows : array of shape (n_prototypes, n_columns)
        Multiples of what float32 holds, as model files keep them.
    weights : array of shape (n_prototypes, n_columns)
        1 for a cell of the table, less for one that was missing: it says little that is new.
    trust : array of shape (n_columns,)
        From 0 to 1: how much better they tell a column than the model alone.
    """

    rows: Array
    weights: Array
    trust: Array

    @classmethod
    def none(cls, width: int) -> Prototypes:
        """For tables of few rows."""
        return cls(np.empty((0, width)), np.empty((0, width)), np.zeros(width))

    @classmethod
    def of(cls, rows: Array, known: Array) -> Prototypes:
        """Rows whose gaps were filled, and which cells they had."""
        kept = rows.astype(np.float32).astype(np.float64)
        return cls(kept, np.where(known, 1.0, _FILLED), np.ones(rows.shape[1]))

    def around(self, filled: Array, known: Array, *, are_own: bool = False) -> Array:
        """The mean of the prototypes that are nearest in the cells which a row has.

        Those that are equally far share the last places: the order of prototypes makes no
        difference, and neither do other rows. `are_own`: the rows are the prototypes, and none is
        near itself.

        Examples
        --------
        >>> rows = np.repeat([[0.0, 1.0], [5.0, 7.0]], NEAR, axis=0)
        >>> near = Prototypes.of(rows, np.ones(rows.shape, dtype=bool))
        >>> near.around(np.array([[4.0, 0.0]]), np.array([[True, False]])).tolist()
        [[5.0, 7.0]]
        """
        if not len(self.rows):
            return np.zeros(filled.shape)
        distances = times(known, (self.rows**2).T) - 2 * times(filled, self.rows.T)
        if are_own:
            np.fill_diagonal(distances, np.inf)
        limit = np.partition(distances, NEAR - 1, axis=1)[:, NEAR - 1 : NEAR]
        nearer = distances < limit
        last = distances == limit
        left = NEAR - nearer.sum(axis=1, keepdims=True)
        chosen = nearer + last * (left / last.sum(axis=1, keepdims=True))
        return np.asarray(times(chosen, self.weights * self.rows) / times(chosen, self.weights))


def choose(n_rows: int, width: int) -> Array:
    """Which rows of a table become prototypes: at equal distances in the order of the table.

    Examples
    --------
    >>> choose(2000, 8)[:3].tolist(), len(choose(2000, 8)), len(choose(30, 8))
    ([0, 4, 8], 500, 0)
    """
    most = min(MOST, _MOST_NUMBERS // width)
    if n_rows < _FEWEST or most < _FEWEST:
        return np.empty(0, dtype=np.int64)
    return np.arange(0, n_rows, -(-n_rows // most))


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
