"""Rows that are not in memory: .npy files, and objects that give rows by slices (h5py, zarr)."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..arrays import Array
from ..habits import refuse_cells
from .kinds import check_dtype, check_exact, check_n_rows, check_rows_kind, read_dlpack, refuse_lazy
from .memory import memory_budget
from .npy import NpyError, map_npy, read_header
from .scratch import copy_rows, scratch_array
from .validate import KEPT, row_dtype

_SAMPLE_SLICES = 20  # slices that a sample of rows is read in


class RowSource:
    """Rows that are read by slices from an object with `shape`, `dtype` and `X[a:b]`.

    Attributes
    ----------
    shape : tuple of two ints
    dtype : numpy dtype
    chunks : tuple of ints or None
        How the object is stored, if it tells.
    """

    def __init__(self, rows: Any, *, name: str = "X") -> None:
        self._rows = rows
        self._name = name
        shape = tuple(int(n) for n in rows.shape)
        dtype = np.dtype(rows.dtype)
        self.title = _title(rows)
        if len(shape) != 2:
            raise ValueError(
                f"{name}: {self.title} has {len(shape)} dimensions, shape {shape}; it must be "
                "2-D, one row per point"
            )
        check_dtype(dtype, f"{name}: {self.title}")
        check_n_rows(shape[0], f"{name}: {self.title}")
        self.shape = (shape[0], shape[1])
        self.dtype = dtype
        self.chunks = getattr(rows, "chunks", None)

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.shape[1] * int(self.dtype.itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"RowSource({self.title})"

    def block(self, part: slice) -> Array:
        """The rows of a slice, as an array; raises if the object gives something else."""
        start, stop, step = part.indices(len(self))
        if step != 1:
            raise ValueError(f"{part}: blocks are taken with step 1")
        where = f"{self._name}: rows {start} to {stop - 1} of {self.title}"
        try:
            check_unchanged(self._rows, name=self._name)
            found = self._rows[start:stop]
            if np.ma.is_masked(found):
                raise ValueError("some values are missing (masked); fill them in first")
            block = np.asarray(found)
        except MemoryError:
            raise
        except Exception as error:
            raise OSError(f"{where} cannot be read: {error}") from error
        expected = (max(0, stop - start), self.shape[1])
        if block.shape != expected:
            raise ValueError(f"{where} came as shape {block.shape} instead of {expected}")
        if block.dtype.newbyteorder("=") != self.dtype.newbyteorder("="):
            raise ValueError(f"{where} came as {block.dtype}, but its dtype says {self.dtype}")
        check_exact(block, self._name, first_row=start)
        return block

    def sample(self, n: int) -> Array:
        """About n rows (all, if there are no more), in slices spread evenly over the rows."""
        if len(self) <= n:
            return self.block(slice(0, len(self)))
        starts = np.linspace(0, len(self) - n // _SAMPLE_SLICES, _SAMPLE_SLICES).astype(np.int64)
        return np.concatenate(
            [self.block(slice(int(a), int(a) + n // _SAMPLE_SLICES)) for a in starts]
        )


def open_rows(X: Any, *, name: str = "X") -> Any:
    """What `fit` and `transform` accept beyond arrays.

    Returns
    -------
    np.memmap
        For the path of a .npy file of uint8, int8, float16, float32 or float64.
    RowSource
        For an object that gives rows by slices, such as h5py.Dataset or zarr.Array, and for a .npy
        file of another type of numbers.
    X itself
        For all else: arrays, sparse matrices, lists, frames, and what turns into an array, after
        `check_rows_kind`.
    """
    if isinstance(X, str | os.PathLike):
        return _open_npy(Path(os.fspath(X)).expanduser(), name)
    if isinstance(X, RowSource):
        return X
    refuse_cells(X, name)
    refuse_lazy(X, name)
    X = read_dlpack(X, name)
    known = isinstance(X, np.ndarray | np.generic | list | tuple) or sparse.issparse(X) or X is None
    if not known and _gives_rows(X, name):
        return RowSource(X, name=name)
    check_rows_kind(X, name)
    return X


def _gives_rows(X: Any, name: str) -> bool:
    """Whether X stays on disk and is read by slices.

    Objects with __array__ (torch tensors, frames) are in memory and turn into arrays, unless they
    say that they are stored in chunks; a dask graph is not rows yet.
    """
    try:
        has_rows = all(hasattr(X, attribute) for attribute in ("shape", "dtype", "__getitem__"))
        if (
            not has_rows
            or hasattr(X, "__dask_graph__")
            or (hasattr(X, "__array__") and not hasattr(X, "chunks"))
        ):
            return False
        np.dtype(X.dtype)
    except TypeError:  # a dtype that NumPy does not know
        return False
    except Exception as error:  # h5py: the file is closed
        raise ValueError(
            f"{name}: {_title(X)} cannot be read (is its file still open?): {error}"
        ) from error
    return True


def _title(rows: Any) -> str:
    text = " ".join(repr(rows).split())
    return text if len(text) <= 100 else f"{type(rows).__module__}.{type(rows).__qualname__}"


def _open_npy(path: Path, name: str) -> Any:
    what = f"{name}={str(path)!r}"
    if not path.exists():
        raise FileNotFoundError(f"{what}: no such file; pass the path of a .npy file, or an array")
    if path.is_dir():
        raise IsADirectoryError(f"{what} is a directory; pass the path of a .npy file, or an array")
    try:
        header = read_header(path)
    except NpyError as error:
        raise ValueError(f"{what} {error}") from error
    check_dtype(header.dtype, what)
    check_n_rows(header.shape[0] if header.shape else 0, what)
    if len(header.shape) != 2:
        raise ValueError(
            f"{what} holds an array of {len(header.shape)} dimensions, shape {header.shape}; it "
            "must be 2-D, one row per point: np.save(path, X.reshape(len(X), -1))"
        )
    if header.fortran_order:
        raise ValueError(
            f"{what} is stored column by column (Fortran order), so that no row lies in one "
            "piece; write it by rows: np.save(path, np.ascontiguousarray(X))"
        )
    rows = map_npy(path, header)
    if header.dtype in KEPT or rows.size == 0:
        return rows
    return RowSource(rows, name=name)  # converted block by block, not as a whole


def _mapping(X: Any) -> tuple[Any, int] | None:
    """The np.memmap that an array is a view of, and the size of the file up to the array's end."""
    root = X
    while isinstance(root, np.ndarray) and not isinstance(root.base, mmap.mmap):
        root = root.base
    if not isinstance(root, np.memmap) or not X.size:
        return None
    strides = zip(X.shape, X.strides, strict=True)
    last = sum((n - 1) * step for n, step in strides if step > 0) + X.itemsize
    return root, int(root.offset + X.ctypes.data - root.ctypes.data + last)


