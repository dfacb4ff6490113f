"""The commands, one function each: read, call the library, write."""

from __future__ import annotations

import platform
import shutil
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Any

import numpy as np

from ..._version import __version__
from ...core.arrays import Array
from .options import LEFT_OUT, estimator_parameters
from .output import CsvStyle, axes_of, check_output, write_columns
from .talk import Talk, tell_written


def run_fit(options: Namespace) -> None:
    """`nestmap fit`."""
    from ..runs.folder import check_target
    from .pictures import check_picture

    talk = Talk(options.quiet, options.json)
    target = Path(options.output).expanduser()
    check_target(target, options.force)
    if options.plot is not None:
        check_picture(options.plot, options.force)
    changed = _changed_parameters(options)
    with _cluster(options):
        _fit_table(options, talk, target, changed)


def _fit_table(options: Namespace, talk: Talk, target: Path, changed: dict[str, Any]) -> None:
    from ...estimators.hnne import HNNE
    from ..runs.extras import check_pixels

    clock = perf_counter()
    table = _read(options, talk) if options.scheduler is None else _open(options, talk)
    seconds = {"reading": perf_counter() - clock}
    if options.images is not None:
        check_pixels(table.X, options.images)
    if table.text and (wordless := int(_without_words(table.X).sum())):
        talk.note(f"{_texts(wordless)} none of the words that tell texts apart: they lie together")
    if table.text and "metric" not in changed:
        changed["metric"] = "cosine"
        talk.note("texts are compared by the cosine of their words: --metric cosine")
    work = target.with_name(f"{target.name}.work") if options.resume or options.scheduler else None
    if options.resume and (n_levels := _n_finished(work)):
        talk.note(f"going on from {work}: {_finished_levels(n_levels)}")
    model = HNNE(
        options.dims[0],
        **changed,
        work_dir=work,
        callback=talk,
        random_state=options.seed,
        n_jobs=options.threads,
    )
    try:
        _embed_and_write(options, talk, target, table, model, seconds, changed)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_what_is_kept(target, work if options.resume else None)) from None
    talk.note(f"next: {_next_steps(target, options)}")
    if work is not None:
        shutil.rmtree(work, ignore_errors=True)


def _n_finished(work: Path | None) -> int:
    """Levels that a work directory holds."""
    return 0 if work is None else len([*work.glob("level-*/meta.json")])


def _finished_levels(n: int) -> str:
    return "1 level is finished" if n == 1 else f"{n} levels are finished"


def _what_is_kept(target: Path, work: Path | None) -> str:
    """What a fit that was interrupted leaves, and how to go on."""
    if (target / "run.json").exists():
        return f"{target} is there; what should follow (--plot) is not"
    if work is None:
        return (
            "nothing was written; with --resume finished levels would be kept, "
            "and the next fit would go on from them"
        )
    n_levels = _n_finished(work)
    if not n_levels:
        return f"no level was finished; the same command starts again ({work} holds nothing yet)"
    return (
        f"{_finished_levels(n_levels)} and kept in {work}; "
        "the same command, with --resume, goes on from there"
    )


def _next_steps(target: Path, options: Namespace) -> str:
    """What can be done with a run that was written."""
    run = quote(str(target))
    looks = [f"nestmap explore {run}"] if 2 in options.dims else []
    if options.plot is None:
        looks.append(f"nestmap plot {run} -o {quote(target.name + '.png')}")
    return "; ".join([*looks, f"nestmap export {run} -o {quote(target.name + '.csv')}"])


