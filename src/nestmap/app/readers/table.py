"""What a reader gives: numbers to map, names and metadata of rows, an account of what was taken."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from typing import IO, Any

import numpy as np

from ...core.arrays import Array
from ...core.input.kinds import survives
from ...core.input.memory import memory_budget

# rows whose texts are looked at; words of a text that is worth mapping
_ROWS_LOOKED_AT = 1000
_WORDS_OF_PROSE = 4.0
_NAMES_SHOWN = 8  # names of columns in a line
# columns that may just count the rows
_COUNTERS = ("", "id", "index", "row", "unnamed: 0", "rownames")


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
        The column of `metadata` that X was made from by TF-IDF.
    words : Words or None
        How that was done: `read_table(…, like=table)` does the same to other texts.
    label : str or None
        The column of `metadata` that was named as the label: names of clusters come from it first.
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
    pictures: tuple[int, ...] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def __str__(self) -> str:
        """What was taken, in one or two lines."""
        used = "" if self.columns is None or self.text else f" ({shorten(self.columns)})"
        kind = "column" if self.X.shape[1] == 1 else "columns"
        line = f"{self.source}: {self.n_rows:,} rows, {self.X.shape[1]:,} {kind} used{used}"
        if self.text:
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


def shorten(names: Sequence[str]) -> str:
    """A few of many names."""
    shown = ", ".join(map(str, names[:_NAMES_SHOWN]))
    return (
        shown if len(names) <= _NAMES_SHOWN else f"{shown} … and {len(names) - _NAMES_SHOWN} more"
    )


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
            # the map keeps it open
            self.file = self.file or tempfile.TemporaryFile()  # noqa: SIM115
            for each in self.blocks:
                self.file.write(np.ascontiguousarray(each).data)
            self.blocks = [block[:0]]

    def array(self) -> Array:
        if self.file is not None:
            first = self.blocks[0]
            with self.file as file:  # what is mapped stays, the file has no name
                file.flush()
                return np.memmap(file, first.dtype, "r+", shape=(self.rows, *first.shape[1:]))
        found = np.concatenate(self.blocks)
        self.blocks = []
        return found


@dataclass(frozen=True)
class Choice:
    """What the user wants of a file.

    Attributes
    ----------
    columns : tuple of str or None
        To map: names, or numbers from 0.
    id, label, text, missing, format, key
        As in `read_table`.
    like : tuple of str or None
        Columns of an earlier table, taken by name where this one has names.
    words : Words or None
        Of an earlier table: texts are weighed by these.
    pictures : tuple of int or None
        Of an earlier table: pictures of a folder become rows of this shape.
    """

    columns: tuple[str, ...] | None = None
    id: str | None = None
    label: str | None = None
    text: str | bool = False
    missing: str = "error"  # 'error', 'drop', 'mean'
    like: tuple[str, ...] | None = None
    words: Any = None
    format: str | None = None
    key: str | None = None
    pictures: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.missing not in ("error", "drop", "mean"):
            raise ValueError(
                f"missing={self.missing!r} is not an option; use 'error', 'drop' or 'mean'"
            )

    @property
    def special(self) -> dict[str, str]:
        """Columns that are named for something else than X, and what that is."""
        named = {
            "id": self.id,
            "label": self.label,
            "text": self.text if isinstance(self.text, str) else None,
        }
        return {name: what for what, name in named.items() if name is not None}


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


def assemble(
    source: str,
    choice: Choice,
    names: Sequence[str],
    numbers: dict[str, Array],
    others: dict[str, Array],
) -> Table:
    """A table from its columns: blocks of numbers (1-D or 2-D, one per column) and all else."""
    found: dict[str, Array] = {**numbers, **others}
    for name, what in choice.special.items():
        if name not in found:
            raise NoColumn(source, what, name, names)
    prose = () if choice.text else prose_of(others)
    left_out = {
        name: f"text; --text {name} maps it" if name in prose else _kind_of(others[name])
        for name in others
    }
    left_out |= dict(_special_reasons(choice))
    used, reasons = _choose_numbers(source, choice, names, numbers)
    left_out |= reasons
    metadata = {name: values for name, values in found.items() if name not in used}
    if isinstance(choice.text, str):
        metadata |= {name: numbers[name] for name in used}
        left_out |= {name: "a text is mapped" for name in used}
        left_out.pop(choice.text, None)
        used = []
    X, columns = _side_by_side(used, numbers)
    if X is None and not choice.text:
        raise ValueError(
            f"{source}: no column of numbers among {shorten(names)}; "
            "map a text column with text='NAME' (--text NAME)"
        )
    row_names = None if choice.id is None else np.asarray(metadata.pop(choice.id)).astype(str)
    table = Table(X, columns, row_names, metadata, source, left_out, taken=tuple(used))
    return table if X is None else _without_missing(table, choice.missing)


def _choose_numbers(
    source: str, choice: Choice, names: Sequence[str], numbers: dict[str, Array]
) -> tuple[list[str], dict[str, str]]:
    """Columns of numbers that are mapped, and why others are not."""
    wanted = choice.columns or wanted_like(choice, names)
    if wanted is not None:
        used = chosen_columns(source, wanted, names, numbers)
        others = (name for name in numbers if name not in used and name not in choice.special)
        return used, dict.fromkeys(others, "not asked for")
    known = [name for name in names if name in numbers and name not in choice.special]
    counters = [name for name in known if _counts_rows(name, numbers[name])]
    used = [name for name in known if name not in counters]
    return used, dict.fromkeys(counters, "counts the rows")


def _kind_of(values: Array) -> str:
    """What a column that holds no numbers is told as."""
    known = next(
        (value for value in values[:_ROWS_LOOKED_AT] if value is not None and value != ""), None
    )
    return "dates" if isinstance(known, date | np.datetime64) else "text"


def wanted_like(choice: Choice, names: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of an earlier table in one with these names; None if they are only numbers."""
    has_names = any(name != str(i) for i, name in enumerate(names))
    return choice.like if has_names else None


