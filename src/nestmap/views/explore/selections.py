"""Selections that readers keep, in one small file beside a run: by name, which rows they hold."""

from __future__ import annotations

import base64
import binascii
import threading
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.work.lock import locked
from ...core.work.records import read_json, write_json
from ...core.work.replacing import temporary
from ...errors import ModelFileError
from .names import tidy

FILE = "selections.json"
MOST_SELECTIONS = 200
_MAX_FILE_BYTES = 9_000_000  # bytes of a file that is sure to be read again
_MAX_ROWS = 2**32


@dataclass(frozen=True, eq=False)
class Selection:
    """A selection of rows.

    Attributes
    ----------
    rows : ndarray of uint32
        The user's row numbers, sorted.
    chosen : object
        How they were chosen: a set of rows as JSON, of places in the store below.
    store : str
        The version of the store that `chosen` is about.
    """

    rows: Array
    chosen: Any
    store: str


Selections = dict[str, Selection]


class SavedSelections:
    """Selections by name; kept in memory only, if there is no path. The file is the truth."""

    def __init__(self, path: Path | None = None, writable: bool = True) -> None:
        self.path = path
        self.writable = writable
        self._lock = threading.Lock()
        self._kept: Selections = {}

    def read(self) -> Selections:
        """All selections, in the order in which they were kept."""
        if self.path is None:
            return dict(self._kept)
        return _parse(self.path) if self.path.exists() else {}

    def keep(self, name: str, selection: Selection | None) -> Selections:
        """Keep a selection under a name, or with None forget it; the file is replaced whole."""
        if self.path is None:
            with self._lock:
                self._kept = _changed(self._kept, name, selection)
                return dict(self._kept)
        file = self.path.resolve()  # links lead all to one file, and to one lock
        with locked(file.with_name(f"{file.name}.lock"), str(file)):
            kept = _changed(self.read(), name, selection)
            _write(file, kept)
        return kept


def clean_name(name: str) -> str:
    """A name as it is kept; ValueError for one of which nothing is left."""
    clean = tidy(name)
    if not clean:
        raise ValueError("a selection needs a name")
    return clean


def _changed(kept: Selections, name: str, selection: Selection | None) -> Selections:
    """The same selections but for one."""
    if selection is None:
        return {key: own for key, own in kept.items() if key != name}
    if name not in kept and len(kept) >= MOST_SELECTIONS:
        raise ValueError(f"{MOST_SELECTIONS} selections are kept already: delete one first")
    return {**kept, name: selection}


def _write(path: Path, kept: Selections) -> None:
    with temporary(path) as part:
        write_json(part, {name: _record(own) for name, own in kept.items()})
        if part.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError(
                f"{path.name} would grow beyond {_MAX_FILE_BYTES:,} bytes: "
                "delete a selection, or keep a smaller one"
            )


def _record(own: Selection) -> dict[str, Any]:
    """Row numbers as their differences, packed: a list of millions would fill the file."""
    steps = np.diff(own.rows, prepend=np.uint32(0)).astype("<u4")
    packed = base64.b64encode(zlib.compress(steps.tobytes(), 6)).decode("ascii")
    return {"count": len(own.rows), "rows": packed, "chosen": own.chosen, "store": own.store}


def _parse(path: Path) -> Selections:
    try:
        record = read_json(path)
        return {tidy(name): _read_one(own) for name, own in record.items()}
    except ValueError as error:
        raise ModelFileError(
            f"{path}: {error}; delete it to go on without the selections in it"
        ) from error


def _read_one(record: Any) -> Selection:
    match record:
        case {"count": int(count), "rows": str(packed), "chosen": chosen, "store": str(store)}:
            return Selection(_unpack(packed, count), chosen, store)
        case _:
            raise ValueError("it holds no selections")


def _unpack(packed: str, count: int) -> Array:
    if not 0 <= count < _MAX_ROWS:
        raise ValueError(f"a selection of {count} rows")
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(base64.b64decode(packed, validate=True), 4 * count + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"the rows of a selection are damaged ({error})") from error
    rows = np.cumsum(np.frombuffer(data[: len(data) // 4 * 4], dtype="<u4"), dtype=np.int64)
    is_sorted = bool((np.diff(rows) > 0).all())
    if len(data) != 4 * count or not is_sorted or (count and rows[-1] >= _MAX_ROWS):
        raise ValueError("the rows of a selection are damaged")
    return rows.astype(np.uint32)
