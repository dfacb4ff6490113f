"""`read_table`: which reader a file needs, and what all of them have in common."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...core.arrays import Array
from ...core.input.npy import NpyError, map_npy, read_header
from ...core.progress import Progress
from ...errors import FileFormatError
from ._arrays import mat73_blocks, read_mat, read_npz_arrays, read_words
from ._formats import Rows, open_stream, read_idx, read_vecs, word2vec_blocks
from .arrow import read_arrow
from .choice import Choice, NoColumn, shorten
from .hdf import read_hdf, read_zarr, with_id
from .table import Growing, Table, prose_of
from .text import Words, read_delimited, read_lines, read_word_vectors, text_kind

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
    ".json": "",
    ".log": "lines",
    ".md": "lines",
}
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
_TABLES = ("csv", "tsv", "parquet", "arrow")
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
    path : path, or '-' for standard input
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
        Which array of an .npz, .mat, .h5, .h5ad ('obsm/X_pca') or .zarr file.
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
    )
    return read_file(path, choice)


def read_file(path: Any, choice: Choice, progress: Progress | None = None) -> Table:
    """What `read_table` does, for a choice that was made before."""
    source = _standard_input() if str(path) == "-" else Path(os.fspath(path)).expanduser()
    if not source.exists():
        raise FileNotFoundError(f"{source}: no such file")
    kind = choice.format or format_of(source, choice.text)
    if kind not in FORMATS:
        raise ValueError(f"format={kind!r} is not an option; use one of {', '.join(FORMATS)}")
    if choice.encodes:
        _check_kind(source, kind, choice)
    table = _READERS[kind](_Task(source, choice, progress or Progress(0)))
    text = choice.text
    if choice.encodes:
        table = _find_text(table, choice)
        text = table.text if table.X is None and table.text else False
    if text:
        table = _with_text(table, text, choice.words)
    if str(path) == "-":
        table = replace(table, source="standard input")
    if table.X is None or table.X.shape[0] == 0 or table.X.shape[1] == 0:
        raise FileFormatError(f"{table.source}: there is nothing to map in it")
    return replace(table, label=choice.label)


def _check_kind(source: Path, kind: str, choice: Choice) -> None:
    """Raise where options are for tables, and this file holds an array or texts."""
    if kind in _TABLES or (kind == "txt" and text_kind(source) == "table"):
        if choice.missing in ("error", "drop") and choice.vectors is None:
            raise ValueError(
                f"missing={choice.missing!r} is for numbers as they are (--vectors); columns of a "
                "table are encoded, where 'expected' (the default) and 'mean' stand for empty cells"
            )
        return
    asked = {"--kind": choice.kinds, "--vectors": choice.vectors}
    wrong = [flag for flag, value in asked.items() if value]
    if wrong:
        raise ValueError(
            f"{source}: {wrong[0]} is for tables, and this is read as {kind}; leave it out"
        )
    if choice.missing == "expected":
        raise ValueError(
            f"{source}: missing='expected' is for tables that are encoded, and this is read as "
            f"{kind}; leave it out"
        )


def _find_text(table: Table, choice: Choice) -> Table:
    """The table with the column of texts that was named."""
    name = choice.text_column
    if name is None:
        return table
    if name not in table.metadata:
        raise NoColumn(table.source, "text", name, [*table.metadata])
    return replace(table, text=name)


def format_of(path: Path, text: str | bool = False) -> str:
    """The format of a file, by its name or its first bytes."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(_IDX_ENDS) or name.endswith("-idx"):
        return "idx"
    kind = _SUFFIXES.get(suffixes[-1] if suffixes else "")
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
        start = stream.file.read(8)
    for mark, kind in _MARKS.items():
        if start.startswith(mark):
            return kind
    if text is True:
        return "lines"
    kind = text_kind(path)
    return {"table": "csv"}.get(kind, kind)


def _standard_input() -> Path:
    """What comes on standard input as a file: readers look at it more than once."""
    folder = tempfile.mkdtemp(prefix="nestmap-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "standard-input")
    source: IO[bytes] = sys.stdin.buffer
    with path.open("wb") as file:
        shutil.copyfileobj(source, file)
    if not path.stat().st_size:
        raise FileFormatError("standard input is empty")
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
        table, X=words.weigh(texts), columns=words.words, text=column, words=words, taken=None
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
    return with_id(Table(X, None, names, metadata, source, left_out), task.choice)


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
}
