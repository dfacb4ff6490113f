"""Arithmetic with the same bits on every machine: products of matrices, exp, log, sine.

BLAS adds up in an order of its own, which depends on the processor. A sum of numbers on a grid that
is coarse enough has no rounding, so no order either: factors are cut into slices of a few bits, and
BLAS multiplies these. exp, log and the like differ from one C library (and one instruction set of
NumPy) to the next in the last digit: here they are made of additions, products and roots, which
IEEE 754 defines to the bit.
"""

from __future__ import annotations

from itertools import product as pairs
from math import factorial
from typing import Any

import numpy as np
from scipy import sparse

from .arrays import Array

_MAX_TERMS = 4096  # of a sum that is exact; longer ones are sums of such
_BITS = 20  # of a slice: two of them and 12 for the terms are 52, what float64 adds up exactly
_MIN_EXPONENT = -1040  # of the largest value: smaller ones count as 0
_MAX_EXPONENT = 900  # exponents beyond which a factor may leave the range of float64


def slices(x: Array, axis: int, count: int, bits: int = _BITS) -> tuple[list[Array], Array]:
    """x in parts that add up to about x, whole numbers up to 2**bits; and their unit.

    Part i is in units of `unit * 2**(-bits * i)`; each line along `axis` has a unit of its own.
    """
    largest = np.maximum(x.max(axis=axis, keepdims=True), -x.min(axis=axis, keepdims=True))
    exponent = np.maximum(np.frexp(largest)[1], _MIN_EXPONENT)
    rest = _times_power(x, bits - exponent)
    parts = []
    for _ in range(count - 1):
        whole = np.rint(rest)
        parts.append(whole)
        rest -= whole
        rest *= 2.0**bits
    return [*parts, np.rint(rest, out=rest)], np.ldexp(1.0, exponent - bits)


def _times_power(x: Array, exponent: Array) -> Array:
    """x * 2**exponent, which has no rounding."""
    if np.abs(exponent).max(initial=0) > _MAX_EXPONENT:
        return np.asarray(np.ldexp(x, exponent))
    return np.asarray(x * np.ldexp(1.0, exponent))


def product(a: Any, b: Any, count: int = 2) -> Array:
    """a @ b to about 20 bits per slice, in float64; stacks of matrices as well, and sparse ones.

    Of a sparse factor on the right all values have one unit.
    """
    k = a.shape[-1]
    is_sparse = sparse.issparse(a) or sparse.issparse(b)
    if k > _MAX_TERMS and not is_sparse:
        steps = range(0, k, _MAX_TERMS)
        parts = (
            product(a[..., i : i + _MAX_TERMS], b[..., i : i + _MAX_TERMS, :], count) for i in steps
        )
        return np.asarray(sum(parts))
    if 0 in a.shape or 0 in b.shape:
        return np.asarray(np.zeros((*a.shape[:-1], b.shape[-1])))
    bits = bits_for(k) if is_sparse else _BITS
    left, left_unit = _slices(a, -1, count, bits)
    right, right_unit = _slices(b, -2, count, bits)
    total = _add_up(left, right, bits)
    total = total.toarray() if sparse.issparse(total) else total
    return np.asarray(total * left_unit * right_unit)


def gram(x: Array, count: int = 2) -> Array:
    """x.T @ x, as `product`; both factors have the same slices."""
    if 0 in x.shape:
        return np.zeros((x.shape[1], x.shape[1]))
    parts = []
    for i in range(0, len(x), _MAX_TERMS):
        right, unit = _slices(x[i : i + _MAX_TERMS], -2, count, _BITS)
        total = _add_up([each.T for each in right], right, _BITS)
        parts.append(total * unit.T * unit)
    return np.asarray(sum(parts))


def _add_up(left: list[Any], right: list[Any], bits: int) -> Any:
    """Products of all slices that count, small ones first."""
    count = len(left)
    total: Any = 0.0
    for level in range(count - 1, -1, -1):
        of_level = (left[i] @ right[j] for i, j in pairs(range(count), repeat=2) if i + j == level)
        total = total * 2.0**-bits + sum(of_level)
    return total


