"""JSON: records, columns or rows in one file, or a record per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from ...core.input.memory import available_memory, format_size
from ...core.progress import Progress
from ...errors import FileFormatError
from ._formats import BLOCK_BYTES, open_stream
from .cells import Place, table_of_cells, to_number
from .choice import Choice, shorten
from .table import Table
from .text import lines_of, told_apart

_EXPECTED = 'expected an object such as {"name": "A", "size": 1}, or a list of values'
_OBJECTS_PER_TEXT = 10  # bytes of objects and columns per byte of JSON: 4 to 9 were measured
_Columns = dict[str, list[Any]]


def read_json(path: Path, choice: Choice, progress: Progress) -> Table:
    """Records, columns, or rows; a file with a record per line all the same."""
    data = _read_whole(path, progress)
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(f"{path}, line {line:,}: is not UTF-8 text") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return read_json_lines(path, choice, progress)
        raise _no_json(path, error.lineno, error) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is no JSON that can be read: {error}") from None
    return _table(path, choice, content)


def _read_whole(path: Path, progress: Progress) -> bytes:
    """The unpacked text; no more of it than there is memory for what it will become."""
    limit = available_memory() // _OBJECTS_PER_TEXT
    parts = []
    length = 0
    with open_stream(path) as stream:
        while part := stream.file.read(BLOCK_BYTES):
            length += len(part)
            if length > limit:
                unpacked = " unpacked" if stream.compressed else ""
                raise FileFormatError(
                    f"{path} holds more than {format_size(limit)}{unpacked}, which is read as a "
                    f"whole, and becomes {_OBJECTS_PER_TEXT} times as much in memory; write it "
                    "with a record per line (.jsonl) in parts, or as Parquet"
                )
            parts.append(part)
            progress.share(stream.share())
    return b"".join(parts)


def _no_json(path: Path, line: int, error: json.JSONDecodeError) -> FileFormatError:
    empty = not error.doc.strip()
    told = "is empty" if empty else f"is no JSON, at column {error.colno}: {error.msg}"
    return FileFormatError(f"{path} {told}" if empty else f"{path}, line {line:,}: {told}")


def read_json_lines(path: Path, choice: Choice, progress: Progress) -> Table:
    """A record, or a list of values, per line."""
    numbers: list[int] = []
    rows = _Rows()
    with open_stream(path) as stream:
        for number, line in enumerate(lines_of(stream, path), start=1):
            if not line.strip():
                continue
            try:
                rows.add(json.loads(line.rstrip()))
            except json.JSONDecodeError as error:
                raise _no_json(path, number, error) from None
            except (ValueError, RecursionError) as error:
                raise FileFormatError(f"{path}, line {number:,}: {error}") from None
            numbers.append(number)
            if len(numbers) % 1000 == 0:
                progress.share(stream.share())
    place = Place(path, "", lambda i: f"line {numbers[i]:,}")
    return table_of_cells(place, choice, rows.columns(), {})


class _Rows:
    """Records, or lists of values, that become columns."""

    def __init__(self) -> None:
        self._columns: _Columns = {}
        self._lists: list[list[Any]] = []
        self._n = 0

    def add(self, row: Any) -> None:
        """One more row; raises ValueError for what is none."""
        if isinstance(row, list) and not self._columns:
            if self._lists and len(row) != len(self._lists[0]):
                raise ValueError(f"{len(row)} values; expected {len(self._lists[0])}")
            self._lists.append(row)
        elif isinstance(row, dict) and not self._lists:
            for name, value in _flat(row):
                column = self._columns.setdefault(name, [])
                column += [None] * (self._n - len(column))
                column[self._n :] = [_cell(value)]
        else:
            other = " after others of another kind" if self._n else ""
            raise ValueError(f"holds {_kind(row)}{other}; {_EXPECTED}")
        self._n += 1

    def columns(self) -> _Columns:
        """Columns of one length, by the names of their entries or by number."""
        if self._lists:
            return _by_position(self._lists)
        for column in self._columns.values():
            column += [None] * (self._n - len(column))
        return self._columns


def _by_position(rows: Sequence[Sequence[Any]], names: Sequence[Any] | None = None) -> _Columns:
    """Lists of values; the first one holds the names if it has texts only and the second not."""
    if names is None and len(rows) > 1 and _all(rows[0], str):
        known = [value for value in rows[1] if value is not None]
        if any(to_number(value) is not None for value in known):
            return _by_position(rows[1:], rows[0])
    names = range(len(rows[0])) if names is None else names
    own = told_apart([str(name) for name in names])
    return {name: [_cell(row[j]) for row in rows] for j, name in enumerate(own)}


def _flat(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Entries of a record; those of a record inside are entries 'outer.inner'."""
    for name, value in record.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def _cell(value: Any) -> Any:
    """A value; of lists, numbers are a vector, texts are joined, all else is kept as JSON text."""
    if not isinstance(value, list | dict):
        return value
    if not value:
        return None
    kinds = set(map(type, value)) if isinstance(value, list) else {dict}
    if kinds <= {int, float}:
        with suppress(OverflowError):  # of a number with hundreds of digits
            return np.array(value, dtype=np.float64)
    if kinds == {str}:
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    kind = "a truth value" if isinstance(value, bool) else "a number"
    return f"{names.get(type(value), kind)} ({json.dumps(value, ensure_ascii=False)[:30]})"


