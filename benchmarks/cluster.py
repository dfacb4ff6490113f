"""Fits on dask workers against one machine: time, memory of workers, bytes moved, the same bits.

    python -m benchmarks.cluster --data .bench/cluster --out .bench/cluster/runs.json higgs:4000000
    deformed:2000000

makes the data (sets of benchmarks.large, or `sensors` and `discs` of benchmarks/cluster_data.py,
whose exact neighbours can be found at full size), fits each set on this machine with 2 threads and
on 2 worker processes with 1 thread and 1.5 GB each, every fit in a process of its own, and appends
a record per fit to the file. `--model RUNS.json` fits the cost model to the records, checks it on
the runs named by `--unseen`, and prints its predictions. `fits_of` makes docs/evidence/distributed.json
of the file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

# sets of the evidence, by how their neighbours are found
SETS = {
    "auto": ("higgs:2000000", "deformed:1000000"),
    "exact": ("sensors:2000000", "discs:500000"),
}


class Peaks:
    """The largest resident memory of some processes, looked at ten times a second, and their CPU
    seconds.

    Of this process, the client, only what is its own: pages of mapped files can go at any time.
    """

    def __init__(self, pids: dict[str, int]) -> None:
        import psutil

        self.processes = {name: psutil.Process(pid) for name, pid in pids.items()}
        self.peaks = dict.fromkeys(pids, 0)
        self.client, self.own, self.cpu = psutil.Process(), 0, -self._cpu_seconds()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        import psutil

        while not self.stop.wait(0.1):
            memory = self.client.memory_info()
            self.own = max(self.own, memory.rss - memory.shared)
            for name, process in self.processes.items():
                try:
                    self.peaks[name] = max(self.peaks[name], process.memory_info().rss)
                except psutil.NoSuchProcess:
                    self.peaks[name] = -1  # died

    def _cpu_seconds(self) -> float:
        times = [process.cpu_times() for process in self.processes.values()]
        return float(sum(each.user + each.system for each in times))

    def end(self) -> dict[str, int]:
        self.stop.set()
        self.thread.join()
        self.cpu += self._cpu_seconds()
        return self.peaks


class Stages:
    """Seconds per stage, by a callback."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def __call__(self, event: Any) -> None:
        if event.share == 1.0:
            self.seconds[event.stage] = self.seconds.get(event.stage, 0.0) + event.seconds


def fit_once(
    path: Path, workers: int, memory: str, neighbors: str, room: str | None, merge: bool
) -> dict[str, Any]:
    """One fit (0 workers: on this machine, 2 threads), and what is to be known of it."""
    from nestmap import HNNE

    stages = Stages()
    model = HNNE(
        neighbors=neighbors, n_jobs=2, callback=stages, max_memory=room if workers else None
    )
    record = (
        _fit_on_workers(model, path, workers, memory, merge) if workers else _fit_alone(model, path)
    )
    rows, report = np.load(path, mmap_mode="r"), model.neighbor_report_
    return {
        "data": path.stem,
        "n_rows": len(rows),
        "n_columns": rows.shape[1],
        "row_bytes": rows.nbytes // len(rows),
        "workers": workers,
        "merge": merge,
        **record,
        "stages": stages.seconds,
        "report": str(report),
        "recall": report.recall,
        "method": report.method,
        "columns": report.n_reduced_columns,
        "levels": list(model.hierarchy_.level_sizes),
        "tree": _checksum(model.hierarchy_.levels[0].members),
        "map": _checksum(model.layout_.positions),
    }


def _fit_alone(model: Any, path: Path) -> dict[str, Any]:
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(path)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"seconds": seconds, "cpu_seconds": cpu, "peaks": {}, "moved": {}, "tasks": {}}


def _fit_on_workers(
    model: Any, path: Path, workers: int, memory: str, merge: bool
) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    from nestmap.distributed import fit
    from nestmap.distributed import search as searching
    from nestmap.distributed.files import open_files

    kept: list[Any] = []
    searcher = fit.LevelsOnWorkers
    fit.LevelsOnWorkers = lambda *a: kept.append(searcher(*a)) or kept[-1]  # type: ignore[misc, assignment]
    if merge:
        searching.PER_ITEM = 2**40  # more than there is room for
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=":0"
    )
    with cluster, Client(cluster) as client:
        X, per_task, watch = (
            open_files(str(path))[0],
            _task_seconds(client),
            Peaks(client.run(_pid)),
        )
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(X)
        seconds, peaks, cpu = (
            time.perf_counter() - start,
            watch.end(),
            time.process_time() - cpu + watch.cpu,
        )
    record = {
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peaks": peaks,
        "task_seconds": per_task,
        "client_peak": watch.own,
    }
    if not kept:  # the client has fitted the rows by itself
        return {**record, "moved": {}, "tasks": {}}
    phases, columns = kept[0].phases, model.neighbor_report_.n_reduced_columns
    return {
        **record,
        "moved": dict(phases.moved),
        "tasks": dict(phases.tasks),
        "shuffled": _shuffled(phases.shuffled, columns, path),
    }


