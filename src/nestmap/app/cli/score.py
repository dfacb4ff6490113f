"""`nestmap score`: how faithful a map is to its data."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from ...views.metrics._summary import MapQuality, map_quality
from ..readers.read import read_table
from ..runs.extras import write_trust
from ..runs.folder import RunFolder
from .reading import read_again, read_data
from .talk import Talk
from .trust import measure_with_progress


def run_score(options: Namespace) -> None:
    """`nestmap score`."""
    talk = Talk(options.quiet, options.json)
    is_run = Path(options.map).is_dir() and not options.map.endswith(".zarr")
    run = RunFolder(options.map) if is_run else None
    metric = options.metric
    if options.trust and run is None:
        raise ValueError(f"--trust is kept in a run, and {options.map} is none")
    if run is not None:
        _refuse_reading(options)
        model = run.model()
        table = read_again(options, run, model.encoder_)
        positions = model.embedding_
        metric = metric or model.metric
    else:
        table = read_data(options, talk)
        positions = np.asarray(read_table(options.map).X)
    talk.note(str(table))
    if len(positions) != table.n_rows:
        raise ValueError(
            f"{options.map} has {len(positions):,} rows, {options.data} has {table.n_rows:,}"
        )
    y = None if options.label is None else table.metadata[options.label]
    sample = None if table.n_rows <= options.rows else options.rows
    quality = map_quality(
        table.X, positions, y, metric=metric or "euclidean", n_sample=sample, n_jobs=options.threads
    )
    scores = _scores(quality)
    if run is not None:
        run.note(quality=scores)
        if options.trust:
            _keep_trust(run, talk, table.X)
    talk.result(str(quality), scores)


def _refuse_reading(options: Namespace) -> None:
    """Raise for options that say what is mapped: a run knows."""
    given = [name for name in ("columns", "vectors", "texts") if getattr(options, name) is not None]
    if given:
        raise ValueError(
            f"--{given[0]}: {options.map} knows what of {options.data} was mapped; leave it out"
        )


def _keep_trust(run: RunFolder, talk: Talk, X: Any) -> None:
    """Measured on the map in the plane, if there is one: that is what the explorer shows."""
    has_plane = any(entry["dims"] == 2 for entry in run.record["maps"])
    write_trust(run.path, measure_with_progress(talk, X, run.model(2 if has_plane else None)))


def _scores(quality: MapQuality) -> dict[str, Any]:
    """Those that were measured, as JSON."""
    found = {field.name: _rounded(getattr(quality, field.name)) for field in fields(quality)}
    return {name: value for name, value in found.items() if value is not None}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): round(float(v), 4) for k, v in value.items()}
    return None if value is None else round(float(getattr(value, "value", value)), 4)
