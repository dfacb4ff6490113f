"""Which kind of file a file is: by its name, or by its first bytes."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import IO, Any

from ...errors import FileFormatError
from ._formats import damage_named, open_stream
from .text import text_kind

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_SUFFIXES = {
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "txt",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".h5": "h5",
    ".hdf5": "h5",
    ".hdf": "h5",
    ".h5ad": "h5",
    ".zarr": "zarr",
    ".fvecs": "vecs",
    ".bvecs": "vecs",
    ".ivecs": "vecs",
    ".bin": "word2vec",
    ".vec": "vectors",
    ".idx": "idx",
    ".json": "json",
    ".geojson": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".log": "lines",
    ".md": "lines",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "",  # known, and not read
    ".ods": "",
}
_JSON_START = re.compile(rb"(\xef\xbb\xbf)?\s*(\{\s*[\"}]|\[\s*[\[{\"])")
_ZARR = (".zgroup", ".zarray", "zarr.json")
_IDX_ENDS = ("-ubyte", "-int", "-float", "-short", "-byte")
_MARKS = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x89HDF": "h5",
    b"MATLAB": "mat",
    b"\0\0\x08": "idx",
    b"\0\0\x0d": "idx",
}
FORMATS = (
    "npy",
    "npz",
    "mat",
    "csv",
    "tsv",
    "txt",
    "lines",
    "parquet",
    "arrow",
    "h5",
    "zarr",
    "vecs",
    "word2vec",
    "vectors",
    "idx",
    "json",
    "jsonl",
    "xlsx",
    "pictures",
)


def format_of(path: Path, text: str | bool = False) -> str:
    """The format of a file, by its name or its first bytes."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(_IDX_ENDS) or name.endswith("-idx"):
        return "idx"
    kind = _SUFFIXES.get(suffixes[-1] if suffixes else "")
    if path.is_dir() and kind != "zarr":
        kind = "zarr" if any((path / name).exists() for name in _ZARR) else "pictures"
    if kind == "txt" or (kind is None and path.is_file()):
        kind = _by_content(path, text)
    if not kind:
        raise ValueError(
            f"{path}: no reader for this kind of file; "
            f"name its format with format= (--format): {', '.join(FORMATS)}"
        )
    return kind


def _by_content(path: Path, text: str | bool) -> str:
    with open_stream(path) as stream:
        start = stream.file.read(64)
    for mark, kind in _MARKS.items():
        if start.startswith(mark):
            return "xlsx" if kind == "npz" and _is_excel(path) else kind
    if _JSON_START.match(start):
        return "json"
    if text is True:
        return "lines"
    kind = text_kind(path)
    return {"table": "csv"}.get(kind, kind)


def _is_excel(path: Path) -> bool:
    """Whether an archive is a workbook, and not one of arrays."""
    with damage_named(path), zipfile.ZipFile(path) as archive:
        return "xl/workbook.xml" in archive.namelist()


def open_path(path: Any) -> Path:
    """Where a file is; what can be read only once (a pipe) is copied to one."""
    if str(path) == "-":
        return _copied(sys.stdin.buffer, "standard input")
    source = Path(os.fspath(path)).expanduser()
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such file")
    if source.is_fifo():
        with source.open("rb") as file:
            return _copied(file, str(source))
    return source


def _copied(source: IO[bytes], name: str) -> Path:
    """What comes from a pipe as a file: readers look at it more than once."""
    folder = tempfile.mkdtemp(prefix="nestmap-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "standard-input")
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)
    if not path.stat().st_size:
        raise FileFormatError(f"{name} is empty")
    return path