def _special_reasons(choice: Choice) -> list[tuple[str, str]]:
    return [
        (name, {"id": "the name of each row", "label": "the label", "text": "the text"}[what])
        for name, what in choice.special.items()
    ]


class NoColumn(ValueError):
    """A column that is not there."""

    def __init__(self, source: str, what: str, name: str, names: Sequence[str]) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {shorten(names)}"
        super().__init__(f"{source}: {what}={name!r} is no column{hint}")


def chosen_columns(
    source: str, wanted: Sequence[str], names: Sequence[str], numbers: dict[str, Any]
) -> list[str]:
    """Columns by name, by number, or as a range of numbers such as 3-10."""
    used: list[str] = []
    for item in wanted:
        first, dash, last = item.partition("-")
        if item in names:
            found = [item]
        elif first.isdigit() and (last.isdigit() if dash else True):
            start = int(first)
            stop = int(last) if dash else int(first)
            if not start <= stop < len(names):
                raise ValueError(
                    f"{source}: columns={item!r}: there are columns 0 to {len(names) - 1}"
                )
            found = list(names[start : stop + 1])
        else:
            raise NoColumn(source, "columns", item, names)
        bad = [name for name in found if name not in numbers]
        if bad:
            raise ValueError(
                f"{source}: column {bad[0]!r} holds texts, not numbers; use it as text= (--text)"
            )
        used += [name for name in found if name not in used]
    return used


def _counts_rows(name: str, values: Array) -> bool:
    """Whether a column is called so, and is, a count of the rows."""
    if name.strip().lower() not in _COUNTERS or values.ndim != 1 or len(values) < 2:
        return False
    return bool((np.diff(values) == 1).all() and values[0] in (0, 1))


def _side_by_side(
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


def _without_missing(table: Table, missing: str) -> Table:
    """Missing numbers named by row and column, or dealt with."""
    if table.X.dtype.kind != "f" or missing not in ("error", "drop", "mean"):
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
