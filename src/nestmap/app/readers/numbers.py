"""Columns of numbers that are mapped as they are: which, side by side, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from ...core.arrays import Array
from .choice import Choice, chosen_columns, shorten, wanted_like
from .table import RawColumns, Table, prose_of

_ROWS_LOOKED_AT = 1000  # rows whose cells tell what a column holds
# columns that may just count the rows
_COUNTERS = ("", "id", "index", "row", "unnamed: 0", "rownames")


def map_numbers(source: str, choice: Choice, raw: RawColumns) -> Table:
    """A table of all columns of numbers, or of those that were asked for, as they are."""
    names = raw.names
    numbers = raw.numbers
    others = raw.others
    found: dict[str, Array] = {**numbers, **others}
    prose = () if choice.text else prose_of(others)
    left_out = {
        name: f"text; --texts {name} maps it" if name in prose else _kind_of(others[name])
        for name in others
    }
    left_out |= dict(_special_reasons(choice))
    used, reasons = choose_numbers(source, choice, names, numbers)
    left_out |= reasons
    metadata = {name: values for name, values in found.items() if name not in used}
    if isinstance(choice.text, str):
        metadata |= {name: numbers[name] for name in used}
        left_out |= {name: "a text is mapped" for name in used}
        left_out.pop(choice.text, None)
        used = []
    X, columns = side_by_side(used, numbers)
    if X is None and not choice.text:
        raise ValueError(
            f"{source}: no column of numbers among {shorten(names)}; "
            "map a text column with text='NAME' (--texts NAME)"
        )
    row_names = None if choice.id is None else np.asarray(metadata.pop(choice.id)).astype(str)
    table = Table(X, columns, row_names, metadata, source, left_out, taken=tuple(used))
    if X is None:
        return table
    return without_missing(table, choice.missing or "error")


def choose_numbers(
    source: str, choice: Choice, names: Sequence[str], numbers: dict[str, Array]
) -> tuple[list[str], dict[str, str]]:
    """Columns of numbers that are mapped, and why others are not."""
    wanted = choice.columns or wanted_like(choice, names)
    if wanted is not None:
        used = chosen_columns(source, wanted, names, numbers)
        others = (name for name in numbers if name not in used and name not in choice.special)
        return used, dict.fromkeys(others, "not asked for")
    known = [name for name in names if name in numbers and name not in choice.special]
    counters = [name for name in known if counts_rows(name, numbers[name])]
    used = [name for name in known if name not in counters]
    return used, dict.fromkeys(counters, "counts the rows")


def _kind_of(values: Array) -> str:
    """What a column that holds no numbers is told as."""
    known = next(
        (value for value in values[:_ROWS_LOOKED_AT] if value is not None and value != ""), None
    )
    return "dates" if isinstance(known, date | np.datetime64) else "text"


def _special_reasons(choice: Choice) -> list[tuple[str, str]]:
    return [
        (name, {"id": "the name of each row", "label": "the label", "text": "the text"}[what])
        for name, what in choice.special.items()
    ]


def counts_rows(name: str, values: Array) -> bool:
    """Whether a column is called so, and is, a count of the rows."""
    if name.strip().lower() not in _COUNTERS or values.ndim != 1 or len(values) < 2:
        return False
    return bool((np.diff(values) == 1).all() and values[0] in (0, 1))


def side_by_side(
    used: Sequence[str], numbers: dict[str, Array]
) -> tuple[Any, tuple[str, ...] | None]:
    """One array of all columns; a column of vectors gives several."""
    if not used:
        return None, None
    if len(used) == 1 and numbers[used[0]].ndim == 2:
        return numbers[used[0]], None
    parts = [numbers[name].reshape(len(numbers[name]), -1) for name in used]
    names = [
        name if part.shape[1] == 1 else f"{name}[{i}]"
        for name, part in zip(used, parts, strict=True)
        for i in range(part.shape[1])
    ]
    return np.ascontiguousarray(np.concatenate(parts, axis=1)), tuple(names)


def without_missing(table: Table, missing: str) -> Table:
    """Missing numbers named by row and column, or dealt with."""
    if table.X.dtype.kind != "f":
        return table
    bad = np.isnan(table.X)
    if not bad.any():
        return table
    rows = np.flatnonzero(bad.any(axis=1))
    if missing == "error":
        column = int(bad[rows[0]].argmax())
        name = f"{table.columns[column]!r}" if table.columns else str(column)
        raise ValueError(
            f"{table.source}: row {rows[0]} has no number in column {name} ({bad.sum()} "
            f"are missing in {len(rows)} rows); leave the column out (--columns), "
            "or use missing='mean' or 'drop' (--missing)"
        )
    if missing == "mean":
        with np.errstate(invalid="ignore"):
            means = np.nansum(table.X, axis=0) / (~bad).sum(axis=0)
        empty = np.flatnonzero(np.isnan(means))
        if len(empty):
            name = table.columns[empty[0]] if table.columns else empty[0]
            raise ValueError(f"{table.source}: column {name!r} is empty; leave it out (--columns)")
        return replace(table, X=np.where(bad, means.astype(table.X.dtype), table.X))
    kept = ~bad.any(axis=1)
    if not kept.any():
        raise ValueError(
            f"{table.source}: every row has a missing number; "
            "leave columns out, or use missing='mean'"
        )
    return replace(
        table,
        X=table.X[kept],
        names=None if table.names is None else table.names[kept],
        metadata={name: values[kept] for name, values in table.metadata.items()},
        left_out={**table.left_out, f"{len(rows)} rows": "a number is missing"},
    )
