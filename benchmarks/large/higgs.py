"""Rows with the look of the Higgs set (UCI: 11,000,000 x 28), which cannot be fetched everywhere.

The same columns in the same order: a lepton, missing energy and four jets (momenta with heavy
tails, pseudorapidities, uniform angles, tags of three values), then seven masses computed from
them. Momenta and pseudorapidities come from a mixture of correlated Gaussians, three per class; the
masses are those of the four-vectors, plus noise. Every column has about unit variance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.large.blocks import MakeBlock

N_COLUMNS = 28
BLOCK = 50_000

N_CLASSES, N_COMPONENTS = 2, 3
N_MOMENTA, N_ETA, N_ANGLES, N_TAGS = (
    6,
    5,
    6,
    4,
)  # the missing energy has a momentum and an angle, nothing else
N_LATENT = N_MOMENTA + N_ETA
TAIL = 0.5  # standard deviation of the logarithm of a momentum
TAG_CHANCES = np.array([[0.55, 0.25, 0.20], [0.40, 0.25, 0.35]])  # of the values 0, 1, 2, by class
MASS_NOISE = 0.03
LEPTON, MISSING, JETS = 0, 1, (2, 3, 4, 5)

Floats = NDArray[np.float32]


def higgs_blocks(seed: int = 0) -> MakeBlock:
    """Blocks of BLOCK rows."""
    mixture = _Mixture(np.random.default_rng([seed, 0]))
    scale = np.float32(1) / _raw_rows(mixture, np.random.default_rng([seed, 1])).std(axis=0)

    def make(number: int) -> Floats:
        return _raw_rows(mixture, np.random.default_rng([seed, 2, number])) * scale

    return make


class _Mixture:
    """Correlated Gaussians: one mean and one factor of the covariance per component."""

    def __init__(self, rng: np.random.Generator) -> None:
        n = N_CLASSES * N_COMPONENTS
        self.means = rng.normal(scale=0.6, size=(n, N_LATENT)).astype(np.float32)
        factors = rng.normal(size=(n, N_LATENT, N_LATENT)) / np.sqrt(N_LATENT) + np.eye(N_LATENT)
        self.factors = (0.7 * factors).astype(np.float32)

    def draw(self, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """BLOCK rows of latent values, and their classes."""
        component = rng.integers(len(self.means), size=BLOCK)
        rows = rng.standard_normal((BLOCK, N_LATENT), dtype=np.float32)
        for c in range(len(self.means)):
            chosen = np.flatnonzero(component == c)
            rows[chosen] = rows[chosen] @ self.factors[c] + self.means[c]
        return rows, component // N_COMPONENTS


def _raw_rows(mixture: _Mixture, rng: np.random.Generator) -> Floats:
    """BLOCK rows before each column is scaled."""
    latent, classes = mixture.draw(rng)
    momenta = np.exp(np.float32(TAIL) * latent[:, :N_MOMENTA])
    eta = latent[:, N_MOMENTA:]
    angles = rng.uniform(-np.pi, np.pi, size=(BLOCK, N_ANGLES)).astype(np.float32)
    below = (
        rng.random((BLOCK, N_TAGS))[:, :, None]
        < TAG_CHANCES[classes, ::-1].cumsum(axis=1)[:, None, :2]
    )
    tags = below.sum(axis=2).astype(np.float32)
    masses = _masses(momenta, eta, angles)
    masses *= 1 + np.float32(MASS_NOISE) * rng.standard_normal(masses.shape, dtype=np.float32)
    columns = [
        momenta[:, LEPTON],
        eta[:, 0],
        angles[:, LEPTON],
        momenta[:, MISSING],
        angles[:, MISSING],
    ]
    for i, jet in enumerate(JETS):
        columns += [momenta[:, jet], eta[:, 1 + i], angles[:, jet], tags[:, i]]
    return np.column_stack([*columns, masses])


def _masses(momenta: Floats, eta: Floats, angles: Floats) -> Floats:
    """Invariant masses of jj, jjj, lv, jlv, bb, wbb and wwbb."""
    eta = np.insert(eta, MISSING, 0, axis=1)  # the missing energy is known across the beam only
    x, y, z = momenta * np.cos(angles), momenta * np.sin(angles), momenta * np.sinh(eta)
    energy = momenta * np.cosh(eta)
    sums = (
        (2, 3),
        (2, 3, 4),
        (LEPTON, MISSING),
        (2, LEPTON, MISSING),
        (4, 5),
        (2, 3, 4, 5),
        range(N_MOMENTA),
    )
    masses = []
    for particles in sums:
        chosen = list(particles)
        squares = [part[:, chosen].sum(axis=1) ** 2 for part in (energy, x, y, z)]
        masses.append(np.sqrt(np.maximum(squares[0] - squares[1] - squares[2] - squares[3], 0)))
    return np.column_stack(masses)
