"""Arrays and one JSON document in a file: the safetensors layout, with checksums.

Eight bytes give the length of a JSON header; the header gives type, shape and place of each array;
the arrays follow, little-endian, by rows, the widest types first, so that each begins at a multiple
of its item size and can be mapped. Nothing of the header is believed before it was compared with
the size of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...core.arrays import Array
from ...core.work.pieces import checksum, pieces
from ...core.work.records import bounded_int, refuse_deep
from ...core.work.replacing import temporary
from ...errors import ModelFileError

MAX_HEADER_BYTES = 2_000_000  # a header names some hundred arrays, whatever the size of the model
MAX_AXES = 8  # of an array
_ALIGNMENT = 64  # bytes, of the first array in the file
TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "U64": "<u8",
    "I64": "<i8",
    "U32": "<u4",
    "I32": "<i4",
    "U16": "<u2",
    "I16": "<i2",
    "U8": "|u1",
    "I8": "|i1",
    "BOOL": "|b1",
}
_NAMES = {np.dtype(code): name for name, code in TYPES.items()}


@dataclass(frozen=True, eq=False)
class Stored:
    """What a file holds: a JSON document and arrays, read-only."""

    document: dict[str, Any]
    arrays: dict[str, Array]


def write_container(
    path: Path, kind: str, version: int, document: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write a file under a temporary name, flush it, and rename it: it is whole or absent."""
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {}
    sums = {}
    end = 0
    for name in names:
        array = arrays[name]
        header[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("<")],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
        sums[name] = checksum(_little(array))
    text = json.dumps({"crc32": sums, **document}, allow_nan=False)
    metadata = {"format": kind, "version": str(version), "document": text}
    header["__metadata__"] = {**metadata, "sha256": _digest(header, metadata)}
    data = json.dumps(header, separators=(",", ":")).encode()
    data += b" " * (-(len(data) + 8) % _ALIGNMENT)
    if len(data) > MAX_HEADER_BYTES:
        raise ValueError(
            f"{path}: the header would take {len(data)} bytes, more than {MAX_HEADER_BYTES}"
        )
    with temporary(path) as part, part.open("xb") as file:
        file.write(struct.pack("<Q", len(data)) + data)
        for name in names:
            for piece in pieces(_little(arrays[name])):
                file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def _little(array: Array) -> Array:
    return array if array.dtype.byteorder != ">" else array.astype(array.dtype.newbyteorder("<"))


def _digest(header: Mapping[str, Any], metadata: Mapping[str, str]) -> str:
    """Of all that the header says but the digest itself."""
    said = {name: value for name, value in header.items() if name != "__metadata__"}
    return hashlib.sha256(json.dumps([said, dict(metadata)], sort_keys=True).encode()).hexdigest()


def read_container(path: Path, kind: str, known: int, mmap: bool = False) -> Stored:
    """Read and check a file; `ModelFileError` says what is wrong with it.

    Parameters
    ----------
    kind : str
        What the file must say that it is.
    known : int
        The version of that format that the caller knows; no other is read.
    mmap : bool
        Map the arrays instead of reading them into memory.
    """
    try:
        return _read(path, kind, known, mmap)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error.__cause__


