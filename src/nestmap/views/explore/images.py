"""Thumbnails: sheets of 32 x 32 small pictures as PNG."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks

SIDE = 32  # pictures along each side of a sheet
_MAX_SIDE_PIXELS = 256  # pixels of a side of a thumbnail


def check_images(images: Any, n_rows: int) -> Array:
    """Pictures of shape (n, height, width) or (n, height, width, 3), or an error that tells why."""
    array = np.asarray(images)  # a memmap stays on disk
    is_image = len(array.shape) == 3 or (len(array.shape) == 4 and array.shape[3] == 3)
    if not is_image or array.shape[0] != n_rows or array.dtype.kind not in "uifb":
        raise ValueError(
            f"images: needs numbers of shape ({n_rows}, height, width) or ({n_rows}, height, "
            f"width, 3), got {array.dtype} of shape {tuple(array.shape)}"
        )
    if not 1 <= min(array.shape[1:3]) <= max(array.shape[1:3]) <= _MAX_SIDE_PIXELS:
        raise ValueError(
            f"images: up to {_MAX_SIDE_PIXELS} x {_MAX_SIDE_PIXELS} pixels, "
            f"got {array.shape[1]} x {array.shape[2]}"
        )
    return array


def pixel_range(images: Array) -> tuple[float, float]:
    """What is black and what is white: the smallest and the largest finite value."""
    low = np.inf
    high = -np.inf
    for part in blocks(len(images), int(np.prod(images.shape[1:]))):
        pixels = np.asarray(images[part], dtype=np.float64)
        known = pixels[np.isfinite(pixels)]
        low = min(low, known.min(initial=np.inf))
        high = max(high, known.max(initial=-np.inf))
    return (float(low), float(high)) if high > low else (0.0, 1.0)


def make_sheet(images: Array, black: float, white: float) -> bytes:
    """Up to 1,024 pictures, row by row, as one PNG; places without one are black."""
    bright = (np.nan_to_num(images.astype(np.float64)) - black) * (255 / (white - black))
    pixels = np.clip(np.rint(bright), 0, 255).astype(np.uint8)
    n, height, width = pixels.shape[:3]
    n_lines = -(-n // SIDE)
    whole = np.zeros((n_lines * SIDE, *pixels.shape[1:]), dtype=np.uint8)
    whole[:n] = pixels
    grid = whole.reshape(n_lines, SIDE, *pixels.shape[1:]).swapaxes(1, 2)
    return to_png(grid.reshape(n_lines * height, SIDE * width, *pixels.shape[3:]))


def to_png(pixels: Array) -> bytes:
    """Grey (height, width) or colour (height, width, 3) bytes as a PNG file."""
    height, width = pixels.shape[:2]
    # each line begins with its filter: none
    lines = np.zeros((height, 1 + pixels[0].size), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    kind = 0 if pixels.ndim == 2 else 2
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(*part) for part in parts)


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
