"""Tables of text through pyarrow, where it is installed: the same table in a fraction of the time.

What pyarrow would read differently, or not at all, is left to `text.py`, which also has the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ._formats import Stream, open_stream
from .table import Growing, narrow_floats

# what stands for no value, in lower case
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-"})
_WORTH_BYTES = 1 << 20  # of a file, as it is stored: below, importing pyarrow takes longer
_BLOCK_BYTES = 1 << 20  # of text that are parsed at a time: a longer row is none for pyarrow
_NO_NUMBER = re.compile(r"In CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)
_LONE_RETURN = re.compile(rb"\r(?!\n)")


@dataclass(frozen=True)
class Form:
    """How a table of text is written.

    Attributes
    ----------
    names : tuple of str
        Of its columns.
    kinds : list of bool
        Whether a column holds numbers, each.
    mark : str
        What separates cells; a blank: any number of blanks.
    n_before : int
        Lines before the first row.
    """

    names: tuple[str, ...]
    kinds: list[bool]
    mark: str
    n_before: int

    @property
    def numeric(self) -> list[int]:
        """Columns of numbers, by position."""
        return [j for j, kind in enumerate(self.kinds) if kind]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table: those of numbers, and texts."""

    numbers: dict[str, Array]
    others: dict[str, Array]

    @classmethod
    def of(cls, form: Form, values: Growing, texts: dict[int, Array]) -> Columns:
        """From one array of all numbers and the texts by position."""
        found = values.array()
        whole = found if isinstance(found, np.memmap) else narrow_floats(found)
        numbers = {form.names[j]: whole[:, k] for k, j in enumerate(form.numeric)}
        return cls(numbers, {form.names[j]: column for j, column in texts.items()})


class LateCell(Exception):
    """A cell that pyarrow does not read as a number, in a column of numbers."""

    def __init__(self, column: int, cell: str) -> None:
        super().__init__(f"column {column}: {cell!r}")
        self.column = column
        self.cell = cell


class _OddFile(Exception):
    """A file that pyarrow reads differently."""


class _Watched:
    """The bytes of a file on their way to pyarrow: a return without a line feed ends no row."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        while data.endswith(b"\r") and (more := self._file.read(1)):
            data += more
        if b"\r" in data and _LONE_RETURN.search(data):
            raise _OddFile
        return data

    def close(self) -> None:
        """The file is closed by who opened it."""


def read_by_arrow(path: Path, form: Form, progress: Progress) -> Columns | None:
    """The columns of a table; None where pyarrow is not there or not sure to give the same ones.

    Raises LateCell where a column of numbers holds something that pyarrow takes for none.
    """
    if form.mark == " " or path.stat().st_size < _WORTH_BYTES:
        return None
    try:
        arrow = import_module("pyarrow")
        import_module("pyarrow.csv")
    except ImportError:
        return None
    try:
        with open_stream(path) as stream:
            return _read(arrow, form, stream, progress)
    except arrow.ArrowException as error:
        if found := _NO_NUMBER.search(str(error)):
            raise LateCell(int(found[1]), found[2]) from None
        return None
    except _OddFile:
        return None


def _read(arrow: Any, form: Form, stream: Stream, progress: Progress) -> Columns:
    for _ in range(form.n_before):
        stream.file.readline()
    values = Growing()
    texts: dict[int, list[Array]] = {j: [] for j, kind in enumerate(form.kinds) if not kind}
    for batch in _batches(arrow, form, stream.file):
        found = np.empty((batch.num_rows, len(form.numeric)))
        for k, j in enumerate(form.numeric):
            found[:, k] = batch.column(j).to_numpy(zero_copy_only=False)
        values.add(found)
        for j, parts in texts.items():
            parts.append(_texts(batch.column(j)))
        progress.share(stream.share())
    return Columns.of(form, values, {j: np.concatenate(parts) for j, parts in texts.items()})


def _batches(arrow: Any, form: Form, file: IO[bytes]) -> Iterator[Any]:
    names = [str(j) for j in range(len(form.names))]
    texts = arrow.dictionary(arrow.int32(), arrow.string())
    types = {
        name: arrow.float64() if kind else texts
        for name, kind in zip(names, form.kinds, strict=True)
    }
    missing = [case(text) for text in sorted(MISSING) for case in (str, str.upper, str.title)]
    missing += ["NaN", "N/a"]
    reader = arrow.csv.open_csv(
        arrow.PythonFile(_Watched(file), "r"),
        arrow.csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES, use_threads=False),
        arrow.csv.ParseOptions(delimiter=form.mark, newlines_in_values=True),
        arrow.csv.ConvertOptions(column_types=types, null_values=missing),
    )
    with reader:
        yield from reader


def _texts(column: Any) -> Array:
    """Texts of a column, each one that comes again the same object."""
    levels = np.asarray(column.dictionary.to_numpy(zero_copy_only=False))
    if import_module("pyarrow.compute").starts_with(column.dictionary, " ").true_count:
        levels = np.array([level.lstrip(" ") for level in levels], dtype=object)
        if any(level.startswith('"') for level in levels):  # a blank before a quoted cell
            raise _OddFile
    return np.asarray(levels[column.indices.to_numpy()])
