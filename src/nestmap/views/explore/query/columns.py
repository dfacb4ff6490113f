"""Columns of a store as they are read: some rows of a file at a time, no file whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....core.arrays import Array
from ....errors import ModelFileError
from ..column_files import LIST
from ..map_store import MapStore, sound

ROW = "row"  # the column of the user's row numbers
_TYPES = {"u1": "<u1", "u4": "<u4", "f4": "<f4", "f8": "<f8"}


class ColumnFiles:
    """The files below columns/ of a store; what is damaged is told as such."""

    def __init__(self, store: MapStore) -> None:
        self.folder = store.folder
        self.n_rows = int(store.meta["n_rows"])
        with sound(self.folder, LIST):
            self.level_sizes = tuple(int(level["n_nodes"]) for level in store.meta["levels"])
            self.records = {record["key"]: _checked(record) for record in store.read_json(LIST)}

    def bins(self, key: str, begin: int, end: int) -> Array:
        """The bin, or the code of the category, of each row of a range; 255: missing."""
        return self._read(f"columns/{key}/bins.bin", "u1", begin, end)

    def values(self, key: str, begin: int, end: int) -> Array:
        """Numbers (NaN: missing), codes of categories, or the user's row numbers."""
        if key == ROW:
            return self._read(f"columns/{ROW}/values.bin", "u4", begin, end)
        dtype = self.records[key]["dtype"]
        if dtype == "u1":
            return self.bins(key, begin, end)
        return self._read(f"columns/{key}/values.bin", dtype, begin, end)

    def order(self, key: str, begin: int, end: int) -> Array:
        """Places of the rows in the order of a column, the missing ones last."""
        name = f"columns/{key}/order.bin"
        found = self._read(name, "u4", begin, end)
        if len(found) and int(found.max()) >= self.n_rows:
            raise self._damaged(name)
        return found

    def starts(self, level: int, begin: int, end: int) -> Array:
        """Where the rows of nodes begin, and the last end: end - begin + 1 places."""
        name = f"columns/tree/{level}.bin"
        found = self._read(name, "u4", begin, end + 1, self.level_sizes[level] + 1)
        if (found[1:] < found[:-1]).any() or int(found[-1]) > self.n_rows:
            raise self._damaged(name)
        return found

    def node_of(self, level: int, places: Array) -> Array:
        """The node of a level that each place is below."""
        starts = self.starts(level, 0, self.level_sizes[level])
        return np.searchsorted(starts, places, side="right") - 1

    def _read(
        self, name: str, dtype: str, begin: int, end: int, length: int | None = None
    ) -> Array:
        path: Path = self.folder / name
        kind = np.dtype(_TYPES[dtype])
        try:
            size = path.stat().st_size
            found = np.fromfile(path, kind, end - begin, offset=begin * kind.itemsize)
        except FileNotFoundError:
            raise ModelFileError(
                f"{self.folder}: {name} is missing: delete the folder to build it anew"
            ) from None
        if size != kind.itemsize * (self.n_rows if length is None else length):
            raise self._damaged(name)
        return found

    def _damaged(self, name: str) -> ModelFileError:
        return ModelFileError(
            f"{self.folder}: {name} is damaged: delete the folder to build it anew"
        )


def _checked(record: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of columns.json; ValueError for one that is none."""
    bins = record["bins"]
    is_sound = (
        record["kind"] in ("number", "category")
        and record["dtype"] in ("u1", "f4", "f8")
        and isinstance(record["key"], str)
        and isinstance(record["name"], str)
        and 0 < len(bins) < 256
        and all(isinstance(count, int) for count in (*bins, record["missing"]))
        and (record["kind"] == "number" or len(record["categories"]) == len(bins))
    )
    if not is_sound:
        raise ValueError(f"no entry of a column: {str(record)[:80]}")
    return dict(record)
