"""Names that readers gave to clusters, kept in one small file beside a run: {"level": {"cluster": "name"}}."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from .._work.records import read_json, write_json
from ..errors import ModelFileError

LONGEST_NAME = 200

Names = dict[int, dict[int, str]]  # per level and cluster of the hierarchy


class SavedNames:
    """Names by level and cluster; kept in memory only, if there is no path."""

    def __init__(self, path: Path | None = None, writable: bool = True) -> None:
        self.path, self.writable = path, writable
        self._lock = threading.Lock()
        self._names: Names = {}
        self._read_at: int | None = None
        self.read()

    def read(self) -> Names:
        """All names; a file that someone else has changed is read again."""
        with self._lock:
            self._refresh()
            return {level: dict(own) for level, own in self._names.items()}

    def set(self, level: int, cluster: int, name: str) -> None:
        """Keep a name, or with an empty one forget it; the file is replaced as a whole."""
        with self._lock:
            self._refresh()
            own = self._names.setdefault(level, {})
            own.pop(cluster, None)
            if name:
                own[cluster] = name
            self._write()

    def _refresh(self) -> None:
        if self.path is None:
            return
        try:
            changed = self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return
        if changed != self._read_at:
            self._names = _parse(self.path)
            self._read_at = changed

    def _write(self) -> None:
        if self.path is None:
            return
        names = {str(k): {str(c): name for c, name in sorted(own.items())} for k, own in sorted(self._names.items())}
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            write_json(part, names)
            os.replace(part, self.path)
        finally:
            part.unlink(missing_ok=True)
        self._read_at = self.path.stat().st_mtime_ns


def _parse(path: Path) -> Names:
    try:
        record = read_json(path)
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}; delete it to go back to the names of the run") from error
    try:
        return {int(k): {int(c): _checked(name) for c, name in own.items()} for k, own in record.items()}
    except (TypeError, ValueError, AttributeError):
        raise ModelFileError(f"{path} holds no names of clusters; delete it to go back to those of the run") from None


def _checked(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError("no text")
    return tidy(name)


def tidy(name: str) -> str:
    """One line of bounded length, without control characters and halves of characters.

    Examples
    --------
    >>> tidy("  two\\nlines and a \\x07 bell ")
    'two lines and a bell'
    """
    text = name[: 4 * LONGEST_NAME].encode("utf-8", "replace").decode("utf-8")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:LONGEST_NAME]
