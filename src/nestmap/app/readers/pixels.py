"""Arrays whose rows are pictures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.arrays import Array

_LARGEST_SIDE = 256  # pixels of a thumbnail
_SMALLEST_SIDE = 8  # pixels of a picture that is told by its values
_ROWS_LOOKED_AT = 1000
_BLACK = (0, -1)  # the smallest and the largest values of pixels that are no bytes
_WHITE = (1, 255)
# difference of neighbours in a picture, as a share of that of any two pixels: .2 to .5 in pictures
# of clothes and of digits, .76 across scikit-learn's digits of 8 x 8, .95 to 1.05 without an order
_SMOOTH = 0.85


def picture_shape(X: Any) -> tuple[int, ...] | None:
    """(height, width[, 3]) of the pictures that rows of an array are, else None.

    Those are arrays of three or four axes, and rows as long as a square whose neighbours along
    both sides are alike; of bytes, or of numbers from 0 or -1 to 1 or 255.
    """
    if X.dtype.kind not in "uif" or len(X) == 0:
        return None
    shape = tuple(X.shape[1:])
    if shape[2:] == (1,):
        shape = shape[:2]
    side = math.isqrt(shape[0])
    if len(shape) == 1 and (side * side != shape[0] or side < _SMALLEST_SIDE):
        return None
    some = np.asarray(X[:: -(-len(X) // _ROWS_LOOKED_AT)])
    if some.dtype != np.uint8 and not (some.min() in _BLACK and some.max() in _WHITE):
        return None
    if len(shape) == 1:
        shape = (side, side) if _is_smooth(some, side) else ()
    if len(shape) not in (2, 3) or shape[2:] not in ((), (3,)):
        return None
    return shape if 1 < min(shape[:2]) <= max(shape[:2]) <= _LARGEST_SIDE else None


def _is_smooth(rows: Array, side: int) -> bool:
    pixels = rows.reshape(-1, side, side).astype(np.float64)
    across = np.abs(np.diff(pixels, axis=2)).mean()
    down = np.abs(np.diff(pixels, axis=1)).mean()
    order = np.random.default_rng(0).permutation(side * side)
    shuffled = pixels.reshape(len(rows), -1)[:, order]
    return bool(max(across, down) < _SMOOTH * np.abs(np.diff(shuffled, axis=1)).mean())
