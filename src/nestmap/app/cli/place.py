"""`nestmap transform` and `nestmap labels`: new rows on a map, and clusters of its own rows."""

from __future__ import annotations

import warnings
from argparse import Namespace

import numpy as np

from ...core.arrays import Array
from ...errors import FarRowsWarning
from ...estimators.hnne import HNNE
from ..readers.table import Table
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
    levels = _check_levels(options.levels or [], model.hierarchy_.n_levels)
    table = read_new(options, run, model.encoder_, talk)
    talk.note(str(table))
    model.n_jobs = options.threads
    positions, distances = model.transform(table.given, return_distance=True)
    if run.record["reading"]["text"] and (unknown := without_words(table.X)).any():
        talk.note(
            f"{count_texts(unknown.sum())} none of the words of the run: "
            "far from everything, in no cluster (-1)"
        )
        distances[unknown] = np.inf
    n_far = int((distances > model.far_distance_).sum())
    if n_far:
        talk.note(
            f"{n_far:,} of {len(distances):,} rows are far from everything that was fitted "
            f"(distance > {model.far_distance_:.4g})"
        )
    columns = {
        **({} if table.names is None else {"name": table.names}),
        **axes_of(positions),
        "distance": distances,
        **_clusters_of(model, table, levels, run.names(), np.isinf(distances)),
    }
    texts = table.metadata.get(str(run.record["reading"].get("texts")))
    if texts is not None:
        columns["text"] = texts
    write_columns(options.output, columns, positions, CsvStyle(options.for_spreadsheets, talk.note))
    tell_written(talk, options, {"rows": len(positions), "far": n_far})


def _check_levels(asked: list[int], n_levels: int) -> list[int]:
    """Levels from 0; raises for those that the tree does not have."""
    wrong = [level for level in asked if not -n_levels <= level < n_levels]
    if wrong:
        raise ValueError(
            f"--levels {wrong[0]}: the run has levels 0 to {n_levels - 1}, and -1 is the top"
        )
    return [level % n_levels for level in asked]


def _clusters_of(
    model: HNNE,
    table: Table,
    levels: list[int],
    names: dict[int, list[str]],
    unknown: Array,
) -> dict[str, Array]:
    """Clusters of new rows and their names: on the level of the labels, then on others."""
    found: dict[str, Array] = {}
    wanted = {"cluster": int(model.label_level_)} | {f"level_{k}": k for k in levels}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FarRowsWarning)  # was said
        leaves = model.predict(table.given, level=0)
    for column, level in wanted.items():
        clusters = model.hierarchy_.labels_of_leaves(level)[leaves]
        found[column] = np.where(unknown, -1, clusters)
        if level in names:
            told = np.array([*names[level], ""], dtype=object)
            found[f"{column}_name"] = told[found[column]]
    return found


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
