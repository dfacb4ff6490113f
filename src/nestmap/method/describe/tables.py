"""Columns of metadata, from a DataFrame, a dict or an array; no pandas needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ...core.arrays import Array
from ...core.habits import did_you_mean
from ...tables.cells import Cells
from ...tables.cells import read_column as read_cells
from ...tables.decide import decide_column
from ...tables.profiles import Profile, profile_column, read_levels, read_values
from ...tables.readings import parse_numbers
from .roles import why_silent
from .rules import NAMING

_CODE = re.compile(r"\d+")  # a number that is a text stands for something
_FEWEST_COMPARED = 3
_COMPARED = 2000  # rows at most that tell whether two columns of numbers say the same
_TWO = 2  # whole numbers, such as 0 and 1: files read them as floats, and they are categories
_MAX_CATEGORIES = 20  # different whole numbers; columns with more are quantities
_MAX_CLASSES = 1000  # of a label, which is a class also where its whole numbers are kept as floats


@dataclass(frozen=True, eq=False)
class Column:
    """A column: codes of categories (-1: missing) and their names, or float64 (NaN: missing)."""

    name: str
    values: Array
    categories: Array | None = None  # names, for codes
    is_time: bool = False  # numbers are seconds since 1970
    silent: str = ""  # why it never names a cluster: an identifier, another clustering
    is_label: bool = False  # names come from it first

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has its own value."""
        n = len(self.values)
        return self.categories is not None and n > 20 and len(self.categories) > n / 2

    @cached_property
    def order(self) -> Array:
        """Rows with a number, by size: sorted once for all levels."""
        known = np.flatnonzero(~np.isnan(self.values))
        return known[np.argsort(self.values[known], kind="stable")]

    @property
    def may_name(self) -> bool:
        """Whether clusters can be named by it."""
        return self.is_label or not (self.silent or self.is_identifier)


def read_columns(metadata: Any, n_rows: int) -> tuple[Column, ...]:
    """Columns of a table with one row per row of the data.

    Parameters
    ----------
    metadata : DataFrame, dict of columns, structured array, Series or array
    n_rows : int

    Examples
    --------
    >>> table = {"kind": ["a", "b", "a"], "age": [1.5, 2.0, 7.0]}
    >>> [column.categories is None for column in read_columns(table, 3)]
    [False, True]
    """
    if isinstance(metadata, Mapping) or hasattr(metadata, "columns"):
        names = list(metadata) if isinstance(metadata, Mapping) else list(metadata.columns)
        found = [(str(name), metadata[name]) for name in names]
    else:
        array = np.asarray(metadata)
        if array.dtype.names:
            found = [(name, array[name]) for name in array.dtype.names]
        elif array.ndim == 1:
            found = [(str(getattr(metadata, "name", None) or "value"), metadata)]
        else:
            raise ValueError(
                "metadata: takes a DataFrame, a dict of columns or one column, got an array of "
                f"shape {array.shape}"
            )
    return tuple(read_column(name, values, n_rows) for name, values in found)


def read_column(name: str, values: Any, n_rows: int) -> Column:
    """A column by its values: text, bool and few whole numbers are categories.

    Empty cells, and those that say that there is nothing (`n/a`, `-`), are missing. Texts that are
    numbers or dates are read as such.
    """
    shape = np.shape(values) if hasattr(values, "shape") else (len(values),)
    if shape != (n_rows,):
        raise ValueError(
            f"column {name!r}: needs one value for each of the {n_rows} rows of the fit, got "
            f"shape {shape}"
        )
    cells = read_cells(name, values)
    profile = profile_column(cells)
    found = _read(cells, profile, getattr(getattr(values, "dtype", None), "kind", "") == "f")
    return replace(found, silent=why_silent(decide_column(profile), found.categories))


def _read(cells: Cells, profile: Profile, is_float: bool) -> Column:
    """Codes of categories, or numbers."""
    name = cells.name
    reading = profile.reading
    if reading.kind == "vectors":
        return Column(name, np.full(len(cells.values), np.nan))
    most = _TWO if is_float else _MAX_CATEGORIES
    few_whole = profile.is_whole and profile.n_distinct <= most
    is_code = cells.form == "text" and all(_CODE.fullmatch(level) for level in cells.texts)
    is_word = reading.kind == "levels" or cells.form == "boolean" or reading.form == "words"
    if is_word or is_code or (few_whole and reading.kind in ("numbers", "cycle")):
        levels = read_levels(cells)
        return Column(name, *_sorted_levels(levels.values, levels.texts, is_word))
    is_plain = cells.form == "number" and reading.form == ""
    values = cells.values if is_plain else read_values(cells, reading)
    return Column(name, values, is_time=reading.kind == "times")


