"""Millions of points as an image: the mean colour of each pixel, as opaque as it is dense."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array

_POINTS_AT_ONCE = 1_000_000  # points at a time
_FAINT = 0.30  # opacity of a pixel with a single point
_FULL = 0.99  # this share of the pixels with points is less than fully opaque


@dataclass(frozen=True)
class Window:
    """A part of the plane and the pixels that show it."""

    left: float
    right: float
    bottom: float
    top: float
    width: int
    height: int

    def pixels(self, positions: Array) -> Array:
        """The pixel of each position, row by row from the bottom."""
        x = (positions[:, 0] - self.left) * (self.width / (self.right - self.left))
        y = (positions[:, 1] - self.bottom) * (self.height / (self.top - self.bottom))
        column = np.clip(x, 0, self.width - 1).astype(np.int64)
        return np.clip(y, 0, self.height - 1).astype(np.int64) * self.width + column


def shade_points(positions: Array, colors: Array, codes: Array, window: Window) -> Array:
    """An image (height, width, 4) of points coloured colors[codes]; O(n + pixels), by blocks.

    Examples
    --------
    >>> window = Window(0, 2, 0, 1, 2, 1)
    >>> points = np.array([[0.5, 0.5], [0.6, 0.5]])
    >>> image = shade_points(points, np.eye(3), np.array([0, 0]), window)
    >>> image.round(2).tolist()
    [[[1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]]
    """
    n_pixels = window.width * window.height
    counts = np.zeros(n_pixels)
    sums = np.zeros((3, n_pixels))
    for start in range(0, len(positions), _POINTS_AT_ONCE):
        part = slice(start, start + _POINTS_AT_ONCE)
        pixels = window.pixels(positions[part])
        rgb = colors[codes[part]]
        counts += np.bincount(pixels, minlength=n_pixels)
        for i in range(3):
            sums[i] += np.bincount(pixels, rgb[:, i], n_pixels)
    shape = (window.height, window.width)
    return _as_image(*_spread(counts.reshape(shape), sums.reshape(3, *shape), len(positions)))


def _spread(counts: Array, sums: Array, n: int) -> tuple[Array, Array]:
    """Points as soft dots, as wide as the usual distance between them if that exceeds a pixel."""
    from scipy.ndimage import gaussian_filter

    sigma = float(np.clip(0.45 * np.sqrt(np.count_nonzero(counts) / max(1, n)) / 0.5, 0.0, 1.2))
    if n < 1000 or sigma < 0.3:
        return counts, sums
    return gaussian_filter(counts, sigma), np.stack([gaussian_filter(each, sigma) for each in sums])


def _as_image(counts: Array, sums: Array) -> Array:
    image = np.zeros((*counts.shape, 4))
    seen = counts > 1e-3
    if not seen.any():
        return image
    least = min(1.0, float(np.quantile(counts[seen], 0.05)))
    dense = max(float(np.quantile(counts[seen], _FULL)), 1.5 * least)
    strength = np.log1p(counts[seen] / least) / np.log1p(dense / least)
    image[seen, :3] = (sums[:, seen] / counts[seen]).T.clip(0, 1)
    image[seen, 3] = np.clip(_FAINT + (1 - _FAINT) * strength, 0, 1) * np.minimum(
        1, counts[seen] / least
    )
    return image