@dataclass(frozen=True)
class _Place:
    """Where an array lies in the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int


def _read(path: Path, kind: str, known: int, mmap: bool) -> Stored:
    document, places = _read_header(path, kind, known)
    sums = document.pop("crc32", None)
    if not isinstance(sums, dict) or sums.keys() != places.keys():
        raise ModelFileError("the list of checksums does not name the arrays of the file")
    arrays = {}
    for name, place in places.items():
        array = _array(path, place, mmap)
        if checksum(array) != sums[name]:
            raise ModelFileError(
                f"{name!r} has another checksum than when it was written; the file is damaged"
            )
        array.setflags(write=False)
        arrays[name] = array
    return Stored(document, arrays)


def _array(path: Path, place: _Place, mmap: bool) -> Array:
    count = math.prod(place.shape)
    if count == 0:
        return np.empty(place.shape, place.dtype)
    if mmap:
        return np.memmap(path, place.dtype, "r", place.start, place.shape)
    values = np.fromfile(path, place.dtype, count, offset=place.start)
    if len(values) != count:
        raise ModelFileError("it was cut short while it was read")
    return values.reshape(place.shape)


def _read_header(path: Path, kind: str, known: int) -> tuple[dict[str, Any], dict[str, _Place]]:
    """The document, and the place of each array, all of them within the file."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):  # to open a pipe or a device would wait, or do harm
        raise ModelFileError("is not a regular file")
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(MAX_HEADER_BYTES, found.st_size - 8):
            raise ModelFileError(_no_model(start, length, found.st_size))
        header = parse_json(file.read(length))
    metadata = header.pop("__metadata__", None)
    document = _check_metadata(header, metadata, kind, known)
    places = {}
    end = 0
    for name, entry in header.items():
        place, end = _check_place(name, entry, end, 8 + length)
        places[name] = place
    if 8 + length + end != found.st_size:
        raise ModelFileError(
            f"has {found.st_size} bytes; its header describes {8 + length + end}. Copy it again"
        )
    return document, places


def _no_model(start: bytes, length: int, size: int) -> str:
    if length <= MAX_HEADER_BYTES and size > 8 and start[7:] == b"\0":
        return (
            f"is cut short: its header alone has {length} bytes, and there are {size}. "
            "Copy it again"
        )
    return f"is not a model file of nestmap: it starts with {start!r}"


def parse_json(data: bytes) -> dict[str, Any]:
    """The header or the document.

    Duplicate names, deep nesting, and numbers beyond 64 bits or JSON's are refused.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    try:
        header = json.loads(
            data,
            object_pairs_hook=unique,
            parse_constant=_refuse,
            parse_int=bounded_int,
            parse_float=_finite,
        )
        refuse_deep(header)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"has a header that is damaged or no JSON ({' '.join(str(error).split())[:200]})"
        ) from error
    if not isinstance(header, dict):
        raise ModelFileError("has a header that is no JSON object")
    return header


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text[:40])


def _check_metadata(
    header: Mapping[str, Any], metadata: Any, kind: str, known: int
) -> dict[str, Any]:
    match metadata:
        case {
            "format": str(found),
            "version": str(version),
            "document": str(text),
            "sha256": str(digest),
        }:
            if found != kind:
                raise ModelFileError(f"is a file of the format {found[:40]!r}, not {kind!r}")
            if not (version.isascii() and version.isdigit() and len(version) < 6):
                raise ModelFileError(
                    f"says that it has the version {version[:40]!r}, which is no number"
                )
            if int(version) != known:
                way = "pip install -U nestmap" if int(version) > known else "fit and save again"
                raise ModelFileError(
                    f"has version {version} of the format; this nestmap reads version {known}: "
                    f"{way}"
                )
            rest = {name: value for name, value in metadata.items() if name != "sha256"}
            if _digest(header, rest) != digest:
                raise ModelFileError(
                    "has a header that does not fit its checksum; the file is damaged"
                )
            return parse_json(text.encode("utf-8", "surrogatepass"))
    raise ModelFileError(f"is not a file of the format {kind!r}: its header does not say so")


def _check_place(name: str, entry: Any, end: int, base: int) -> tuple[_Place, int]:
    """The place of an array that begins where the one before has ended, and its own end."""
    match entry:
        case {"dtype": str(code), "shape": [*shape], "data_offsets": [int(start), int(stop)]} if (
            code in TYPES
        ):
            whole = len(shape) <= MAX_AXES and all(type(n) is int and 0 <= n < 2**48 for n in shape)
            dtype = np.dtype(TYPES[code])
            # NumPy multiplies axes beside those of length 0
            few = whole and math.prod(n or 1 for n in shape) < 2**59
            if few and start == end and stop - start == math.prod(shape) * dtype.itemsize:
                return _Place(dtype, tuple(shape), base + start), stop
    raise ModelFileError(f"the description of {name[:80]!r} is damaged: {str(entry)[:120]}")


def same_bytes(a: Array, b: Array) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a is b or all(x == y for x, y in zip(pieces(a), pieces(b), strict=True))
