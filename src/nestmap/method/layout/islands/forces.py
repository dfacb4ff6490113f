"""Repulsion of all nodes by each other, through a potential on a regular grid.

Node j with mass m_j makes the potential m_j / (1 + |y - y_j|^2); the repulsion that t-SNE needs is
minus half of its slope. Masses are spread onto the grid by cubic B-splines, the potential is a
convolution (by FFT, on twice the width, so that nothing wraps around), and its slope is read off by
the same splines: O(n + grid log grid).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt

import numpy as np

from ....core.arrays import Array
from ....core.exact import turn
from ....core.native import kernels
from ....core.native.fourier import good_length

# Of the grid, where the width of the potential is 1: relative error of the repulsion
# 0.01, 0.02 and 0.035.
SPACINGS = (0.4, 0.5, 0.6)
_FINE_LINES = 400  # in each direction, up to which a finer grid costs little
MOST_LINES = 4096  # a wider map gets a coarser grid
# multiples, modulo 1, cover the unit square (R2)
EVENLY = np.array([0.7548776662466927, 0.5698402909980532])
# grid lines beyond the outermost nodes: splines reach two, the shift of the origin takes one
_MARGIN = 4
# a grid is made a little larger than needed, so that it serves for more than one step
_SLACK = 1.08


@dataclass(frozen=True)
class Grid:
    """Lines of the grid, rows and columns; its origin moves with the map."""

    rows: int
    cols: int
    spacing: float
    x: float = 0.0
    y: float = 0.0

    @property
    def padded(self) -> tuple[int, int]:
        """Lengths of the transforms: twice as long, so that nothing wraps around."""
        return good_length(2 * self.rows), good_length(2 * self.cols)


def fit_grid(bounds: Array, n: int, step: int, before: Grid | None = None) -> Grid:
    """A grid around all nodes; the one before, moved, while it has room and is not far too large.

    The origin shifts by a fraction of the spacing from step to step, so that what a grid gets wrong
    averages out.
    """
    width = np.maximum(bounds[1] - bounds[0], 0).astype(np.float64)
    spacing = _spacing(float(width.max()), n)
    lines = np.ceil(width / spacing).astype(int) + 2 * _MARGIN
    grid = before
    if grid is None or spacing != grid.spacing or not _fits(grid, lines):
        rows, cols = (good_length(int(np.ceil(2 * _SLACK * n))) // 2 for n in lines)
        grid = Grid(rows, cols, spacing)
    shift = step * EVENLY % 1
    middle = (bounds[0].astype(np.float64) + bounds[1]) / 2
    corner = middle - spacing * ((np.array([grid.rows, grid.cols]) - 1) // 2 - 0.5 + shift)
    return replace(grid, x=float(np.float32(corner[0])), y=float(np.float32(corner[1])))


def _spacing(width: float, n: int) -> float:
    """The finest that is cheap.

    Where a few nodes lie far out, as wide as needed for a grid of O(n) points.
    """
    most = min(MOST_LINES, 64 + 8 * isqrt(n))
    for spacing in SPACINGS:
        if width <= _FINE_LINES * spacing:
            return spacing
    spacing = SPACINGS[-1]
    while width > most * spacing:
        spacing *= 2
    return spacing


def _fits(grid: Grid, lines: Array) -> bool:
    return all(
        n <= has <= 1.5 * n + 16 for n, has in zip(lines, (grid.rows, grid.cols), strict=True)
    )


@lru_cache(maxsize=4)
def _transform(rows: int, cols: int, spacing: float) -> Array:
    """Of the potential of a unit mass, divided by the splines' (they spread and read): float32.

    With the factor of the transforms; (cols / 2 + 1, rows).
    """
    ways = [np.arange(n // 2 + 1) * spacing for n in (rows, cols)]
    potential = 1 / (1 + ways[0][:, None] ** 2 + ways[1] ** 2)
    blur = [(4 + 2 * turn(np.arange(n // 2 + 1) / n)[0]) / 6 for n in (rows, cols)]
    found = kernels.even_transform(potential, (rows, cols), 1)
    found /= (blur[1][:, None] * blur[0]) ** 2 * (2 * rows * cols)
    along = np.arange(rows)
    return np.ascontiguousarray(found[:, np.minimum(along, rows - along)], dtype=np.float32)


def grid_potential(charges: Array, grid: Grid, n_threads: int) -> Array:
    """The potential of charges on a grid at its points; float32."""
    rows, cols = grid.padded
    transfer = _transform(rows, cols, grid.spacing)
    return kernels.convolve(charges, (rows, cols), transfer, n_threads)


def repulsion(positions: Array, masses: Array, grid: Grid, n_threads: int) -> tuple[Array, float]:
    """Potential on the grid, and Z: the sum of m_i m_j / (1 + |y_i - y_j|^2) over all i != j."""
    charges = np.empty((grid.rows, grid.cols), dtype=np.float32)
    kernels.spread(positions, masses, grid, charges, n_threads)
    potential = grid_potential(charges, grid, n_threads)
    total = float(np.sum(charges * potential, dtype=np.float64))
    return potential, total - float(np.sum(masses.astype(np.float64) ** 2))
