"""Parquet, Arrow and Feather files, batch by batch, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...errors import FileFormatError
from ...tables.cells import as_objects
from .choice import Choice, check_names
from .table import Growing, Table, assemble, narrow_floats, require


@dataclass(frozen=True, eq=False)
class Batches:
    """A file that was opened: its schema, its number of rows (0: unknown), and what it holds."""

    schema: Any
    n_rows: int
    parts: Iterator[Any]


def read_arrow(path: Path, choice: Choice, progress: Progress) -> Table:
    """Columns of numbers and of vectors of numbers; all others become metadata."""
    arrow = require("pyarrow", path)
    try:
        opened = _open_parquet(path) if path.suffix in (".parquet", ".pq") else _open_ipc(path)
        schema = opened.schema
        parts: dict[str, Growing | list[Any]] = {
            field.name: Growing() if _is_numeric(arrow, field.type) else [] for field in schema
        }
        if len(parts) != len(schema):
            raise FileFormatError(f"{path} has two columns of the same name")
        check_names(str(path), choice, [*parts])
        done = 0
        for batch in opened.parts:
            for field, column in zip(schema, batch.columns, strict=True):
                _append(path, parts, field, column, done)
            done += batch.num_rows
            progress.share(done / max(1, opened.n_rows))
    except arrow.ArrowException as error:
        raise FileFormatError(
            f"{path} is truncated or damaged ({' '.join(str(error).split())[:200]})"
        ) from error
    if not done:
        raise FileFormatError(f"{path} has no rows")
    numbers = {
        name: narrow_floats(part.array())
        for name, part in parts.items()
        if isinstance(part, Growing)
    }
    others = {name: as_objects(part) for name, part in parts.items() if isinstance(part, list)}
    return assemble(str(path), choice, [field.name for field in schema], numbers, others)


def _open_parquet(path: Path) -> Batches:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)
    return Batches(file.schema_arrow, file.metadata.num_rows, file.iter_batches())


def _open_ipc(path: Path) -> Batches:
    import pyarrow as arrow
    from pyarrow import feather, ipc

    try:
        source = arrow.memory_map(str(path))
        reader = ipc.open_file(source)
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        return Batches(reader.schema, 0, batches)
    except arrow.ArrowInvalid:
        with path.open("rb") as file:
            is_stream = file.read(4) == b"\xff\xff\xff\xff"
        if is_stream:
            stream = ipc.open_stream(arrow.memory_map(str(path)))
            return Batches(stream.schema, 0, iter(stream))
        table = feather.read_table(path)  # version 1
        return Batches(table.schema, table.num_rows, iter(table.to_batches()))


def _is_numeric(arrow: Any, kind: Any) -> bool:
    """Numbers, or vectors of numbers."""
    types = arrow.types
    if types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _append(path: Path, parts: dict[str, Any], field: Any, column: Any, first_row: int) -> None:
    part = parts[field.name]
    if not isinstance(part, Growing):
        part.extend("" if value is None else value for value in column.to_pylist())
        return
    import pyarrow as arrow

    if hasattr(column.type, "value_type"):
        block = _vectors(path, field.name, column, first_row, part.blocks)
    else:
        values = column.cast(arrow.float64()) if column.null_count else column
        block = np.asarray(values.to_numpy(zero_copy_only=False))
    part.add(block)


def _vectors(path: Path, name: str, column: Any, first_row: int, before: list[Array]) -> Array:
    """A column of vectors as rows; all must have the same length."""
    if hasattr(column.type, "list_size"):
        lengths = np.full(len(column), column.type.list_size)
    else:
        lengths = np.array([-1 if n is None else n for n in column.value_lengths().to_pylist()])
    width = before[0].shape[1] if before else int(lengths[0]) if len(lengths) else 0
    bad = np.flatnonzero((lengths != width) | ~np.asarray(column.is_valid()))
    if len(bad):
        found = (
            "nothing"
            if lengths[bad[0]] < 0 or column.null_count
            else f"a vector of {lengths[bad[0]]}"
        )
        raise FileFormatError(
            f"{path}, row {first_row + bad[0]}, column {name!r}: {found}; "
            f"expected a vector of {width} numbers"
        )
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False)).reshape(len(column), width)
