"""CIFAR-10's batches and COIL-20's pictures."""

from __future__ import annotations

import io
import pickle
import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nestmap.app.readers._formats import Rows, damage_named
from nestmap.core.arrays import Array
from nestmap.errors import FileFormatError

_RECORD = 1 + 3072
_BATCHES = (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch")
_VIEW = re.compile(r"obj(\d+)__(\d+)\.png$")


def read_cifar(paths: Sequence[Path]) -> Rows:
    """CIFAR-10 from its archive or the six files in it, binary or Python version."""
    found = {}
    for name, data in _cifar_files(paths):
        stem = name.removesuffix(".bin")
        if stem in _BATCHES:
            found[stem] = (
                _binary_batch(name, data) if name.endswith(".bin") else _python_batch(name, data)
            )
    if missing := [name for name in _BATCHES if name not in found]:
        raise FileFormatError(f"{paths[0]} lacks {', '.join(missing)}; get the whole archive again")
    parts = [found[name] for name in _BATCHES]
    n_train = sum(len(y) for _, y in parts[:-1])
    return Rows(
        np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts]), None, n_train
    )


def _cifar_files(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    if len(paths) > 1:
        yield from ((path.name, path.read_bytes()) for path in paths)
        return
    with damage_named(paths[0]), tarfile.open(paths[0]) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                yield Path(member.name).name, file.read()


def _binary_batch(name: str, data: bytes) -> tuple[Array, Array]:
    if not data or len(data) % _RECORD:
        raise FileFormatError(
            f"{name} is truncated: {len(data):,} bytes are not a multiple of {_RECORD:,}"
        )
    table = np.frombuffer(data, np.uint8).reshape(-1, _RECORD)
    return table[:, 1:], table[:, 0]


def _python_batch(name: str, data: bytes) -> tuple[Array, Array]:
    try:
        batch = _ArraysOnly(io.BytesIO(data), encoding="bytes").load()
        X = batch[b"data"]
        y = np.asarray(batch[b"labels"], np.uint8)
    except FileFormatError:
        raise
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise FileFormatError(
            f"{name} is not a batch of CIFAR-10 or is truncated ({error!r})"
        ) from error
    if not isinstance(X, np.ndarray) or X.dtype != np.uint8 or X.shape != (len(y), _RECORD - 1):
        raise FileFormatError(
            f"{name}: expected {len(y)} x {_RECORD - 1} pixels of uint8 for {len(y)} labels"
        )
    return X, y


def _latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise FileFormatError(f"a pickle asks for the codec {encoding!r}: not a batch of CIFAR-10")
    return text.encode("latin1")


_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    (
        "numpy.core.multiarray",
        "_reconstruct",
    ): _RECONSTRUCT,  # NumPy 1 wrote this name, NumPy 2 the next
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _latin1,
}


class _ArraysOnly(pickle.Unpickler):
    """Knows what a NumPy array in a pickle needs, and refuses to import anything else."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise FileFormatError(
                f"refused: a pickle asks for {module}.{name}, which a batch of CIFAR-10 has no "
                "use for; "
                "get the archive again from its makers, or use the binary version"
            ) from None


def read_coil20(paths: Sequence[Path]) -> Rows:
    """Pictures named obj<class>__<view>.png, in a .zip or one by one; sorted by class and view."""
    pictures = {}
    for name, data in _png_files(paths):
        if match := _VIEW.search(name):
            pictures[int(match[1]), int(match[2])] = _pixels(name, data)
    if not pictures:
        raise FileFormatError(f"{paths[0]} holds no pictures named like obj1__0.png")
    keys = sorted(pictures)
    sizes = {pictures[key].size for key in keys}
    if len(sizes) > 1:
        raise FileFormatError(
            f"{paths[0]}: pictures of {min(sizes)} to {max(sizes)} pixels; use coil-20-proc.zip"
        )
    return Rows(
        np.stack([pictures[key] for key in keys]), np.array([key[0] for key in keys], np.uint8)
    )


def _png_files(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    if paths[0].suffix != ".zip":
        yield from ((path.name, path.read_bytes()) for path in paths)
        return
    with damage_named(paths[0]), zipfile.ZipFile(paths[0]) as archive:
        yield from (
            (name, archive.read(name)) for name in archive.namelist() if name.endswith(".png")
        )


def _pixels(name: str, data: bytes) -> Array:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("PNG pictures are read with pillow: pip install pillow") from error
    try:
        with Image.open(io.BytesIO(data)) as image:
            return np.asarray(image.convert("L")).reshape(-1)
    except OSError as error:
        raise FileFormatError(f"{name} is not a whole picture ({error})") from error
