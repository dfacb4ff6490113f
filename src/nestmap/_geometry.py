"""What the mosaic and its NumPy twin share."""

from __future__ import annotations

import numpy as np

from ._arrays import Array

INSIDE = 0.9  # of the way to the border: as far out as a place is put (as in cpp/mosaic.cpp)


def root(covariance: Array, floor: float, inverse: bool) -> Array:
    """Symmetric square root of 2 x 2 covariances, or its inverse; flat directions count as floor of the largest."""
    xx, xy, yy = covariance[..., 0, 0], covariance[..., 0, 1], covariance[..., 1, 1]
    mean, half = (xx + yy) / 2, (xx - yy) / 2
    r = np.hypot(half, xy)
    major = mean + r
    minor = np.maximum(mean - r, floor * major)
    angle = np.arctan2(xy, half) / 2
    c, s = np.cos(angle), np.sin(angle)
    none = major <= 0
    major, minor = np.sqrt(np.where(none, 1.0, major)), np.sqrt(np.where(none, 1.0, minor))
    if inverse:
        major, minor = 1 / major, np.divide(1.0, minor, out=np.zeros_like(minor), where=minor > 0)
    out = np.empty(np.shape(covariance))
    out[..., 0, 0] = c * c * major + s * s * minor
    out[..., 0, 1] = out[..., 1, 0] = c * s * (major - minor)
    out[..., 1, 1] = s * s * major + c * c * minor
    return out