def _embed_and_write(
    options: Namespace,
    talk: Talk,
    target: Path,
    table: Any,
    model: Any,
    seconds: dict[str, float],
    changed: dict[str, Any],
) -> None:
    from ..runs.folder import describe_largest, describe_levels, describe_tree, write_run
    from ..runs.naming import name_clusters
    from ..runs.record import to_text
    from .pictures import draw_map

    clock = perf_counter()
    model.fit(table.X)
    models = {model.n_components: model}
    for dims in options.dims[1:]:
        plane = {} if dims == 2 or model.layout == "descent" else {"layout": "auto"}
        models[dims] = model.relayout(n_components=dims, **plane)
    seconds["fit"] = perf_counter() - clock
    for each in models.values():
        each.work_dir = None  # gone when the run is written
    clock = perf_counter()
    names = name_clusters(model.hierarchy_, table)
    if names:
        seconds["naming"] = perf_counter() - clock
    level = int(model.label_level_)
    record = {
        "source": str(table),
        "file": str(options.data),
        "n_rows": table.n_rows,
        "n_columns": int(table.X.shape[1]),
        "reading": {
            "text": options.text,
            "label": options.label,
            "id": options.id,
            "key": options.key,
            "format": options.format,
            "named": table.taken is not None,
            "texts": table.text,
        },
        "metadata": [*table.metadata],
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "versions": _versions(),
        "parameters": _plain(model.get_params()),
        "changed": _plain(changed),
        "seconds": seconds,
        "levels": describe_levels(model),
        "label_level": level,
        "tree": describe_tree(model, names),
        "largest": describe_largest(model, names, level, 20) if names else [],
        "neighbors": str(model.neighbor_report_),
        "far_distance": _finite(model.far_distance_),
        "quality": None,
    }
    trust = _measure_trust(talk, table.X, models.get(2, model)) if options.trust else None
    run = write_run(
        target, models, table, names, record, options.force, trust, options.images, talk.note
    )
    talk.note(f"wrote {target}")
    if options.plot is not None:
        draw_map(options.plot, models.get(2, model), names)
        talk.note(f"wrote {options.plot}")
    talk.result(to_text(run.record), run.record)


def run_transform(options: Namespace) -> None:
    """`nestmap transform`."""
    from ...errors import FarRowsWarning
    from ..readers import read_table
    from ..runs.folder import Run

    talk = Talk(options.quiet)
    run = Run(options.run)
    check_output(options.output, options.force, (".csv", ".tsv", ".npy", ".npz", ".parquet"))
    rows = run.rows()
    reading = run.record["reading"]
    model = run.model()
    table = read_table(
        options.data,
        format=options.format,
        key=options.key or reading["key"],
        id=options.id or None,
        like=rows.columns if reading["named"] else None,
        text=reading["text"],
        words=rows.words,
        missing=options.missing,
    )
    talk.note(str(table))
    model.n_jobs = options.threads
    positions, distances = model.transform(table.X, return_distance=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FarRowsWarning)  # said below
        clusters = model.predict(table.X)
    if reading["text"] and (unknown := _without_words(table.X)).any():
        talk.note(
            f"{_texts(unknown.sum())} none of the words of the run: "
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
    from ..runs.folder import Run

    talk = Talk(options.quiet)
    run = Run(options.run)
    check_output(options.output, options.force, (".csv", ".tsv", ".npy", ".npz", ".parquet"))
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


def run_score(options: Namespace) -> None:
    """`nestmap score`."""
    from ...views.metrics import map_quality
    from ..readers import read_table
    from ..runs.extras import write_trust
    from ..runs.folder import Run

    talk = Talk(options.quiet, options.json)
    run = (
        Run(options.map)
        if Path(options.map).is_dir() and not options.map.endswith(".zarr")
        else None
    )
    metric = options.metric
    if options.trust and run is None:
        raise ValueError(f"--trust is kept in a run, and {options.map} is none")
    if run is not None:
        table = read_again(options, run)
        model = run.model()
        positions = model.embedding_
        metric = metric or model.metric
    else:
        table = _read(options, talk)
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
    found = {field.name: _score(getattr(quality, field.name)) for field in fields(quality)}
    scores = {name: value for name, value in found.items() if value is not None}
    if run is not None:
        run.note(quality=scores)
    if run is not None and options.trust:
        # a map in the plane is what the explorer shows
        has_plane = any(entry["dims"] == 2 for entry in run.record["maps"])
        write_trust(run.path, _measure_trust(talk, table.X, run.model(2) if has_plane else model))
    talk.result(str(quality), scores)


def _measure_trust(talk: Talk, X: Any, model: Any) -> Any:
    """True neighbours and scores of all rows."""
    from ...core.progress import Progress
    from ...views.explore.trust import known_neighbors, measure_trust

    progress = Progress(0, talk)
    progress.begin("true neighbours")
    ids = known_neighbors(model)
    found = measure_trust(X, model.embedding_, model.metric, model.metric_params, model.n_jobs, ids)
    progress.done()
    return found


def _score(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): round(float(v), 4) for k, v in value.items()}
    return None if value is None else round(float(getattr(value, "value", value)), 4)


