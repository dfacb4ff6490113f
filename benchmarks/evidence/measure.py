"""The runs that fill the files of results; each returns the record of a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.evidence.records import ROOT, Record
from benchmarks.methods import ENVIRONMENTS, METHODS
from benchmarks.plan import DRAWS
from benchmarks.runner import (
    ENVIRONMENT_FOLDER,
    Job,
    Limits,
    Results,
    install,
    prepare,
    run_all,
)

LABELLED = ("digits", "pendigits", "usps", "fashion_mnist")
COMPARED = (
    "nestmap",
    "nestmap-leaves",
    "nestmap-descent",
    "nestmap-mosaic",
    "hnne-v1",
    "hnne-v2",
    "pacmap",
    "umap",
    "fit-sne",
)
STABLE = ("nestmap", "nestmap-descent", "nestmap-mosaic")
STABLE_ROWS = 20_000  # rows of a data set: of more, stability is not measured
SECONDS_PER_JOB = 900.0
REPEATED_BELOW = 60.0  # seconds of a first fit: longer ones are not repeated
FOLDER = ROOT / ".bench" / "evidence"

Say = Callable[[str], None]


def compare_maps(args: Namespace, say: Say) -> Record:
    """Every method on every labelled set at hand: times, memory, scores, stability."""
    from benchmarks.evaluate import evaluate_all

    data = _datasets(args.data or LABELLED, say)
    results = Results(FOLDER / "results.jsonl")
    sources = {n: prepare(FOLDER, n, d.X, d.metric, len(d.X)) for n, d in data.items()}
    limits = Limits(SECONDS_PER_JOB, _three_quarters_of_memory(), REPEATED_BELOW)
    jobs = _jobs(data, args.methods or COMPARED)
    run_all(jobs, sources, results, FOLDER, limits, again=_ours(args), say=say)
    evaluate_all(results, FOLDER, data, say)
    if not args.dry:
        draw_pictures(results, data, args.methods or COMPARED, say)
    return record_of(results, data, args.methods or COMPARED)


def _ours(args: Namespace) -> tuple[str, ...]:
    """nestmap's own jobs are run again: its code may have changed since the last run."""
    return () if args.resume else tuple(n for n, m in METHODS.items() if m.package == "nestmap")


def _datasets(names: Iterable[str], say: Say) -> dict[str, Any]:
    """Those at hand: in NESTMAP_DATA, with scikit-learn, or made for the comparison of clusters."""
    from benchmarks.clusters.__main__ import MADE, make_data

    found = {}
    for name in names:
        try:
            found[name] = datasets.load(name, download=False)
        except datasets.DatasetNotFound as error:
            if name not in MADE:
                say(f"left out: {error}")
                continue
            found[name] = datasets.load(name, path=make_data([name], say)[name])
    return found


def _jobs(data: dict[str, Any], methods: Iterable[str]) -> list[Job]:
    jobs = [Job(name, method) for method in methods for name in data]
    small = [name for name, dataset in data.items() if len(dataset.X) <= STABLE_ROWS]
    return jobs + [
        Job(name, method, task="part", draw=draw)
        for name in small
        for method in STABLE
        if method in methods
        for draw in DRAWS
    ]


def _three_quarters_of_memory() -> float:
    """Megabytes."""
    return 0.75 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20


def record_of(results: Results, data: dict[str, Any], methods: Iterable[str]) -> Record:
    """What docs/evidence/comparison.json holds, from the results of the jobs."""
    rows = [_map_of(results, name, method) for name in data for method in methods]
    environments = {METHODS[method].environment for method in methods}
    return {
        "packages": [ENVIRONMENTS[name] for name in ENVIRONMENTS if name in environments][1:],
        "data": {
            name: {"rows": len(d.X), "columns": d.X.shape[1], "metric": d.metric}
            for name, d in data.items()
        },
        "original": {
            name: {"accuracy": _first(score["knn_accuracy"]), "nmi": score["nmi"]}
            for name in data
            if (score := results.rows.get(f"score original {name}", {})).get("knn_accuracy")
        },
        "maps": rows,
    }


def _map_of(results: Results, name: str, method: str) -> dict[str, Any]:
    """One map: what it took and how good it is, or why there is none."""
    job = Job(name, method)
    row, score = results.rows[job.key], results.rows.get(f"score {job.key}", {})
    about: dict[str, Any] = {"data": name, "method": method}
    if row["status"] != "ok" or "fill" not in score:
        return {**about, "why": f"{row['status']}: {row.get('why', score.get('why', ''))}"}
    return {
        **about,
        "start_to_map": row["import"] + row["first_fit"],
        "second_fit": row.get("second_fit"),
        "cpu": row["first_fit_cpu"],
        "megabytes": row["megabytes"],
        "trustworthiness": score["trustworthiness"]["value"],
        "recall": score["neighborhood_recall"]["value"],
        "accuracy": _first(score["knn_accuracy"]),
        "continuity": score["continuity"]["value"],
        "random_triplets": score["random_triplets"]["value"],
        "centroid_triplets": score["centroid_triplets"]["value"],
        "nmi": score["nmi"],
        "fill": score["fill"],
        **_stability(results, name, method),
    }


