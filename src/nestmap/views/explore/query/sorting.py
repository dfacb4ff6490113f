"""Rows of a set in the order of a column: only the part of that order that is asked for is read."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ....core.arrays import Array, blocks
from ....core.threads import map_blocks
from .bits import RowBits
from .columns import ROW, ColumnFiles
from .kept import Kept
from .sets import ROWS_AT_ONCE

_KEPT_BYTES = 4_000_000


@dataclass(frozen=True)
class _Piece:
    """Part of the file of an order, read forwards or backwards."""

    begin: int
    end: int
    is_backwards: bool


class SortedRows:
    """Rows in the orders of the columns; remembers how many of a set are in each part of one."""

    def __init__(self, files: ColumnFiles, n_threads: int) -> None:
        self.files = files
        self.n_threads = n_threads
        self._kept = Kept[Array](_KEPT_BYTES)

    def take(
        self, bits: RowBits, name: Hashable, column: str, descending: bool, window: slice
    ) -> Array:
        """Places of the rows of a set that stand in a window of its order.

        `name`: what the set is remembered by.
        """
        pieces = self._pieces(column, descending)
        key = (name, column, descending)
        counts = self._kept.get(key)
        if counts is None:
            counts = np.array(
                map_blocks(
                    lambda piece: int(np.count_nonzero(self._own(bits, column, piece)[1])),
                    pieces,
                    self.n_threads,
                )
            )
            self._kept.put(key, counts, counts.nbytes)
        ends = np.cumsum(counts)
        found = [np.empty(0, dtype=np.uint32)]
        first = int(np.searchsorted(ends, window.start, side="right"))
        skipped = window.start - int(ends[first - 1] if first else 0)
        for i in range(first, len(pieces)):
            if i > first and int(ends[i - 1]) >= window.stop:
                break
            order, is_in = self._own(bits, column, pieces[i])
            own = order[is_in]
            found.append(own[::-1] if pieces[i].is_backwards else own)
        return np.concatenate(found)[skipped : skipped + window.stop - window.start]

    def _own(self, bits: RowBits, column: str, piece: _Piece) -> tuple[Array, Array]:
        order = self.files.order(column, piece.begin, piece.end)
        return order, bits.has(order)

    def _pieces(self, column: str, descending: bool) -> list[_Piece]:
        """The order of a column in pieces: rows without a value are last both ways."""
        missing = 0 if column == ROW else self.files.records[column]["missing"]
        n_known = self.files.n_rows - missing
        known = [
            _Piece(part.start, part.stop, descending)
            for part in blocks(n_known, 1, values=ROWS_AT_ONCE)
        ]
        others = [
            _Piece(n_known + part.start, n_known + part.stop, False)
            for part in blocks(missing, 1, values=ROWS_AT_ONCE)
        ]
        return (known[::-1] if descending else known) + others
