"""Files of a store: gzip, written by a few threads under a temporary name for the whole folder."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array

_GZIP_LEVEL = 4  # of gzip: coordinates hardly shrink further
_MAX_WAITING_FILES = 64  # files that may wait to be written


class Sink:
    """Takes files by name; `NAME` becomes folder/NAME.gz, but for plain ones."""

    def __init__(self, folder: Path, n_threads: int) -> None:
        self.folder = folder
        self._pool = ThreadPoolExecutor(n_threads)
        self._waiting: deque[tuple[str, Future[bytes]]] = deque()
        self._sums: dict[str, bytes] = {}
        self._made: set[Path] = set()

    def put(self, name: str, data: bytes) -> None:
        """Compress and write, in the background."""
        path = self.folder / f"{name}.gz"
        if path.parent not in self._made:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._made.add(path.parent)
        while len(self._waiting) >= _MAX_WAITING_FILES:
            self._settle()
        self._waiting.append((name, self._pool.submit(_write, path, data)))

    def put_arrays(self, name: str, *arrays: Array) -> None:
        """Arrays one after the other, little-endian."""
        self.put(
            name,
            b"".join(
                array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
                for array in arrays
            ),
        )

    def put_plain(self, name: str, array: Array) -> None:
        """An array as it is, in a file of exactly this name: what the server reads by ranges."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
        with path.open("wb") as file:
            file.write(data.data)
        self._sums[name] = hashlib.sha256(data.data).digest()

    def put_json(self, name: str, value: Any) -> None:
        self.put(name, to_json(value))

    def digest(self) -> str:
        """SHA-256 of names and contents of all files so far; independent of their order."""
        while self._waiting:
            self._settle()
        total = hashlib.sha256()
        for name, each in sorted(self._sums.items()):
            total.update(name.encode() + b"\n" + each)
        return total.hexdigest()[:32]

    def _settle(self) -> None:
        name, written = self._waiting.popleft()
        self._sums[name] = written.result()

    def close(self) -> None:
        """Wait for all; raises what went wrong."""
        try:
            while self._waiting:
                self._settle()
        finally:
            self._pool.shutdown(cancel_futures=True)


def to_json(value: Any) -> bytes:
    """Compact, all ASCII: lone surrogates are escaped like everything else; no NaN gets through."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def _write(path: Path, data: bytes) -> bytes:
    path.write_bytes(gzip.compress(data, _GZIP_LEVEL, mtime=0))
    return hashlib.sha256(data).digest()


def check_replaced(folder: Path, mark: str, what: str) -> None:
    """Raise where a folder is not ours to replace: not empty, and without a file that ours have."""
    if not folder.exists() or (folder / mark).is_file():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise FileExistsError(
            f"{folder} exists and is {what}: it is not replaced; delete it, or choose another name"
        )
