"""One measurement in one fresh process, started by `run` with the method's own interpreter.

python -m benchmarks.large.worker JOB.json: writes RESULT.json and, if neighbours are to be checked,
IDS.npy beside it. Whether they are true is found out elsewhere: nothing but the method itself
counts in here. Memory is watched from outside, too: a thread in here would wait for the
interpreter's lock just when it matters. Needs only NumPy and the method.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large.plan import N_JOBS, PACKAGES

WARM_ROWS = 50_000  # enough for every function to be compiled
REPEATS, LONG = 3, 30.0  # a warm measurement is repeated while that takes less than so many seconds


def main() -> None:
    path = Path(sys.argv[1])
    job = json.loads(path.read_text())
    X = np.load(job["path"], mmap_mode="r" if job["mapped"] else None)[: job["rows"]]
    rows = np.array(job["sample_rows"], dtype=np.int64)
    measured, ids = TASKS[job["task"], job["method"]](X, rows, job)
    if (
        len(rows) and ids is not None
    ):  # None: the fit did not call what should have told; its time still counts
        np.save(path.with_name("ids.npy"), ids)
    measured |= {"version": version(PACKAGES[job["method"]]), "python": sys.version.split()[0]}
    path.with_name("result.json").write_text(json.dumps(measured))


def _since_start(job: dict[str, Any]) -> dict[str, float]:
    """Seconds since the process was started: imports and compilation count."""
    times = os.times()
    return {"seconds": time.monotonic() - job["started"], "cpu_seconds": times.user + times.system}


def _fit_nestmap(X: Any, rows: Any, job: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    from nestmap import HNNE

    model = HNNE(metric=job["metric"], n_jobs=N_JOBS, **job["options"]).fit(X)
    measured: dict[str, Any] = _since_start(job)
    measured |= {
        "n_rows": len(X),
        "n_columns": X.shape[1],
        "level_sizes": list(model.hierarchy_.level_sizes),
    }
    measured["reports"] = [_report(report) for report in model.hierarchy_.reports]
    if job["scored"]:
        np.save("map.npy", model.embedding_)  # in the folder of the job
    return measured, model.hierarchy_.links[0].ids[rows].astype(np.int64)


def _report(report: Any) -> dict[str, Any]:
    """How neighbours were found, all that the library says."""
    values = {k: v.item() if isinstance(v, np.generic) else v for k, v in asdict(report).items()}
    return {
        k: None if isinstance(v, float) and np.isnan(v) else v for k, v in values.items()
    }  # JSON has no NaN


def _warm_times(search: Callable[[Any], Any], X: Any) -> tuple[dict[str, Any], Any]:
    """The median time of a search in a process that has made one before."""
    search(X[:WARM_ROWS])
    runs: list[float] = []
    while len(runs) < REPEATS and sum(runs) < LONG:
        start = time.perf_counter()
        found = search(X)
        runs.append(time.perf_counter() - start)
    return {
        "seconds": float(np.median(runs)),
        "runs": runs,
        "n_rows": len(X),
        "n_columns": X.shape[1],
    }, found


def _search_nestmap(X: Any, rows: Any, job: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    from nestmap.method.neighbors import first_neighbors

    measured, found = _warm_times(
        lambda A: first_neighbors(A, job["metric"], n_jobs=N_JOBS, **job["options"]), X
    )
    return {**measured, "reports": [_report(found.report)]}, found.ids[rows]


def _search_pynndescent(X: Any, rows: Any, job: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    measured, found = _peer_graph(X, job)
    return measured, _others(found, rows)[:, 0]


def _peer_graph(X: Any, job: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """pynndescent's neighbours of all rows, most of them with the row itself in front."""
    from pynndescent import NNDescent

    def search(A: Any) -> Any:
        index = NNDescent(A, metric=job["metric"], n_jobs=N_JOBS, random_state=0, **job["options"])
        return index.neighbor_graph[0]

    return _warm_times(search, X)


def _others(found: Any, rows: Any) -> Any:
    """The neighbours of these rows without the rows themselves; where a row is not there, without
    the last.
    """
    chosen = found[rows].astype(np.int64)
    dropped = chosen == rows[:, None]
    dropped[~dropped.any(axis=1), -1] = True
    return chosen[~dropped].reshape(len(rows), -1)


TASKS = {
    ("fit", "nestmap"): _fit_nestmap,
    ("neighbors", "nestmap"): _search_nestmap,
    ("neighbors", "pynndescent"): _search_pynndescent,
}

if __name__ == "__main__":
    main()