def _sorted_levels(codes: Array, levels: Array, is_word: bool) -> tuple[Array, Array]:
    """Codes and names of categories in the order of the alphabet, or of numbers."""
    names = levels.astype(str)
    order = np.argsort(names if is_word else parse_numbers(levels), kind="stable")
    places = np.full(len(order) + 1, -1)
    places[order] = np.arange(len(order))
    return places[codes], names[order]


def by_position(values: Any) -> Any:
    """Values that are found by the number of the row: a Series finds them by its index."""
    return np.asarray(values, dtype=object) if hasattr(values, "iloc") else values


def mark_label(columns: Sequence[Column], label: str | None) -> tuple[Column, ...]:
    """The columns, with the one that names come from first, whatever it looks like."""
    if label is None:
        return tuple(columns)
    known = [column.name for column in columns]
    if label not in known:
        raise ValueError(
            f"label={label!r}: no column of metadata is called so{did_you_mean(label, known)}"
        )
    return tuple(as_label(column) if column.name == label else column for column in columns)


def as_label(column: Column) -> Column:
    """The same column, as the one that names come from first: its whole numbers are classes."""
    return replace(_with_classes(column), is_label=True, silent="")


def _with_classes(column: Column) -> Column:
    if column.categories is not None or column.is_time:
        return column
    known = np.isfinite(column.values)
    if np.any(column.values[known] != np.rint(column.values[known])):
        return column
    levels, codes = np.unique(column.values[known], return_inverse=True)
    if not 0 < len(levels) <= _MAX_CLASSES:
        return column
    values = np.full(len(known), -1)
    values[known] = codes
    return replace(column, values=values, categories=np.array([f"{x:.0f}" for x in levels]))


def compare_columns(columns: Sequence[Column]) -> Callable[[str, str], bool]:
    """Whether two columns of numbers, by name, rise and fall together or against each other.

    By ranks, on some of the rows, and only for those that are asked for.

    Examples
    --------
    >>> hills = {"metres": [1.1, 2.2, 4.4], "feet": [3.6, 7.2, 14.4], "age": [2.5, 7.5, 1.5]}
    >>> are_alike = compare_columns(read_columns(hills, 3))
    >>> are_alike("metres", "feet"), are_alike("metres", "age")
    (True, False)
    """
    numbers = {column.name: column.values for column in columns if column.categories is None}

    @cache
    def ranks(name: str) -> Array:
        values = numbers[name]
        some = values[:: -(-len(values) // _COMPARED)]
        return np.asarray(rankdata(some, nan_policy="omit"))

    @cache
    def are_alike(one: str, other: str) -> bool:
        both = ~(np.isnan(ranks(one)) | np.isnan(ranks(other)))
        if both.sum() < _FEWEST_COMPARED:
            return False
        return abs(_correlation(ranks(one)[both], ranks(other)[both])) >= NAMING.alike

    return are_alike


def _correlation(one: Array, other: Array) -> float:
    a = one - one.mean()
    b = other - other.mean()
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-300))


def free_names(own: Iterable[str], others: Iterable[str]) -> list[str]:
    """Names beside those taken, no two alike: one that clashes gets '_' until it is free.

    Names that clash with none keep their own, also if an earlier one that clashes would come to the
    same.

    Parameters
    ----------
    own : iterable of str
        Names that are taken.
    others : iterable of str
        Names that are wanted, in order.

    Examples
    --------
    >>> free_names(["name"], ["name", "name_", "age", "age"])
    ['name__', 'name_', 'age', 'age_']
    """
    wanted = list(others)
    taken = set(own)
    clashing = []
    for i, name in enumerate(wanted):
        if name in taken:
            clashing.append(i)
        taken.add(name)
    for i in clashing:
        while wanted[i] in taken:
            wanted[i] += "_"
        taken.add(wanted[i])
    return wanted


def named_columns(X: Any, names: Any, n_rows: int) -> tuple[Column, ...]:
    """The columns of training rows, where they have names: those of a DataFrame, or given ones."""
    if X is None:
        if names is not None:
            raise ValueError("feature_names are the names of the columns of X: give X, too")
        return ()
    if hasattr(X, "columns"):
        return tuple(
            _feature(str(name), np.asarray(X[name], dtype=np.float64)) for name in X.columns
        )
    if names is None:
        return ()
    if len(names) != X.shape[1]:
        raise ValueError(f"feature_names: X has {X.shape[1]} columns, got {len(names)} names")
    columns = ((str(name), X[:, i]) for i, name in enumerate(names))
    return tuple(
        _feature(
            name, np.asarray(c.toarray() if hasattr(c, "toarray") else c, dtype=np.float64).ravel()
        )
        for name, c in columns
    )


def _feature(name: str, values: Array) -> Column:
    """A column of numbers that was mapped."""
    decision = decide_column(profile_column(Cells(name, "number", values)))
    return Column(name, values, silent=why_silent(decision, None))