def _shuffled(bytes_: int, columns: int, path: Path) -> dict[str, float]:
    """Bytes of rows that went to a part or asked one, and that in times of the reduced rows and of
    the rows.
    """
    rows = np.load(path, mmap_mode="r")
    return {
        "bytes": bytes_,
        "times_reduced_rows": bytes_ / (len(rows) * (4.5 * columns + 4)),
        "times_rows": bytes_ / rows.nbytes,
    }


def _task_seconds(client: Any, n: int = 1000) -> float:
    """What a task costs that does nothing."""
    start = time.perf_counter()
    client.gather([client.submit(abs, i, pure=False) for i in range(n)])
    return (time.perf_counter() - start) / n


def _pid() -> int:
    import os

    return os.getpid()


def _checksum(values: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=8).hexdigest()


def fits_of(path: Path) -> dict[str, Any]:
    """What docs/evidence/distributed.json holds: each fit on workers beside that of one machine."""
    runs = json.loads(path.read_text())
    alone = {(run["data"], run["method"]): run for run in runs if not run["workers"]}
    found = {(run["data"], run["method"]): run for run in runs if run["workers"]}
    fits = []
    for key, run in found.items():
        own = alone[key]
        fits.append(
            {
                "data": run["data"].rpartition("-")[0],
                "rows": run["n_rows"],
                "columns": run["n_columns"],
                "neighbors": run["method"],
                "alone": own["seconds"],
                "workers": run["seconds"],
                "worker_gigabytes": max(run["peaks"].values()) / 1e9,
                "client_gigabytes": run["client_peak"] / 1e9,
                "shuffled": run.get("shuffled", {}).get("times_reduced_rows"),
                "recall": [own["recall"], run["recall"]],
                "is_same": all(run[name] == own[name] for name in ("tree", "map")),
            }
        )
    return {"note": "Two workers of one thread, beside one machine with two threads.", "fits": fits}


def append(path: Path, record: dict[str, Any]) -> None:
    """Add a record to a JSON file of records."""
    records = json.loads(path.read_text()) if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps([*records, record], indent=1))
    part.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", help="name of a set, or name:rows")
    parser.add_argument("--data", type=Path, default=Path(".bench/cluster"))
    parser.add_argument("--out", type=Path, default=Path(".bench/cluster/runs.json"))
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 2])
    parser.add_argument("--memory", default="1.5GB")
    parser.add_argument("--neighbors", default="auto")
    parser.add_argument("--max-memory", help="of a task, for fits on workers: smaller parts")
    parser.add_argument(
        "--merge",
        action="store_true",
        help="workers join rows to clusters, as they do where the client has no room",
    )
    parser.add_argument("--model", type=Path)
    parser.add_argument("--unseen", nargs="*", default=[])
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.model:
        from benchmarks.cluster_model import tell

        return tell(json.loads(options.model.read_text()), options.unseen)
    if options.once:
        path, workers = options.once
        record = fit_once(
            Path(path),
            int(workers),
            options.memory,
            options.neighbors,
            options.max_memory,
            options.merge,
        )
        print(json.dumps(record, indent=1))
        return append(options.out, record)
    for name in options.sets:
        path = make(options.data, name)
        for workers in options.workers:
            own = [
                "--once",
                str(path),
                str(workers),
                "--out",
                str(options.out),
                "--memory",
                options.memory,
            ]
            own += ["--max-memory", options.max_memory] if options.max_memory else []
            own += ["--merge"] if options.merge else []
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.cluster",
                    *own,
                    "--neighbors",
                    options.neighbors,
                ],
                check=True,
            )


def make(folder: Path, name: str) -> Path:
    """FOLDER/NAME-ROWS.npy, written if it is not there."""
    from benchmarks.cluster_data import SHAPES, write_set
    from benchmarks.large.generate import RECIPES, generate

    name, _, rows = name.partition(":")
    n = int(rows) if rows else SHAPES[name][0] if name in SHAPES else RECIPES[name].n_rows
    target = folder / f"{name}-{n}.npy"
    if name in SHAPES and not target.exists():
        write_set(name, target, n)
    elif not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        generate(name, folder, n)[0].rename(target)
    return target


if __name__ == "__main__":
    main()
