"""Formats in which data sets are published: checked, never unpickled, in blocks where large."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import math
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...errors import FileFormatError

BLOCK_BYTES = 1 << 24  # of text or vectors at a time: bounds the memory, whatever the file's size
_DAMAGED = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    zipfile.BadZipFile,
    tarfile.TarError,
)
_OPENERS: dict[str, Any] = {".gz": gzip.GzipFile, ".xz": lzma.LZMAFile, ".bz2": bz2.BZ2File}
_MAX_GZIP_RATIO = 1100  # deflate never packs tighter than 1032 to 1


@dataclass(frozen=True, eq=False)
class Rows:
    """What a reader returns, or a block of it."""

    X: Array
    y: Array | None = None
    names: tuple[str, ...] | None = None
    n_train: int | None = None


@dataclass(frozen=True)
class Stream:
    """A file, decompressed while it is read, and how far the reading is."""

    file: IO[bytes]
    raw: IO[bytes]
    size: int

    @property
    def compressed(self) -> bool:
        return self.file is not self.raw

    def share(self) -> float:
        return self.raw.tell() / max(self.size, 1)


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn what the decompressors raise into an error that names the file and the way out."""
    try:
        yield
    except _DAMAGED as error:
        raise FileFormatError(
            f"{path} is truncated or damaged ({error}); delete it and get it again"
        ) from error


@contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """Open a plain file, a .gz, .xz or .bz2, or the one file in a .zip (compressed or not)."""
    with damage_named(path), ExitStack() as stack:
        raw = stack.enter_context(path.open("rb"))
        file: Any = raw
        name = path.name
        if name.endswith(".zip"):
            archive = stack.enter_context(zipfile.ZipFile(raw))
            names = [member for member in archive.namelist() if not member.endswith("/")]
            if len(names) != 1:
                raise FileFormatError(f"{path} holds {len(names)} files; expected one")
            name = names[0]
            file = stack.enter_context(archive.open(name))
        opener = _OPENERS.get(Path(name).suffix)
        if opener is not None:
            file = stack.enter_context(
                opener(fileobj=file) if opener is gzip.GzipFile else opener(file)
            )
        if file is not raw:
            file = stack.enter_context(io.BufferedReader(file, 1 << 20))
        yield Stream(file, raw, path.stat().st_size)


# -- idx: MNIST and its relatives ------------------------------------------------------------------

_IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: Path) -> Array:
    """An idx file as it is: memory-mapped if it is not compressed."""
    with open_stream(path) as stream:
        head = stream.file.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_TYPES or head[3] == 0:
            raise FileFormatError(
                f"{path} is not an idx file: it starts with {head!r}, not with two zeros, "
                "a type and a number of axes"
            )
        sizes = stream.file.read(4 * head[3])
        if len(sizes) < 4 * head[3]:
            raise FileFormatError(f"{path} is truncated in its header; delete it and get it again")
        shape = struct.unpack(f">{head[3]}I", sizes)
        dtype = np.dtype(_IDX_TYPES[head[2]])
        offset = 4 + len(sizes)
        length = math.prod(shape) * dtype.itemsize
        if not stream.compressed:
            if stream.size != offset + length:
                raise _wrong_length(path, f"{stream.size:,} bytes", f"{offset + length:,}")
            return np.memmap(path, dtype, "r", offset, shape)
        if length > _MAX_GZIP_RATIO * stream.size:
            raise _wrong_length(
                path, f"at most {_MAX_GZIP_RATIO * stream.size:,} bytes", f"{length:,}"
            )
        values = np.empty(shape, dtype)
        got = _fill(stream.file, values)
        if got < length or stream.file.read(1):
            raise _wrong_length(
                path, f"{got:,} bytes of data" if got < length else "more data", f"{length:,}"
            )
        return values


def _wrong_length(path: Path, found: str, expected: str) -> FileFormatError:
    return FileFormatError(
        f"{path} is truncated or damaged: it has {found}, its header says {expected}; "
        "delete it and get it again"
    )


def _fill(file: IO[bytes], values: Array) -> int:
    """Read into the array; the number of bytes that came."""
    view = values.reshape(-1).view(np.uint8).data
    done = 0
    while done < len(view) and (count := file.readinto(view[done:])):  # type: ignore[attr-defined]
        done += count
    return done


# -- fvecs, bvecs, ivecs: vectors with their length in front


