"""Orthogonal matrices, added up in one order: the same bits on every machine."""

from __future__ import annotations

import numpy as np

from .arrays import Array
from .native import kernels


def turned(turns: Array, maps: Array) -> Array:
    """turns @ maps for each of a stack."""
    parts = (turns[:, :, e, None] * maps[:, None, e] for e in range(maps.shape[1]))
    return np.asarray(sum(parts))


def polar(matrices: Array) -> tuple[Array, Array]:
    """U V' of the singular value decompositions U S V' of a stack, and the sums of S.

    Where a matrix has not its full rank, any directions complete U.
    """
    values, right = kernels.eigenvectors(turned(matrices.transpose(0, 2, 1), matrices))
    right = right[:, ::-1]  # the largest first: what they leave is for the others
    left = turned(right, matrices.transpose(0, 2, 1))
    for a in left:
        a[:] = kernels.orthonormal(a)
    return turned(left.transpose(0, 2, 1), right), np.sqrt(np.maximum(values, 0)).sum(axis=1)
