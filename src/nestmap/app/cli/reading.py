"""Data that a command was given: read here, read again for a run, or left to dask workers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ..readers.read import read_file
from ..readers.table import Choice, Table
from ..runs.folder import RunFolder
from .talk import Talk


def _names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)


def read_data(options: Namespace, talk: Talk) -> Table:
    """The rows of the file that was named."""
    progress = Progress(0, talk)
    progress.begin(f"reading {options.data}")
    choice = Choice(
        columns=_names(options.columns),
        id=options.id,
        label=options.label,
        text=options.text,
        missing=options.missing,
        format=options.format,
        key=options.key,
    )
    table = read_file(options.data, choice, progress)
    progress.done()
    talk.note(str(table))
    return table


def _as_read_before(options: Namespace, run: RunFolder) -> Choice:
    """What the run was read with, but for what was asked for now."""
    reading = run.record["reading"]
    rows = run.rows()
    return Choice(
        text=reading["text"],
        missing=options.missing,
        like=rows.columns if reading["named"] else None,
        words=rows.words,
        format=options.format,
        key=options.key or reading["key"],
        pictures=tuple(reading.get("pictures") or ()) or None,
    )


def read_again(options: Namespace, run: RunFolder) -> Table:
    """The rows that a run was made of, from their file."""
    before = _as_read_before(options, run)
    choice = replace(
        before,
        columns=_names(options.columns),
        label=options.label,
        text=options.text or before.text,
    )
    return read_file(options.data, choice)


def read_new(options: Namespace, run: RunFolder) -> Table:
    """Rows that are to be placed on the map of a run, with its columns."""
    return read_file(options.data, replace(_as_read_before(options, run), id=options.id or None))


def without_words(X: Any) -> Array:
    """Which texts have none of the words."""
    return np.asarray(X.getnnz(axis=1) == 0)


def count_texts(n: int) -> str:
    return "1 text has" if n == 1 else f"{n:,} texts have"


@contextmanager
def use_cluster(options: Namespace) -> Iterator[None]:
    """A client of the dask scheduler that was named, if one was."""
    if options.scheduler is None:
        yield
        return
    from ...distributed.inputs import import_distributed

    wrong = [flag for flag in ("text", "id", "label", "images", "trust") if getattr(options, flag)]
    if wrong or len(options.dims) > 1:
        flag = f"--{wrong[0]}" if wrong else "several --dims"
        raise ValueError(f"--scheduler: {flag} needs the rows in one process; fit without it")
    distributed = import_distributed()
    try:
        client = distributed.Client(options.scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"--scheduler {options.scheduler}: no scheduler answers there ({error})"
        ) from error
    with client:
        yield


def open_shared(options: Namespace, talk: Talk) -> Table:
    """The table of files that workers read."""
    from ...distributed.files import open_files

    X, columns = open_files(options.data, options.columns, options.key)
    table = Table(X, columns, source=options.data, taken=columns)
    talk.note(str(table))
    return table
