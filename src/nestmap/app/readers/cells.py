"""Columns of values that know their type (JSON, Excel), as a csv of them would be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...errors import FileFormatError
from .arrow_csv import MISSING, Columns
from .choice import Choice
from .table import Table, assemble, narrow_floats
from .text import PADDED


@dataclass(frozen=True)
class Place:
    """Where the rows of a table come from.

    Attributes
    ----------
    path : Path
        The file.
    part : str
        The part of it that holds the table; none if that is all of it.
    row : callable
        Names a row by its index: 'line 7'.
    """

    path: Path
    part: str
    row: Callable[[int], str]

    @property
    def source(self) -> str:
        return f"{self.path} ({self.part})" if self.part else str(self.path)


def table_of_cells(
    place: Place, choice: Choice, columns: Mapping[str, Sequence[Any]], left_out: Mapping[str, str]
) -> Table:
    """A table from columns of values, None where there is none.

    A column of numbers, also of texts that are numbers, is one of numbers; a column of arrays is
    one of vectors; others are texts or dates.
    """
    if not columns or not len(next(iter(columns.values()))):
        raise FileFormatError(f"{place.source} has no rows")
    as_texts = {name for name, what in choice.special.items() if what in ("id", "text")}
    found = Columns({}, {})
    for name, values in columns.items():
        is_code = choice.has_codes and any(
            isinstance(value, str) and PADDED.fullmatch(value) for value in values
        )
        numbers = None if is_code or name in as_texts else _numbers(place, name, values)
        if numbers is None:
            found.others[name] = _others(values)
        else:
            found.numbers[name] = narrow_floats(numbers)
    table = assemble(place.source, choice, [*columns], found.numbers, found.others)
    table.left_out.update(left_out)
    return table


def _numbers(place: Place, name: str, values: Sequence[Any]) -> Array | None:
    """A column as numbers, or as a row of numbers per vector; None if it holds something else."""
    if any(isinstance(value, np.ndarray) for value in values):
        return _vectors(place, name, values)
    found = np.full(len(values), np.nan)
    n_known = 0
    for i, value in enumerate(values):
        if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
            continue
        number = to_number(value)
        if number is None:
            return None
        found[i] = number
        n_known += 1
    return found if n_known else None


def to_number(value: Any) -> float | None:
    """What a value is as a number; None for truth values, dates, and texts that are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value) if not isinstance(value, str) or "_" not in value else None
    except (ValueError, OverflowError):
        return None


def _vectors(place: Place, name: str, values: Sequence[Any]) -> Array | None:
    """Vectors of one length; None for lists of whole numbers of many lengths: those are tags."""
    vectors = [value for value in values if isinstance(value, np.ndarray)]
    width = len(vectors[0])
    odd = next(
        (
            i
            for i, value in enumerate(values)
            if not isinstance(value, np.ndarray) or len(value) != width
        ),
        None,
    )
    if odd is None:
        return np.stack(vectors)
    if all((vector == np.rint(vector)).all() for vector in vectors):
        return None
    value = values[odd]
    told = "nothing" if value is None else repr(value)[:40]
    told = f"a vector of {len(value)}" if isinstance(value, np.ndarray) else told
    raise FileFormatError(
        f"{place.source}, {place.row(odd)}, column {name!r}: {told}; "
        f"expected a vector of {width} numbers"
    )


def _others(values: Sequence[Any]) -> Array:
    """Dates as they are, all else as text; nothing where there is no value."""
    if all(value is None or isinstance(value, date) for value in values):
        return np.array(["" if value is None else value for value in values], dtype=object)
    return np.array([_text(value) for value in values], dtype=object)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, np.ndarray):
        return ", ".join(f"{number:g}" for number in value)
    return str(value)
