"""Runs measurements one after another, each in a process of its own; results append to one file.

A measurement that has a row with the same options is not made again, so a run that was stopped goes
on where it was.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.large.generate import RECIPES
from benchmarks.large.maps import score_map
from benchmarks.large.plan import PACKAGES, Job
from benchmarks.large.truth import cached_truth, recall
from benchmarks.runner import ENVIRONMENT_FOLDER, Results, install, last_line, machine, prepare

ROOT = Path(__file__).parents[2]
EVERY = 0.05  # seconds between two looks at a process's memory
PEERS = ("pynndescent",)
SETTLED = ("ok", "timeout", "out of memory")  # others are tried again


@dataclass(frozen=True)
class Setup:
    """Where things are and when to stop."""

    folder: Path
    pythons: dict[str, str]  # method -> interpreter
    seconds: float
    gigabytes: float


def interpreters(
    methods: set[str],
    nestmap: str,
    peers: str | None,
    say: Callable[[str], None],
) -> dict[str, str]:
    """The interpreter of each of these methods; makes the peers' environment if none is given."""
    if peers is None and methods & set(PEERS):
        why = install("hnne", say)
        if why is not None:
            say(f"pynndescent: {why}")
        peers = str(ENVIRONMENT_FOLDER / "hnne" / "bin" / "python")
    known = {"nestmap": nestmap, **dict.fromkeys(PEERS, peers)}
    return {method: python for method, python in known.items() if python is not None}


def run_jobs(jobs: Iterable[Job], setup: Setup, again: bool, say: Callable[[str], None]) -> None:
    """Every measurement that has no row yet, or all of them."""
    results = Results(setup.folder / "results.jsonl")
    for job in jobs:
        known = results.rows.get(job.key)
        if known and known["status"] in SETTLED and known["options"] == job.options and not again:
            continue
        say(f"{job.key} …")
        row = measure(job, setup)
        results.add(row)
        say("    " + summary(row))


def measure(job: Job, setup: Setup) -> dict[str, Any]:
    """One measurement as a row; what the method does wrong is part of it."""
    row: dict[str, Any] = {
        "key": job.key,
        **asdict(job),
        "machine": machine(),
        "date": time.strftime("%Y-%m-%d"),
    }
    path = data_path(setup.folder, job.data)
    X = np.load(path, mmap_mode="r")[: job.rows]
    if job.rows is not None and len(X) < job.rows:
        raise SystemExit(
            f"{job.key} needs {job.rows:,} rows, {path} has {len(X):,}; generate {job.data} again"
        )
    rows, distances = _truth(job, X, setup.folder)
    folder = setup.folder / "jobs" / job.key.replace(" ", "_")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    asked = {
        **asdict(job),
        "metric": job.metric,
        "path": str(path.resolve()),
        "sample_rows": rows.tolist(),
    }
    status, why, memory = _watch(asked, folder, setup)
    row |= {"status": status, **memory} | ({"why": why} if why else {})
    if status == "ok":
        row |= json.loads((folder / "result.json").read_text())
    ids = folder / "ids.npy"
    if status == "ok" and job.scored:
        row |= score_map(X, folder / "map.npy", job)
    if status == "ok" and ids.exists():
        row |= {
            "recall": recall(X, rows, np.load(ids), distances, job.metric),
            "recall_rows": len(rows),
        }
    return row


def data_path(folder: Path, name: str) -> Path:
    """The rows of a data set as an .npy file."""
    if name not in RECIPES:
        dataset = datasets.load(name)
        return Path(prepare(folder, name, dataset.X, dataset.metric, len(dataset.X))["rows"])
    path = folder / f"{name}.npy"
    if not path.exists():
        raise SystemExit(
            f"{path} is missing; make it by `python -m benchmarks.large generate {name}`"
        )
    return path


def _truth(job: Job, X: Any, folder: Path) -> tuple[Any, Any]:
    if not job.sample:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    name = job.data + (f"-{job.rows}" if job.rows else "")
    return cached_truth(folder / "truth" / f"{name}.npz", X, job.sample, job.metric)


def _import_once(python: str, package: str) -> None:
    """Untimed, so that what is measured does not include reading the package from a cold disk."""
    subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)


def _watch(asked: dict[str, Any], folder: Path, setup: Setup) -> tuple[str, str, dict[str, float]]:
    """Run the worker; status, reason, and the peaks of its memory."""
    python = setup.pythons[asked["method"]]
    _import_once(python, PACKAGES[asked["method"]])
    job, log = folder / "job.json", folder / "log.txt"
    start = time.monotonic()  # the same clock in every process
    job.write_text(json.dumps({**asked, "started": start}))
    with log.open("w") as file:
        command = [python, "-m", "benchmarks.large.worker", str(job.resolve())]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, cwd=folder)
        peaks = MemoryPeaks()
        try:
            code = _wait(process, peaks, start, setup)
        except _TooMuch as stop:
            return stop.status, stop.why, peaks.values
        finally:
            process.kill()
            process.wait()
    if code == -9:
        return "out of memory", "killed by the system", peaks.values
    return (
        ("failed", last_line(log.read_text()), peaks.values) if code else ("ok", "", peaks.values)
    )


class _TooMuch(Exception):
    """A process took longer or more memory than allowed."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


def _wait(process: subprocess.Popen[bytes], peaks: MemoryPeaks, start: float, setup: Setup) -> int:
    while (code := process.poll()) is None:
        peaks.look(process.pid)
        if time.monotonic() - start > setup.seconds:
            raise _TooMuch("timeout", f"stopped after {setup.seconds:.0f} s")
        if peaks.values["own_gigabytes"] > setup.gigabytes:
            raise _TooMuch("out of memory", f"stopped at {setup.gigabytes:.0f} GB")
        time.sleep(EVERY)
    return code


class MemoryPeaks:
    """The most memory a process was seen to hold (Linux; 0 elsewhere), in units of 1e9 bytes.

    `own` is what it allocated (RssAnon + RssShmem): pages of mapped files are the system's to drop.
    `resident` is everything (VmHWM, which the kernel keeps, so nothing is missed between two
    looks).
    """

    def __init__(self) -> None:
        self.values = {"own_gigabytes": 0.0, "resident_gigabytes": 0.0}

    def look(self, pid: int) -> None:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            return
        kilobytes = {
            k: int(v.split()[0])
            for k, v in (line.split(":", 1) for line in lines)
            if v.endswith(" kB")
        }
        own = kilobytes.get("RssAnon", 0) + kilobytes.get("RssShmem", 0)
        seen = {"own_gigabytes": own, "resident_gigabytes": kilobytes.get("VmHWM", 0)}
        self.values = {k: max(self.values[k], v * 1024 / 1e9) for k, v in seen.items()}


def summary(row: dict[str, Any]) -> str:
    """A row in words."""
    if row["status"] != "ok":
        return f"{row['status']}: {row['why']}"
    found = f", recall {row['recall']:.3f}" if "recall" in row else ""
    found += f", trustworthiness {row['trustworthiness']:.4f}" if "trustworthiness" in row else ""
    return f"{row['seconds']:.2f} s, {row['own_gigabytes']:.2f} GB of its own{found}"
