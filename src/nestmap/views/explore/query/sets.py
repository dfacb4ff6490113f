"""Sets of rows from expressions: each column is read once, in blocks, by several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ....core.arrays import Array, blocks
from ....core.threads import map_blocks, resolve_n_jobs
from ..map_store import MapStore
from .bits import RowBits
from .columns import ColumnFiles
from .expressions import (
    Below,
    Between,
    Combined,
    Expression,
    Found,
    Known,
    Listed,
    Missing,
    OneOf,
    Other,
    name_of,
)
from .kept import Kept

ROWS_AT_ONCE = 1 << 19  # rows of a block: 4 MB of its numbers
_MOST_THREADS = 4
_KEPT_BYTES = 64_000_000  # of sets that were asked for last: 33 of ten million rows


class RowSets:
    """Evaluates expressions over one store, and keeps the last sets."""

    def __init__(self, store: MapStore, files: ColumnFiles) -> None:
        self.store = store
        self.files = files
        self.n_rows = files.n_rows
        self.n_threads = min(_MOST_THREADS, resolve_n_jobs(None))
        kinds = {key: record["kind"] for key, record in files.records.items()}
        self.known = Known(self.n_rows, files.level_sizes, kinds)
        self._kept = Kept[RowBits](_KEPT_BYTES)
        self.working = threading.Lock()  # one question after the other: memory stays bounded

    def find(self, expression: Expression) -> RowBits:
        """The rows of an expression."""
        for text in searches(expression):  # these take long: nobody else waits for them
            self._kept_or(text, partial(self._search, text))
        with self.working:
            return self._find(expression)

    def _find(self, expression: Expression) -> RowBits:
        match expression:
            case Combined(is_all, of):
                found = RowBits.empty(self.n_rows)
                if is_all:
                    found = ~found
                for one in of:  # as they come: a thousand sets of many rows are never held at once
                    part = self._find(one)
                    found = found & part if is_all else found | part
                return found
            case Other(of):
                return ~self._find(of)
            case Listed():
                return self._kept_or(
                    expression, lambda: RowBits.of_ranges(self.n_rows, expression.ranges)
                )
            case Below(level, index):
                return RowBits.of_ranges(
                    self.n_rows, self.files.starts(level, index, index + 1)[None, :]
                )
            case Found():
                return self._kept_or(expression, lambda: self._search(expression))
            case _:
                return self._kept_or(expression, lambda: self._scan(expression))

    def _kept_or(self, key: Expression, make: Callable[[], RowBits]) -> RowBits:
        name = name_of(key)
        found = self._kept.get(name)
        if found is None:
            found = make()
            self._kept.put(name, found, found.n_bytes)
        return found

    def _scan(self, leaf: Expression) -> RowBits:
        """Rows by the values of one column."""
        parts = blocks(self.n_rows, 1, values=ROWS_AT_ONCE)
        return RowBits.of_masks(
            self.n_rows, map_blocks(lambda part: self._mask(leaf, part), parts, self.n_threads)
        )

    def _mask(self, leaf: Expression, part: slice) -> Array:
        match leaf:
            case Between(column, low, high):
                values = self.files.values(column, part.start, part.stop)
                first, last = _ends(low, high, values.dtype)
                return np.asarray((values >= first) & (values <= last))
            case OneOf(column, codes):
                wanted = np.zeros(256, dtype=bool)
                wanted[list(codes)] = True
                return np.asarray(wanted[self.files.bins(column, part.start, part.stop)])
            case Missing(column):
                return np.asarray(self.files.bins(column, part.start, part.stop) == 255)
        raise AssertionError(leaf)

    def _search(self, text: Found) -> RowBits:
        places = self.store.find_all(text.query)
        return RowBits.of_ranges(self.n_rows, np.stack([places, places + 1], axis=1))


def _ends(low: float, high: float, dtype: Any) -> tuple[Any, Any]:
    """The first and the last number of a type from low to high: NumPy would round ends to it."""
    with np.errstate(over="ignore"):
        first, last = np.array([low, high]).astype(dtype)
        if float(first) < low:  # a float32 beside a plain float would round that, too
            first = np.nextafter(first, dtype.type(np.inf))
        if float(last) > high:
            last = np.nextafter(last, dtype.type(-np.inf))
    return first, last


def searches(expression: Expression) -> list[Found]:
    """All searches in an expression."""
    match expression:
        case Found():
            return [expression]
        case Combined(_, of):
            return [text for one in of for text in searches(one)]
        case Other(of):
            return searches(of)
    return []
