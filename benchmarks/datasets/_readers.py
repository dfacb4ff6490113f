"""From files to rows: one reader per format, and parsed copies of what is slow to parse."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from nestmap.app.readers._arrays import mat73_blocks, read_mat, read_npy, read_npz, read_words
from nestmap.app.readers._formats import (
    Rows,
    read_idx,
    svmlight_blocks,
    text_blocks,
    whole,
    word2vec_blocks,
)
from nestmap.core.arrays import Array
from nestmap.core.progress import Progress
from nestmap.core.work.replacing import temporary
from nestmap.errors import FileFormatError

from ._images import read_cifar, read_coil20
from ._sources import DatasetInfo

ARRAY_SUFFIXES = (".npz", ".npy", ".mat", ".txt")


@dataclass(frozen=True)
class Task:
    """Files to read, in the order in which their `Original` names them."""

    info: DatasetInfo
    paths: tuple[Path, ...]
    cache: Path
    progress: Progress


def read(format: str, task: Task) -> Rows:
    """Read the files; labels, words and sizes are checked against the rows."""
    rows = _READERS[format](task)
    rows = _split_class(replace(rows, X=_as_matrix(rows.X, task.paths[0])), task)
    _check(rows, task)
    return rows


def _as_matrix(X: Array, path: Path) -> Array:
    if X.ndim < 2 or not X.size or X.dtype.kind not in "uifb":
        raise FileFormatError(
            f"{path}: X is {X.dtype} of shape {X.shape}; expected numbers in rows and columns"
        )
    return X.reshape(len(X), -1)


def _split_class(rows: Rows, task: Task) -> Rows:
    """The authors of the paper keep the class as one more column, at the end."""
    if rows.y is None and task.info.classes and rows.X.shape[1] == task.info.columns + 1:
        return replace(rows, X=rows.X[:, :-1], y=whole(rows.X[:, -1], task.paths[0]))
    return rows


def _check(rows: Rows, task: Task) -> None:
    path = task.paths[0]
    info = task.info
    n, columns = rows.X.shape
    if info.columns and columns != info.columns:
        raise FileFormatError(
            f"{path} has {columns:,} columns; {info.name} has {info.columns:,}. "
            "If it is other data, load it under another name"
        )
    for what, values in (("labels", rows.y), ("words", rows.names)):
        if values is not None and len(values) != n:
            raise FileFormatError(
                f"{path} has {n:,} rows, but there are {len(values):,} {what} for them"
            )
    if info.rows and n != info.rows:
        task.progress.note(
            f"{path.name} has {n:,} rows; {info.name} as published has {info.rows:,}"
        )


# -- parsed copies
# -----------------------------------------------------------------------------------


def _parsed(task: Task, blocks: Callable[[Path], Iterator[Rows]]) -> Rows:
    """The rows as memory-mapped .npy files in the cache, written block by block the first time."""
    path = task.paths[0]
    state = path.stat()
    key = hashlib.sha256(
        f"{path.resolve()}:{state.st_size}:{state.st_mtime_ns}".encode()
    ).hexdigest()[:12]
    X, y, words = (task.cache / f"parsed-{key}-{part}" for part in ("X.npy", "y.npy", "words.txt"))
    if not X.exists():
        task.progress.begin(f"parsing {path.name}, once, into {task.cache}")
        try:
            _write(blocks(path), X, y, words)
        except (PermissionError, FileExistsError, NotADirectoryError) as error:
            raise PermissionError(
                f"{task.cache} cannot be written to; set cache= or NESTMAP_CACHE"
            ) from error
        if not X.exists():
            raise FileFormatError(f"{path} holds no rows")
    return Rows(
        read_npy(X),
        read_npy(y) if y.exists() else None,
        read_words(words) if words.exists() else None,
    )


def _write(blocks: Iterator[Rows], X: Path, y: Path, words: Path) -> None:
    with ExitStack() as stack:
        append: list[Callable[[Array], None]] = []
        text: IO[bytes] | None = None
        for block in blocks:
            arrays = [values for values in (block.X, block.y) if values is not None]
            if not append:  # X is entered first, so it gets its name last: where X is, all is
                for path, values in zip((X, y), arrays, strict=False):
                    append.append(stack.enter_context(growing_array(path, values)))
                if block.names is not None:
                    text = stack.enter_context(stack.enter_context(temporary(words)).open("wb"))
            for add, values in zip(append, arrays, strict=True):
                add(values)
            if text is not None and block.names is not None:
                text.write("".join(f"{word}\n" for word in block.names).encode())


@contextmanager
def growing_array(path: Path, like: Array) -> Iterator[Callable[[Array], None]]:
    """Yields a function that appends a block of rows to a new .npy file."""
    rows = 0

    def write_header() -> None:
        shape = (rows, *like.shape[1:])
        descr = np.lib.format.dtype_to_descr(like.dtype)
        np.lib.format.write_array_header_1_0(
            file, {"descr": descr, "fortran_order": False, "shape": shape}
        )

    def append(block: Array) -> None:
        nonlocal rows
        file.write(np.ascontiguousarray(block, like.dtype).data)
        rows += len(block)

    with temporary(path) as part, part.open("wb") as file:
        write_header()
        yield append
        file.seek(0)  # NumPy pads the header so that the number of rows can grow in place
        write_header()


# -- formats
# -----------------------------------------------------------------------------------------


def _read_arrays(task: Task) -> Rows:
    """X of the first file; y in it, in the second, or beside it; words beside it."""
    path = task.paths[0]
    if path.suffix == ".npz":
        rows = read_npz(path)
    elif path.suffix == ".npy":
        rows = Rows(read_npy(path))
    elif path.suffix == ".mat":
        rows = read_mat(path) or _parsed(task, lambda file: mat73_blocks(file, task.progress))
    else:
        rows = _parsed(task, lambda file: text_blocks(file, task.progress))
    labels = [
        *task.paths[1:],
        *(path.with_name(f"{path.stem}_{end}.npy") for end in ("labels", "y")),
    ]
    words = path.with_name(f"{path.stem}_words.txt")
    if rows.y is None and (label := next(filter(Path.exists, labels), None)):
        rows = replace(rows, y=_read_labels(replace(task, paths=(label,))))
    if rows.y is not None and rows.y.dtype.kind == "f" and np.array_equal(rows.y, np.rint(rows.y)):
        rows = replace(rows, y=rows.y.astype(np.int32))
    return replace(rows, names=read_words(words)) if words.exists() else rows


def _read_labels(task: Task) -> Array:
    path = task.paths[0]
    if path.suffix == ".npy":
        return read_npy(path).reshape(-1)
    found = read_mat(path) or Rows(
        np.concatenate([part.X for part in mat73_blocks(path, task.progress)])
    )
    return found.X.reshape(-1)


def _read_idx_split(task: Task) -> Rows:
    train, train_y, test, test_y = (read_idx(path) for path in task.paths)
    for path, X, y in ((task.paths[1], train, train_y), (task.paths[3], test, test_y)):
        if len(X) != len(y):
            raise FileFormatError(f"{path} has {len(y):,} labels for {len(X):,} images")
    return Rows(np.concatenate([train, test]), np.concatenate([train_y, test_y]), None, len(train))


def _read_idx_pair(task: Task) -> Rows:
    return Rows(read_idx(task.paths[0]), read_idx(task.paths[1]))


_READERS: dict[str, Callable[[Task], Rows]] = {
    "arrays": _read_arrays,
    "idx_split": _read_idx_split,
    "idx_pair": _read_idx_pair,
    "cifar": lambda task: read_cifar(task.paths),
    "coil20": lambda task: read_coil20(task.paths),
    "csv": lambda task: _parsed(
        task, lambda path: text_blocks(path, task.progress, class_first=True)
    ),
    "word2vec": lambda task: _parsed(task, lambda path: word2vec_blocks(path, task.progress)),
    "svmlight": lambda task: _parsed(
        task, lambda path: svmlight_blocks(path, task.info.columns, task.progress)
    ),
}
