"""The work directory of a long fit: pieces that are finished stay finished, whatever happens later.

manifest.json        format version, and the identity of the fit: its data and parameters
lock                 held by the process that works here
<piece>/             one .npy per array, and meta.json with shapes, types and checksums
<piece>.part-<pid>/  a piece that is being written; renamed when all of it is on disk
"""

from __future__ import annotations

import json
import os
import re
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from reprlib import repr as brief
from typing import Any, Self

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..input.memory import format_size
from ..input.npy import NpyError, map_npy, read_header
from ..input.scratch import why_full
from .lock import take_lock
from .pieces import ArrayInfo, checksum, flush_folder, write_array
from .records import read_json, write_json
from .replacing import move

_FORMAT = 1
_MANIFEST = "manifest.json"
_LOCK = "lock"
_META = "meta.json"
_PART = ".part-"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
# what a killed process leaves behind
_PIECE_LEFT = re.compile(rf"{_NAME.pattern}{re.escape(_PART)}[0-9]+(-old)?")
CLUSTER = "cluster-"  # begins the names of folders that a fit on a cluster has here, while it runs
_MANIFEST_LEFT = re.compile(rf"{re.escape(_MANIFEST + _PART)}[0-9]+")


class WorkDir:
    """Finished pieces of a fit on disk: written to a temporary name, flushed (fsync), then renamed.

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

    def __init__(self, path: Path, lock: int, identity: dict[str, Any]) -> None:
        self.path = path
        self.identity = identity
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
        now = json.loads(json.dumps(identity, default=_plain))
        with _full_disk(folder, "the directory"):
            folder.mkdir(parents=True, exist_ok=True)
            work = cls(folder, take_lock(folder / _LOCK, what), now)
        try:
            work._join(what)
            work._clean_up()
        except BaseException:
            work.close()
            raise
        return work

    def _join(self, what: str) -> None:
        """Compare the manifest, or write it."""
        if not (self.path / _MANIFEST).exists():
            manifest = {"format": _FORMAT, "nestmap": version("nestmap"), "identity": self.identity}
            part = self.path / f"{_MANIFEST}{_PART}{os.getpid()}"
            with _full_disk(self.path, _MANIFEST):
                write_json(part, manifest)
                move(part, self.path / _MANIFEST)
                flush_folder(self.path)
            return
        differences = [*_differences(_read_identity(self.path, what), self.identity)]
        if differences:
            raise ValueError(
                f"{what} holds the pieces of another fit: {'; '.join(differences)}. Fit the same "
                "data with the same parameters to go on, name another directory, or delete this "
                "one to start over"
            )

    def _clean_up(self) -> None:
        """Remove what killed processes left; no other process works here: the lock says so."""
        for left in self.path.glob(f"*{_PART}*"):
            if left.is_symlink():
                continue
            if left.is_dir() and _PIECE_LEFT.fullmatch(left.name):
                shutil.rmtree(left)
            elif left.is_file() and _MANIFEST_LEFT.fullmatch(left.name):
                left.unlink()

    def close(self) -> None:
        """Let other processes work here; arrays that were loaded stay valid."""
        self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pieces(self) -> list[str]:
        """Names of the finished pieces."""
        return sorted(
            p.parent.name for p in self.path.glob(f"*/{_META}") if _PART not in p.parent.name
        )

    def save(self, piece: str, arrays: dict[str, Array], meta: dict[str, Any]) -> None:
        """Write a piece, as a whole or not at all.

        A piece of that name is replaced.

        Contiguous arrays, memory-mapped ones too, are written as they lie, without a copy.

        Raises
        ------
        OSError
            The disk is full, for example. All pieces that were finished before are kept.
        """
        for name in (piece, *arrays):
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} cannot name a piece or an array: use letters, digits, '_' and '-'"
                )
        part = self.path / f"{piece}{_PART}{os.getpid()}"
        size = format_size(sum(array.nbytes for array in arrays.values()))
        with _full_disk(self.path, f"{piece} ({size})"):
            part.mkdir()
            try:
                infos = {
                    name: write_array(part / f"{name}.npy", array)._asdict()
                    for name, array in arrays.items()
                }
                write_json(part / _META, {"arrays": infos, "meta": meta}, default=_plain)
                flush_folder(part)
                self._replace(piece, part)
            finally:
                shutil.rmtree(part, ignore_errors=True)  # gone already if all went well

    def _replace(self, piece: str, part: Path) -> None:
        target = self.path / piece
        old = part.with_name(f"{part.name}-old")
        if target.exists():  # a folder is not deleted in one step: rename it first
            move(target, old)
        move(part, target)
        flush_folder(self.path)
        shutil.rmtree(old, ignore_errors=True)

    def load(self, piece: str) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """Arrays (memory-mapped, read-only) and metadata of a finished piece, or None.

        The arrays are read once to verify their checksums.
        """
        folder = self.path / piece
        if not _NAME.fullmatch(piece) or not folder.exists():
            return None
        arrays = {}
        try:
            match read_json(folder / _META):
                case {"arrays": dict(infos), "meta": dict(meta)}:
                    pass
                case _:
                    raise ValueError(f"{_META} does not describe a piece")
            for name, info in infos.items():
                arrays[name] = _load_array(folder, name, info)
        except ValueError as error:
            raise self.damaged(piece, str(error)) from error
        return arrays, meta

    def damaged(self, piece: str, reason: str) -> OSError:
        """The error for a piece that cannot be used."""
        folder = self.path / piece
        return OSError(
            f"{folder} is damaged: {reason}; delete {folder} and fit again; the other pieces are "
            "kept"
        )


def _load_array(folder: Path, name: str, record: Any) -> Array:
    if not _NAME.fullmatch(name):  # it would lead elsewhere
        raise ValueError(f"{_META} names an array {brief(name)}")
    path = folder / f"{name}.npy"
    try:
        info = ArrayInfo.of(record)
        header = read_header(path)
        if list(header.shape) != info.shape or header.dtype.str != info.dtype:
            raise NpyError(
                f"holds {header.dtype} {header.shape} instead of {info.dtype} {tuple(info.shape)}"
            )
        array = map_npy(path, header)
        if checksum(array) != info.crc32:
            raise NpyError("does not have the values that were written (its checksum differs)")
    except (ValueError, FileNotFoundError) as error:
        reason = "is missing" if isinstance(error, OSError) else str(error)
        raise ValueError(f"{path.name} {reason}") from error
    return array


def pack(table: Any, name: str = "centroids") -> dict[str, Array]:
    """A dense table or a CSR matrix as arrays for `save`."""
    if not sparse.issparse(table):
        return {name: np.asanyarray(table)}
    table = table.tocsr()
    shape = np.array(table.shape, dtype=np.int64)
    return {
        f"{name}_data": table.data,
        f"{name}_indices": table.indices,
        f"{name}_indptr": table.indptr,
        f"{name}_shape": shape,
    }


def unpack(arrays: dict[str, Array], name: str = "centroids") -> Any:
    """The table that `pack` took apart; a CSR matrix looks into the given arrays."""
    if name in arrays:
        return arrays[name]
    data, indices, indptr, shape = (
        arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape")
    )
    return sparse.csr_matrix(
        (data, indices, indptr), shape=tuple(int(n) for n in shape), copy=False
    )


@contextmanager
def _full_disk(folder: Path, what: str) -> Iterator[None]:
    """Errors of a full disk say where, what was being written, and that the fit can go on later."""
    try:
        yield
    except OSError as error:
        if not why_full(error):
            raise
        raise OSError(
            error.errno,
            f"work_dir={str(folder)!r}: {what} could not be written, {why_full(error)}. The "
            "pieces that were finished are kept: make room and fit again with the same work_dir "
            "to go on from there",
        ) from error


def _check_ours(folder: Path, what: str) -> None:
    """Raise for a directory of others; a killed process may have left a lock and no manifest."""
    if not folder.exists():
        return
    if (folder / _MANIFEST).exists():
        _read_identity(folder, what)
        return
    found = sorted(p.name for p in folder.iterdir() if not p.name.startswith(CLUSTER))
    others = [name for name in found if name != _LOCK and not _MANIFEST_LEFT.fullmatch(name)]
    if others:
        names = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        raise ValueError(
            f"{what} holds other files ({names}) and no {_MANIFEST}; name a new directory or an "
            "empty one"
        )


def _read_identity(folder: Path, what: str) -> dict[str, Any]:
    """The identity in the manifest, which must be ours and of this format."""
    try:
        manifest = read_json(folder / _MANIFEST)
    except ValueError as error:
        raise OSError(f"{what}: {error}; delete the directory, or name another one") from error
    match manifest:
        case {"format": format_, "nestmap": str(), "identity": dict(identity)} if (
            format_ == _FORMAT
        ):
            return identity
        case {"format": format_, "nestmap": str(by)} if format_ != _FORMAT:
            raise ValueError(
                f"{what} was written by nestmap {brief(by)} in format {brief(format_)}; this "
                f"version reads format {_FORMAT}. Name another directory, or delete this one"
            )
    raise ValueError(
        f"{what} holds a {_MANIFEST} that is not nestmap's, or damaged; name another directory"
    )


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
    elif _text(old) != _text(new):
        yield f"{name} was {brief(old)}, is {brief(new)}"


def _text(value: Any) -> str:
    """JSON, in which NaN equals NaN."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "nested too deeply to be ours"
