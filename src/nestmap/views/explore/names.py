"""Cluster names from readers, in one small file beside a run: {"level": {"cluster": "name"}}."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from ...core.work.lock import locked
from ...core.work.records import read_json, write_json
from ...core.work.replacing import temporary
from ...errors import ModelFileError

LONGEST_NAME = 200

_MAX_FILE_BYTES = 9_000_000  # bytes of a file that is sure to be read again
_COARSEST = 2_000_000_000  # nanoseconds: steps in which file systems keep times, at worst

Names = dict[int, dict[int, str]]  # per level and cluster of the hierarchy
_Mark = tuple[int, int, int]


class SavedNames:
    """Names by level and cluster; kept in memory only, if there is no path.

    The file is the truth: memory follows it, and other processes may change it at any time.
    """

    def __init__(self, path: Path | None = None, writable: bool = True) -> None:
        self.path = path
        self.writable = writable
        self._lock = threading.Lock()
        self._names: Names = {}
        self._mark: _Mark | None = None  # of the file as it was read last
        self.read()

    def read(self) -> Names:
        """All names; a file that someone else has changed is read again."""
        with self._lock:
            if self.path is not None:
                self._refresh(self.path)
            return {level: dict(own) for level, own in self._names.items()}

    def set(self, level: int, cluster: int, name: str) -> None:
        """Keep a name, or with an empty one forget it; the file is replaced whole, or stays.

        One at a time reads, changes and writes it, or the name that another process has just given
        would be lost.
        """
        if self.path is None:
            with self._lock:
                self._names = _changed(self._names, level, cluster, name)
            return
        file = self.path.resolve()  # links lead all to one file, and to one lock
        with locked(file.with_name(f"{file.name}.lock"), str(file)):
            _write(file, _changed(_parse(file) if file.exists() else {}, level, cluster, name))
        with self._lock:
            self._mark = None  # it is on disk: the next reader gets it from there

    def _refresh(self, path: Path) -> None:
        try:
            found = path.stat()
        except FileNotFoundError:  # deleted: back to the names of the run
            self._names = {}
            self._mark = None
            return
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        if mark == self._mark:
            return
        # what was written a moment ago may be written again at the same time: clocks go in steps
        settled = time.time_ns() - found.st_mtime_ns > _COARSEST
        self._names = _parse(path)
        self._mark = mark if settled else None


def _changed(names: Names, level: int, cluster: int, name: str) -> Names:
    """The same names but for one; an empty one is left out."""
    own = {key: value for key, value in names.get(level, {}).items() if key != cluster}
    return {**names, level: {**own, cluster: name} if name else own}


def _write(path: Path, names: Names) -> None:
    with temporary(path) as part:
        write_json(
            part,
            {str(k): {str(c): own[c] for c in sorted(own)} for k, own in sorted(names.items())},
        )
        if part.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError(
                f"{path.name} would grow beyond {_MAX_FILE_BYTES:,} bytes: "
                "give shorter names, or fewer"
            )


def _parse(path: Path) -> Names:
    try:
        record = read_json(path)
    except ValueError as error:
        raise ModelFileError(
            f"{path}: {error}; delete it to go back to the names of the run"
        ) from error
    try:
        return {
            int(k): {int(c): _checked(name) for c, name in own.items()} for k, own in record.items()
        }
    except (TypeError, ValueError, AttributeError):
        raise ModelFileError(
            f"{path} holds no names of clusters; delete it to go back to those of the run"
        ) from None


def _checked(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("no text")
    return tidy(name)


def tidy(name: str, longest: int = LONGEST_NAME) -> str:
    """One line of bounded length, without control characters and halves of characters.

    Examples
    --------
    >>> tidy("  two\\nlines and a \\x07 bell ")
    'two lines and a bell'
    """
    text = name[: 4 * longest].encode("utf-8", "replace").decode("utf-8")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:longest]
