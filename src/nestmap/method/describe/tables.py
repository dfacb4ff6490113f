"""Columns of metadata, from a DataFrame, a dict or an array; no pandas needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array

_MAX_CATEGORIES = 20  # different whole numbers; columns with more are quantities


@dataclass(frozen=True, eq=False)
class Column:
    """A column: codes of categories (-1: missing) and their names, or float64 (NaN: missing)."""

    name: str
    values: Array
    categories: Array | None = None  # names, for codes
    is_time: bool = False  # numbers are seconds since 1970

    @property
    def is_identifier(self) -> bool:
        """Whether nearly every row has its own value."""
        n = len(self.values)
        return self.categories is not None and n > 20 and len(self.categories) > n / 2


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
    """A column by the type of its values: text, bool and few whole numbers are categories."""
    array = np.asarray(values)
    if array.shape != (n_rows,):
        raise ValueError(
            f"column {name!r}: needs one value for each of the {n_rows} rows of the fit, got "
            f"shape {array.shape}"
        )
    if array.dtype.kind == "M":
        seconds = array.astype("datetime64[s]").astype(np.float64)
        return Column(name, np.where(np.isnat(array), np.nan, seconds), is_time=True)
    if array.dtype.kind == "f":
        return Column(name, array.astype(np.float64))
    if array.dtype.kind in "iu":
        categories, codes = np.unique(array, return_inverse=True)
        if len(categories) > _MAX_CATEGORIES:
            return Column(name, array.astype(np.float64))
        return Column(name, codes, np.array([str(value) for value in categories]))
    missing = np.array([value is None or value != value for value in array.tolist()], dtype=bool)
    categories, codes = np.unique(np.where(missing, "", array.astype(str)), return_inverse=True)
    return Column(name, np.where(missing, -1, codes), categories)


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
        return tuple(Column(str(name), np.asarray(X[name], dtype=np.float64)) for name in X.columns)
    if names is None:
        return ()
    if len(names) != X.shape[1]:
        raise ValueError(f"feature_names: X has {X.shape[1]} columns, got {len(names)} names")
    columns = ((str(name), X[:, i]) for i, name in enumerate(names))
    return tuple(
        Column(
            name, np.asarray(c.toarray() if hasattr(c, "toarray") else c, dtype=np.float64).ravel()
        )
        for name, c in columns
    )
