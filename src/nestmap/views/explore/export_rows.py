"""Rows of a set as a file: csv, row numbers as text, or parquet; block by block for any number."""

from __future__ import annotations

import csv
import importlib.util
import io
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from .nodes import clusters_of
from .query import RowQueries
from .store_format import CHUNK

MOST_ROWS = 5_000_000  # of one file: about a gigabyte of csv
_ROWS_AT_ONCE = 65_536  # rows of a block of parquet
_BYTES_AT_ONCE = 1 << 20
_MAX_EXACT = 2.0**53  # whole numbers to here are numbers in rows/*.json, larger ones texts
_FORMULA = re.compile(r"[=+\-@\t\r]")  # what a spreadsheet would run

Rows = list[list[Any]]


@dataclass(frozen=True)
class Export:
    """A file to send: how it ends, and its bytes in blocks."""

    suffix: str
    blocks: Iterator[bytes]


def export_rows(queries: RowQueries, asked: Any) -> Export:
    """The file that a page asks for; ValueError says what is wrong with the question."""
    match asked:
        case {"set": rows, "format": str(format), "level": level, **rest} if not rest:
            pass
        case _:
            raise ValueError('expected {"set": a set of rows, "format": text, "level": number}')
    n_levels = len(queries.store.meta["levels"])
    if level is not None and (type(level) is not int or not 0 <= level < n_levels):
        raise ValueError(f"level: 0 to {n_levels - 1}, or null, got {level!r:.60}")
    if format not in _FORMATS:
        raise ValueError(f"format: {', '.join(_FORMATS)}, got {format[:60]!r}")
    if format == "parquet" and not has_parquet():
        raise ValueError("parquet needs pyarrow: pip install 'nestmap[files]'")
    places = queries.places(rows)
    if len(places) > MOST_ROWS:
        raise ValueError(
            f"{len(places):,} rows are more than a file may have ({MOST_ROWS:,}): select fewer"
        )
    suffix, write = _FORMATS[format]
    is_held = level is not None and _names(queries, level) is not None
    return Export(suffix, write(queries, places, level if is_held else None))


def has_parquet() -> bool:
    """Whether parquet can be written here."""
    return importlib.util.find_spec("pyarrow") is not None


def _write_ids(queries: RowQueries, places: Array, level: int | None) -> Iterator[bytes]:
    numbers = np.sort(queries.row_numbers(places))
    for begin in range(0, len(numbers), _ROWS_AT_ONCE):
        part = numbers[begin : begin + _ROWS_AT_ONCE]
        yield "".join(f"{row}\n" for row in part.tolist()).encode()


def _write_csv(queries: RowQueries, places: Array, level: int | None) -> Iterator[bytes]:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([_safe(title) for title in _titles(queries, level)])
    for rows in _read(queries, places, level, CHUNK):
        writer.writerows([[_safe(value) for value in row] for row in rows])
        if file.tell() > _BYTES_AT_ONCE:
            yield file.getvalue().encode()
            file.seek(0)
            file.truncate()
    yield file.getvalue().encode()


def _safe(value: Any) -> Any:
    """As the page has it: no value and no title is a formula."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _write_parquet(queries: RowQueries, places: Array, level: int | None) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    titles = _titles(queries, level)
    exact = {each["name"] for each in queries.store.meta["columns"] if _is_exact(each)}
    numbers = [title == "row" or title in exact for title in titles]
    types = [pa.int64() if t == "row" else pa.float64() for t in titles]
    schema = pa.schema(
        [
            (title, kind if is_number else pa.string())
            for title, kind, is_number in zip(titles, types, numbers, strict=True)
        ]
    )
    with tempfile.TemporaryDirectory(prefix="nestmap-export-") as folder:
        path = Path(folder) / "rows.parquet"
        with pq.ParquetWriter(path, schema) as writer:
            for rows in _read(queries, places, level, _ROWS_AT_ONCE):
                columns = [
                    [_typed(value, is_number) for value in column]
                    for column, is_number in zip(zip(*rows, strict=True), numbers, strict=True)
                ]
                writer.write_table(pa.table(columns, schema=schema))
        with path.open("rb") as file:
            yield from iter(partial(file.read, _BYTES_AT_ONCE), b"")


def _is_exact(column: dict[str, Any]) -> bool:
    """Whether values are numbers: times are texts, and whole numbers that JSON would round."""
    if column["kind"] != "number" or column["time"]:
        return False
    return bool(column["min"] >= -_MAX_EXACT and column["max"] <= _MAX_EXACT)


def _typed(value: Any, is_number: bool) -> Any:
    """A number, or a text; None for what is missing."""
    if value is None:
        return None
    return float(value) if is_number else str(value)


_FORMATS: dict[str, tuple[str, Callable[[RowQueries, Array, int | None], Iterator[bytes]]]] = {
    "csv": ("csv", _write_csv),
    "ids": ("txt", _write_ids),
    "parquet": ("parquet", _write_parquet),
}


def _titles(queries: RowQueries, level: int | None) -> list[str]:
    fields = [str(field) for field in queries.store.meta["fields"]]
    return fields if level is None else [*fields, f"cluster of level {level}"]


def _read(queries: RowQueries, places: Array, level: int | None, n: int) -> Iterator[Rows]:
    """Values of the rows in tree order, some at once; with their clusters if a level is asked."""
    store = queries.store
    names = None if level is None else _names(queries, level)
    held: tuple[int, Rows] = (-1, [])
    for begin in range(0, len(places), n):
        part = places[begin : begin + n].tolist()
        found: Rows = []
        for place in part:
            if place // CHUNK != held[0]:
                held = (place // CHUNK, store.read_json(f"rows/{place // CHUNK}.json"))
            found.append(list(held[1][place % CHUNK]))
        if level is not None and names is not None:
            own = clusters_of(store, level, np.array(part, dtype=np.int64))
            for row, index in zip(found, [] if own is None else own.tolist(), strict=True):
                row.append(names[index])
        yield found


def _names(queries: RowQueries, level: int) -> list[str] | None:
    """What the clusters of a level are called; None where the level is too large."""
    store = queries.store
    if clusters_of(store, level, np.zeros(0, dtype=np.int64)) is None:
        return None
    numbers = store.clusters(level).tolist()
    given = store.names(level) if level in store.meta["named_levels"] else [""] * len(numbers)
    return [
        name.strip() or f"Cluster {number} of level {level}"
        for name, number in zip(given, numbers, strict=True)
    ]
