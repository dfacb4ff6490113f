"""Gradient descent on t-SNE's forces for the nodes of one level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import Array
from ....core.native import kernels
from ....core.native.forces import NodeState, StepSizes
from ....core.progress import Share
from .forces import fit_grid, repulsion
from .graph import Attraction
from .schedule import Phase, count_steps

MOMENTUM = 0.8  # share of the last step that is added to the next: t-SNE's
_MAX_STEP = 5.0  # length of a node's step, in t-SNE's units: its own limit
_SINGLE_THREAD_NODES = 4000  # up to so many, steps take no longer on one thread


@dataclass(frozen=True, eq=False)
class Homes:
    """Places that nodes are tied to: a home attracts its node as a neighbour there would."""

    places: Array  # float32, n x 2
    ties: Array  # float32, n: weights; those of neighbours add up to 1


_NO_HOMES = Homes(np.empty((0, 2), dtype=np.float32), np.empty(0, dtype=np.float32))


def optimise(
    positions: Array,
    masses: Array,
    attraction: Attraction,
    phases: tuple[Phase, ...],
    n_threads: int,
    share: Share | None = None,
    homes: Homes | None = None,
) -> Array:
    """Positions (n, 2) after gradient descent with momentum and gains, float32; O(n) per step.

    Parameters
    ----------
    masses : ndarray of shape (n,)
        Rows below each node: a node repels others as so many rows would.
    """
    n = len(positions)
    threads = 1 if n < _SINGLE_THREAD_NODES else n_threads
    masses = np.asarray(masses / masses.mean(), dtype=np.float32)
    here = np.array(positions, dtype=np.float32, order="C")
    there = np.empty((n, 2), dtype=np.float32)
    velocities = np.zeros_like(here)
    gains = np.ones_like(here)
    rates = attraction.rates()
    homes = homes or _NO_HOMES
    bounds = np.stack([here.min(axis=0), here.max(axis=0)])
    grid = None
    done = 0
    total = count_steps(phases)
    for phase in phases:
        rate = phase.rate / max(1.0, phase.exaggeration)
        for _ in range(phase.n_steps):
            grid = fit_grid(bounds, n, done, grid)
            potential, z = repulsion(here, masses, grid, threads)
            sizes = StepSizes(
                rate * phase.exaggeration, rate * n / max(z, 1e-30), MOMENTUM, _MAX_STEP
            )
            state = NodeState(here, velocities, gains, there, bounds)
            kernels.move(attraction, grid, potential, sizes, rates, homes, state, threads)
            here, there, done = there, here, done + 1
            if share:
                share(done / total)
    return here
