"""Data that a command was given: read here, read again for a run, or left to dask workers."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...tables.encoder import TableEncoder
from ...tables.gower import GowerEncoder
from ..readers.choice import Choice
from ..readers.read import read_file
from ..readers.table import Table
from ..runs.folder import RunFolder
from .talk import Talk


def _names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)


def choose(options: Namespace) -> Choice:
    """What was asked for; raises for wishes that contradict each other."""
    kinds: dict[str, str] = dict(getattr(options, "kind", []))
    vectors = _names(options.vectors)
    if getattr(options, "images", None) and options.columns is None and not kinds:
        vectors = vectors or ()  # rows are pictures
    return Choice(
        columns=_names(options.columns),
        id=options.id,
        label=options.label,
        text=options.texts or False,
        missing=options.missing,
        format=options.format,
        key=options.key,
        encodes=True,
        vectors=vectors,
        kinds=kinds,
    )


def read_data(options: Namespace, talk: Talk, choice: Choice | None = None) -> Table:
    """The rows of the file that was named; tables are encoded, and what was decided is told."""
    progress = Progress(0, talk)
    progress.begin(f"reading {options.data}")
    table = read_file(options.data, choice or choose(options), progress)
    progress.done()
    talk.note(str(table))
    if table.decided:
        talk.note("\n".join(table.decided))
    return table


def choose_like(options: Namespace, path: str | None) -> Choice:
    """What was asked for, where a new map is to lie on that of a model file.

    The table is then encoded as that of the old model was.
    """
    choice = choose(options)
    encoder = None if path is None else _encoder_of(path)
    if encoder is None:
        return choice
    asked = {
        "--kind": choice.kinds,
        "--columns": choice.columns,
        "--vectors": choice.vectors is not None,
        "--missing": choice.missing,
    }
    wrong = [flag for flag, value in asked.items() if value]
    if wrong:
        raise ValueError(
            f"{wrong[0]}: columns are encoded as those of the model in like={path!r} were; leave "
            "it out"
        )
    return replace(choice, encoder=encoder)


def _encoder_of(path: str) -> TableEncoder | None:
    """That of a model file; raises for one that this command does not encode by."""
    from ...estimators.hnne import HNNE
    from ...estimators.load import load

    old = load(path)
    encoder = old.encoder_ if isinstance(old, HNNE) else None
    if isinstance(encoder, GowerEncoder):
        raise ValueError(
            f"like={path!r}: that model compares tables by Gower's distance, which is there in "
            "Python alone: HNNE(metric='gower').fit(table, like=…)"
        )
    return encoder


def _as_read_before(options: Namespace, run: RunFolder, encoder: TableEncoder | None) -> Choice:
    """What the run was read with, but for what was asked for now."""
    reading = run.record["reading"]
    common = Choice(format=options.format, key=options.key or reading["key"])
    if encoder is not None:
        if options.missing not in (None, encoder.missing):
            raise ValueError(
                f"missing={options.missing!r}: the run has {encoder.missing!r} in place of missing "
                "cells; leave it out"
            )
        return replace(common, encodes=True, encoder=encoder)
    rows = run.rows()
    return replace(
        common,
        text=reading["text"],
        missing=options.missing,
        like=rows.columns if reading["named"] else None,
        words=rows.words,
        pictures=tuple(reading.get("pictures") or ()) or None,
    )


def read_again(options: Namespace, run: RunFolder, encoder: TableEncoder | None) -> Table:
    """The rows that a run was made of, from their file."""
    choice = replace(_as_read_before(options, run, encoder), label=options.label)
    return read_file(options.data, choice)


def read_new(options: Namespace, run: RunFolder, encoder: TableEncoder | None, talk: Talk) -> Table:
    """Rows that are to be placed on the map of a run, with its columns."""
    choice = replace(_as_read_before(options, run, encoder), id=options.id)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        table = read_file(options.data, choice)
    for each in told:
        talk.note(str(each.message))
    if (known := run.record["reading"].get("id")) in table.metadata and table.names is None:
        rest = {name: values for name, values in table.metadata.items() if name != known}
        table = replace(table, names=np.asarray(table.metadata[known]).astype(str), metadata=rest)
    return table


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

    flags = ("texts", "vectors", "kind", "id", "label", "images", "trust")
    wrong = [flag for flag in flags if getattr(options, flag)]
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
