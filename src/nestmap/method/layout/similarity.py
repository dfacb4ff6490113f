"""Similarity transforms that align one map with another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.rotations import polar
from .frozen import Frozen


@dataclass(frozen=True, eq=False)
class Similarity(Frozen):
    """x -> factor * x @ turn + shift."""

    turn: Array  # (d, d), orthogonal
    shift: Array  # (d,)
    factor: float

    def __call__(self, positions: Array) -> Array:
        """Apply to positions, (n, d)."""
        if self.is_identity:
            return positions
        return np.asarray(self.factor * self.turned(positions) + self.shift)

    def turned(self, ways: Array) -> Array:
        """Rotate offsets, (n, d); bits do not depend on the batch."""
        if self.is_identity:
            return ways
        out = ways[:, :1] * self.turn[0]
        for k in range(1, ways.shape[1]):
            out += ways[:, k : k + 1] * self.turn[k]
        return np.asarray(out)

    @property
    def is_identity(self) -> bool:
        return bool(
            self.factor == 1
            and not self.shift.any()
            and (self.turn == np.eye(len(self.turn))).all()
        )

    @property
    def mirrors(self) -> bool:
        return bool(np.linalg.det(self.turn) < 0)


def align(positions: Array, onto: Array) -> Similarity:
    """The similarity that takes `positions` nearest to `onto`: orthogonal Procrustes.

    Without extent on either side there is nothing to scale by: then it only shifts (and turns).

    Examples
    --------
    >>> square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    >>> found = align(square, 2 * square[:, ::-1] + 5)
    >>> found(square).round(6).tolist(), found.mirrors
    ([[5.0, 5.0], [5.0, 7.0], [7.0, 7.0], [7.0, 5.0]], True)
    """
    a = positions - positions.mean(axis=0)
    b = onto - onto.mean(axis=0)
    turns, lengths = polar((a[:, :, None] * b[:, None, :]).sum(axis=0)[None])
    size = float((a * a).sum())
    length = float(lengths[0])
    has_extent = size > 0 and length > 0
    turn, factor = (turns[0], length / size) if has_extent else (np.eye(a.shape[1]), 1.0)
    middle = (positions.mean(axis=0)[:, None] * turn).sum(axis=0)
    return Similarity(turn, onto.mean(axis=0) - factor * middle, factor)


def fit_scale(positions: Array, onto: Array) -> tuple[float, Array]:
    """The factor and the shift that take positions nearest to others, without a turn."""
    a = positions - positions.mean(axis=0)
    b = onto - onto.mean(axis=0)
    size = float((a * a).sum())
    along = float((a * b).sum())
    factor = along / size if size > 0 and along > 0 else 1.0
    return factor, onto.mean(axis=0) - factor * positions.mean(axis=0)


def spread(positions: Array) -> float:
    """Root mean square distance from the mean: the unit of displacements."""
    centred = positions - positions.mean(axis=0)
    return float(np.sqrt((centred**2).sum(axis=1).mean()))
