"""The work directory of a long fit: pieces that are finished stay finished, whatever happens later.

manifest.json        format version, and the identity of the fit: its data and parameters
lock                 held by the process that works here
<piece>/             one .npy per array, and meta.json with shapes, types and checksums
<piece>.part-<pid>/  a piece that is being written; renamed when all of it is on disk
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._arrays import Array
from .._input.memory import format_size
from .._input.npy import NpyError, map_npy, read_header
from .._input.scratch import FULL
from .lock import take_lock
from .pieces import ArrayInfo, checksum, flush_folder, write_array, write_json

_FORMAT = 1
_MANIFEST, _LOCK, _META, _PART = "manifest.json", "lock", "meta.json", ".part-"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_REASONS = {errno.EDQUOT: "the disk quota is used up", errno.EFBIG: "a file may not grow that large"}


class WorkDir:
    """Finished pieces of a fit on disk: each is written to a temporary name, flushed (fsync), then renamed.

    One process at a time works in a directory. Use it in a `with` statement, or `close` it: a
    traceback that someone keeps would otherwise hold the lock.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with WorkDir.open(folder, {"metric": "euclidean"}) as work:
    ...         work.save("level-0", {"ids": np.arange(3)}, {"link": 0.5})
    ...         arrays, meta = work.load("level-0")
    ...         arrays["ids"].tolist(), meta, work.pieces()
    ([0, 1, 2], {'link': 0.5}, ['level-0'])
    """

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._unlock = weakref.finalize(self, os.close, lock)

    @classmethod
    def open(cls, path: str | os.PathLike[str], identity: dict[str, Any]) -> WorkDir:
        """The work directory of the fit with this identity; created, or opened to go on.

        Parameters
        ----------
        path : path
        identity : dict
            JSON values that tell this fit from others, nested as you like, for example
            ``{"data": {"shape": …, "dtype": …, "checksum": …}, "metric": …}``.

        Raises
        ------
        ValueError
            The directory belongs to another fit, or holds files that are not ours.
        OSError
            Another process works there, or the directory cannot be written.
        """
        folder = Path(path).expanduser()
        what = f"work_dir={str(folder)!r}"
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(f"{what} is a file; name a directory")
        _check_ours(folder, what)
        with _full_disk(folder, "the directory"):
            folder.mkdir(parents=True, exist_ok=True)
            work = cls(folder, take_lock(folder / _LOCK, what))
        try:
            work._join(identity, what)
        except BaseException:
            work.close()
            raise
        return work

    def _join(self, identity: dict[str, Any], what: str) -> None:
        """Clean up after killed processes; compare the manifest, or write it."""
        for left in self.path.glob(f"*{_PART}*"):  # no process but this one works here: the lock says so
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        now = json.loads(json.dumps(identity, default=_plain))
        if not (self.path / _MANIFEST).exists():
            manifest = {"format": _FORMAT, "nestmap": version("nestmap"), "identity": now}
            part = self.path / f"{_MANIFEST}{_PART}{os.getpid()}"
            with _full_disk(self.path, _MANIFEST):
                write_json(part, manifest)
                part.rename(self.path / _MANIFEST)
                flush_folder(self.path)
            return
        manifest = _read_json(self.path / _MANIFEST, f"{what}: delete the directory, or name another one")
        if manifest.get("format") != _FORMAT:
            raise ValueError(
                f"{what} was written by nestmap {manifest.get('nestmap')} in format {manifest.get('format')}; this "
                f"version reads format {_FORMAT}. Name another directory, or delete this one"
            )
        differences = [*_differences(manifest["identity"], now)]
        if differences:
            raise ValueError(
                f"{what} holds the pieces of another fit: {'; '.join(differences)}. Fit the same data with the same "
                "parameters to go on, name another directory, or delete this one to start over"
            )

    def close(self) -> None:
        """Let other processes work here; arrays that were loaded stay valid."""
        self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pieces(self) -> list[str]:
        """Names of the finished pieces."""
        return sorted(p.parent.name for p in self.path.glob(f"*/{_META}") if _PART not in p.parent.name)

    def save(self, piece: str, arrays: dict[str, Array], meta: dict[str, Any]) -> None:
        """Write a piece; it is there as a whole after this, or not at all. A piece of that name is replaced.

        Contiguous arrays, memory-mapped ones too, are written as they lie, without a copy.

        Raises
        ------
        OSError
            The disk is full, for example. All pieces that were finished before are kept.
        """
        for name in (piece, *arrays):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot name a piece or an array: use letters, digits, '_' and '-'")
        part = self.path / f"{piece}{_PART}{os.getpid()}"
        size = format_size(sum(array.nbytes for array in arrays.values()))
        with _full_disk(self.path, f"{piece} ({size})"):
            try:
                part.mkdir()
                infos = {name: write_array(part / f"{name}.npy", array)._asdict() for name, array in arrays.items()}
                write_json(part / _META, {"arrays": infos, "meta": meta}, default=_plain)
                flush_folder(part)
                self._replace(piece, part)
            finally:
                shutil.rmtree(part, ignore_errors=True)  # gone already if all went well

    def _replace(self, piece: str, part: Path) -> None:
        target, old = self.path / piece, part.with_name(f"{part.name}-old")
        if target.exists():  # a folder is not deleted in one step: rename it first
            target.rename(old)
        part.rename(target)
        flush_folder(self.path)
        shutil.rmtree(old, ignore_errors=True)

    def load(self, piece: str) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """Arrays (memory-mapped, read-only) and metadata of a finished piece; None if it is not there.

        The arrays are read once to verify their checksums.
        """
        folder = self.path / piece
        if not _NAME.fullmatch(piece) or not folder.exists():
            return None
        advice = f"delete {folder} and fit again; the other pieces are kept"
        record = _read_json(folder / _META, f"{folder} is damaged: {advice}")
        arrays = {}
        for name, info in record["arrays"].items():
            try:
                arrays[name] = _load_array(folder / f"{name}.npy", ArrayInfo(**info))
            except (NpyError, FileNotFoundError) as error:
                reason = "is missing" if isinstance(error, OSError) else str(error)
                raise OSError(f"{folder} is damaged: {name}.npy {reason}; {advice}") from error
        return arrays, record["meta"]


def _load_array(path: Path, info: ArrayInfo) -> Array:
    header = read_header(path)
    if list(header.shape) != info.shape or np.dtype(info.dtype) != header.dtype:
        raise NpyError(f"holds {header.dtype} {header.shape} instead of {info.dtype} {tuple(info.shape)}")
    array = map_npy(path, header)
    if checksum(array) != info.crc32:
        raise NpyError("does not have the values that were written (its checksum differs)")
    return array


def pack(table: Any, name: str = "centroids") -> dict[str, Array]:
    """A dense table or a CSR matrix as arrays for `save`."""
    if not sparse.issparse(table):
        return {name: np.asanyarray(table)}
    table = table.tocsr()
    shape = np.array(table.shape, dtype=np.int64)
    return {
        f"{name}_data": table.data, f"{name}_indices": table.indices, f"{name}_indptr": table.indptr,
        f"{name}_shape": shape,
    }  # fmt: skip


def unpack(arrays: dict[str, Array], name: str = "centroids") -> Any:
    """The table that `pack` took apart; a CSR matrix looks into the given arrays."""
    if name in arrays:
        return arrays[name]
    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sparse.csr_matrix((data, indices, indptr), shape=tuple(int(n) for n in shape), copy=False)


@contextmanager
def _full_disk(folder: Path, what: str) -> Iterator[None]:
    """Errors of a full disk say where, what was being written, and that the fit can go on later."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        reason = _REASONS.get(error.errno, "the disk is full")
        raise OSError(
            error.errno,
            f"work_dir={str(folder)!r}: {what} could not be written, {reason}. The pieces that were finished are "
            "kept: make room and fit again with the same work_dir to go on from there",
        ) from error


def _check_ours(folder: Path, what: str) -> None:
    """Raise for a directory with files that are not ours; a killed process may have left a lock and no manifest."""
    if not folder.exists() or (folder / _MANIFEST).exists():
        return
    others = sorted(p.name for p in folder.iterdir() if p.name != _LOCK and not p.name.startswith(_MANIFEST + _PART))
    if others:
        names = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        raise ValueError(
            f"{what} holds other files ({names}) and no {_MANIFEST}; name a new directory or an empty one"
        )


def _read_json(path: Path, advice: str) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OSError(f"{path.name} is missing in {path.parent}. {advice}") from None
    except ValueError as error:
        raise OSError(f"{path} cannot be read ({error}). {advice}") from error
    return record


def _plain(value: Any) -> Any:
    """NumPy scalars and paths as JSON knows them; the bits of numbers are kept."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} cannot be stored as JSON: {value!r}")


def _differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """What differs between two identities, as 'name was …, is …'."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(key), new.get(key), f"{name} {key}".strip())
    elif json.dumps(old) != json.dumps(new):  # as text: NaN equals NaN
        yield f"{name} was {old!r}, is {new!r}"