def run_demo(options: Namespace) -> None:
    """`nestmap demo`."""
    from sklearn.datasets import load_digits

    from ...estimators.hnne import HNNE
    from ..readers import Table
    from ..runs.folder import check_target

    talk = Talk(options.quiet, options.json)
    target = Path(options.output).expanduser()
    check_target(target, options.force)
    digits = load_digits()
    table = Table(
        digits.data.astype(np.uint8),
        tuple(digits.feature_names),
        None,
        {"digit": digits.target},
        "scikit-learn's handwritten digits",
    )
    options.data = "digits"
    options.dims = [2]
    options.label = "digit"
    options.id = options.key = options.format = None
    options.text = False
    options.plot = None
    options.trust = True
    options.images = (8, 8)
    _embed_and_write(
        options, talk, target, table, HNNE(callback=talk, n_jobs=options.threads), {}, {}
    )
    talk.note(
        f"next: nestmap explore {target}; nestmap plot {target} -o digits.png; nestmap info "
        f"{target}; nestmap export {target} -o digits.csv; nestmap labels {target} --clusters 10"
    )


def read_again(options: Namespace, run: Any) -> Any:
    """The rows that a run was made of, from their file."""
    from ..readers import read_table

    reading = run.record["reading"]
    rows = run.rows()
    return read_table(
        options.data,
        format=options.format,
        key=options.key or reading["key"],
        missing=options.missing,
        columns=options.columns,
        like=rows.columns if reading["named"] else None,
        label=options.label,
        text=options.text or reading["text"],
        words=rows.words,
    )


# -- shared


def _read(options: Namespace, talk: Talk) -> Any:
    from ...core.progress import Progress
    from ..readers import read_table

    progress = Progress(0, talk)
    progress.begin(f"reading {options.data}")
    table = read_table(
        options.data,
        format=options.format,
        columns=options.columns,
        id=options.id,
        label=options.label,
        text=options.text,
        key=options.key,
        missing=options.missing,
        progress=progress,
    )
    progress.done()
    talk.note(str(table))
    return table


def _without_words(X: Any) -> Array:
    """Which texts have none of the words."""
    return np.asarray(X.getnnz(axis=1) == 0)


def _texts(n: int) -> str:
    return "1 text has" if n == 1 else f"{n:,} texts have"


@contextmanager
def _cluster(options: Namespace) -> Iterator[None]:
    """A client of the scheduler that was named, if one was."""
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


def _open(options: Namespace, talk: Talk) -> Any:
    """The table of files that workers read."""
    from ...distributed.files import open_files
    from ..readers import Table

    X, columns = open_files(options.data, options.columns, options.key)
    table = Table(X, columns, source=options.data, taken=columns)
    talk.note(str(table))
    return table


def _changed_parameters(options: Namespace) -> dict[str, Any]:
    """Parameters of the estimator that were given; paths of arrays are read."""
    found = {}
    for parameter in estimator_parameters():
        value = None if parameter.name in LEFT_OUT else getattr(options, parameter.name)
        if value is None:
            continue
        if parameter.name in ("neighbors", "preliminary") and value.endswith(".npy"):
            value = np.load(value, allow_pickle=False)
        elif parameter.name == "neighbors" and value.endswith(".npz"):
            value = _read_graph(value)
        found[parameter.name] = value
    return found


def _read_graph(path: str) -> Any:
    """A sparse matrix of distances, or the arrays indices and distances."""
    from scipy import sparse

    try:
        with np.load(path, allow_pickle=False) as arrays:
            if {"indices", "distances"} <= {*arrays}:
                return arrays["indices"], arrays["distances"]
        return sparse.load_npz(path)
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"--neighbors {path}: holds neither a matrix of scipy.sparse.save_npz nor "
            "arrays indices and distances"
        ) from error


def _versions() -> dict[str, str]:
    import scipy
    import sklearn

    return {
        "nestmap": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": platform.platform(),
    }


def _finite(value: float) -> float | None:
    """A number that JSON knows."""
    return float(value) if np.isfinite(value) else None


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON: arrays and functions by what they are."""
    simple = (str, int, float, bool, type(None), list, dict)
    return {
        name: value if isinstance(value, simple) else f"<{type(value).__name__}>"
        for name, value in values.items()
        if name not in ("callback", "work_dir")
    }
