"""One method on one data set in one fresh process, started by `runner` with the method's own
interpreter.

python worker.py JOB.json: reads the job, writes its maps as .npy files beside it, and rewrites
RESULT.json after every step, so that a worker that is stopped half-way leaves what it has measured.
Needs only NumPy and the method.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from methods import METHODS, kept_rows  # beside this file


class Record:
    """What is known so far, on disk after every step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[str, Any] = {}

    def add(self, **values: Any) -> None:
        self.values |= values
        temporary = self.path.with_suffix(".part")
        temporary.write_text(json.dumps(self.values))
        temporary.replace(self.path)

    def timed(self, name: str, function: Callable[[], Any]) -> Any:
        """Wall-clock seconds of a step, and the seconds that all threads worked."""
        start, worked = time.perf_counter(), _worked()
        value = function()
        seconds = time.perf_counter() - start
        self.add(**{name: seconds, f"{name}_cpu": _worked() - worked})
        return value


def _worked() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak() -> float:
    """Megabytes at the peak of this program; on Linux ru_maxrss knows that of the one which started
    it, too.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return float(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    path = Path(sys.argv[1])
    job = json.loads(path.read_text())
    record = Record(path.with_name("result.json"))
    method = METHODS[job["method"]]
    X = np.load(job["rows"], mmap_mode=None)
    record.add(data_megabytes=X.nbytes / 2**20, megabytes_before=_peak())
    factory = record.timed("import", method.make)
    record.add(version=version(method.package), python=sys.version.split()[0])

    def new_model() -> Any:
        return factory(job["n_components"], job["metric"], job["options"])

    if job["task"] == "part":
        X = X[kept_rows(len(X), job["draw"])]
    if job["task"] == "new":
        _place(job, record, X, new_model, path.parent)
    else:
        _map(job, record, X, new_model, path.parent)


def _map(
    job: dict[str, Any], record: Record, X: Any, new_model: Callable[[], Any], folder: Path
) -> None:
    Y = record.timed("first_fit", lambda: new_model().fit_transform(X))
    record.add(megabytes=_peak())
    _save(folder / "map.npy", Y)
    if job["second_fit"]:
        record.timed("second_fit", lambda: new_model().fit_transform(X))


def _place(
    job: dict[str, Any], record: Record, X: Any, new_model: Callable[[], Any], folder: Path
) -> None:
    known, new = X[: job["n_train"]], X[job["n_train"] :]
    model = new_model()
    train = record.timed("first_fit", lambda: model.fit_transform(known))
    _save(folder / "train.npy", train)
    placed = record.timed("transform", lambda: model.transform(new))
    record.add(megabytes=_peak())
    _save(folder / "placed.npy", placed)
    record.timed("transform_again", lambda: model.transform(new))
    singles = []
    for i in range(10):
        start = time.perf_counter()
        model.transform(new[i : i + 1])
        singles.append(time.perf_counter() - start)
    record.add(transform_one=float(np.median(singles)))


def _save(path: Path, Y: Any) -> None:
    temporary = path.with_suffix(".part.npy")
    np.save(temporary, np.ascontiguousarray(Y))
    temporary.replace(path)  # whoever waits for the map may end this process as soon as it is there


if __name__ == "__main__":
    main()