def _all(values: Any, kind: type) -> TypeGuard[Sequence[Any]]:
    return all(isinstance(value, kind) for value in values)


def _table(path: Path, choice: Choice, content: Any) -> Table:
    """The table in what a file holds."""
    part = ""
    if isinstance(content, dict):
        part = _entry(path, choice.key, content)
        content = content[part] if part else content
    place = Place(path, part, lambda i: f"record {i + 1:,}")
    columns = _columns_of_object(place, content) if isinstance(content, dict) else None
    if columns is None:
        if not isinstance(content, list):
            raise FileFormatError(f"{place.source} holds {_kind(content)}; expected records")
        rows = _Rows()
        for i, row in enumerate(content):
            try:
                rows.add(row)
            except ValueError as error:
                raise FileFormatError(f"{place.source}, {place.row(i)}: {error}") from None
        columns = rows.columns()
    return table_of_cells(place, choice, columns, {})


def _entry(path: Path, key: str | None, content: Mapping[str, Any]) -> str:
    """The entry of an object that holds the table; '' if the object is the table."""
    if key is not None:
        if key not in content:
            raise ValueError(
                f"{path}: key={key!r} is not there; it has {shorten([*content]) or 'nothing'}"
            )
        return key
    if _is_split(content) or not content:
        return ""
    records = [
        name
        for name, value in content.items()
        if isinstance(value, list) and value and _all(value, dict)
    ]
    alone = len(content) > 1 and _all(content.values(), list) and len(_lengths(content)) == 1
    if len(records) == 1 and not alone:
        return records[0]
    if _all(content.values(), dict) or alone or (_all(content.values(), list) and not records):
        return ""
    raise ValueError(
        f"{path}: which entry holds the rows? It has {shorten([*content])}; "
        "name one with key= (--key)"
    )


def _is_split(content: Mapping[str, Any]) -> bool:
    """Whether an object is what pandas calls split: names of columns, and rows as lists."""
    parts = [content.get("columns"), content.get("data")]
    return _all(parts, list) and _all(parts[1], list)


def _lengths(content: Mapping[str, Any]) -> set[int]:
    return {len(values) for values in content.values()}


def _columns_of_object(place: Place, content: Mapping[str, Any]) -> _Columns | None:
    """Columns from an object of columns; records by name, and pandas' forms, are known, too."""
    if _is_split(content):
        if {len(row) for row in content["data"]} - {len(content["columns"])}:
            raise FileFormatError(f"{place.source}: rows of 'data' do not fit 'columns'")
        return _by_position(content["data"], content["columns"])
    if _all(content.values(), list):
        if len(_lengths(content)) > 1:
            told = [f"{name}: {len(values):,}" for name, values in content.items()]
            raise FileFormatError(f"{place.source}: columns differ in length ({shorten(told)})")
        return {name: [_cell(value) for value in values] for name, values in content.items()}
    if not _all(content.values(), dict):
        raise FileFormatError(f"{place.source} holds {_kind(content)}; expected records or columns")
    inner = list(dict.fromkeys(name for values in content.values() for name in values))
    are_rows = all(name.isdigit() for name in content)
    if not are_rows and len(inner) >= len(content):  # columns of at least as many rows
        return _named(inner, lambda row: ((name, content[name].get(row)) for name in content))
    return _named([*content], lambda row: content[row].items())


def _named(names: Sequence[str], entries: Callable[[str], Any]) -> _Columns:
    """Rows that have names: a first column without a name holds them, as in a csv of pandas."""
    rows = _Rows()
    for name in names:
        rows.add({"": name, **dict(entries(name))})
    return rows.columns()
