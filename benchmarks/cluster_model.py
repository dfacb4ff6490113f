"""A cost model of fits on a cluster: seconds per row and byte of each phase, from measured runs.

Phases of workers are shared by all of them; what the client does is not. Two numbers per phase, by
least squares that are not negative: seconds per row, and per byte of a row. That holds for
approximate searches, which are linear in the rows, since parts have one size. What the scheduler
takes per task is measured by tasks that do nothing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from scipy.optimize import nnls

from nestmap.distributed.division import MOST_CELLS, SPARE, number_of_parts, per_row
from nestmap.distributed.fit import FIXED, PART_BYTES
from nestmap.distributed.merge import PER_ITEM, ROUNDS
from nestmap.distributed.store import BLOCK_BYTES

CHUNK_BYTES = 64_000_000
TARGETS, WORKERS = ((100_000_000, 768), (1_000_000_000, 768)), (16, 64, 256)  # float32
BY_WORKERS = (
    "check",
    "sort",
    "spread",
    "join",
    "ask",
    "link",
    "jump",
    "root",
    "mean",
    "project",
    "place",
)
_NAMES = (
    ("reading", "check"),
    ("sorting", "sort"),
    ("dividing", "spread"),
    ("first neighbours in ", "join"),
    ("across", "ask"),
    ("links of", "link"),
    ("pointers", "jump"),
    ("clusters of", "root"),
    ("items", "mean"),
    ("coordinates of", "project"),
    ("places of", "place"),
    ("islands", "islands"),
    ("nodes", "upper levels"),
)
Run = dict[str, Any]


def phase_of(stage: str) -> str:
    """The phase of a stage that progress tells."""
    return next((phase for text, phase in _NAMES if text in stage), "layout")


def phases_of(run: Run) -> dict[str, float]:
    """Seconds per phase of a run; what no stage tells of is the client's."""
    found: dict[str, float] = defaultdict(float)
    for stage, seconds in run["stages"].items():
        found[phase_of(stage)] += seconds
    found["between stages"] = max(0.0, run["seconds"] - sum(found.values()))
    return dict(found)


def features(run: Run) -> np.ndarray:
    """What a phase may be linear in: rows, and bytes of them."""
    return np.array([run["n_rows"], run["n_rows"] * run["row_bytes"]], dtype=float)


def fit_model(runs: list[Run]) -> dict[str, np.ndarray]:
    """Seconds per row and per byte of each phase, with one worker, by relative errors: small runs
    count, too.
    """
    X = np.array([features(run) for run in runs])
    weights = 1 / np.array([run["seconds"] for run in runs])
    model = {}
    for phase in sorted({phase for run in runs for phase in phases_of(run)}):
        y = np.array(
            [phases_of(run).get(phase, 0.0) * _share(phase, run["workers"]) for run in runs]
        )
        size = X.max(axis=0)
        model[phase] = nnls(X / size * weights[:, None], y * weights)[0] / size
    return model


def _share(phase: str, workers: int) -> int:
    return workers if phase in BY_WORKERS else 1


def predict(model: dict[str, np.ndarray], run: Run) -> dict[str, float]:
    """Seconds per phase."""
    return {
        phase: float(each @ features(run)) / _share(phase, run["workers"])
        for phase, each in model.items()
    }


def compare(records: list[Run]) -> None:
    """Print each run on workers beside that of one machine: time, memory, bytes, and if the bits
    are the same.
    """
    alone = {(run["data"], run["method"]): run for run in records if run["workers"] == 0}
    for run in records:
        if not run["workers"]:
            continue
        print(
            f"{run['data']:18} {run['method']:11} {run['workers']} workers {run['seconds']:7.1f} s "
            f"({run['cpu_seconds']:.0f} of CPU), recall {run['recall']:.3f}, "
            f"largest worker {max(run['peaks'].values()) / 1e9:.2f} GB, client "
            f"{run['client_peak'] / 1e9:.2f} GB, "
            f"shuffled {run.get('shuffled', {}).get('times_reduced_rows', float('nan')):.2f} x "
            "the reduced rows"
        )
        own = alone.get((run["data"], run["method"]))
        if own is not None:
            same = all(run[name] == own[name] for name in ("tree", "map"))
            print(
                f"{'':18} one machine           {own['seconds']:7.1f} s ({own['cpu_seconds']:.0f} "
                "of CPU), recall "
                f"{own['recall']:.3f}: {run['seconds'] / own['seconds']:.2f} x the time, same "
                f"bits: {same}"
            )


