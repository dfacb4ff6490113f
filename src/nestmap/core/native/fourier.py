"""NumPy twins of the kernels in cpp/fourier.cpp, operation by operation: the same bits.

Transforms are Stockham's, of radix 4, 2, 3 and 5, along the first axis of real and imaginary parts.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..arrays import Array
from ..exact import turn

Parts = tuple[Array, Array]  # real and imaginary


@lru_cache(maxsize=32)
def roots(n: int, kind: str) -> Array:
    """exp(-2 pi i k / n) for all k, as the kernels take it: real parts, imaginary parts."""
    cosine, sine = turn(np.arange(n) / n)
    return np.ascontiguousarray(np.stack([cosine, -sine]).astype(kind))


def good_length(n: int) -> int:
    """The least even product of 2, 3 and 5 that is not below n."""
    while n % 2 or not _is_smooth(n):
        n += 1
    return n


def _is_smooth(n: int) -> bool:
    for radix in (2, 3, 5):
        while n % radix == 0:
            n //= radix
    return n == 1


def transform(values: Parts) -> Parts:
    """Along the first axis; O(n log n)."""
    re, im = values
    n = rest = len(re)
    stride = 1
    w = roots(n, re.dtype.str)
    for radix in (4, 2, 3, 5):
        while rest % radix == 0:
            rest //= radix
            shape = (radix, rest, stride, *re.shape[1:])
            parts = _combine(list(zip(re.reshape(shape), im.reshape(shape), strict=True)))
            for j in range(1, radix):
                at = j * np.arange(rest) * stride
                c, s = (part[at].reshape(-1, *[1] * re.ndim) for part in w)
                a, b = parts[j]
                parts[j] = (a * c - b * s, a * s + b * c)
            re, im = (np.stack(part, axis=1).reshape(re.shape) for part in zip(*parts, strict=True))
            stride *= radix
    return re, im


def _back(values: Parts) -> Parts:
    im, re = transform(values[::-1])
    return re, im


def _plus(a: Parts, b: Parts) -> Parts:
    return a[0] + b[0], a[1] + b[1]


def _minus(a: Parts, b: Parts) -> Parts:
    return a[0] - b[0], a[1] - b[1]


def _times(s: float, a: Parts) -> Parts:
    factor = a[0].dtype.type(s)
    return factor * a[0], factor * a[1]


def _minus_i(a: Parts, b: Parts) -> Parts:
    return a[0] + b[1], a[1] - b[0]


def _plus_i(a: Parts, b: Parts) -> Parts:
    return a[0] - b[1], a[1] + b[0]


def _combine(a: list[Parts]) -> list[Parts]:
    if len(a) == 2:
        return [_plus(*a), _minus(*a)]
    if len(a) == 3:
        total = _plus(a[1], a[2])
        middle = _minus(a[0], _times(0.5, total))
        across = _times(0.8660254037844386, _minus(a[1], a[2]))
        return [_plus(a[0], total), _minus_i(middle, across), _plus_i(middle, across)]
    if len(a) == 4:
        even = _plus(a[0], a[2])
        odd = _minus(a[0], a[2])
        total = _plus(a[1], a[3])
        rest = _minus(a[1], a[3])
        return [_plus(even, total), _minus_i(odd, rest), _minus(even, total), _plus_i(odd, rest)]
    return _combine_five(a)


def _combine_five(a: list[Parts]) -> list[Parts]:
    c1 = 0.30901699437494745
    c2 = -0.8090169943749475
    s1 = 0.9510565162951535
    s2 = 0.5877852522924731
    t1 = _plus(a[1], a[4])
    t2 = _plus(a[2], a[3])
    t3 = _minus(a[1], a[4])
    t4 = _minus(a[2], a[3])
    m1 = _plus(a[0], _plus(_times(c1, t1), _times(c2, t2)))
    m2 = _plus(a[0], _plus(_times(c2, t1), _times(c1, t2)))
    n1 = _plus(_times(s1, t3), _times(s2, t4))
    n2 = _minus(_times(s2, t3), _times(s1, t4))
    first = _plus(a[0], _plus(t1, t2))
    return [first, _minus_i(m1, n1), _minus_i(m2, n2), _plus_i(m2, n2), _plus_i(m1, n1)]


def convolve(charges: Array, n_rows: int, n_cols: int, transfer: Array) -> Array:
    """Charges on a grid, times a transfer function between transforms of n_rows and n_cols.

    transfer: (n_cols / 2 + 1, n_rows), which holds 1 / (2 n_rows n_cols) as well.
    """
    rows, cols = charges.shape
    half = n_cols // 2 + 1
    lines = np.zeros((n_cols, rows), dtype=np.float32)
    lines[:cols] = charges.T
    # two real lines are one complex one
    lines = np.concatenate([lines, np.zeros((n_cols, rows % 2), dtype=np.float32)], axis=1)
    re, im = transform((lines[:, ::2], lines[:, 1::2]))
    other = -np.arange(half) % n_cols
    waves = np.zeros((2, half, lines.shape[1]), dtype=np.float32)
    waves[0, :, ::2] = re[:half] + re[other]
    waves[1, :, ::2] = im[:half] - im[other]
    waves[0, :, 1::2] = im[:half] + im[other]
    waves[1, :, 1::2] = re[other] - re[:half]
    full = np.zeros((2, n_rows, half), dtype=np.float32)
    full[:, :rows] = waves[:, :, :rows].transpose(0, 2, 1)
    re, im = transform((full[0], full[1]))
    re, im = _back((re * transfer.T, im * transfer.T))
    waves[:, :, :rows] = np.stack([re[:rows].T, im[:rows].T])
    return _back_along(waves, n_cols)[:cols, :rows].T.copy()


def _back_along(waves: Array, n_cols: int) -> Array:
    """Lines, as columns, from their waves."""
    half = n_cols // 2 + 1
    (re, re_of), (im, im_of) = ((part[:, ::2], part[:, 1::2]) for part in waves)
    whole = np.empty((2, n_cols, re.shape[1]), dtype=np.float32)
    others = n_cols - np.arange(1, half - 1)
    whole[:, others] = np.stack([re + im_of, re_of - im])[:, 1 : half - 1]
    whole[:, :half] = np.stack([re - im_of, im + re_of])
    found = np.empty((n_cols, waves.shape[2]), dtype=np.float32)
    found[:, ::2], found[:, 1::2] = _back((whole[0], whole[1]))
    return found


def even_transform(values: Array, n_rows: int, n_cols: int) -> Array:
    """The transform of real values, even along both axes, by a half of each; transposed, float64.

    values: (n_rows / 2 + 1, n_cols / 2 + 1)
    """

    def along(lines: Array, n: int) -> Array:
        k = np.arange(n)
        pairs = np.concatenate([lines, lines[-1:]])[: len(lines) + len(lines) % 2]
        whole = pairs[:, np.minimum(k, n - k)].T
        re, im = transform((whole[:, ::2].copy(), whole[:, 1::2].copy()))
        found = np.empty((n // 2 + 1, whole.shape[1]))
        found[:, ::2] = re[: n // 2 + 1]
        found[:, 1::2] = im[: n // 2 + 1]
        return found[:, : len(lines)]

    return np.ascontiguousarray(along(along(values, n_cols), n_rows).T)
