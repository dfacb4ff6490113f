"""One column of a table as centred, weighed numbers: one column weighs as one column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array
from .cells import Cells
from .decide import Decision
from .encoders import Encoder, LevelEncoder, MomentEncoder, NumberEncoder, VectorEncoder
from .words import WordEncoder

FARTHEST = 4.0  # largest distance that two levels, or two booleans, may have: rare ones are bounded
_WIDEST = 6.0  # largest distance along a column of numbers: that of six standard deviations
_SAMPLE = 5000  # vectors whose directions are counted


@dataclass(frozen=True, eq=False)
class Block:
    """A column that the map depends on.

    Attributes
    ----------
    name : str
    encoder : Encoder
    mean : array of shape (width,)
    gain : float
        What the centred numbers are multiplied by.
    """

    name: str
    encoder: Encoder
    mean: Array
    gain: float

    @property
    def width(self) -> int:
        return len(self.mean)

    @property
    def names(self) -> list[str]:
        """What the numbers are called."""
        return self.encoder.names(self.name)

    def encode(self, cells: Cells, out: Array) -> None:
        """Write the rows into `out`, NaN where the cell is missing."""
        np.multiply(self.encoder.encode(cells) - self.mean, self.gain, out=out, casting="unsafe")


def fit_encoder(cells: Cells, decision: Decision) -> Encoder:
    """The encoder that a decision asks for."""
    reading = decision.profile.reading
    if decision.kind == "vector":
        return VectorEncoder(decision.profile.width)
    if decision.kind == "text":
        return WordEncoder.fit(cells)
    if decision.kind == "date":
        return MomentEncoder.fit(cells, reading)
    if decision.kind == "category" or reading.kind == "levels":
        return LevelEncoder.fit(cells)
    return NumberEncoder.fit(cells, reading)


def fit_block(cells: Cells, decision: Decision, weight: float = 1.0) -> Block:
    """A block whose variance is that of `weight` columns.

    Vectors weigh as many columns as they have directions (the participation ratio of their
    variances): an embedding beside a few numbers is still an embedding.
    """
    encoder = fit_encoder(cells, decision)
    raw = encoder.encode(cells)
    known = ~np.isnan(raw[:, 0])
    n_known = max(1, int(known.sum()))
    zeroed = np.where(known[:, None], raw, 0.0)
    mean = zeroed.sum(axis=0) / n_known
    centred = np.where(known[:, None], raw - mean, 0.0)
    variance = float((centred**2).sum() / n_known)
    if variance <= 0:
        return Block(cells.name, encoder, mean, 0.0)
    gain = 1 / np.sqrt(variance)
    if decision.kind in ("category", "boolean"):
        apart = np.sqrt(2.0) if encoder.kind == "category" else float(np.ptp(raw[known]))
        gain = min(gain, FARTHEST / apart)
    if encoder.kind == "number":
        gain = min(gain, _WIDEST / float(np.ptp(raw[known])))
    if decision.kind == "vector":
        gain *= np.sqrt(_directions(centred[known]))
    return Block(cells.name, encoder, mean, float(gain * np.sqrt(weight)))


def _directions(centred: Array) -> float:
    """In how many directions rows vary: (sum of variances)² / sum of their squares."""
    some = centred[:: max(1, -(-len(centred) // _SAMPLE))]
    products = some.T @ some if some.shape[1] <= some.shape[0] else some @ some.T
    total = float(np.trace(products))
    return total**2 / max(float((products**2).sum()), 1e-300)
