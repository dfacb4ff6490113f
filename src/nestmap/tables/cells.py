"""Tables of any make as columns of cells: numbers, times, levels of text, vectors."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.habits import did_you_mean

# Cells that say that there is nothing, after strip and casefold: what pandas and skrub take for
# missing, and the dashes and question marks of files that people typed.
NOTHING = frozenset(
    [
        "na",
        "n/a",
        "#n/a",
        "#na",
        "<na>",
        "nan",
        "-nan",
        "null",
        "none",
        "nil",
        "(null)",
        "-",
        "--",
        "---",
        "–",
        "—",
        "?",
        ".",
        "..",
        "...",
        "\\n",
        "missing",
    ]
) | {"", "not available"}
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")


@dataclass(frozen=True, eq=False)
class Cells:
    """One column: values are float64 with NaN for missing, or codes (-1: missing) of levels.

    Attributes
    ----------
    name : str
    form : 'number', 'boolean', 'time' (seconds since 1970), 'text' (codes) or 'vector'
    values : array of shape (n_rows,), for vectors (n_rows, n_numbers)
    levels : array of str, or None
    """

    name: str
    form: str
    values: Array
    levels: Array | None = None

    @property
    def texts(self) -> Array:
        """The levels of a column of text."""
        assert self.levels is not None
        return self.levels

    @property
    def missing(self) -> Array:
        """Which rows have nothing here."""
        if self.form == "text":
            return np.asarray(self.values < 0)
        empty = np.isnan(self.values)
        return np.asarray(empty.all(axis=1) if self.form == "vector" else empty)


def read_cells(table: Any) -> tuple[Cells, ...]:
    """The columns of a table; pandas, polars and pyarrow are used only by those who pass them.

    Parameters
    ----------
    table : DataFrame (pandas, polars), pyarrow Table, dict of columns, structured array, or
        2-D array (its columns are x0, x1, …)

    Examples
    --------
    >>> [(cells.name, cells.form) for cells in read_cells({"a": [1, None], "b": ["x", "NA"]})]
    [('a', 'number'), ('b', 'text')]
    """
    columns = name_columns(table)
    found = tuple(read_column(name, values) for name, values in columns)
    lengths = {len(cells.values) for cells in found}
    if len(lengths) > 1:
        sizes = ", ".join(f"{cells.name!r}: {len(cells.values)}" for cells in found[:8])
        raise ValueError(f"columns of a table need equal lengths, got {sizes}")
    return found


def read_known(table: Any, names: Sequence[str]) -> dict[str, Cells]:
    """The columns of new rows by name; raises if one of those that are needed is absent."""
    found = {cells.name: cells for cells in read_cells(table)}
    absent = [name for name in names if name not in found]
    if absent:
        raise ValueError(
            f"the table has no column {', '.join(map(repr, absent))}, which the map depends on"
            f"{did_you_mean(absent[0], found)}; where all values are unknown, add it full of None"
        )
    return found


def name_columns(table: Any) -> list[tuple[str, Any]]:
    """Names and raw columns."""
    if isinstance(table, Mapping):
        pairs = [(str(name), table[name]) for name in table]
    elif hasattr(table, "column_names") and hasattr(table, "column"):  # pyarrow
        pairs = [(str(name), table.column(i)) for i, name in enumerate(table.column_names)]
    elif hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas: names need not be unique
        pairs = [(str(name), table.iloc[:, i]) for i, name in enumerate(table.columns)]
    elif hasattr(table, "columns") and hasattr(table, "__getitem__"):
        pairs = [(str(name), table[name]) for name in table.columns]
    else:
        pairs = _columns_of_array(table)
    counts = Counter(name for name, _ in pairs)
    twice = sorted(name for name, n in counts.items() if n > 1)
    if twice:
        raise ValueError(
            f"columns need names of their own, got {', '.join(map(repr, twice))} twice"
        )
    return pairs


def _columns_of_array(table: Any) -> list[tuple[str, Any]]:
    if hasattr(table, "tocsr"):
        raise TypeError("a sparse matrix is no table: pass it to HNNE().fit as it is")
    array = np.asarray(table)
    if array.dtype.names:
        return [(name, array[name]) for name in array.dtype.names]
    if array.ndim != 2:
        raise ValueError(
            "takes a DataFrame, a pyarrow table, a dict of columns or a 2-D array, got "
            f"{type(table).__name__} of shape {array.shape}"
        )
    return [(f"x{j}", array[:, j]) for j in range(array.shape[1])]


def read_column(name: str, values: Any) -> Cells:
    """One column of any make."""
    make = type(values).__module__.partition(".")[0]
    if make == "pandas":
        found = _of_pandas(name, values)
        if found is not None:
            return found
    if make == "pyarrow" and str(values.type) in ("string", "large_string", "string_view"):
        coded = values.combine_chunks().dictionary_encode()
        if hasattr(coded, "chunks"):  # of an older pyarrow
            coded = coded.combine_chunks()
        codes = np.asarray(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False))
        return level_cells(name, codes, coded.dictionary.to_pylist())
    return _of_array(name, _as_array(values))


def _of_pandas(name: str, values: Any) -> Cells | None:
    """Columns that pandas knows better than NumPy."""
    kind = getattr(values.dtype, "kind", "O")
    if hasattr(values, "cat"):
        return level_cells(name, values.cat.codes.to_numpy(), list(values.cat.categories))
    if kind == "M":
        naive = values.dt.tz_localize(None) if getattr(values.dt, "tz", None) else values
        return _of_array(name, naive.to_numpy(dtype="datetime64[us]"))
    if kind in "iufb" and not isinstance(values.dtype, np.dtype):  # nullable
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return Cells(name, "boolean" if kind == "b" else "number", numbers)
    pandas = sys.modules["pandas"]
    is_text = str(values.dtype) in ("str", "string") or (
        kind == "O" and pandas.api.types.infer_dtype(values, skipna=True) == "string"
    )
    if is_text:
        codes, levels = pandas.factorize(values)
        return level_cells(name, codes, list(levels))
    return None


def _as_array(values: Any) -> Array:
    if isinstance(values, np.ma.MaskedArray):
        bare = np.asarray(values, dtype=object)
        bare[np.ma.getmaskarray(values)] = None
        return bare
    if hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    try:
        found = np.asarray(values)
    except ValueError:  # lists of several lengths
        return as_objects(list(values))
    # NumPy makes texts of numbers beside texts, and columns of lists of texts
    is_changed = found.dtype.kind in "US" and not hasattr(values, "dtype")
    return as_objects(list(values)) if is_changed else found


def _of_array(name: str, array: Array) -> Cells:
    kind = array.dtype.kind
    if array.ndim == 2 and kind in "iufb":
        return Cells(name, "vector", array.astype(np.float64))
    if array.ndim == 2 and kind == "O":  # lists of one length, some of them with None
        array = as_objects(list(array))
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has the shape {array.shape}: takes one value per row")
    if kind == "M":
        return Cells(name, "time", _seconds(array))
    if kind == "m":
        seconds = array.astype("timedelta64[us]").astype(np.float64) / 1e6
        return Cells(name, "number", np.where(np.isnat(array), np.nan, seconds))
    if kind in "iufb":
        return Cells(name, "boolean" if kind == "b" else "number", array.astype(np.float64))
    if kind in "USO":
        return _of_objects(name, array.tolist())
    raise TypeError(f"column {name!r}: values of type {array.dtype} have no place on a map")


def as_objects(values: list[Any]) -> Array:
    """One object per row, also where all are lists of one length."""
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _seconds(array: Array) -> Array:
    fine = array.astype("datetime64[us]")
    return np.where(np.isnat(fine), np.nan, fine.astype(np.int64) / 1e6)


def _of_objects(name: str, values: list[Any]) -> Cells:
    """Python objects, by the types among them."""
    types = set(map(type, values))
    absent = {each for each in types if each.__name__ in _MISSING_TYPES}
    types -= absent
    if absent:
        values = [None if type(value) in absent else value for value in values]
    if types and all(issubclass(each, bool | np.bool_) for each in types):
        return Cells(name, "boolean", np.array(values, dtype=np.float64))
    if types and all(issubclass(each, Number | Decimal) for each in types):
        with suppress(OverflowError):  # whole numbers of hundreds of digits are texts
            return Cells(name, "number", np.array(values, dtype=np.float64))
    if types and all(issubclass(each, date | np.datetime64) for each in types):
        bare = [_without_zone(value) for value in values]
        return Cells(name, "time", _seconds(np.array(bare, dtype="datetime64[us]")))
    if types and types <= {list, tuple, np.ndarray}:
        rows = _stack_vectors(values)
        if rows is not None:
            return Cells(name, "vector", rows)
    index: dict[Any, int] = {}
    texts = values if types <= {str} else [_text_of(value) for value in values]
    codes = np.fromiter(
        (-1 if text is None else index.setdefault(text, len(index)) for text in texts),
        dtype=np.int64,
        count=len(texts),
    )
    return level_cells(name, codes, list(index))


def _text_of(value: Any) -> str | None:
    if isinstance(value, float | np.floating):
        return text_of_number(float(value))
    if is_nothing(value):
        return None
    if isinstance(value, date | np.datetime64):
        moment = np.array(_without_zone(value), dtype="datetime64[s]")
        return str(moment).removesuffix("T00:00:00")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _without_zone(value: Any) -> Any:
    """A day or a time, as a clock there shows it."""
    return value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value


def is_nothing(value: Any) -> bool:
    """None, NaN, or what pandas has in place of them.

    Examples
    --------
    >>> [is_nothing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def text_of_number(value: float) -> str | None:
    """A number as a level: without a point if it is whole, None if it is none or infinite.

    Examples
    --------
    >>> text_of_number(2.0), text_of_number(0.5), text_of_number(float("nan"))
    ('2', '0.5', None)
    """
    if not np.isfinite(value):
        return None
    return f"{int(value)}" if value == int(value) else repr(value)


def _stack_vectors(values: list[Any]) -> Array | None:
    """Lists of numbers as rows, NaN for missing ones; None if they are no vectors of one length."""
    widths = {len(value) for value in values if value is not None}
    if len(widths) != 1 or 0 in widths:
        return None
    nothing = np.full(next(iter(widths)), np.nan)
    try:
        rows = np.array([nothing if v is None else v for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return rows if rows.ndim == 2 else None


def level_cells(name: str, codes: Array, levels: list[Any]) -> Cells:
    """Codes of texts: without spaces around them, and what says nothing is missing.

    Examples
    --------
    >>> cells = level_cells("x", np.array([0, 1, 2, -1]), [" a", "a", "n/a"])
    >>> cells.values.tolist(), cells.levels.tolist()
    ([0, 0, -1, -1], ['a'])
    """
    texts = [(_text_of(level) or "").strip() for level in levels]
    distinct = dict.fromkeys(texts)
    if len(distinct) == len(texts) and NOTHING.isdisjoint(map(str.casefold, texts)):
        return Cells(name, "text", np.asarray(codes, np.int64), np.array(texts, dtype=object))
    something = (text for text in distinct if text.casefold() not in NOTHING)
    index = {text: i for i, text in enumerate(something)}
    places = np.array([*(index.get(text, -1) for text in texts), -1])  # the last: code -1
    return Cells(name, "text", places[codes], np.array(list(index), dtype=object))
