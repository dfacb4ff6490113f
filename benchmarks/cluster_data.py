"""Rows of few degrees of freedom, of the shapes that fits on a cluster are measured on.

Their exact neighbours take minutes on one machine where those of the sets of benchmarks.large take
hours: with them the same bits can be checked at full size.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.large.blocks import Block, write_rows

BLOCK = 20_000
N_SENSORS, N_SOURCES, SIDE = 28, 3, 28
SHAPES = {
    "sensors": (4_000_000, N_SENSORS, np.float32),
    "discs": (2_000_000, SIDE * SIDE, np.uint8),
}


def write_set(name: str, path: Path, n_rows: int) -> None:
    """Write an .npy file of the first n_rows rows of a set."""
    _, width, dtype = SHAPES[name]
    write_rows(path, _sensors if name == "sensors" else _discs, n_rows, width, dtype)


def _sensors(number: int) -> Block:
    """28 readings, smooth functions of three numbers."""
    waves = np.random.default_rng(0).normal(size=(N_SOURCES + 1, N_SENSORS)).astype(np.float32)
    x = np.random.default_rng([1, number]).random((BLOCK, N_SOURCES), dtype=np.float32)
    return np.sin(x @ waves[:-1] + waves[-1])


def _discs(number: int) -> Block:
    """28 x 28 pictures of a soft disc: its place, its size and its brightness."""
    rng = np.random.default_rng([2, number])
    x, y = (rng.uniform(8, 20, (BLOCK, 1)).astype(np.float32) for _ in range(2))
    radius = rng.uniform(3, 7, (BLOCK, 1)).astype(np.float32)
    light = rng.uniform(120, 255, (BLOCK, 1)).astype(np.float32)
    pixels = np.arange(SIDE, dtype=np.float32)
    across, down = (np.exp(-(((pixels - at) / radius) ** 2)) for at in (x, y))
    return (
        (light[:, :, None] * down[:, :, None] * across[:, None, :])
        .reshape(BLOCK, -1)
        .astype(np.uint8)
    )
