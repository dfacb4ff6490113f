"""One column of a table as centred, weighed numbers: one column weighs as one column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from ..core.arrays import Array, blocks
from .cells import Cells
from .decide import Decision
from .encoders import ColumnEncoder, LevelEncoder, MomentEncoder, NumberEncoder, VectorEncoder
from .profiles import read_levels
from .words import WordEncoder

FARTHEST = 4.0  # largest distance that two levels, or two booleans, may have: rare ones are bounded
_WIDEST = 6.0  # largest distance along a column of numbers: that of six standard deviations
_SAMPLE = 5000  # vectors whose directions are counted
_IN_CACHE = 2**15  # numbers of a column that are worked on at once


@dataclass(frozen=True, eq=False)
class Block:
    """A column that the map depends on.

    Attributes
    ----------
    name : str
    encoder : ColumnEncoder
    mean : array of shape (width,)
    gain : float
        What the centred numbers are multiplied by.
    """

    name: str
    encoder: ColumnEncoder
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
        each = _each_once(cells, self.encoder)
        if each is None:
            for part in blocks(len(out), self.width, _IN_CACHE):
                out[part] = self._scale(self.encoder.encode(_cut(cells, part)))
        else:
            table = self._scale(self.encoder.encode(each.cells)).astype(out.dtype)
            for part in blocks(len(out), self.width, _IN_CACHE):
                out[part] = table[each.codes[part]]

    def _scale(self, raw: Array) -> Array:
        return (raw - self.mean) * self.gain


@dataclass(frozen=True, eq=False)
class _Levels:
    """The different cells of a column, one row each, the last of them missing; and its codes."""

    cells: Cells
    codes: Array


def _each_once(cells: Cells, encoder: ColumnEncoder) -> _Levels | None:
    """Texts and categories are encoded once per level; None for columns of numbers."""
    if isinstance(encoder, LevelEncoder | WordEncoder):
        cells = read_levels(cells)
    if cells.form != "text":
        return None
    codes = np.append(np.arange(len(cells.texts)), -1)
    return _Levels(replace(cells, values=codes), cells.values)


def _cut(cells: Cells, part: slice) -> Cells:
    return replace(cells, values=cells.values[part])


@dataclass(frozen=True, eq=False)
class _Spread:
    """What is known of the filled rows of a column.

    Attributes
    ----------
    n : float
    mean : array of shape (width,)
    squares : float
        Sum of squared distances from the mean.
    low, high : float
        Least and largest number.
    """

    n: float
    mean: Array
    squares: float
    low: float
    high: float

    @property
    def variance(self) -> float:
        return self.squares / max(1.0, self.n)

    @property
    def range(self) -> float:
        return self.high - self.low

    def join(self, other: _Spread) -> _Spread:
        """That of the rows of both (Chan, Golub and LeVeque 1979)."""
        n = self.n + other.n
        if not n:
            return self
        apart = other.mean - self.mean
        between = float((apart**2).sum()) * self.n * other.n / n
        return _Spread(
            n,
            self.mean + apart * (other.n / n),
            self.squares + other.squares + between,
            min(self.low, other.low),
            max(self.high, other.high),
        )


def _spread_of(raw: Array, counts: Array | None = None) -> _Spread:
    """Of rows, NaN for missing, each counted so many times."""
    known = ~np.isnan(raw[:, 0])
    if counts is not None:
        known &= counts > 0
    rows = raw[known]
    if not len(rows):
        return _Spread(0.0, np.zeros(raw.shape[1]), 0.0, np.inf, -np.inf)
    times = np.ones(len(rows)) if counts is None else counts[known].astype(np.float64)
    n = float(times.sum())
    mean = rows[0] + times @ (rows - rows[0]) / n  # exact where all rows are one
    squares = float(times @ ((rows - mean) ** 2).sum(axis=1))
    return _Spread(n, mean, squares, float(rows.min()), float(rows.max()))


def _raw_parts(cells: Cells, encoder: ColumnEncoder) -> Iterator[_Spread]:
    """The spread of a column, part by part."""
    each = _each_once(cells, encoder)
    if each is not None:
        counts = np.bincount(each.codes + 1, minlength=len(each.cells.values))
        yield _spread_of(encoder.encode(each.cells), np.roll(counts, -1))
        return
    width = cells.values.shape[1] if cells.values.ndim == 2 else 1
    for part in blocks(len(cells.values), width, _IN_CACHE):
        yield _spread_of(encoder.encode(_cut(cells, part)))


def _spread_in_all(cells: Cells, encoder: ColumnEncoder) -> _Spread:
    """The spread of a column; raises where it is no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = reduce(_Spread.join, _raw_parts(cells, encoder))
    if not spread.squares < np.inf:
        largest = max(-spread.low, spread.high)
        raise ValueError(
            f"column {cells.name!r} holds numbers of up to {largest:g}, whose squares are too "
            "large for double precision: write them in another unit"
        )
    return spread


def fit_encoder(cells: Cells, decision: Decision) -> ColumnEncoder:
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
    spread = _spread_in_all(cells, encoder)
    if spread.variance <= 0:
        return Block(cells.name, encoder, spread.mean, 0.0)
    gain = 1 / np.sqrt(spread.variance)
    if decision.kind in ("category", "boolean"):
        apart = np.sqrt(2.0) if encoder.kind == "category" else spread.range
        gain = min(gain, FARTHEST / apart)
    if encoder.kind == "number":
        gain = min(gain, _WIDEST / spread.range)
    if decision.kind == "vector":
        gain *= np.sqrt(_directions(cells, encoder))
    return Block(cells.name, encoder, spread.mean, float(gain * np.sqrt(weight)))


def owners_of(blocks: Sequence[Block]) -> Array:
    """The number of the block that each number of a row belongs to."""
    return np.repeat(np.arange(len(blocks)), [block.width for block in blocks])


def _directions(cells: Cells, encoder: ColumnEncoder) -> float:
    """In how many directions rows vary: (sum of variances)² / sum of their squares."""
    parts = blocks(len(cells.values), cells.values.shape[1], _IN_CACHE)
    empty = [np.isnan(encoder.encode(_cut(cells, part))[:, 0]) for part in parts]
    known = np.flatnonzero(~np.concatenate(empty))
    some = encoder.encode(replace(cells, values=cells.values[known[:: -(-len(known) // _SAMPLE)]]))
    some = some - some[0]  # exact in columns that are one number, however large
    some = some - some.mean(axis=0)
    some /= max(float(np.abs(some).max()), 1e-300)  # of any unit: squares of squares are numbers
    products = some.T @ some if some.shape[1] <= some.shape[0] else some @ some.T
    total = float(np.trace(products))
    return max(1.0, total**2 / max(float((products**2).sum()), 1e-300))
