"""Sets of rows as JSON (`Rows` in explorer/src/data/engine.ts), read with care."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....core.arrays import Array
from .errors import RowsError

_DEEPEST = 32  # sets inside each other
_MOST_PARTS = 1000  # sets in an expression
MOST_RANGES = 300_000  # ranges in an expression: about 5 MB of JSON
_MOST_CODES = 256
_MOST_LETTERS = 200  # of a search, as for the search box


@dataclass(frozen=True)
class Combined:
    """Rows that are in all of some sets, or in any of them."""

    is_all: bool
    of: tuple[Expression, ...]


@dataclass(frozen=True)
class Other:
    """Rows that are not in a set."""

    of: Expression


@dataclass(frozen=True)
class Between:
    """Rows whose number lies between two numbers, both included."""

    column: str
    low: float
    high: float


@dataclass(frozen=True)
class OneOf:
    """Rows with some codes of categories."""

    column: str
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Missing:
    """Rows without a value."""

    column: str


@dataclass(frozen=True)
class Below:
    """Rows of a cluster."""

    level: int
    index: int


@dataclass(frozen=True)
class Listed:
    """Rows by their places, as the bytes of ranges: begin, end, as int64; and a sum of these."""

    packed: bytes = field(repr=False)
    digest: str

    @property
    def ranges(self) -> Array:
        return np.frombuffer(self.packed, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class Found:
    """Rows whose texts hold a text."""

    query: str


Expression = Combined | Other | Between | OneOf | Missing | Below | Listed | Found


@dataclass(frozen=True, eq=False)
class Known:
    """What an expression may speak of."""

    n_rows: int
    level_sizes: tuple[int, ...]
    kinds: Mapping[str, str]  # "number" or "category", by key of the column


def name_of(expression: Expression) -> bytes:
    """What an expression is remembered by: short, for it may list very many places."""
    return hashlib.sha256(repr(expression).encode()).digest()


def read_expression(given: Any, known: Known) -> Expression:
    """An expression from JSON; RowsError for one that makes no sense."""
    return _Reader(known).read(given, 0)


class _Reader:
    """Reads one expression, and counts what of it may become too much."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.n_parts = 0
        self.n_ranges = 0

    def read(self, given: Any, depth: int) -> Expression:
        self.n_parts += 1
        if depth > _DEEPEST or self.n_parts > _MOST_PARTS:
            raise RowsError(
                f"a set of rows has at most {_MOST_PARTS} parts, {_DEEPEST} inside each other"
            )
        if not isinstance(given, dict):
            raise RowsError(
                f'a set is an object such as {{"kind": "all", "of": []}}, got {_told(given)}'
            )
        kind = given.get("kind")
        reading = _READERS.get(kind) if isinstance(kind, str) else None
        if reading is None:
            raise RowsError(f"kind: one of {', '.join(_READERS)}, got {_told(kind)}")
        fields, read = reading
        if set(given) != {"kind", *fields}:
            raise RowsError(
                f"a set of the kind {kind} has the fields {', '.join(fields)}, "
                f"got {_told(', '.join(sorted(map(str, set(given) - {'kind'}))))}"
            )
        return read(self, given, depth)

    def combined(self, given: dict[str, Any], depth: int) -> Expression:
        of = given["of"]
        if not isinstance(of, list):
            raise RowsError(f"of: a list of sets, got {_told(of)}")
        return Combined(given["kind"] == "all", tuple(self.read(one, depth + 1) for one in of))

    def other(self, given: dict[str, Any], depth: int) -> Expression:
        return Other(self.read(given["of"], depth + 1))

    def between(self, given: dict[str, Any], depth: int) -> Expression:
        column = self.column(given["column"], "number")
        return Between(column, _number("low", given["low"]), _number("high", given["high"]))

    def one_of(self, given: dict[str, Any], depth: int) -> Expression:
        column = self.column(given["column"], "category")
        codes = given["codes"]
        if not isinstance(codes, list) or len(codes) > _MOST_CODES:
            raise RowsError(f"codes: a list of at most {_MOST_CODES} codes, got {_told(codes)}")
        return OneOf(column, tuple(sorted({_whole("codes", code, 256) for code in codes})))

    def missing(self, given: dict[str, Any], depth: int) -> Expression:
        return Missing(self.column(given["column"]))

    def below(self, given: dict[str, Any], depth: int) -> Expression:
        level = _whole("level", given["level"], len(self.known.level_sizes))
        return Below(level, _whole("index", given["index"], self.known.level_sizes[level]))

    def listed(self, given: dict[str, Any], depth: int) -> Expression:
        ranges = given["ranges"]
        self.n_ranges += len(ranges) if isinstance(ranges, list) else 0
        if self.n_ranges > MOST_RANGES:
            raise RowsError(f"ranges: at most {MOST_RANGES} in all")
        is_list = isinstance(ranges, list) and all(
            type(pair) is list and len(pair) == 2 and type(pair[0]) is int and type(pair[1]) is int
            for pair in ranges
        )
        if not is_list:
            raise RowsError(f"ranges: pairs of whole numbers [begin, end], got {_told(ranges)}")
        try:
            found = np.array(ranges, dtype=np.int64).reshape(-1, 2)
        except OverflowError:
            found = np.array([[-1, -1]])
        if (found[:, 0] < 0).any() or (found[:, 1] > self.known.n_rows).any():
            raise RowsError(f"ranges: places are 0 to {self.known.n_rows}")
        packed = found.tobytes()
        return Listed(packed, hashlib.sha256(packed).hexdigest())

    def found(self, given: dict[str, Any], depth: int) -> Expression:
        query = given["query"]
        if not isinstance(query, str):
            raise RowsError(f"query: a text, got {_told(query)}")
        return Found(query.strip().lower()[:_MOST_LETTERS])

    def column(self, key: Any, kind: str | None = None) -> str:
        """A column that is there, and of the kind that it has to be."""
        return check_column(self.known, key, kind)


