"""Columns that say the same share a say: half of what they have in common is scaled away.

Plain distances count a fact as often as columns repeat it; in Mahalanobis distances noise counts as
much as what many columns agree on. This is half-way, with the covariances of the model of missing
cells: rows are multiplied by (C + floor)^(-1/4), then each column gets back the variance it had.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from ..core.arrays import blocks as cuts
from .blocks import Block, owners_of
from .filling import Filler
from .prototypes import times

_FLOOR = 0.1  # added to variances, as a share of their mean: rare directions stay small
_POWER = -0.25  # 0: plain distances, -0.5: those of Mahalanobis; benchmarks/tables_encoding.py
_IN_CACHE = 2**17  # numbers that are balanced at once
_SHARING = ("number", "category", "date")  # vectors and texts are metrics of their own


@dataclass(frozen=True, eq=False)
class Balance:
    """A symmetric matrix of low rank beside a multiple of one, for some columns of encoded rows.

    Attributes
    ----------
    columns : array of int
        Which columns share; the others stay as they are.
    directions : array of shape (n_columns, rank)
    more : array of shape (rank,)
        What the directions are multiplied by, beyond what all are.
    scale : array of shape (n_columns,)
    """

    columns: Array
    directions: Array
    more: Array
    scale: Array

    def apply(self, rows: Array) -> None:
        """Balance rows in place; a row gets the same bits alone and among others."""
        is_all = len(self.columns) == rows.shape[1]
        there = self.directions * self.more
        back = self.directions.T * self.scale
        for part in cuts(len(rows), rows.shape[1], _IN_CACHE):
            some = (rows[part] if is_all else rows[part, self.columns]).astype(np.float64)
            shared = times(times(some, there), back)
            some *= self.scale
            some += shared
            rows[part, slice(None) if is_all else self.columns] = some


def fit_balance(filler: Filler, blocks: tuple[Block, ...]) -> Balance:
    """The balance that follows from a model of the columns.

    Examples
    --------
    >>> from .decide import decide_cells
    >>> from .cells import read_cells
    >>> from .blocks import fit_block
    >>> from .prototypes import Prototypes
    >>> x = np.linspace(0, 1, 20)
    >>> table = read_cells({"a": x, "b": x + 0.01 * np.sin(40 * x), "c": np.cos(40 * x)})
    >>> blocks = tuple(fit_block(*each) for each in zip(table, decide_cells(table, None, "names")))
    >>> filler = Filler(np.array([[1.0], [1.0], [0.0]]), 0.01, Prototypes.none(3))
    >>> balance = fit_balance(filler, blocks)
    >>> rows = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    >>> balance.apply(rows)
    >>> bool(rows[0, 0] < 1 < rows[1, 0])
    True
    """
    owners = owners_of(blocks)
    shares = [block.encoder.kind in _SHARING and block.gain > 0 for block in blocks]
    columns = np.flatnonzero(np.array(shares)[owners])
    directions, sizes, _ = np.linalg.svd(filler.loadings[columns], full_matrices=False)
    common = sizes**2
    floor = _FLOOR * (common.sum() / max(1, len(columns)) + filler.noise)
    more = ((common + filler.noise + floor) / (filler.noise + floor)) ** _POWER - 1
    before = (directions**2) @ common + filler.noise
    after = (directions**2) @ ((common + filler.noise) * (1 + more) ** 2 - filler.noise)
    groups = owners[columns]
    kept = np.bincount(groups, before, minlength=len(blocks))
    left = np.bincount(groups, after + filler.noise, minlength=len(blocks))
    scale = np.sqrt(kept[groups] / left[groups])
    return Balance(columns, directions, more, scale)