def _stability(results: Results, name: str, method: str) -> dict[str, float]:
    jobs = [Job(name, method, task="part", draw=draw) for draw in DRAWS]
    scores = [results.rows.get(f"score {job.key}", {}) for job in jobs]
    moved = [score["median_moved"] for score in scores if "median_moved" in score]
    return {"moves": float(np.mean(moved)), "moves_highest": max(moved)} if moved else {}


def _first(accuracies: dict[Any, float]) -> float:
    """1-NN accuracy; JSON turns numbers of neighbours into texts."""
    return accuracies["1"] if "1" in accuracies else accuracies[1]


def draw_pictures(
    results: Results, data: dict[str, Any], methods: Iterable[str], say: Say
) -> list[Path]:
    """The pictures of the page and of README.md, from the maps of this run."""
    from benchmarks import figures
    from benchmarks.tables import Book

    book = Book(results.rows, list(data), list(methods))
    maps = figures.Maps(book, FOLDER, data)
    drawn = []
    for figure in (figures.grid(maps, {}), figures.quality_over_time(book)):
        path = ROOT / "docs" / "images" / f"{figure.name}.{figure.kind}"
        path.write_bytes(figure.data)
        drawn.append(path)
        say(f"drew {path.relative_to(ROOT)}")
    return drawn


def compare_clusters(args: Namespace, say: Say) -> Record:
    from benchmarks.clusters.__main__ import WORK, measure_all, peer_versions
    from benchmarks.clusters.pictures import SHOWN, draw

    found = measure_all(args.data, say)
    if not args.dry and set(SHOWN) <= set(found):
        draw(WORK, ROOT / "docs" / "images" / "clusters.png")
    return {"packages": peer_versions(), "data": found}


def measure_large(args: Namespace, say: Say) -> Record:
    """Hours: millions of rows, each measurement in a process of its own."""
    from benchmarks.large.curves import draw as draw_curves
    from benchmarks.large.generate import RECIPES
    from benchmarks.large.record import record_of as large_record

    folder = ROOT / ".bench" / "large"
    missing = [name for name in RECIPES if not (folder / f"{name}.npy").exists()]
    commands = [["generate", *missing]] if missing else []
    again = [] if args.resume else ["--again"]
    for command in (*commands, ["run", "fits", "curves", "maps", *again]):
        say(f"python -m benchmarks.large {' '.join(command)}")
        subprocess.run([*_PYTHON, "benchmarks.large", *command], cwd=ROOT, check=True)
    rows = Results(folder / "results.jsonl").rows
    draw_curves(rows, ROOT / "docs" / "images" / "large_curves.png")
    return large_record(rows)


def measure_growth(args: Namespace, say: Say) -> Record:
    from benchmarks.living import DATA, summary
    from benchmarks.living import read as read_lines

    given = os.environ.get("NESTMAP_DATA", ".")
    command = [*_PYTHON, "benchmarks.living", *DATA, "--data", given, "--pictures"]
    if (why := install("living", say)) is None:
        peers = ENVIRONMENT_FOLDER / "living" / "bin" / "python"
        command += ["--peer-python", str(peers)]
    else:
        say(f"peers are left out: {why}")
    subprocess.run(command, cwd=ROOT, check=True)
    return summary(read_lines(ROOT / ".bench" / "living.jsonl"))


def measure_distributed(args: Namespace, say: Say) -> Record:
    from benchmarks.cluster import SETS, fits_of

    for neighbors, names in SETS.items():
        command = [*_PYTHON, "benchmarks.cluster", *names, "--neighbors", neighbors]
        subprocess.run(command, cwd=ROOT, check=True)
    return fits_of(ROOT / ".bench" / "cluster" / "runs.json")


def measure_tables(args: Namespace, say: Say) -> Record:
    folder = ROOT / ".bench" / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    if (why := install("tables", say)) is not None:
        raise RuntimeError(f"tables come with packages: {why}")
    rivals = folder / "rivals.jsonl"
    peers = ENVIRONMENT_FOLDER / "tables" / "bin" / "python"
    command = [str(peers), "-m", "benchmarks.tables_rivals", str(rivals)]
    subprocess.run(command, cwd=ROOT, check=True)
    found = folder / "figures.json"
    command = [*_PYTHON, "benchmarks.tables_encoding", "--rivals", str(rivals), "--out", str(found)]
    subprocess.run(command, cwd=ROOT, check=True)
    return {"packages": ENVIRONMENTS["tables"].split(), **json.loads(found.read_text())}


def measure_explorer(args: Namespace, say: Say) -> Record:
    from benchmarks.explore_peer import PEER, find_chromium, measure

    chromium = find_chromium()
    if (why := install(PEER, say)) is not None:
        raise RuntimeError(f"{PEER}: {why}")
    folder = ROOT / ".bench" / "explorer"
    folder.mkdir(parents=True, exist_ok=True)
    return {"packages": ENVIRONMENTS[PEER].split(), "visits": measure(folder, chromium)}


_PYTHON = (sys.executable, "-m")
MEASURED: dict[str, Callable[[Namespace, Say], Record]] = {
    "comparison": compare_maps,
    "clusters": compare_clusters,
    "large": measure_large,
    "growth": measure_growth,
    "distributed": measure_distributed,
    "tables": measure_tables,
    "explorer": measure_explorer,
}
