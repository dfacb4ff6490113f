"""`read_table`: which reader a file needs, and what all of them have in common."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from ...core.input.npy import NpyError, map_npy, read_header
from ...core.progress import Progress
from ...errors import FileFormatError
from ._arrays import mat73_blocks, read_mat, read_npz_arrays, read_words
from ._formats import Rows, damage_named, open_stream, read_idx, read_vecs, word2vec_blocks
from .arrow import read_arrow
from .choice import Choice, shorten
from .excel import read_excel
from .hdf import read_hdf, read_zarr, with_id
from .json_files import read_json, read_json_lines
from .pictures import read_pictures
from .pixels import picture_shape
from .suited import check_kind, find_text
from .table import Growing, Table, prose_of
from .text import Words, read_delimited, read_lines, text_kind
from .word_vectors import read_word_vectors

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


@dataclass(frozen=True)
class _Task:
    path: Path
    choice: Choice
    progress: Progress


def read_table(
    path: Any,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    label: str | None = None,
    text: str | bool = False,
    key: str | None = None,
    missing: str = "error",
    like: Table | None = None,
) -> Table:
    """Read a file: numbers to map, names and metadata of their rows, and what was left out.

    Parameters
    ----------
    path : path, '-' for standard input, or a folder of pictures
    format : str, optional
        One of `FORMATS`; None goes by the name of the file, or by its first bytes.
    columns : sequence of str, optional
        Columns to map, by name, number (from 0) or range ('3-10'); None: all that hold numbers.
    id : str, optional
        The column that names the rows.
    label : str, optional
        A column that is not mapped, such as a class.
    text : str or True
        Map texts by TF-IDF: the column that holds them, or True for a file with one text per line.
    key : str, optional
        Which array of an .npz, .mat, .h5, .h5ad ('obsm/X_pca') or .zarr file, sheet of an .xlsx
        file, or entry of a .json file.
    missing : {'error', 'drop', 'mean'}
        Missing numbers: say where, leave their rows out, or fill in the mean of the column.
    like : Table, optional
        An earlier table: the same columns are taken, by name if the file has names, else in its
        order; texts are weighed by its words, so that they can be placed on its map.

    Returns
    -------
    Table

    Raises
    ------
    FileFormatError
        If the file is damaged or does not hold what its name says; the text names line and column.
    ValueError
        If what was asked for is not in the file.
    ImportError
        If the file needs a library that is not installed; the text has the pip command.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from nestmap.readers import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cars.csv")
    ...     _ = path.write_text("name,weight,power\\nA,1200,60\\nB,900,45.5\\n")
    ...     table = read_table(path, id="name")
    >>> table.X.tolist(), table.columns, table.names.tolist()
    ([[1200.0, 60.0], [900.0, 45.5]], ('weight', 'power'), ['A', 'B'])
    """
    choice = Choice(
        columns=None if columns is None else tuple(columns),
        id=id,
        label=label,
        text=text,
        missing=missing,
        like=None if like is None else like.taken,
        words=None if like is None else like.words,
        format=format,
        key=key,
        pictures=None if like is None else like.pictures,
    )
    return read_file(path, choice)


def read_file(path: Any, choice: Choice, progress: Progress | None = None) -> Table:
    """What `read_table` does, for a choice that was made before."""
    source = _open_path(path)
    kind = choice.format or format_of(source, choice.text)
    if kind not in FORMATS:
        raise ValueError(f"format={kind!r} is not an option; use one of {', '.join(FORMATS)}")
    if choice.encodes:
        check_kind(source, kind, choice)
    table = _READERS[kind](_Task(source, choice, progress or Progress(0)))
    text = choice.text
    if choice.encodes:
        table = find_text(table, choice)
        text = table.text if table.X is None and table.text else False
    if text:
        table = _with_text(table, text, choice.words)
    told = "standard input" if str(path) == "-" else str(path)
    table = replace(table, source=table.source.replace(str(source), told))
    if table.X is None or table.X.shape[0] == 0 or table.X.shape[1] == 0:
        raise FileFormatError(f"{table.source}: there is nothing to map in it")
    return replace(table, label=choice.label or table.label)


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


def _open_path(path: Any) -> Path:
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


def _with_text(table: Table, text: str | bool, words: Words | None) -> Table:
    column = "text" if text is True else text
    if text is True and column not in table.metadata:
        best = next(iter(prose_of(table.metadata)), "COLUMN")
        raise ValueError(
            f"{table.source}: text=True takes a column called 'text', "
            f"or the lines of a file; name the column: text={best!r} (--texts {best}); "
            f"it has {shorten([*table.metadata]) or 'no texts'}"
        )
    if column not in table.metadata:
        raise ValueError(
            f"{table.source}: text={column!r} is not there; "
            f"it has {shorten([*table.metadata]) or 'no texts'}"
        )
    texts = table.metadata[column]
    words = words or Words.fit(texts, table.source)
    return replace(
        table,
        X=words.weigh(texts),
        columns=words.words,
        text=column,
        words=words,
        taken=None,
        pictures=None,
    )


# -- arrays


def _read_npy(task: _Task) -> Table:
    try:
        X = map_npy(task.path, read_header(task.path))
    except NpyError as error:
        raise FileFormatError(f"{task.path} {error}") from error
    return _array_table(task, X, {})


def _read_npz(task: _Task) -> Table:
    found = read_npz_arrays(task.path, task.choice.key)
    return _array_table(task, found.X, found.others, found.name)


def _read_mat(task: _Task) -> Table:
    rows = read_mat(task.path)
    if rows is None:  # version 7.3
        parts = [*mat73_blocks(task.path, task.progress)]
        y = (
            None
            if parts[0].y is None
            else np.concatenate([part.y for part in parts if part.y is not None])
        )
        rows = Rows(np.concatenate([part.X for part in parts]), y)
    return _array_table(task, rows.X, {} if rows.y is None else {"y": rows.y})


def _array_table(task: _Task, X: Array, others: dict[str, Array], name: str | None = None) -> Table:
    """A table from an array, with what lies beside its file: labels and words."""
    path = task.path
    if X.ndim < 2 or X.dtype.kind not in "uifb":
        raise FileFormatError(
            f"{path}: holds {X.dtype} of shape {X.shape}; expected numbers in rows and columns"
        )
    pictures = None if sparse.issparse(X) else picture_shape(X)
    X = X.reshape(len(X), -1) if X.ndim > 2 else X
    metadata = {
        each: values
        for each, values in others.items()
        if values.shape[:1] == X.shape[:1] and values.ndim == 1
    }
    left_out = {each: "metadata" if each in metadata else "another array" for each in others}
    beside = path.with_name(f"{path.stem}_words.txt")
    names = None
    if beside.exists() and len(found := read_words(beside)) == X.shape[0]:
        names = np.array(found, dtype=object)
    source = f"{path} ({name})" if name else str(path)
    table = Table(X, None, names, metadata, source, left_out, pictures=pictures)
    return with_id(table, task.choice)


def _read_word2vec(task: _Task) -> Table:
    values = Growing()
    words: list[str] = []
    for block in word2vec_blocks(task.path, task.progress):
        values.add(block.X)
        words += block.names or ()
    return Table(values.array(), None, np.array(words, dtype=object), {}, str(task.path))


def _read_txt(task: _Task) -> Table:
    return _READERS[{"table": "csv"}.get(kind := text_kind(task.path), kind)](task)


def _read_lines(task: _Task) -> Table:
    if not (task.choice.text or task.choice.encodes):
        raise ValueError(f"{task.path} holds lines of text, no numbers; map them with text=True")
    return read_lines(task.path, task.progress)


_READERS: dict[str, Callable[[_Task], Table]] = {
    "npy": _read_npy,
    "npz": _read_npz,
    "mat": _read_mat,
    "idx": lambda task: _array_table(task, read_idx(task.path), {}),
    "vecs": lambda task: _array_table(task, read_vecs(task.path), {}),
    "word2vec": _read_word2vec,
    "vectors": lambda task: read_word_vectors(task.path, task.progress),
    "csv": lambda task: read_delimited(task.path, task.choice, task.progress),
    "tsv": lambda task: read_delimited(task.path, task.choice, task.progress, "\t"),
    "txt": _read_txt,
    "lines": _read_lines,
    "parquet": lambda task: read_arrow(task.path, task.choice, task.progress),
    "arrow": lambda task: read_arrow(task.path, task.choice, task.progress),
    "h5": lambda task: read_hdf(task.path, task.choice, task.choice.key),
    "zarr": lambda task: read_zarr(task.path, task.choice, task.choice.key),
    "pictures": lambda task: read_pictures(task.path, task.choice, task.progress),
    "xlsx": lambda task: read_excel(task.path, task.choice, task.progress),
    "json": lambda task: read_json(task.path, task.choice, task.progress),
    "jsonl": lambda task: read_json_lines(task.path, task.choice, task.progress),
}
