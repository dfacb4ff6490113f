"""What is chosen in the page, as Python has it: row numbers, filters by name, a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np

from ...core.arrays import Array
from ...core.habits import did_you_mean
from .query import RowQueries

_MISSING_CODE = 255  # rows without a category, and those beyond the 254 most common
_LEVEL = "level."  # clusters of a level are filtered like categories of a column of this name
_APART = ("sel", "filter")  # of the page's address: they have places of their own

NO_ROWS = {"kind": "any", "of": []}
Wire = list[list[Any]]  # [[key of a column, condition], …], as filters.ts has it


# -- rows
# -------------------------------------------------------------------------------------------------


def check_rows(rows: Any, n_rows: int) -> Array:
    """Row numbers, sorted and each once, from numbers or a mask."""
    array = np.asarray([] if rows is None else rows)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, dtype=np.int64)
    if array.dtype == bool and array.shape == (n_rows,):
        return np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"selection: row numbers, or {n_rows} times true or false; "
            f"got {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0 or array.max() >= n_rows:
        raise ValueError(
            f"selection: rows are 0 to {n_rows - 1}, got {array.min()} to {array.max()}"
        )
    return np.unique(array.astype(np.int64))


def as_set(queries: RowQueries, rows: Array) -> dict[str, Any] | None:
    """Rows as the page has them: ranges of places in tree order; None for no rows."""
    if not len(rows):
        return None
    places = np.sort(queries.places_of(rows)).astype(np.int64)
    ends = np.flatnonzero(np.diff(places, append=places[-1] + 2) != 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    ranges = np.column_stack([places[starts], places[ends] + 1])
    return {"kind": "places", "ranges": ranges.tolist()}


def read_set(queries: RowQueries, given: Any) -> Array:
    """Row numbers of a set that the page has chosen."""
    if given is None:
        return np.empty(0, dtype=np.int64)
    return np.asarray(queries.rows_of(given), dtype=np.int64)


# -- filters
# -------------------------------------------------------------------------------------------------


def as_conditions(columns: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> Wire:
    """Filters by name as the page has them; raises in words for what no column has."""
    if not isinstance(given, Mapping):
        raise ValueError(f"filter: a dict by names of columns, got {type(given).__name__}")
    return [_as_condition(columns, str(name), value) for name, value in given.items()]


def _as_condition(columns: Sequence[Mapping[str, Any]], name: str, value: Any) -> list[Any]:
    values = [value] if isinstance(value, str) or not np.iterable(value) else [*value]
    if name.startswith(_LEVEL) and name not in [column["name"] for column in columns]:
        indices = [int(str(each).rpartition(".")[2]) for each in values]
        return [name, {"kind": "categories", "codes": sorted(indices)}]
    column = _find(columns, name)
    known = [each for each in values if each is not None]
    if column["kind"] == "category":
        codes = [_code(column, each) for each in known]
        codes += [_MISSING_CODE] * (len(known) < len(values))
        return [column["key"], {"kind": "categories", "codes": sorted(codes)}]
    if not known:
        return [column["key"], {"kind": "missing"}]
    try:
        low, high = (float(each) for each in known if not isinstance(each, str))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"filter {name!r}: (low, high), got {value!r:.100}") from error
    with_missing = {"missing": True} if len(known) < len(values) else {}
    return [column["key"], {"kind": "range", "low": low, "high": high, **with_missing}]


def _find(columns: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    for column in columns:
        if column["name"] == name:
            return column
    names = [str(column["name"]) for column in columns]
    raise ValueError(
        f"filter {name!r}: no such column{did_you_mean(name, names)}; there are {names}"
    )


def _code(column: Mapping[str, Any], value: Any) -> int:
    categories = [str(each) for each in column["categories"]]
    if str(value) not in categories:
        hint = did_you_mean(str(value), categories)
        raise ValueError(f"filter {column['name']!r}: no category {value!r}{hint}")
    return categories.index(str(value))


def as_rows(wire: Wire) -> dict[str, Any]:
    """The rows that pass all conditions, as a set: the twin of `passing` in filters.ts."""
    return {"kind": "all", "of": [_passing(key, condition) for key, condition in wire]}


def _passing(key: str, condition: Mapping[str, Any]) -> dict[str, Any]:
    if key.startswith(_LEVEL):
        level = int(key[len(_LEVEL) :])
        own = [{"kind": "cluster", "level": level, "index": code} for code in condition["codes"]]
        return {"kind": "any", "of": own}
    missing = {"kind": "missing", "column": key}
    given = {name: value for name, value in condition.items() if name != "missing"}
    found = {**given, "column": key}
    return {"kind": "any", "of": [found, missing]} if condition.get("missing") else found


def read_conditions(columns: Sequence[Mapping[str, Any]], wire: Any) -> dict[str, Any]:
    """Filters of the page by the names of their columns; what is no filter is left out."""
    by_key = {column["key"]: column for column in columns}
    found: dict[str, Any] = {}
    for key, condition in wire:
        kind = condition.get("kind")
        if str(key).startswith(_LEVEL):
            found[key] = [f"{key[len(_LEVEL) :]}.{index}" for index in condition.get("codes", ())]
        elif key in by_key:
            column = by_key[key]
            found[column["name"]] = _read_condition(column, condition, kind)
    return found


def _read_condition(column: Mapping[str, Any], condition: Mapping[str, Any], kind: Any) -> Any:
    if kind == "categories":
        categories = column["categories"]
        codes = condition["codes"]
        known = [categories[code] for code in codes if code < len(categories)]
        return known + [None] * any(code >= len(categories) for code in codes)
    if kind == "missing":
        return [None]
    bounds = (condition["low"], condition["high"])
    return (*bounds, None) if condition.get("missing") else bounds


# -- the view
# -------------------------------------------------------------------------------------------------


def as_address(columns: Sequence[Mapping[str, Any]], view: Mapping[str, Any]) -> str:
    """A view as the page's address has it; a column to colour by may be named."""
    if not isinstance(view, Mapping):
        raise ValueError(f"view: a dict such as that of `view`, got {type(view).__name__}")
    keys = {column["name"]: column["key"] for column in columns}
    given = {str(name): str(value) for name, value in view.items() if name not in _APART}
    if "color" in given:
        given["color"] = keys.get(given["color"], given["color"])
        if given["color"] not in ("level", *keys.values()):
            raise ValueError(
                f"view: no column {given['color']!r} to colour by; there are {[*keys]}"
            )
    return urlencode(given)


def read_address(columns: Sequence[Mapping[str, Any]], address: str) -> dict[str, str]:
    """The page's address as a dict: x, y, z (pixels per unit), level, color, cluster, row."""
    names = {column["key"]: column["name"] for column in columns}
    view = {name: value for name, value in parse_qsl(address) if name not in _APART}
    if "color" in view:
        view["color"] = names.get(view["color"], view["color"])
    return view
