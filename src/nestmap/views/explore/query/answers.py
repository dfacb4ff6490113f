"""Questions about sets of rows as the page posts them, and the bytes of the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.arrays import Array
from ..order import ROWS
from .errors import RowsError
from .queries import RowQueries

_Answering = Callable[[RowQueries, dict[str, Any]], "Answer"]


@dataclass(frozen=True)
class Answer:
    """What is sent: 'json' or 'bin'."""

    kind: str
    body: bytes


def answer(queries: RowQueries, name: str, asked: Any) -> Answer | None:
    """The answer to a question; None if there is no such question, RowsError if it makes no sense.

    Binary answers are little-endian. Marks of rows are bits, the first row the lowest; of nodes
    numbers. A page is the number of all rows of the set, then places. Ranges are 1 and then begin,
    end, begin, … or 0 if they are too many.
    """
    if name not in _QUESTIONS:
        return None
    fields, work = _QUESTIONS[name]
    if not isinstance(asked, dict) or set(asked) != fields:
        told = ", ".join(sorted(fields))
        raise RowsError(f"api/rows/{name} takes an object with the fields {told}")
    return work(queries, asked)


def _charts(queries: RowQueries, asked: dict[str, Any]) -> Answer:
    return _as_json(queries.charts(asked["set"], asked["columns"]))


def _marks(queries: RowQueries, asked: dict[str, Any]) -> Answer:
    level = asked["level"]
    marks = queries.marks(asked["set"], level, asked["begin"], asked["end"])
    if level == ROWS:
        return Answer("bin", np.packbits(marks.astype(bool), bitorder="little").tobytes())
    return _as_numbers(marks)


def _page(queries: RowQueries, asked: dict[str, Any]) -> Answer:
    order = asked["order"]
    if not isinstance(order, dict) or set(order) != {"column", "descending"}:
        raise RowsError("order: an object with the fields column, descending")
    column = order["column"]
    descending = order["descending"] is True
    page = queries.page(asked["set"], column, descending, asked["offset"], asked["limit"])
    return _as_numbers(np.concatenate([[page.total], page.places]))


def _ranges(queries: RowQueries, asked: dict[str, Any]) -> Answer:
    found = queries.ranges(asked["set"], asked["most"])
    if found is None:
        return _as_numbers(np.array([0]))
    return _as_numbers(np.concatenate([[1], found.reshape(-1)]))


def _summary(queries: RowQueries, asked: dict[str, Any]) -> Answer:
    return _as_json(queries.summary(asked["set"], asked["other"]))


_QUESTIONS: dict[str, tuple[set[str], _Answering]] = {
    "charts": ({"set", "columns"}, _charts),
    "marks": ({"set", "level", "begin", "end"}, _marks),
    "page": ({"set", "order", "offset", "limit"}, _page),
    "ranges": ({"set", "most"}, _ranges),
    "summary": ({"set", "other"}, _summary),
}


def _as_json(value: Any) -> Answer:
    return Answer("json", json.dumps(value, allow_nan=False).encode())


def _as_numbers(array: Array) -> Answer:
    return Answer("bin", array.astype("<u4").tobytes())
