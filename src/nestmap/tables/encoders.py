"""Columns as numbers, before they are centred and weighed: rows of NaN where a cell is missing."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np

from ..core.arrays import Array
from .cells import Cells
from .decide import FEW_LEVELS, LONG_TAIL
from .profiles import Reading, read_levels, read_values

# Values of a long tail end here, in units of scale; as skrub's SquashingScaler, Grinsztajn 2024.
SQUASH = 3.0
# Those of other columns: 3, 4, 6, 8, 10, 15 and 20 were measured, benchmarks/tables_encoding.py.
MILD = 10.0
_NORMAL_IQR = 1.349  # interquartile range of a normal distribution of variance 1
_SHARED = FEW_LEVELS // 4  # directions of all rarer levels together
_TINY = 1e-12  # relative differences that are rounding
_DAY = 86400.0
_YEAR = 365.2425 * _DAY
MOMENTS = ("year", "month", "weekday", "hour")


class ColumnEncoder(Protocol):
    """Cells to numbers; made once, from the training rows."""

    @property
    def kind(self) -> str:
        """'number', 'category', 'date', 'vector' or 'text'."""

    def encode(self, cells: Cells) -> Array:
        """Rows of numbers, NaN where the cell is missing."""

    def names(self, column: str) -> list[str]:
        """What the numbers are."""


@dataclass(frozen=True, eq=False)
class NumberEncoder:
    """Centred by the median, scaled by quartiles, tails squashed: z / sqrt(1 + (z / ends)²)."""

    reading: Reading
    median: float
    scale: float
    ends: float = SQUASH  # no value is farther from the median, in units of scale
    kind: str = "number"

    @classmethod
    def fit(cls, cells: Cells, reading: Reading) -> NumberEncoder:
        values = read_values(cells, reading)
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls(reading, 0.0, 1.0)
        low, median, high = (float(v) for v in np.quantile(finite, (0.25, 0.5, 0.75)))
        scale = (high - low) / _NORMAL_IQR
        farthest = max(median - float(finite.min()), float(finite.max()) - median)
        ends = MILD if farthest <= LONG_TAIL * (high - low) else SQUASH
        if scale <= _TINY * max(abs(low), abs(high)):  # half of the rows have one value, often 0
            apart = np.abs(finite - median)
            scale = float(np.median(apart[apart > 0])) if apart.any() else 1.0
        return cls(reading, median, scale if scale > 0 else 1.0, ends)

    def encode(self, cells: Cells) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            z = (read_values(cells, self.reading) - self.median) / self.scale
            squashed = z / np.sqrt(1 + (z / self.ends) ** 2)
        far = np.isinf(z) | (np.isnan(squashed) & ~np.isnan(z))
        return np.where(far, self.ends * np.sign(z), squashed)[:, None]

    def names(self, column: str) -> list[str]:
        return [column]


@dataclass(frozen=True, eq=False)
class LevelEncoder:
    """A direction of its own for each frequent level; rarer ones get fixed ones among a few.

    A level that was not seen lies in the origin: as far from all others as these from it.
    """

    levels: tuple[str, ...]  # those with a direction of their own, most frequent first
    shared: bool  # whether there are others
    kind: str = "category"

    @classmethod
    def fit(cls, cells: Cells) -> LevelEncoder:
        coded = read_levels(cells)
        counts = np.bincount(coded.values[coded.values >= 0], minlength=len(coded.texts))
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], coded.texts[i]))
        seen = [i for i in order if counts[i]]
        shared = len(seen) > FEW_LEVELS
        own = seen[: FEW_LEVELS - _SHARED] if shared else seen
        return cls(tuple(str(coded.texts[i]) for i in own), shared)

    def encode(self, cells: Cells) -> Array:
        coded = read_levels(cells)
        width = len(self.levels) + (_SHARED if self.shared else 0)
        places = {level: i for i, level in enumerate(self.levels)}
        table = np.zeros((len(coded.texts) + 1, width))
        table[-1] = np.nan  # code -1
        for i, level in enumerate(coded.texts):
            place = places.get(level)
            if place is not None:
                table[i, place] = 1.0
            elif self.shared:
                table[i, len(self.levels) :] = shared_direction(level)
        return np.asarray(table[coded.values])

    def names(self, column: str) -> list[str]:
        rest = [f"{column}~{i}" for i in range(_SHARED)] if self.shared else []
        return [f"{column}={level}" for level in self.levels] + rest


def shared_direction(level: str) -> Array:
    """A unit vector that follows from the text alone: the same in all sessions."""
    digest = blake2b(level.encode("utf-8", "surrogatepass"), digest_size=2 * _SHARED).digest()
    vector = np.frombuffer(digest, dtype="<u2").astype(np.float64) - (2**16 - 1) / 2
    return np.asarray(vector / np.linalg.norm(vector))


@dataclass(frozen=True, eq=False)
class MomentEncoder:
    """Year as a number; month, weekday and hour as circles; those that vary."""

    reading: Reading
    parts: tuple[str, ...]
    median: float = 0.0  # of years
    scale: float = 1.0
    kind: str = "date"

    @classmethod
    def fit(cls, cells: Cells, reading: Reading) -> MomentEncoder:
        if reading.kind in ("clock", "cycle"):
            return cls(reading, ("hour",) if reading.kind == "clock" else ("cycle",))
        seconds = read_values(cells, reading)
        seconds = seconds[np.isfinite(seconds)]
        days = seconds // _DAY
        of_day = np.unique(seconds % _DAY)
        long = bool(len(days)) and float(np.ptp(days)) > 300  # less than a year has no seasons
        months = len(np.unique(_month(seconds))) > 1
        in_month = len(np.unique(_day_of_month(seconds))) > 1  # else these are months, not days
        parts = tuple(
            part
            for part, varies in zip(
                MOMENTS,
                (len(np.unique(days)) > 1, long and months, in_month, len(of_day) > 1),
                strict=True,
            )
            if varies
        )
        number = NumberEncoder.fit(Cells("", "number", seconds), Reading("numbers"))
        return cls(reading, parts or ("year",), number.median, number.scale)

    def encode(self, cells: Cells) -> Array:
        values = read_values(cells, self.reading)
        angles = {
            "month": lambda: 2 * np.pi * (values % _YEAR) / _YEAR,
            "weekday": lambda: 2 * np.pi * np.floor(values / _DAY) / 7,
            "hour": lambda: 2 * np.pi * (values % _DAY) / _DAY,
            "cycle": lambda: 2 * np.pi * values / float(self.reading.form or 1),
        }
        columns = []
        for part in self.parts:
            if part == "year":
                plain = NumberEncoder(Reading("numbers"), self.median, self.scale)
                year = plain.encode(Cells("", "number", values))[:, 0]
                columns.append(year)
            else:
                angle = angles[part]()
                columns += [np.cos(angle), np.sin(angle)]
        return np.stack(columns, axis=1)

    def names(self, column: str) -> list[str]:
        found = []
        for part in self.parts:
            circle = [f"{column}_{part}_cos", f"{column}_{part}_sin"]
            found += [f"{column}_year"] if part == "year" else circle
        return found


def _month(seconds: Array) -> Array:
    return seconds.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12


def _day_of_month(seconds: Array) -> Array:
    moments = seconds.astype("datetime64[s]")
    return np.asarray(
        (moments.astype("datetime64[D]") - moments.astype("datetime64[M]")).astype(int)
    )


@dataclass(frozen=True, eq=False)
class VectorEncoder:
    """Vectors as they are."""

    width: int
    kind: str = "vector"

    def encode(self, cells: Cells) -> Array:
        if cells.form != "vector" and cells.missing.all():  # nothing shows that these are vectors
            return np.full((len(cells.values), self.width), np.nan)
        values = read_values(cells, Reading("vectors"))
        if values.shape[1] != self.width:
            raise ValueError(
                f"column {cells.name!r} held lists of {self.width} numbers in fit, now of "
                f"{values.shape[1]}"
            )
        broken = np.asarray(~np.isfinite(values).all(axis=1))
        return np.where(broken[:, None], np.nan, values)

    def names(self, column: str) -> list[str]:
        return [f"{column}_{i}" for i in range(self.width)]
