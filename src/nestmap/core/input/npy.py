"""Opening .npy files as memory maps, with errors that say what is wrong with the file."""

from __future__ import annotations

import math
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy

from ..arrays import Array


class NpyError(ValueError):
    """A file that is no .npy file that can be mapped; the message goes on after the file's name."""


@dataclass(frozen=True)
class Header:
    """What a .npy file says about its array, and where the values start."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def n_bytes(self) -> int:
        """Size of a whole file."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize

    def check(self) -> None:
        """Raise for sizes that no array has."""
        n_bytes = math.prod(n or 1 for n in self.shape) * self.dtype.itemsize
        if min(self.shape, default=0) < 0 or n_bytes >= 2**63:
            raise ValueError(f"there is no array of shape {self.shape}")


def read_header(path: Path) -> Header:
    """The header of a .npy file; raises unless all values that it promises are there and plain."""
    if not stat.S_ISREG(path.stat().st_mode):  # to open a pipe or a device would wait, or do harm
        raise NpyError("is not a regular file; write one with np.save(path, X)")
    with path.open("rb") as file:
        start = file.read(8)
        file.seek(0)
        if not start.startswith(npy.MAGIC_PREFIX):
            raise NpyError(f"is not a .npy file{_guess(start)}")
        try:
            version = npy.read_magic(file)
            if version > (2, 0):
                raise NpyError(
                    f"is a .npy file of version {version[0]}; write it again with np.save"
                )
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            header = Header(*read(file), file.tell())
            header.check()
        except NpyError:
            raise
        # NumPy reads headers with Python's parser, which raises many kinds
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise NpyError(f"has a damaged header ({reason}); copy or write it again") from error
    size = path.stat().st_size
    if header.dtype.hasobject:
        raise NpyError(
            "holds Python objects, which are not loaded; save numbers: np.save(path, "
            "X.astype('float32'))"
        )
    if size < header.n_bytes:
        raise NpyError(
            f"is cut short: {size} bytes are there, {header.n_bytes} are expected for its shape "
            f"{header.shape} and dtype {header.dtype}; copy it again"
        )
    return header


def map_npy(path: Path, header: Header) -> Array:
    """The array of a checked file, memory-mapped and read-only."""
    order: Literal["C", "F"] = "F" if header.fortran_order else "C"
    if math.prod(header.shape) == 0:  # nothing to map
        return np.empty(header.shape, header.dtype, order=order)
    return np.memmap(str(path), header.dtype, "r", header.offset, header.shape, order)


def _guess(start: bytes) -> str:
    if start.startswith(b"PK\x03\x04"):
        return (
            " but a zip archive, such as .npz; take the array out: "
            "np.save('X.npy', np.load(path)['X'])"
        )
    if start.startswith(b"\x89HDF"):
        return " but an HDF5 file; open it with h5py and pass the dataset"
    return (
        "; write one with np.save(path, X); tables (csv, parquet, …) are read by "
        "nestmap.readers.read_table(path).X, or by the command `nestmap fit`"
    )
