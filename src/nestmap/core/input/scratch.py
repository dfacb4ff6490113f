"""Large temporary arrays, in memory or in an unlinked file that is freed with them."""

from __future__ import annotations

import errno
import math
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..arrays import Array, blocks
from .memory import format_size

_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file may not grow that large",
}
# numbers of a block that is widened to whole chunks: 512 MB of float64
_MAX_BLOCK_VALUES = 64_000_000


def scratch_array(
    shape: int | tuple[int, ...], dtype: Any, *, in_memory: bool, folder: str | Path | None = None
) -> Array:
    """An uninitialised array, in memory or on disk.

    On disk it is an np.memmap of a file that has no name: nothing is left behind, whatever happens
    to the process. Its bytes are reserved, so that a full disk is an error here and not a killed
    process (SIGBUS) when the array is written.

    Parameters
    ----------
    shape, dtype
        As for np.empty.
    in_memory : bool
        True: np.empty.
    folder : path, optional
        Where the file lives; `default_folder()` if None.
    """
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
    dtype = np.dtype(dtype)
    n_bytes = math.prod(shape) * dtype.itemsize
    if in_memory or n_bytes == 0:  # an empty file cannot be mapped
        return np.empty(shape, dtype)
    place = default_folder() if folder is None else Path(folder)
    with _temporary_file(place) as file:
        reserve(file, n_bytes, place)
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)


def copy_rows(source: Any, target: Array, progress: Callable[[float], None] | None = None) -> Array:
    """Fill target with the rows of a source, block by block; returns target."""
    read = getattr(source, "block", None) or source.__getitem__
    for part in row_blocks(source):
        target[part] = read(part)
        if progress:
            progress(part.stop / len(target))
    return target


def row_blocks(source: Any) -> list[slice]:
    """Blocks of whole chunks, where the source is stored in chunks: none is decompressed twice."""
    n = source.shape[0]
    width = math.prod(source.shape[1:])
    parts = blocks(n, width)
    chunks = getattr(source, "chunks", None)
    chunk = chunks[0] if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], int) else 1
    if chunk <= 1 or chunk * width > _MAX_BLOCK_VALUES or len(parts) < 2:
        return parts
    step = max(1, parts[0].stop // chunk) * chunk
    return [slice(i, min(n, i + step)) for i in range(0, n, step)]


def default_folder(mounts: str | Path = "/proc/self/mounts") -> Path:
    """tempfile.gettempdir(), unless it is memory (tmpfs) that nobody chose, and /var/tmp a disk."""
    folder = Path(tempfile.gettempdir())
    other = Path("/var/tmp")
    chosen = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if chosen or not _is_memory(folder, mounts) or _is_memory(other, mounts):
        return folder
    return other if os.access(other, os.W_OK | os.X_OK) else folder


def _is_memory(folder: Path, mounts: str | Path) -> bool:
    """Whether the file system of a folder lives in memory; False where the system does not tell."""
    try:
        rows = [line.split() for line in Path(mounts).read_text().splitlines()]
    except OSError:
        return False
    kinds = {row[1]: row[2] for row in rows if len(row) > 2}
    place = folder.resolve()
    nearest = next((str(p) for p in (place, *place.parents) if str(p) in kinds), None)
    return nearest is not None and kinds[nearest] in ("tmpfs", "ramfs")


def _temporary_file(folder: Path) -> IO[bytes]:
    if not folder.is_dir():
        raise FileNotFoundError(
            errno.ENOENT,
            "no such folder for temporary files; create it or set work_dir=",
            str(folder),
        )
    try:
        return tempfile.TemporaryFile(prefix="nestmap-", dir=folder)
    except OSError as error:
        if why_full(error):
            raise _no_space(error, folder, 0) from error
        raise


def reserve(file: IO[bytes], n_bytes: int, folder: Path) -> None:
    """Give the file its bytes on disk, now."""
    try:
        if hasattr(os, "posix_fallocate"):
            try:
                return os.posix_fallocate(file.fileno(), 0, n_bytes)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
        # The next best: the file is sparse, so look whether its bytes are free at this moment.
        if shutil.disk_usage(folder).free < n_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        file.truncate(n_bytes)
    except OSError as error:
        if why_full(error):
            file.truncate(0)  # what was reserved before the disk was full
            raise _no_space(error, folder, n_bytes) from error
        raise


def why_full(error: OSError) -> str | None:
    """The reason why a write failed for lack of space; None for other errors."""
    return _FULL.get(error.errno or 0)


def _no_space(error: OSError, folder: Path, n_bytes: int) -> OSError:
    free = format_size(shutil.disk_usage(folder).free)
    return OSError(
        error.errno,
        f"temporary data of {format_size(n_bytes)} ({n_bytes} bytes) do not fit into {folder}, "
        f"where {free} are free ({why_full(error)}); free some space, or set work_dir= to a "
        "folder on another disk",
    )
