"""What a reader gives: numbers to map, names and metadata of rows, an account of what was taken."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any

import numpy as np

from ...core.arrays import Array
from ...core.input.kinds import survives
from ...core.input.memory import memory_budget
from ...tables.encoded import EncodedTable
from ...tables.encoder import TableEncoder
from .choice import Choice, check_names, shorten

# rows whose texts are looked at; words of a text that is worth mapping
_ROWS_LOOKED_AT = 1000
_WORDS_OF_PROSE = 4.0
_PIECE_VALUES = 1_000_000  # of a temporary file that are read at a time


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows of a file.

    Attributes
    ----------
    X : array, memmap, CSR matrix or h5py/zarr array of shape (n_rows, n_columns)
        As stored where that is possible: what `HNNE.fit` takes.
    columns : tuple of str or None
        Names of the columns of X, if they have any.
    taken : tuple of str or None
        The columns of the file that X was made of, if they have names: a column of vectors is one
        of them.
    names : array of str or None
        A name per row: the id column, or words.
    metadata : dict of str to array
        The other columns: one value per row each.
    source : str
        The file, and what was read of it.
    left_out : dict of str to str
        Columns that are not in X, and why.
    text : str or None
        The column of `metadata` that holds the texts: searched, and clusters are named by them.
    words : Words or None
        X is made of these texts by TF-IDF, and how: `read_table(…, like=table)` does the same to
        other texts.
    label : str or None
        The column of `metadata` that was named as the label: names of clusters come from it first.
    encoder : TableEncoder or None
        X is made of the columns of the table by it; `metadata` has them as they were.
    decided : tuple of str
        What was decided about each column, a line each.
    pictures : tuple of int or None
        (height, width) or (height, width, 3) of the pictures that rows of X are, if they are some.
    """

    X: Any
    columns: tuple[str, ...] | None = None
    names: Array | None = None
    metadata: dict[str, Array] = field(default_factory=dict)
    source: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    text: str | None = None
    words: Any = None
    taken: tuple[str, ...] | None = None
    label: str | None = None
    encoder: TableEncoder | None = None
    decided: tuple[str, ...] = ()
    pictures: tuple[int, ...] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def given(self) -> Any:
        """What a model takes: X, with the encoder that made it."""
        return self.X if self.encoder is None else EncodedTable(self.X, self.encoder)

    def __str__(self) -> str:
        """What was taken, in one or two lines."""
        if self.encoder is not None:
            n_columns = len(self.encoder.decisions_)
            return f"{self.source}: {self.n_rows:,} rows, {n_columns:,} columns, encoded"
        used = "" if self.columns is None or self.words else f" ({shorten(self.columns)})"
        kind = "column" if self.X.shape[1] == 1 else "columns"
        line = f"{self.source}: {self.n_rows:,} rows, {self.X.shape[1]:,} {kind} used{used}"
        if self.words:
            line = (
                f"{self.source}: {self.n_rows:,} texts ({self.text}), "
                f"{self.X.shape[1]:,} words by TF-IDF"
            )
        if self.names is not None:
            line += "; rows have names"
        if self.left_out:
            line += "; left out: " + shorten(
                [f"{name} ({why})" for name, why in self.left_out.items()]
            )
        return line

    __repr__ = __str__


class Growing:
    """Blocks of rows that become one array: in memory, or in a temporary file if they are many."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = memory_budget(None).size // 3 if limit is None else limit
        self.blocks: list[Array] = []
        self.file: IO[bytes] | None = None
        self.size = self.rows = 0

    def add(self, block: Array) -> None:
        self.blocks.append(block)
        self.size += block.nbytes
        self.rows += len(block)
        if self.size > self.limit:
            self._put_away()

    def _put_away(self) -> None:
        """Write all blocks, in one type: whole numbers may get gaps in a later block."""
        dtype = np.result_type(*(each.dtype for each in self.blocks))
        if self.file is None or dtype != self.blocks[0].dtype:
            self.file = _as_type(self.file, self.blocks[0].dtype, dtype)
        for each in self.blocks:
            self.file.write(np.ascontiguousarray(each, dtype).data)
        self.blocks = [self.blocks[-1][:0].astype(dtype)]

    def array(self) -> Array:
        if self.file is not None:
            first = self.blocks[0]
            with self.file as file:  # what is mapped stays, the file has no name
                file.flush()
                return np.memmap(file, first.dtype, "r+", shape=(self.rows, *first.shape[1:]))
        found = np.concatenate(self.blocks)
        self.blocks = []
        return found


def _as_type(file: IO[bytes] | None, old: Any, new: Any) -> IO[bytes]:
    """A temporary file with the values of another one, which goes, in another type."""
    # the map keeps it open
    found = tempfile.TemporaryFile()  # noqa: SIM115
    if file is not None:
        with file:
            file.seek(0)
            while piece := file.read(_PIECE_VALUES * old.itemsize):
                found.write(np.frombuffer(piece, old).astype(new).data)
    return found


def prose_of(columns: Mapping[str, Array]) -> list[str]:
    """Columns of texts of at least four words, on average over some rows; most words first."""
    words: dict[str, float] = {}
    for name, values in columns.items():
        if values.dtype.kind in "OUS" and len(values):
            some = values[:: -(-len(values) // _ROWS_LOOKED_AT)]
            words[name] = sum(len(str(value).split()) for value in some) / len(some)
    return sorted(
        (name for name, n in words.items() if n >= _WORDS_OF_PROSE), key=lambda name: -words[name]
    )


@dataclass(frozen=True, eq=False)
class RawColumns:
    """The columns of a table as a reader gives them.

    Attributes
    ----------
    names : tuple of str
        Of all columns, in the order of the file.
    numbers : dict of str to array
        One number per row, or one vector.
    others : dict of str to array
    """

    names: tuple[str, ...]
    numbers: dict[str, Array]
    others: dict[str, Array]

    def __getitem__(self, name: str) -> Array:
        return self.numbers[name] if name in self.numbers else self.others[name]

    @property
    def plain(self) -> dict[str, Array]:
        """Those with one value per row."""
        return {name: self[name] for name in self.names if self[name].ndim == 1}


def assemble(
    source: str,
    choice: Choice,
    names: Sequence[str],
    numbers: dict[str, Array],
    others: dict[str, Array],
) -> Table:
    """A table from its columns: blocks of numbers (1-D or 2-D, one per column) and all else."""
    from .mapping import map_columns  # which makes tables

    check_names(source, choice, names)
    return map_columns(source, choice, RawColumns(tuple(names), numbers, others))


def narrow_floats(values: Array) -> Array:
    """float32 where it holds every value."""
    if values.dtype == np.float64 and bool((survives(values, np.float32) | np.isnan(values)).all()):
        return values.astype(np.float32)
    return values


def require(name: str, path: Any, package: str = "") -> Any:
    """A library that a file needs and a plain install lacks, or an error that says where it is."""
    package = package or name
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{path} is read with {package}: "
            f"pip install 'nestmap[files]' (or pip install {package})"
        ) from error