_Read = Callable[[_Reader, dict[str, Any], int], Expression]
_READERS: dict[str, tuple[tuple[str, ...], _Read]] = {
    "all": (("of",), _Reader.combined),
    "any": (("of",), _Reader.combined),
    "not": (("of",), _Reader.other),
    "range": (("column", "low", "high"), _Reader.between),
    "categories": (("column", "codes"), _Reader.one_of),
    "missing": (("column",), _Reader.missing),
    "cluster": (("level", "index"), _Reader.below),
    "places": (("ranges",), _Reader.listed),
    "search": (("query",), _Reader.found),
}


def check_column(known: Known, key: Any, kind: str | None = None) -> str:
    """The key of a column that is there, and of the kind that it has to be."""
    if not isinstance(key, str) or key not in known.kinds:
        raise RowsError(f"column: there is none with the key {_told(key)}")
    if kind is not None and known.kinds[key] != kind:
        wanted = {"number": "has numbers: ask for a range", "category": "has categories"}
        raise RowsError(f"column {key} {wanted[known.kinds[key]]}")
    return key


def _number(what: str, given: Any) -> float:
    try:
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        if is_number and math.isfinite(given):
            return float(given)
    except OverflowError:
        pass
    raise RowsError(f"{what}: a finite number, got {_told(given)}")


def _whole(what: str, given: Any, end: int) -> int:
    if type(given) is not int or not 0 <= given < end:
        raise RowsError(f"{what}: a whole number from 0 to {end - 1}, got {_told(given)}")
    return given


def _told(given: Any) -> str:
    """A value in an error: short, whatever came."""
    if isinstance(given, list | dict):
        return f"a {type(given).__name__} of {len(given)}"
    if isinstance(given, int) and abs(given) > 10**18:
        return "a very large number"
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:59]}…"
