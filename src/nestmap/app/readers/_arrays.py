"""Arrays that users bring: .npz, .npy, .mat; labels and words beside them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...errors import FileFormatError
from ._formats import BLOCK_BYTES, Rows, damage_named

_X = ("X", "data", "features", "feat", "fea")
_Y = ("y", "Y", "labels", "label", "gnd", "targets")


def read_npz(path: Path) -> Rows:
    """X, and y if it is there."""
    file = _load(path)
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise FileFormatError(f"{path} is a single array, not an .npz file; rename it to .npy")
    with file:
        if _X[0] not in file:
            raise FileFormatError(
                f"{path} has no array X, only {', '.join(file) or 'nothing'}; "
                "write it with np.savez(path, X=X, y=y)"
            )
        classes = _member(path, file, _Y[0]) if _Y[0] in file else None
        return Rows(_member(path, file, _X[0]), classes)


@dataclass(frozen=True, eq=False)
class NpzArrays:
    """The array of the rows, its name, and the others."""

    X: Any
    name: str
    others: dict[str, Array]


def read_npz_arrays(path: Path, key: str | None) -> NpzArrays:
    """The arrays of a file; that of the rows by its key, by usual names, or as the only one."""
    file = _load(path)
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise FileFormatError(f"{path} is a single array, not an .npz file; rename it to .npy")
    with file:
        arrays = {name: _member(path, file, name) for name in file}
    if key is not None and key not in arrays:
        raise ValueError(f"{path}: key={key!r} is not there; it has {', '.join(arrays)}")
    if {"data", "indices", "indptr", "shape", "format"} == arrays.keys():
        return NpzArrays(_sparse_npz(path), "a sparse matrix", {})
    matrices = {name: array.shape for name, array in arrays.items() if _numeric(array)}
    name = key or choose_array(path, matrices)
    others = {each: array for each, array in arrays.items() if each != name}
    return NpzArrays(arrays[name], name, others)


def _sparse_npz(path: Path) -> Any:
    """What scipy.sparse.save_npz wrote, as CSR."""
    from scipy import sparse

    try:
        matrix = sparse.load_npz(path)
        if matrix.format not in ("csr", "csc"):
            raise ValueError(f"its format is {matrix.format}; save it as CSR: X.tocsr()")
        matrix.check_format(full_check=True)  # before SciPy's own code trusts the indices
    except ValueError as error:
        raise FileFormatError(f"{path} is a damaged sparse matrix ({error})") from error
    return sparse.csr_matrix(matrix)


def read_npy(path: Path) -> Array:
    """The array, memory-mapped."""
    return np.asanyarray(_load(path, mmap_mode="r"))


def _load(path: Path, **options: Any) -> Any:
    with damage_named(path):
        try:
            return np.load(path, allow_pickle=False, **options)
        except ValueError as error:
            raise _unreadable(path, error) from error


def _member(path: Path, file: Mapping[str, Any], name: str) -> Array:
    with damage_named(path):
        try:
            return np.asarray(file[name])
        except ValueError as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: ValueError) -> FileFormatError:
    return FileFormatError(
        f"{path} cannot be read ({error}); pickled objects are refused: save plain arrays, "
        "np.savez(path, X=X, y=y)"
    )


def peek_shape(path: Path) -> tuple[int, ...]:
    """The shape of X in an .npy or .npz file, without reading the data."""
    if path.suffix == ".npy":
        return tuple(read_npy(path).shape)
    with damage_named(path), zipfile.ZipFile(path) as archive, archive.open("X.npy") as member:
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(member)]
        return tuple(read_header(member)[0])


def read_mat(path: Path) -> Rows | None:
    """X and y of a MATLAB file; None for version 7.3, which is HDF5 (see `mat73_blocks`)."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        variables = loadmat(path)
    except NotImplementedError:
        return None
    except (MatReadError, ValueError, TypeError, OSError) as error:
        raise FileFormatError(f"{path} is not a MATLAB file, or damaged ({error})") from error
    arrays = {name: value for name, value in variables.items() if _numeric(value)}
    X = arrays[choose_array(path, {name: value.shape for name, value in arrays.items()})]
    y = next(
        (arrays[name].reshape(-1) for name in _Y if name in arrays and arrays[name] is not X), None
    )
    return Rows(X, y)


def _numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "uifb" and value.ndim >= 2


def choose_array(path: Path, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """The variable that holds the rows: by its usual names, else the only one that is no label."""
    named = (
        [name for name in _X if name in shapes]
        or [name for name in shapes if name not in _Y]
        or [*shapes]
    )
    if not named or (len(named) > 1 and named[0] not in _X):
        raise FileFormatError(
            f"{path}: which array holds the rows? "
            f"It has {', '.join(shapes) or 'none of numbers'}; name it X, or give its key"
        )
    return named[0]


def mat73_blocks(path: Path, progress: Progress) -> Iterator[Rows]:
    """A MATLAB 7.3 file in blocks of rows; HDF5 holds its matrices transposed."""
    try:
        h5py = import_module("h5py")
    except ImportError as error:
        raise ImportError(
            f"{path} is a MATLAB 7.3 file, which is read with h5py: pip install h5py"
        ) from error
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise FileFormatError(f"{path} is truncated or damaged ({error})") from error
    with file:
        matrices = {name: item for name, item in file.items() if _is_matrix(item)}
        X = matrices[choose_array(path, {name: item.shape for name, item in matrices.items()})]
        y = next(
            (
                matrices[name][()].reshape(-1)
                for name in _Y
                if name in matrices and matrices[name] != X
            ),
            None,
        )
        rows = X.shape[1]
        step = max(1, BLOCK_BYTES // max(1, X.shape[0] * X.dtype.itemsize))
        for start in range(0, rows, step):
            part = slice(start, start + step)
            yield Rows(np.ascontiguousarray(X[:, part].T), None if y is None else y[part])
            progress.share(start / rows)


def _is_matrix(item: Any) -> bool:
    return getattr(item, "ndim", 0) == 2 and item.dtype.kind in "uifb"


def read_words(path: Path) -> tuple[str, ...]:
    """One word per line; only line feeds separate, as words hold stranger characters."""
    words = path.read_bytes().decode("utf-8", "replace").split("\n")
    if not words[-1]:
        words.pop()
    return tuple(word.removesuffix("\r") for word in words)
