"""A cost model of fits on a cluster: seconds per row and byte of each phase, from measured runs.

Phases of workers are shared by all of them; what the client does is not. Two numbers per phase, by least squares that
are not negative: seconds per row, and per byte of a row. `ask` and `join` of approximate searches are linear in
the rows, too, since parts have one size. The scheduler takes a millisecond per task (dask's own figure).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from scipy.optimize import nnls

TASK_SECONDS = 0.001
BLOCK_BYTES, PART_BYTES, CHUNK_BYTES = 32_000_000, 600_000_000, 64_000_000
TARGETS, WORKERS = ((100_000_000, 768, 4), (1_000_000_000, 768, 4)), (16, 64, 256)
BY_WORKERS = ("check", "sort", "spread", "join", "ask")
_NAMES = (
    ("reading", "check"), ("sorting", "sort"), ("dividing", "spread"), ("neighbours in ", "join"), ("across", "ask"),
    ("islands", "islands"), ("nodes", "upper levels"),
)  # fmt: skip


def phase_of(stage: str) -> str:
    """The phase of a stage that progress tells."""
    return next((phase for text, phase in _NAMES if text in stage), "layout")


def phases_of(run: dict[str, Any]) -> dict[str, float]:
    """Seconds per phase of a run."""
    found: dict[str, float] = defaultdict(float)
    for stage, seconds in run["stages"].items():
        found[phase_of(stage)] += seconds
    return dict(found)


def features(run: dict[str, Any]) -> np.ndarray:
    """What a phase may be linear in: rows, and bytes of them."""
    return np.array([run["n_rows"], run["n_rows"] * run["row_bytes"]], dtype=float)


def fit_model(runs: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Seconds per row and per byte of each phase, with one worker."""
    model = {}
    for phase in sorted({phase for run in runs for phase in phases_of(run)}):
        X = np.array([features(run) for run in runs])
        y = np.array([phases_of(run).get(phase, 0.0) * _share(phase, run["workers"]) for run in runs])
        size = X.max(axis=0)
        model[phase] = nnls(X / size, y)[0] / size
    return model


def _share(phase: str, workers: int) -> int:
    return workers if phase in BY_WORKERS else 1


def predict(model: dict[str, np.ndarray], run: dict[str, Any]) -> dict[str, float]:
    """Seconds per phase."""
    return {phase: float(each @ features(run)) / _share(phase, run["workers"]) for phase, each in model.items()}


def compare(records: list[dict[str, Any]]) -> None:
    """Print each run on workers beside that of one machine: time, memory, bytes, and if the bits are the same."""
    alone = {(run["data"], run["method"]): run for run in records if run["workers"] == 0}
    for run in records:
        own = alone.get((run["data"], run["method"]))
        if run["workers"] == 0 or own is None:
            continue
        same = all(run[name] == own[name] for name in ("tree", "map"))
        shuffled = run["shuffled"].get("times_reduced_rows", float("nan"))
        print(
            f"{run['data']:20} {run['method']:12} {run['workers']} workers {run['seconds']:7.1f} s, one machine "
            f"{own['seconds']:7.1f} s ({run['seconds'] / own['seconds']:.2f} x); same bits: {same}; recall "
            f"{run['recall']:.3f} and {own['recall']:.3f}; largest worker {max(run['peaks'].values()) / 1e9:.2f} GB; "
            f"shuffled {shuffled:.2f} x the reduced rows"
        )


def tell(records: list[dict[str, Any]], unseen: list[str]) -> None:
    """Fit, check and print."""
    compare(records)
    runs = [run for run in records if run["workers"] and run["tasks"]]
    for run in runs:
        run["row_bytes"] = run["n_columns"] * (1 if run["data"].startswith("deformed") else 4)
    known, new = ([r for r in runs if (r["data"] in unseen) == which] for which in (False, True))
    model = fit_model(known)
    print("phase            s per million rows   s per GB of rows   (one worker, or the client)")
    for phase, (per_row, per_byte) in model.items():
        print(f"{phase:16} {1e6 * per_row:18.2f} {1e9 * per_byte:18.2f}")
    for run in runs:
        guess = sum(predict(model, run).values())
        told = "unseen" if run in new else "known"
        print(f"{run['data']:20} {run['workers']} workers {run['seconds']:8.1f} s, model {guess:8.1f} s "
              f"({100 * (guess / run['seconds'] - 1):+.0f}%, {told})")  # fmt: skip
    for n, width, itemsize in TARGETS:
        for workers in WORKERS:
            run = {"n_rows": n, "row_bytes": width * itemsize, "workers": workers}
            seconds = predict(model, run)
            size = n * width * itemsize
            n_tasks = size / CHUNK_BYTES + 2 * size / BLOCK_BYTES + 2 * n * (width * itemsize + 1500) / PART_BYTES
            own = sum(value for phase, value in seconds.items() if phase not in BY_WORKERS)
            total = sum(seconds.values()) + TASK_SECONDS * n_tasks
            print(f"{n:>13,} x {width} on {workers:3} workers: {total / 3600:7.2f} h, the client {own / 3600:.2f} h; "
                  f"{n_tasks:,.0f} tasks ({TASK_SECONDS * n_tasks:.0f} s of the scheduler), {6 * size / 1e12:.1f} TB "
                  f"through the shared folder, {60 * n / 1e9:.0f} GB in the client")  # fmt: skip