def read_vecs(path: Path) -> Array:
    """Vectors of the TEXMEX collections, memory-mapped: four bytes with the length before each."""
    dtype = np.dtype({".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}.get(path.suffix, "<f4"))
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(4)
    width = struct.unpack("<i", head)[0] if len(head) == 4 else 0
    step = 4 + width * dtype.itemsize
    if not 0 < width <= 10_000_000 or size % step:
        raise FileFormatError(
            f"{path} is no {path.suffix} file, or cut short: "
            f"vectors of {width} numbers, {size:,} bytes"
        )
    table = np.memmap(path, "u1", "r", shape=(size // step, step))
    widths = np.ascontiguousarray(table[:, :4]).view("<i4")[:, 0]
    bad = np.flatnonzero(widths != width)
    if len(bad):
        raise FileFormatError(
            f"{path}, row {bad[0]:,}: a vector of {widths[bad[0]]} numbers after vectors of {width}"
        )
    return np.ascontiguousarray(table[:, 4:]).view(dtype)


# -- word2vec's binary format


def word2vec_blocks(path: Path, progress: Progress, limit: int | None = None) -> Iterator[Rows]:
    """Words and their float32 vectors, at most `limit` of them."""
    with open_stream(path) as stream:
        rows, columns = _word2vec_header(path, stream.file.readline(100))
        width = 4 * columns
        data = b""
        at = 0
        words: list[str] = []
        vectors: list[bytes] = []
        for row in range(rows if limit is None else min(rows, limit)):
            space = data.find(b" ", at)
            if space < 0 or space + 1 + width > len(data):
                if vectors:
                    yield _word2vec_block(words, vectors, columns)
                    words = []
                    vectors = []
                    progress.share(stream.share())
                data = data[at:] + stream.file.read(BLOCK_BYTES + width)
                at = 0
                space = data.find(b" ")
                if space < 0 or space + 1 + width > len(data):
                    raise FileFormatError(
                        f"{path} is truncated: it ends in row {row:,} of {rows:,}; "
                        "delete it and get it again"
                    )
            words.append(data[at:space].lstrip(b"\n").decode("utf-8", "replace"))
            at = space + 1 + width
            vectors.append(data[space + 1 : at])
        if vectors:
            yield _word2vec_block(words, vectors, columns)


def _word2vec_header(path: Path, line: bytes) -> tuple[int, int]:
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or not int(parts[1]):
        raise FileFormatError(
            f"{path} is not a word2vec binary file: it starts with {line[:40]!r}, "
            "not with its rows and columns"
        )
    return int(parts[0]), int(parts[1])


def _word2vec_block(words: list[str], vectors: list[bytes], columns: int) -> Rows:
    return Rows(np.frombuffer(b"".join(vectors), "<f4").reshape(-1, columns), None, tuple(words))


# -- text


def text_blocks(path: Path, progress: Progress, *, class_first: bool = False) -> Iterator[Rows]:
    """A table of numbers separated by commas or blanks, as float32; HIGGS is exact in it."""
    line = 1
    width = 0
    with open_stream(path) as stream:
        while lines := stream.file.readlines(BLOCK_BYTES):
            delimiter = "," if b"," in lines[0] else None
            filled = [text for text in lines if not text.isspace()]
            if filled:
                try:
                    table = np.loadtxt(
                        filled, np.float32, delimiter=delimiter, comments=None, ndmin=2
                    )
                except ValueError as error:
                    raise FileFormatError(
                        f"{path}, in the lines from {line:,} on: {error}"
                    ) from error
                width = width or table.shape[1]
                if table.shape[1] != width:
                    raise FileFormatError(
                        f"{path}, line {line:,}: {table.shape[1]} columns after {width}"
                    )
                yield Rows(table[:, 1:], whole(table[:, 0], path)) if class_first else Rows(table)
            line += len(lines)
            progress.share(stream.share())


def svmlight_blocks(path: Path, columns: int, progress: Progress) -> Iterator[Rows]:
    """LIBSVM's sparse text, columns counted from 1, values 0 to 255, as dense uint8."""
    from sklearn.datasets import load_svmlight_file

    line = 1
    with open_stream(path) as stream:
        while lines := stream.file.readlines(BLOCK_BYTES):
            try:
                sparse, y = load_svmlight_file(
                    io.BytesIO(b"".join(lines)),
                    n_features=columns,
                    zero_based=False,
                    dtype=np.float32,
                )
            except ValueError as error:
                raise FileFormatError(f"{path}, in the lines from {line:,} on: {error}") from error
            X = sparse.toarray()
            with np.errstate(invalid="ignore"):  # what does not fit is seen in the next line
                pixels = X.astype(np.uint8)
            if not np.array_equal(pixels, X):
                raise FileFormatError(
                    f"{path}, in the lines from {line:,} on: values are not whole from 0 to 255"
                )
            yield Rows(pixels, whole(y, path))
            line += len(lines)
            progress.share(stream.share())


def whole(labels: Array, path: Path) -> Array:
    """Class numbers as int32."""
    with np.errstate(invalid="ignore"):
        y = labels.astype(np.int32)
    if not np.array_equal(y, labels):
        raise FileFormatError(
            f"{path}: the class column holds {labels[y != labels][0]}, which is not a whole number"
        )
    return y