def check_unchanged(X: Any, *, name: str = "X") -> None:
    """Raise if the file behind X has become shorter than X needs.

    To read beyond the end of a mapped file kills the process (SIGBUS). The size is asked of the
    mapping itself: a file that was deleted or replaced by another stays readable and is no error.
    """
    for array in (
        (X.data, X.indices, X.indptr) if sparse.issparse(X) and X.format == "csr" else (X,)
    ):
        found = _mapping(array)
        if found is None:
            continue
        root, needed = found
        size = root.base.size()
        if size < needed:
            raise OSError(
                f"{name}: the file {root.filename or 'of temporary data'} has shrunk to {size} "
                f"bytes while it was in use; {needed} are needed. Write it again and start over"
            )


def load_source(
    source: RowSource,
    budget_bytes: int,
    folder: str | Path | None = None,
    *,
    progress: Callable[[float], None] | None = None,
) -> Array:
    """All rows of a source as an array of `row_dtype`, in memory or as a scratch array on disk.

    In memory up to a third of the budget: the rest is for the work on the rows.
    """
    dtype = row_dtype(source.dtype)
    in_memory = math.prod(source.shape) * dtype.itemsize <= budget_bytes / 3
    return copy_rows(
        source, scratch_array(source.shape, dtype, in_memory=in_memory, folder=folder), progress
    )


def load_rows(X: Any, *, name: str = "X") -> Any:
    """`open_rows`, with sources loaded: an array, or what else scikit-learn's validation takes."""
    X = open_rows(X, name=name)
    return load_source(X, memory_budget(None).size) if isinstance(X, RowSource) else X
