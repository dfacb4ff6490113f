"""Maps from rows to coordinates, each row by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, blocks
from ...core.exact import product
from ...core.input.validate import dense_block
from ...core.native import kernels
from ...core.points.duplicates import hash_points
from ...core.threads import map_blocks

VALUES_PER_READ = 1_000_000  # numbers of X that a thread reads at once: 8 MB of float64


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x -> (x - mean) @ basis.T"""

    mean: Array
    basis: Array  # (n_components, n_features)

    @property
    def n_components(self) -> int:
        return len(self.basis)

    def __call__(self, X: Any, n_threads: int) -> Array:
        if sparse.issparse(X):
            return np.asarray(product(X, self.basis.T, 3) - (self.basis * self.mean).sum(axis=1))
        z = np.empty((len(X), len(self.basis)))

        def project(part: slice) -> None:
            z[part] = kernels.project(dense_block(X, part), self.mean, self.basis, 1)

        map_blocks(project, blocks(X.shape[0], X.shape[1], values=VALUES_PER_READ), n_threads)
        return z

    def scaled(self, factor: float) -> LinearMap:
        """The same map in other units."""
        return LinearMap(self.mean, self.basis * factor)


@dataclass(frozen=True, eq=False)
class RandomMap:
    """Uniform random coordinates that depend on the seed and on the row's values alone.

    Equal rows get equal coordinates, and a new row gets the same ones in any batch.
    """

    seed: int
    n_components: int

    def __call__(self, X: Any, n_threads: int) -> Array:
        z = np.empty((X.shape[0], self.n_components))
        is_sparse = sparse.issparse(X)

        def draw(part: slice) -> None:
            state = hash_points(X if is_sparse else X[part], 1)[:, None] + np.uint64(self.seed)
            state = state + np.arange(1, self.n_components + 1, dtype=np.uint64) * np.uint64(
                0x9E3779B97F4A7C15
            )
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
                state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
            state ^= state >> np.uint64(31)
            z[part] = state.astype(np.float64) / 2.0**64 - 0.5

        map_blocks(
            draw,
            [slice(None)] if is_sparse else blocks(X.shape[0], X.shape[1], values=VALUES_PER_READ),
            n_threads,
        )
        return z


RowMap = LinearMap | RandomMap