def _slices(x: Any, axis: int, count: int, bits: int) -> tuple[list[Any], Array]:
    """As `slices`, of any number type, and of sparse values: there columns have one unit."""
    if not sparse.issparse(x):
        return slices(x.astype(np.float64, copy=False), axis, count, bits)
    x = x.tocsr()
    largest = abs(x).max(axis=1).toarray() if axis == -1 else np.full((1, 1), abs(x).max())
    exponent = np.maximum(np.frexp(largest)[1], _MIN_EXPONENT)
    of_row = np.broadcast_to(bits - exponent[:, 0], x.shape[0])
    rest = _times_power(x.data.astype(np.float64), np.repeat(of_row, np.diff(x.indptr)))
    parts = []
    for _ in range(count):
        parts.append(x._with_data(np.rint(rest)))
        rest = (rest - np.rint(rest)) * 2.0**bits
    return parts, np.ldexp(1.0, exponent - bits)


def rounded(x: Array, bits: int) -> Array:
    """Values as multiples of 2**-bits of a power of two that is above them all."""
    if x.size == 0:
        return x
    exponent = max(int(np.frexp(max(float(x.max()), -float(x.min())))[1]), _MIN_EXPONENT)
    scale = float(np.ldexp(1.0, bits - exponent))
    return np.asarray(np.rint(x * scale) * float(np.ldexp(1.0, exponent - bits)))


def bits_for(n_terms: int) -> int:
    """Bits of two factors each, so that a sum of so many products is exact in float64."""
    return (52 - max(1, int(n_terms - 1)).bit_length()) // 2


# -- functions ------------------------------------------------------------------------------------

_LN2_HIGH = 0.6931471803691238  # the first 33 bits of log(2), and the rest
_LN2_LOW = 1.9082149292705877e-10
_SERIES = tuple(1 / factorial(k) for k in range(18))
_EXP_TERMS = _SERIES[:14]
_SIN_TERMS = tuple((-1) ** k * _SERIES[2 * k + 1] for k in range(9))
_COS_TERMS = tuple((-1) ** k * _SERIES[2 * k] for k in range(9))


def _polynomial(x: Array, terms: tuple[float, ...]) -> Array:
    total = np.full_like(x, terms[-1])
    for term in terms[-2::-1]:
        total = total * x + term
    return total


def exp(x: Any) -> Array:
    """e**x in float64, to about the last bit; 0 below -700."""
    x = np.asarray(x, dtype=np.float64)
    below = x < -700.0
    x = np.clip(x, -700.0, 700.0)
    n = np.rint(x * 1.4426950408889634)
    rest = (x - n * _LN2_HIGH) - n * _LN2_LOW
    return np.asarray(
        np.where(below, 0.0, np.ldexp(_polynomial(rest, _EXP_TERMS), n.astype(np.int32)))
    )


def log(x: Any) -> Array:
    """The natural logarithm of positive numbers in float64, to about the last bit."""
    fraction, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    low = fraction < 0.7071067811865476
    fraction = np.where(low, fraction * 2, fraction)
    n = (exponent - low).astype(np.float64)
    s = (fraction - 1) / (fraction + 1)
    series = _polynomial(s * s, tuple(2 / (2 * k + 1) for k in range(12)))
    return np.asarray(n * _LN2_HIGH + (s * series + n * _LN2_LOW))


def turn(share: Any) -> tuple[Array, Array]:
    """Cosine and sine of shares of a whole turn, to about the last bit."""
    share = np.asarray(share, dtype=np.float64)
    share = share - np.floor(share)
    nearest = np.rint(share * 4)
    angle = (share - nearest * 0.25) * 6.283185307179586
    squared = angle * angle
    c = _polynomial(squared, _COS_TERMS)
    s = angle * _polynomial(squared, _SIN_TERMS)
    quarter = nearest.astype(np.int64) % 4
    cosine = np.choose(quarter, [c, -s, -c, s])
    sine = np.choose(quarter, [s, c, -s, -c])
    return cosine, sine


def length(x: Any, y: Any) -> Array:
    """The root of x² + y²: np.hypot's last digit is the C library's."""
    return np.asarray(np.sqrt(np.asarray(x) * x + np.asarray(y) * y))
