"""What is asked about sets of rows: how many, how they are distributed, which ones, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ....core.arrays import Array, blocks
from ....core.threads import map_blocks
from ..map_store import MapStore
from ..order import ROWS
from .bits import RowBits
from .columns import ROW, ColumnFiles
from .errors import RowsError
from .expressions import check_column, name_of, read_expression
from .kept import Kept
from .sets import ROWS_AT_ONCE, RowSets
from .sorting import SortedRows
from .summary import summarize
from .tile_colors import tile_colors

MOST_ITEMS = 1 << 20  # items of one answer with marks
MOST_PAGE_ROWS = 100_000  # rows of a page
_CODES = 256
_KEPT_COUNTS_BYTES = 16_000_000


@dataclass(frozen=True, eq=False)
class Page:
    """Some rows of a set by their places, in the asked order, and how many the set has."""

    places: Array
    total: int


class RowQueries:
    """Answers questions about the rows of a store; may be asked by several threads.

    Sets of rows are given as JSON (`Rows` in docs/explain/explorer.md), already parsed. Raises
    RowsError for what makes no sense, ModelFileError for a damaged store.

    Parameters
    ----------
    store : MapStore
    """

    def __init__(self, store: MapStore) -> None:
        self.store = store
        self.files = ColumnFiles(store)
        self.sets = RowSets(store, self.files)
        self.sorted = SortedRows(self.files, self.sets.n_threads)
        self._counts = Kept[Array](_KEPT_COUNTS_BYTES)

    @property
    def n_rows(self) -> int:
        return self.files.n_rows

    @property
    def columns(self) -> list[dict[str, Any]]:
        """All columns that can be filtered by, as in meta.json."""
        return list(self.files.records.values())

    def colors(self, name: str) -> bytes | None:
        """A file of colours that the store has not; None where there can be none."""
        return tile_colors(self.store, self.files, name)

    def bits(self, rows: Any) -> RowBits:
        """A set of rows."""
        return self.sets.find(read_expression(rows, self.sets.known))

    def count(self, rows: Any) -> int:
        return self.bits(rows).count

    def charts(self, rows: Any, columns: Sequence[str]) -> dict[str, Any]:
        """Rows of a set, and how many of them are in each bin of some columns."""
        if not isinstance(columns, list | tuple):
            raise RowsError("columns: a list of keys of columns")
        if len(columns) > len(self.sets.known.kinds):
            raise RowsError(f"columns: there are {len(self.sets.known.kinds)} of them")
        for key in columns:
            check_column(self.sets.known, key)
        expression = read_expression(rows, self.sets.known)
        bits = self.sets.find(expression)
        name = name_of(expression)
        kept = {key: self._counts.get((name, key)) for key in columns}
        found = {key: counts for key, counts in kept.items() if counts is not None}
        unknown = [key for key in kept if key not in found]
        for key, counts in zip(unknown, self._count_bins(bits, unknown), strict=True):
            found[key] = counts
            self._counts.put((name, key), counts, counts.nbytes)
        return {"count": bits.count, "charts": [self._chart(key, found[key]) for key in columns]}

    def _chart(self, key: str, counts: Array) -> dict[str, Any]:
        n_bins = len(self.files.records[key]["bins"])
        return {"column": key, "counts": counts[:n_bins].tolist(), "missing": int(counts[-1])}

    def _count_bins(self, bits: RowBits, columns: Sequence[str]) -> Array:
        """Rows per code of each column; of the smaller one of the set and all other rows."""
        is_most = bits.count > self.n_rows // 2
        counted = ~bits if is_most else bits
        found = np.zeros((len(columns), _CODES), dtype=np.int64)
        if columns and counted.count:
            with self.sets.working:
                parts = blocks(self.n_rows, 1, values=ROWS_AT_ONCE)
                count = partial(self._count_part, counted, columns)
                found += sum(map_blocks(count, parts, self.sets.n_threads))
        if not is_most:
            return found
        return np.array([self._total(key) for key in columns]).reshape(found.shape) - found

    def _count_part(self, bits: RowBits, columns: Sequence[str], part: slice) -> Array:
        """Rows per code of each column, of the rows of a set in one block."""
        found = np.zeros((len(columns), _CODES), dtype=np.int64)
        own = np.flatnonzero(bits.mask(part.start, part.stop))
        if len(own):
            for i, key in enumerate(columns):
                codes = self.files.bins(key, part.start, part.stop)[own]
                found[i] = np.bincount(codes, minlength=_CODES)
        return found

    def _total(self, key: str) -> Array:
        """All rows per code of a column."""
        record = self.files.records[key]
        found = np.zeros(_CODES, dtype=np.int64)
        found[: len(record["bins"])] = record["bins"]
        found[-1] = record["missing"]
        return found

    def marks(self, rows: Any, level: int, begin: int, end: int) -> Array:
        """For items of a level (-1: rows), how many of the rows below each are in the set."""
        self._check_items(level, begin, end)
        bits = self.bits(rows)
        if level == ROWS:
            return bits.mask(begin, end).astype(np.uint32)
        before = bits.before(self.files.starts(level, begin, end).astype(np.int64))
        return np.diff(before).astype(np.uint32)

    def _check_items(self, level: Any, begin: Any, end: Any) -> None:
        sizes = self.files.level_sizes
        if type(level) is not int or not ROWS <= level < len(sizes):
            raise RowsError(f"level: -1 for rows, or 0 to {len(sizes) - 1}")
        n = self.n_rows if level == ROWS else sizes[level]
        is_range = type(begin) is int and type(end) is int and 0 <= begin <= end <= n
        if not is_range or end - begin > MOST_ITEMS:
            raise RowsError(
                f"begin, end: a range of the {n} items of the level, at most {MOST_ITEMS} of them"
            )

    def page(
        self,
        rows: Any,
        column: str | None = None,
        descending: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> Page:
        """Some rows of a set in an order: of the tree (None), of a column, or "row": as given.

        Rows without a value come last both ways.
        """
        for what, value in (("offset", offset), ("limit", limit)):
            if type(value) is not int or value < 0:
                raise RowsError(f"{what}: a whole number from 0 on")
        if limit > MOST_PAGE_ROWS:
            raise RowsError(f"limit: at most {MOST_PAGE_ROWS}")
        if column not in (None, ROW):
            check_column(self.sets.known, column)
        expression = read_expression(rows, self.sets.known)
        bits = self.sets.find(expression)
        window = slice(min(offset, bits.count), min(offset + limit, bits.count))
        if column is None or window.start == window.stop:
            return Page(_take(bits, window, bool(descending)), bits.count)
        with self.sets.working:
            places = self.sorted.take(bits, name_of(expression), column, bool(descending), window)
        return Page(places, bits.count)

    def ranges(self, rows: Any, most: int) -> Array | None:
        """The set as sorted ranges, shape (n, 2), if they are at most `most`; else None."""
        if type(most) is not int or most < 0:
            raise RowsError("most: a whole number from 0 on")
        return self.bits(rows).ranges(most)

    def places(self, rows: Any) -> Array:
        """All rows of a set by their places, sorted, as uint32."""
        return self.bits(rows).take(0, self.n_rows)

    def rows_of(self, rows: Any) -> Array:
        """All rows of a set by the user's row numbers, sorted, as uint32."""
        bits = self.bits(rows)
        found = []
        for part in blocks(self.n_rows, 1, values=ROWS_AT_ONCE):
            own = bits.mask(part.start, part.stop).astype(bool)
            found.append(self.files.values(ROW, part.start, part.stop)[own])
        return np.sort(np.concatenate(found))

    def row_numbers(self, places: Any) -> Array:
        """The user's row number of each place."""
        return self.values(ROW, places)

    def places_of(self, row_numbers: Any) -> Array:
        """The place of each of the user's row numbers."""
        rows = self._check_places(row_numbers)
        return self._gather(lambda begin, end: self.files.order(ROW, begin, end), rows)

    def values(self, key: str, places: Any) -> Array:
        """Values of a column at some places: numbers (NaN: missing), or codes (255: missing)."""
        if key != ROW:
            check_column(self.sets.known, key)
        at = self._check_places(places)
        return self._gather(lambda begin, end: self.files.values(key, begin, end), at)

    def _check_places(self, places: Any) -> Array:
        found = np.asarray(places)
        if found.size and (
            found.ndim != 1
            or found.dtype.kind not in "iu"
            or found.min() < 0
            or found.max() >= self.n_rows
        ):
            raise RowsError(f"rows: whole numbers from 0 to {self.n_rows - 1}, in one dimension")
        return found.astype(np.int64).reshape(-1)

    def _gather(self, read: Any, at: Array) -> Array:
        """Some values of a file: read in blocks, those that are needed only."""
        order = np.argsort(at, kind="stable")
        wanted = at[order]
        found = []
        for block in np.unique(wanted // ROWS_AT_ONCE).tolist():
            begin = block * ROWS_AT_ONCE
            end = min(self.n_rows, begin + ROWS_AT_ONCE)
            first, last = np.searchsorted(wanted, [begin, end])
            own = wanted[first:last]
            part = read(int(own[0]), int(own[-1]) + 1)
            found.append(part[own - own[0]])
        values = np.concatenate(found) if found else read(0, 0)
        back = np.empty_like(values)
        back[order] = values
        return np.asarray(back)

    def summary(self, rows: Any, other: Any = None) -> dict[str, Any]:
        """What a set holds that others (None: all other rows) do not, and rows to look at."""
        bits = self.bits(rows)
        against = ~bits if other is None else self.bits(other) & ~bits
        return summarize(self, bits, against)


def _take(bits: RowBits, window: slice, descending: bool) -> Array:
    """Rows of a window of the tree order."""
    n = window.stop - window.start
    if descending:
        return bits.take(bits.count - window.stop, n)[::-1]
    return bits.take(window.start, n)