def tell(records: list[Run], unseen: list[str]) -> None:
    """Fit, check and print."""
    compare(records)
    runs = [run for run in records if run["tasks"] and run["method"] == "approximate"]
    known = [run for run in runs if run["data"] not in unseen]
    if len({run["row_bytes"] for run in known}) < 2:
        return print(
            "for the model there must be approximate runs of rows of two sizes, such as higgs and "
            "deformed"
        )
    model = fit_model(known)
    print("\nphase            s per million rows   s per GB of rows   (one worker, or the client)")
    for phase, (by_row, by_byte) in model.items():
        print(f"{phase:16} {1e6 * by_row:18.2f} {1e9 * by_byte:18.2f}")
    for run in runs:
        guess = sum(predict(model, run).values())
        told = "unseen" if run["data"] in unseen else "known"
        print(
            f"{run['data']:18} {run['workers']} workers {run['seconds']:8.1f} s, model "
            f"{guess:8.1f} s "
            f"({100 * (guess / run['seconds'] - 1):+.0f}%, {told})"
        )
    per_task = float(np.median([run["task_seconds"] for run in runs]))
    in_client = client_bytes(known)
    members = float(np.mean([run["shuffled"]["times_rows"] for run in known]))
    print(
        f"\na task: {1000 * per_task:.1f} ms of the scheduler; the client: {in_client[0]:.0f} "
        "bytes per row and "
        f"{in_client[1]:.2f} per byte; rows are "
        f"members of {members:.2f} parts"
    )
    for n, width in TARGETS:
        foretell(model, n, width, per_task, in_client, members)


def client_bytes(runs: list[Run]) -> np.ndarray:
    """Memory of the client per row and per byte of a row, beside what it takes for none."""
    X = np.array([[1e6, *features(run)] for run in runs])
    size = X.max(axis=0)
    found = nnls(X / size, np.array([run["client_peak"] for run in runs], dtype=float))[0] / size
    return np.asarray(found[1:])


def foretell(
    model: dict[str, np.ndarray],
    n: int,
    width: int,
    per_task: float,
    in_client: np.ndarray,
    members: float,
) -> None:
    """Print what n rows of float32 would take, and for how many there can be enough parts."""
    size, each = 4 * n * width, per_row(n, width, np.float32, "approximate")
    n_parts = number_of_parts(n, each, PART_BYTES, "approximate")
    n_tasks = size / CHUNK_BYTES + 4 * size / BLOCK_BYTES + n_parts
    moved = (
        1 + 1 + 1 + 2 * members + 1 + 1
    ) * size  # written, sorted, spread, joined, projected, placed
    if PER_ITEM * n > PART_BYTES:
        n_tasks += (3 + ROUNDS) * n_parts
        moved += size + size / 6 + n * (32 + 72 * ROUNDS + 40)  # rows, centroids, pointers
    held = in_client @ features({"n_rows": n, "row_bytes": 4 * width})
    for workers in WORKERS:
        seconds = predict(model, {"n_rows": n, "row_bytes": 4 * width, "workers": workers})
        own = sum(value for phase, value in seconds.items() if phase not in BY_WORKERS)
        total = sum(seconds.values()) + per_task * n_tasks
        print(
            f"{n:>13,} x {width} on {workers:3} workers: {total / 3600:6.2f} h, the client "
            f"{own / 3600:.2f} h of it; "
            f"{n_tasks:,.0f} tasks ({per_task * n_tasks:.0f} s of the scheduler); "
            f"{moved / 1e12:.1f} TB through the "
            f"shared folder; {held / 1e9:.0f} GB in the client"
        )
    most, needed = n * MOST_CELLS / n_parts, PART_BYTES * max(1.0, n_parts / MOST_CELLS)
    print(
        f"{'':13} {n_parts:,} parts, and there can be {MOST_CELLS:,}, enough for {most / 1e6:.0f} "
        "million such rows "
        f"by default; {n / 1e6:.0f} million need max_memory of "
        f"{(SPARE * needed + FIXED) / 1e9:.1f} GB"
    )
