"""Rows made from images: deformed ones, as MNIST-8M was made, and patches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.ndimage import gaussian_filter

from benchmarks.large.blocks import MakeBlock

Images = NDArray[Any]  # (n, side * side), one image per row

BATCH = 500  # images that share a deformation: what makes 8 million of them a matter of minutes
TURN, SHEAR, ZOOM, SHIFT = 0.2, 0.15, 0.12, 0.05  # largest; radians, ratios, and share of the side
ELASTIC, SMOOTH = (
    0.03,
    0.14,
)  # standard deviation of the displacement and its width, as shares of the side

PATCH_BLOCK = 20_000
FLAT = 0.1  # patches of a smaller standard deviation, in values from 0 to 1, are left out


def deformed_blocks(base: Images, seed: int = 0) -> MakeBlock:
    """Blocks of BATCH deformed images, uint8, of a random choice of the base images (values from 0
    to 255).

    No image twice in a block: under the same deformation it would be the same row again.
    """
    side = _side(base)
    size = min(BATCH, len(base))

    def make(number: int) -> NDArray[np.uint8]:
        rng = np.random.default_rng([seed, number])
        field = deformation(side, rng)
        chosen = base[rng.choice(len(base), size, replace=False)].astype(np.float32)
        moved = field @ np.ascontiguousarray(chosen.T)
        return np.rint(moved).astype(np.uint8).T

    return make


def deformation(side: int, rng: np.random.Generator) -> sparse.csr_array:
    """One random affine and elastic deformation, as a matrix that interpolates between pixels.

    Each pixel of the result is a convex combination of four pixels, so values keep their range;
    beyond the edge all is 0.
    """
    turn, shear = rng.uniform(-TURN, TURN), rng.uniform(-SHEAR, SHEAR)
    zoom = 1 + rng.uniform(-ZOOM, ZOOM, size=2)
    cos, sin = np.cos(turn), np.sin(turn)
    affine = np.array([[cos, -sin], [sin, cos]]) @ np.array([[1, shear], [0, 1]]) @ np.diag(zoom)
    centre = (side - 1) / 2
    grid = (
        np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij")).reshape(2, -1)
        - centre
    )
    shift = rng.uniform(-SHIFT, SHIFT, size=(2, 1)) * side
    return _interpolation(affine @ grid + centre + shift + _elastic(side, rng), side)


def _elastic(side: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Smooth random displacements, (2, side * side)."""
    noise = rng.standard_normal((2, side, side))
    smooth = gaussian_filter(
        noise, sigma=(0, SMOOTH * side, SMOOTH * side), mode="wrap", truncate=3
    )
    smooth *= ELASTIC * side / smooth.std()
    return smooth.reshape(2, -1)


def _interpolation(at: NDArray[np.float64], side: int) -> sparse.csr_array:
    """The matrix that reads an image bilinearly at these places."""
    low = np.floor(at).astype(np.int64)
    part = (at - low).astype(np.float32)
    pixels = np.arange(side * side)
    rows, columns, weights = [], [], []
    for dy in (0, 1):
        for dx in (0, 1):
            y, x = low[0] + dy, low[1] + dx
            weight = (part[0] if dy else 1 - part[0]) * (part[1] if dx else 1 - part[1])
            inside = (y >= 0) & (y < side) & (x >= 0) & (x < side)
            rows.append(pixels[inside])
            columns.append((y * side + x)[inside])
            weights.append(weight[inside])
    entries = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(entries, shape=(side * side, side * side), dtype=np.float32)


def patch_blocks(images: Images, patch: int, highest: float, seed: int = 0) -> MakeBlock:
    """Blocks of square patches, float32 from 0 to 1: each place of each image at most once, flat
    ones left out.

    Drawing without replacement, because 4 million draws of 16 million places would repeat many.
    """
    side = _side(images)
    windows = np.lib.stride_tricks.sliding_window_view(
        images.reshape(-1, side, side), (patch, patch), axis=(1, 2)
    )
    order = np.random.default_rng(seed).permutation(int(np.prod(windows.shape[:3])))

    def make(number: int) -> NDArray[np.float32]:
        places = order[number * PATCH_BLOCK : (number + 1) * PATCH_BLOCK]
        image, y, x = np.unravel_index(places, windows.shape[:3])
        values = windows[image, y, x].reshape(len(places), patch * patch).astype(
            np.float32
        ) / np.float32(highest)
        return values[values.std(axis=1) >= FLAT]

    return make


def _side(images: Images) -> int:
    side = round(images.shape[1] ** 0.5)
    if side * side != images.shape[1]:
        raise ValueError(f"images must be square, got {images.shape[1]} pixels each")
    return side
