"""Files as dask arrays: parquet by dask's own reader, zarr, and .npy files; workers read them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.input.source import open_rows
from .inputs import check_columns, import_distributed

_CHUNK_BYTES = 64_000_000


def open_files(
    path: str, columns: list[str] | None = None, key: str | None = None
) -> tuple[Any, tuple[str, ...] | None]:
    """A dask array of the rows of a .npy file, a zarr array or parquet files ('*.parquet', folder).

    `columns`: of parquet, by name (None: all that hold numbers); `key`: the array in a zarr group.
    Also gives the names of the columns, if they have any.
    """
    import_distributed()
    import dask.array as da
    import dask.dataframe as dd

    path = path if "://" in path else os.path.abspath(path)  # workers have folders of their own
    if path.endswith(".npy"):
        return _open_npy(path), None
    if path.rstrip("/").endswith(".zarr"):
        return da.from_zarr(path, component=key), None
    frame = dd.read_parquet(path)
    if columns is not None:
        missing = [name for name in columns if name not in frame.columns]
        if missing:
            raise ValueError(
                f"--columns: {path} has no column {missing[0]!r}; it has {', '.join(frame.columns)}"
            )
        frame = frame[columns]
        check_columns(frame, path)
    else:
        frame = frame.select_dtypes("number")
    if len(frame.columns) == 0:
        raise ValueError(f"{path} has no columns of numbers")
    return frame.to_dask_array(lengths=True), tuple(map(str, frame.columns))


def _open_npy(path: str) -> Any:
    import dask.array as da
    from dask import delayed

    rows = open_rows(path)
    shape = rows.shape
    dtype = rows.dtype
    step = max(1, _CHUNK_BYTES // max(1, shape[1] * dtype.itemsize))
    read = delayed(read_slice, pure=True)
    ends = [(a, min(shape[0], a + step)) for a in range(0, shape[0], step)]
    return da.concatenate(
        [da.from_delayed(read(path, a, b), (b - a, shape[1]), dtype) for a, b in ends]
    )


def read_slice(path: str, start: int, stop: int) -> Array:
    """Rows of a .npy file, in memory."""
    return np.array(np.load(path, mmap_mode="r")[start:stop])
