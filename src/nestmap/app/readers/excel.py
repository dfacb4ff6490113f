"""Sheets of Excel files (.xlsx), through openpyxl."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import Any

from ...core.progress import Progress
from ...errors import FileFormatError
from ._formats import damage_named
from .cells import Place, table_of_cells
from .choice import Choice, shorten
from .table import Table, require
from .text import column_names

_ERRORS = {"#N/A", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"}
_ROWS_LOOKED_AT = 50  # for where the table begins
_Row = Sequence[Any]


def read_excel(path: Path, choice: Choice, progress: Progress) -> Table:
    """The first sheet, or the one that `key` names; titles above its table are left out."""
    openpyxl = require("openpyxl", path)
    with warnings.catch_warnings(), damage_named(path), path.open("rb") as file:
        warnings.simplefilter("ignore")  # of forms and styles, which are not read
        try:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
            raise FileFormatError(
                f"{path} is no .xlsx file, damaged, or locked by a password ({error})"
            ) from error
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        name = next(iter(sheets), "") if choice.key is None else choice.key
        if name not in sheets:
            told = shorten([*sheets]) or "no sheets"
            raise ValueError(f"{path}: key={name!r} is no sheet; it has {told}")
        try:
            rows = list(_rows(sheets[name], progress))
        except SyntaxError as error:  # of XML
            raise FileFormatError(f"{path} ({name}) is damaged ({error})") from error
    left_out = {each: "another sheet" for each in sheets if each != name}
    return _table(path, choice, name, rows, left_out)


def _rows(sheet: Any, progress: Progress) -> Iterator[_Row]:
    """All rows up to the last that holds something; cells that hold nothing or an error: None."""
    n_rows = sheet.max_row or 0
    sheet.reset_dimensions()  # programs write wrong ones
    empty: list[_Row] = []
    for i, row in enumerate(sheet.iter_rows(values_only=True)):
        cells = [None if _is_empty(cell) else cell for cell in row]
        empty.append(cells)
        if _holds_something(cells):
            yield from empty
            empty = []
        if n_rows and i % 1000 == 0:
            progress.share(min(1.0, i / n_rows))


def _is_empty(cell: Any) -> bool:
    return isinstance(cell, str) and (not cell.strip() or cell in _ERRORS)


def _table(
    path: Path, choice: Choice, name: str, rows: Sequence[_Row], left_out: dict[str, str]
) -> Table:
    source = f"{path} ({name})"
    if not rows:
        raise FileFormatError(f"{source} is empty")
    first = _first_row(rows)
    filled = [i for i, row in enumerate(rows) if i >= first and _holds_something(row)]
    width = max(len(rows[i]) for i in filled)
    cells = [[*rows[i], *[None] * (width - len(rows[i]))] for i in filled]
    by_column = [column for column in zip(*cells, strict=True) if _holds_something(column)]
    head = [(i, [_as_text(column[i]) for column in by_column]) for i in range(min(2, len(cells)))]
    names, has_header = column_names(head, path)
    columns = {
        each: _whole_days(column[has_header:])
        for each, column in zip(names, by_column, strict=True)
    }
    above = sum(map(_holds_something, rows[:first]))
    if above:
        left_out[f"{above} row{'s' * (above > 1)}"] = "above the table"
    place = Place(path, name, lambda i: f"row {filled[i + has_header] + 1:,}")
    return table_of_cells(place, choice, columns, left_out)


def _first_row(rows: Sequence[_Row]) -> int:
    """Where the table begins: the first row with half of the cells of the fullest."""
    filled = [sum(cell is not None for cell in row) for row in rows[:_ROWS_LOOKED_AT]]
    most = max(filled)
    return next(i for i, n in enumerate(filled) if 2 * n >= most)


def _holds_something(cells: _Row) -> bool:
    return any(cell is not None for cell in cells)


def _as_text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _whole_days(values: _Row) -> _Row:
    """Dates without a time of day, if none of them has one."""
    if any(not isinstance(value, datetime) for value in values if value is not None):
        return values
    if any(value is not None and value.time() != time() for value in values):
        return values
    return [None if value is None else value.date() for value in values]
