"""`nestmap transform` and `nestmap labels`: new rows on a map, and clusters of its own rows."""

from __future__ import annotations

import warnings
from argparse import Namespace

import numpy as np

from ...errors import FarRowsWarning
from ..runs.folder import RunFolder
from .output import CsvStyle, axes_of, check_output, write_columns
from .reading import count_texts, read_new, without_words
from .talk import Talk, tell_written

_SUFFIXES = (".csv", ".tsv", ".npy", ".npz", ".parquet")


def run_transform(options: Namespace) -> None:
    """`nestmap transform`."""
    talk = Talk(options.quiet)
    run = RunFolder(options.run)
    check_output(options.output, options.force, _SUFFIXES)
    model = run.model()
    table = read_new(options, run)
    talk.note(str(table))
    model.n_jobs = options.threads
    positions, distances = model.transform(table.X, return_distance=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FarRowsWarning)  # said below
        clusters = model.predict(table.X)
    if run.record["reading"]["text"] and (unknown := without_words(table.X)).any():
        talk.note(
            f"{count_texts(unknown.sum())} none of the words of the run: "
            "far from everything, in no cluster (-1)"
        )
        distances[unknown] = np.inf
        clusters[unknown] = -1
    n_far = int((distances > model.far_distance_).sum())
    if n_far:
        talk.note(
            f"{n_far:,} of {len(distances):,} rows are far from everything that was fitted "
            f"(distance > {model.far_distance_:.4g})"
        )
    names = {} if table.names is None else {"name": table.names}
    columns = {**names, **axes_of(positions), "distance": distances, "cluster": clusters}
    write_columns(options.output, columns, positions, CsvStyle(options.for_spreadsheets, talk.note))
    tell_written(talk, options, {"rows": len(positions), "far": n_far})


def run_labels(options: Namespace) -> None:
    """`nestmap labels`."""
    talk = Talk(options.quiet)
    run = RunFolder(options.run)
    check_output(options.output, options.force, _SUFFIXES)
    model = run.model()
    names = run.rows().names
    if options.clusters is not None:
        labels = model.hierarchy_.labels(n_clusters=options.clusters)
    else:
        labels = model.hierarchy_.labels(
            model.label_level_ if options.level is None else options.level
        )
    columns = {"cluster": labels} if names is None else {"name": names, "cluster": labels}
    write_columns(options.output, columns, labels, CsvStyle(options.for_spreadsheets, talk.note))
    tell_written(talk, options, {"rows": len(labels), "clusters": int(labels.max()) + 1})
