"""`nestmap export`: coordinates, names, metadata and labels of a run as one file, or its page."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.describe.tables import free_names
from ..runs.folder import RunFolder
from .output import CsvStyle, axes_of, check_output, write_cells, write_columns
from .talk import Talk, tell_written


def run_export(options: Namespace) -> None:
    """`nestmap export`."""
    talk = Talk(options.quiet, options.json)
    run = RunFolder(options.run)
    if options.output != "-" and (
        options.output.endswith(("/", "\\")) or not Path(options.output).suffix
    ):
        from .explorer import export_site

        return export_site(options, talk, run)
    check_output(options.output, options.force, (".csv", ".tsv", ".npz", ".parquet", ".h5ad"))
    model = run.model(options.dims)
    rows = run.rows()
    is_cells = options.output.endswith(".h5ad")
    own: dict[str, Array] = {}
    if not is_cells:
        own |= {} if rows.names is None else {"name": rows.names}
        own |= axes_of(model.embedding_)
    own |= _cluster_columns(model, run.names())
    given = _beside(own, rows.metadata, talk.note)
    if is_cells:
        write_cells(options.output, own | given, rows.names, model.embedding_)
    else:
        write_columns(
            options.output,
            own | given,
            model.embedding_,
            CsvStyle(options.for_spreadsheets, talk.note),
        )
    tell_written(talk, options, {"rows": len(model.embedding_), "columns": len(own | given)})


def _beside(
    own: Iterable[str], metadata: dict[str, Array], tell: Callable[[str], None]
) -> dict[str, Array]:
    """The columns of the data under names that the result does not have; tells which changed."""
    names = free_names(own, metadata)
    changed = [
        f"{was!r} is {name!r}" for was, name in zip(metadata, names, strict=True) if was != name
    ]
    if changed:
        tell(f"columns of the data whose names the result has itself: {', '.join(changed)}")
    return dict(zip(names, metadata.values(), strict=True))


def _cluster_columns(model: Any, names: dict[int, list[str]]) -> dict[str, Array]:
    """Cluster of each row, and its name where it has one: of `labels_`, then of each level."""
    found = {"cluster": model.labels_}
    tree = model.hierarchy_
    if model.label_level_ in names:
        found["cluster_name"] = np.array(names[model.label_level_], dtype=object)[model.labels_]
    for k in range(tree.n_levels):
        found[f"level_{k}"] = tree.labels(k)
        if k in names:
            found[f"level_{k}_name"] = np.array(names[k], dtype=object)[found[f"level_{k}"]]
    return found
