"""Synthetic rows with the look of sentence embeddings, because real ones cannot be fetched
everywhere.

A mixture of groups. The rows of a group lie on a bent sheet of DIMENSION dimensions around its
centre, along directions of its own with a falling spectrum; isotropic noise is added, and rows are
scaled to length 1. For the cosine metric.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.large.blocks import MakeBlock

N_COLUMNS = 768
BLOCK = 4000

N_GROUPS, DIMENSION = 200, 56
EVENNESS = 2.0  # of the groups' sizes, the parameter of a Dirichlet distribution
FALL = 24  # dimensions after which the variance has fallen to a half
SPREAD, BEND, NOISE = (
    0.6,
    0.1,
    0.3,
)  # of the sheet, of its squares, and of the noise; a centre has length 1

Floats = NDArray[np.float32]


def embedding_blocks(seed: int = 0) -> MakeBlock:
    """Blocks of BLOCK rows."""
    centres, bases, shares = _groups(seed)
    spectrum = (1 / np.sqrt(1 + np.arange(DIMENSION) / FALL)).astype(np.float32)

    def make(number: int) -> Floats:
        own, group = _draw(seed, number, shares)
        latent = own.standard_normal((BLOCK, DIMENSION), dtype=np.float32) * spectrum
        rows = np.float32(NOISE) * _directions(own, (BLOCK, N_COLUMNS))
        for g in np.unique(group):
            chosen = np.flatnonzero(group == g)
            u = latent[chosen]
            bent = np.float32(BEND) * ((u**2 - 1) @ bases[(g + 1) % N_GROUPS])
            rows[chosen] += centres[g] + np.float32(SPREAD) * (u @ bases[g]) + bent
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    return make


def embedding_labels(n: int, seed: int = 0) -> NDArray[np.int64]:
    """The groups of the first n rows."""
    shares = _groups(seed)[2]
    return np.concatenate([_draw(seed, number, shares)[1] for number in range(-(-n // BLOCK))])[:n]


def _groups(seed: int) -> tuple[Floats, Floats, NDArray[np.float64]]:
    """Centres, directions and shares of the groups."""
    rng = np.random.default_rng([seed, 0])
    centres, bases = (
        _directions(rng, (N_GROUPS, N_COLUMNS)),
        _directions(rng, (N_GROUPS, DIMENSION, N_COLUMNS)),
    )
    return centres, bases, rng.dirichlet(np.full(N_GROUPS, EVENNESS))


def _draw(
    seed: int, number: int, shares: NDArray[np.float64]
) -> tuple[np.random.Generator, NDArray[np.int64]]:
    """The generator of a block, after it has drawn the groups of its rows."""
    own = np.random.default_rng([seed, 1, number])
    return own, own.choice(N_GROUPS, BLOCK, p=shares)


def _directions(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Gaussian vectors of length about 1."""
    return rng.standard_normal(shape, dtype=np.float32) / np.float32(N_COLUMNS**0.5)
