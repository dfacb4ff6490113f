"""Files that are on disk when a function returns: arrays with checksums, folders."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from reprlib import repr as brief
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from ..arrays import Array, blocks

# summed and written at a time: they stay in the cache between the two
_BYTES_PER_WRITE = 16_000_000


class ArrayInfo(NamedTuple):
    """What is known about an array on disk."""

    shape: list[int]
    dtype: str
    crc32: int

    @classmethod
    def of(cls, record: Any) -> ArrayInfo:
        """From what JSON gives back; raises for anything else."""
        match record:
            case {"shape": [*shape], "dtype": str(dtype), "crc32": int(crc32)} if len(record) == 3:
                if all(isinstance(n, int) for n in shape):
                    return cls(shape, dtype, crc32)
        raise ValueError(f"does not describe an array: {brief(record)}")


def write_array(path: Path, array: Array) -> ArrayInfo:
    """Write an array to a .npy file by rows (C order) and flush it; no copy if contiguous."""
    if array.dtype.hasobject or array.dtype.names:
        raise TypeError(f"{path.stem}: arrays of Python objects and of records are not stored")
    header = {
        "descr": npy.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    crc = 0
    with path.open("xb", buffering=0) as file:
        npy.write_array_header_1_0(file, header)
        for piece in pieces(array):
            crc = zlib.crc32(piece, crc)
            _write_all(file.fileno(), piece)
        os.fsync(file.fileno())
    return ArrayInfo(list(array.shape), array.dtype.str, crc)


def checksum(array: Array) -> int:
    """CRC-32 of the values by rows."""
    crc = 0
    for piece in pieces(array):
        crc = zlib.crc32(piece, crc)
    return crc


def pieces(array: Array) -> Iterator[memoryview]:
    """The bytes of an array in C order, a few megabytes at a time."""
    flat = np.asarray(array)
    if flat.size == 0:
        return
    if flat.flags.c_contiguous:
        flat = flat.reshape(-1)
    row_bytes = flat.nbytes // len(flat)
    for part in blocks(len(flat), row_bytes, values=_BYTES_PER_WRITE):
        yield np.ascontiguousarray(flat[part]).reshape(-1).view(np.uint8).data


def _write_all(descriptor: int, piece: memoryview) -> None:
    while len(piece):  # a write may take only a part
        piece = piece[os.write(descriptor, piece) :]


def flush_folder(folder: Path) -> None:
    """Make renames and new names in a folder last through a power cut; not possible on Windows."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
