"""NumPy twins of the kernels in cpp/eigen.cpp, operation by operation: the same bits."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array
from .twins import dot

_MOST_STEPS = 200
_NOTHING = 1e-280  # a square below it is of an entry that is nothing beside 1
_DEPENDENT = 1e-12
_MOST_TRIES = 16


def eigenvectors(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric matrix, ascending, and its eigenvectors as rows; O(n^3).

    Householder's reflections to a tridiagonal matrix, then the implicit QL method.
    """
    a = matrix.copy()
    beside, factors = _reduce(a)
    vectors = _gather(a, factors)
    d = np.diagonal(a).tolist()
    e = beside.tolist()
    for low in range(len(d)):
        _settle(d, e, vectors, low)
    order = np.argsort(d, kind="stable")
    return np.array(d)[order], vectors[order]


def _reduce(a: Array) -> tuple[Array, Array]:
    """What is beside the diagonal of a, and factors of reflections, whose vectors a keeps."""
    n = len(a)
    beside = np.zeros(n)
    factors = np.zeros(n)
    for k in range(n - 1):
        x = a[k, k + 1 :]
        beside[k] = x[0]
        if k == n - 2 or dot(x[1:], x[1:]) < _NOTHING:
            continue
        norm = math.sqrt(dot(x, x))
        beside[k] = -norm if x[0] > 0 else norm
        x[0] -= beside[k]
        factors[k] = 2 / dot(x, x)
        trailing = a[k + 1 :, k + 1 :]
        p = (x[:, None] * trailing).sum(axis=0) * factors[k]
        w = p - factors[k] * 0.5 * dot(p, x) * x
        trailing -= x[:, None] * w + w[:, None] * x
    return beside, factors


def _gather(a: Array, factors: Array) -> Array:
    """The product of all reflections, transposed."""
    n = len(a)
    q = np.eye(n)
    for k in range(n - 3, -1, -1):
        if factors[k]:
            x = a[k, k + 1 :]
            rest = q[k + 1 :, k + 1 :]
            p = (x[:, None] * rest).sum(axis=0)
            rest += -(factors[k] * x)[:, None] * p
    return np.ascontiguousarray(q.T)


def _settle(d: list[float], e: list[float], vectors: Array, low: int) -> None:
    """Shifted rotations until entry `low` of the diagonal stands alone."""
    for _ in range(_MOST_STEPS):
        m = low
        while m + 1 < len(d) and not _is_small(d, e, m):
            m += 1
        if m == low:
            return
        _chase(d, e, vectors, low, m)


def _is_small(d: list[float], e: list[float], m: int) -> bool:
    return abs(e[m]) <= 2.0**-53 * (abs(d[m]) + abs(d[m + 1])) or abs(e[m]) < 1e-290


def _chase(d: list[float], e: list[float], vectors: Array, low: int, m: int) -> None:
    g = (d[low + 1] - d[low]) / (2 * e[low])
    r = math.sqrt(g * g + 1)
    g = d[m] - d[low] + e[low] / (g + (-r if g < 0 else r))
    s = c = 1.0
    p = 0.0
    for i in range(m - 1, low - 1, -1):
        f = s * e[i]
        b = c * e[i]
        e[i + 1] = r = math.sqrt(f * f + g * g)
        if r == 0:
            d[i + 1] -= p
            e[m] = 0.0
            return
        s = f / r
        c = g / r
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        high = s * vectors[i] + c * vectors[i + 1]
        vectors[i] = c * vectors[i] - s * vectors[i + 1]
        vectors[i + 1] = high
    d[low] -= p
    e[low] = g
    e[m] = 0.0


def orthonormal(rows: Array) -> None:
    """Orthonormal rows, in place: each without what those before it hold; O(rows^2 · columns).

    Of rows that depend on those before them, other directions take the place.
    """
    n = rows.shape[1]
    for j, row in enumerate(rows):
        for following in range(_MOST_TRIES):
            before = math.sqrt(dot(row, row))
            for other in (*rows[:j], *rows[:j]):
                row += -dot(other, row) * other
            length = math.sqrt(dot(row, row))
            if length > _DEPENDENT * before:
                row /= length
                break
            row[:] = 0.0
            row[(j + following) % n] = 1.0
