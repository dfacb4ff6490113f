"""The folder that the client and all workers see: rows of a fit as plain files, read by slices.

Workers do not map them: pages of a mapped file count as memory of a worker, which is stopped for
too much of it. Each task writes the same bytes to the same place however often it runs: what a
worker that died left half done, the next one mends.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..core.arrays import Array, blocks
from ..core.input.scratch import reserve
from ..core.work.replacing import move

BLOCK_BYTES = 32_000_000  # of rows that a task works on at a time
_WINDOW_BYTES = 8_000_000  # bytes that are read at a time where single rows are wanted
NUMBERS_BYTES = (
    96  # per row: what joins rows to clusters, two files of three numbers and six of one
)
_GAP_BYTES = 64_000  # bytes between two of them that are not read along


@dataclass(frozen=True)
class RowFile:
    """Rows of one type in a file without a header."""

    path: str
    n: int
    width: int
    dtype: str

    @property
    def row_bytes(self) -> int:
        return self.width * np.dtype(self.dtype).itemsize

    def create(self, more: int = 0) -> RowFile:
        """Make the file, with all of its bytes reserved, and those of some more rows."""
        path = Path(self.path)
        with path.open("wb") as file:
            reserve(file, max(1, (self.n + more) * self.row_bytes), path.parent)
        return self

    def write(self, start: int, rows: Array) -> None:
        """Put rows to where they belong."""
        view: Any = np.ascontiguousarray(rows, dtype=self.dtype).reshape(-1).view(np.uint8).data
        with Path(self.path).open("r+b", buffering=0) as file:
            file.seek(start * self.row_bytes)
            while len(view):
                view = view[file.write(view) :]

    def read(self, start: int, stop: int) -> Array:
        """A slice of the rows, in memory."""
        with Path(self.path).open("rb", buffering=0) as file:
            return self._read(file, start, stop)

    def _read(self, file: Any, start: int, stop: int) -> Array:
        rows = np.empty((stop - start, self.width), dtype=self.dtype)
        view: Any = rows.reshape(-1).view(np.uint8).data
        file.seek(start * self.row_bytes)
        while len(view):
            n_read = file.readinto(view)
            if not n_read:
                raise OSError(
                    f"{self.path} ends before row {stop}: it was cut off, "
                    "or another process removed it"
                )
            view = view[n_read:]
        return rows

    def take(self, rows: Array) -> Array:
        """Some rows, in the given order; the file is read in windows, from its begin to its end."""
        out = np.empty((len(rows), self.width), dtype=self.dtype)
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
        windows = ascending // max(1, _WINDOW_BYTES // self.row_bytes)
        far = np.diff(ascending, prepend=-1) > max(1, _GAP_BYTES // self.row_bytes)
        cuts = np.flatnonzero((np.diff(windows, prepend=-1) != 0) | far)
        with Path(self.path).open("rb", buffering=0) as file:
            for a, b in pairwise([*cuts.tolist(), len(rows)]):
                first = int(ascending[a])
                out[order[a:b]] = self._read(file, first, int(ascending[b - 1]) + 1)[
                    ascending[a:b] - first
                ]
        return out

    def mapped(self, mode: Literal["r", "r+"] = "r") -> Any:
        """All rows, mapped: for the client."""
        return np.memmap(self.path, dtype=self.dtype, mode=mode, shape=(self.n, self.width))


@dataclass(frozen=True)
class Store:
    """The files of a fit.

    `rows` are in the order of X, those of `parted` and `keys` part by part: first its own ones,
    then its guests. The place of a row is its number among the own ones of all parts.
    """

    folder: str
    n: int
    width: int
    dtype: str

    @property
    def rows(self) -> RowFile:
        return RowFile(os.path.join(self.folder, "rows"), self.n, self.width, self.dtype)

    @property
    def parted(self) -> RowFile:
        return RowFile(os.path.join(self.folder, "parted"), self.n, self.width, self.dtype)

    @property
    def keys(self) -> RowFile:
        """Of each row its key, which decides ties, the hash that finds copies, and its place."""
        return RowFile(os.path.join(self.folder, "keys"), self.n, 3, "uint64")

    def numbers(self, name: str, width: int = 1, dtype: str = "int64") -> RowFile:
        """Some numbers of each row, by places."""
        return RowFile(os.path.join(self.folder, name), self.n, width, dtype)

    @property
    def found_at(self) -> RowFile:
        """Where in `parted` each row of X is among the own ones of its part."""
        return self.numbers("found-at")

    @property
    def has_parts(self) -> bool:
        """Whether the rows were divided into parts, which are still there."""
        return os.path.exists(self.found_at.path)

    @property
    def weights(self) -> RowFile:
        """How many rows of X each row stands for."""
        return self.numbers("weights", dtype="float64")

    @property
    def pointers(self) -> tuple[RowFile, RowFile]:
        """Where each row points, the lowest row on the way, its root so far; rounds alternate."""
        return self.numbers("pointers-0", 3), self.numbers("pointers-1", 3)

    def beside(self, name: str, rows: Any) -> Store:
        """A store of other rows in a folder of its own, written here."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        other = Store(folder, rows.shape[0], rows.shape[1], str(rows.dtype))
        other.rows.create()
        for part in blocks(other.n, other.width):
            other.rows.write(part.start, rows[part])
        return other

    def remove(self) -> None:
        """Give back the room of the files."""
        shutil.rmtree(self.folder)

    def remove_all_but_rows(self) -> None:
        """Give back the room of files made from rows, but for the parts: they are read again."""
        kept = ("rows", "lock", "token", "parted", "found-at", "division.npz")
        for path in Path(self.folder).iterdir():
            if path.is_file() and path.name not in kept:
                path.unlink()

    def table(self, name: str) -> str:
        """Where some arrays are kept."""
        return os.path.join(self.folder, f"{name}.npz")

    def save(self, name: str, **arrays: Any) -> None:
        """Keep some arrays; they are there as a whole, or not at all."""
        part = self.table(f"{name}.part")
        np.savez(part, **arrays)
        move(Path(part), Path(self.table(name)))

    def load(self, name: str) -> dict[str, Array]:
        """The arrays that were kept."""
        with np.load(self.table(name), allow_pickle=False) as found:
            return {key: found[key] for key in found.files}
