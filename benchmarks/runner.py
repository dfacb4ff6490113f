"""Runs jobs one after another, each in its own process and environment; results append to one file.

A job that takes too long or too much memory is stopped and becomes a row that says so. A job that
has a row is not run again, so an interrupted comparison goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.methods import ENVIRONMENTS, METHODS

HERE = Path(__file__).parent
ENVIRONMENT_FOLDER = HERE.parent / ".venv-bench"


@dataclass(frozen=True)
class Job:
    """What is asked of one process."""

    data: str
    method: str
    # or "new": fit on the training rows, place the others; "part": fit on 99% of the rows
    task: str = "map"
    n_components: int = 2
    options: dict[str, Any] = field(default_factory=dict)
    draw: int = 0  # of the rows that a "part" leaves out

    @property
    def key(self) -> str:
        options = ",".join(f"{k}={v}" for k, v in sorted(self.options.items()))
        draw = f"draw{self.draw}" if self.draw else ""
        parts = [self.data, self.method, self.task, f"{self.n_components}d", options, draw]
        return " ".join(p for p in parts if p)

    @property
    def repeats(self) -> bool:
        """Whether a second fit is timed: for the run-time table only."""
        return self.task == "map" and self.n_components == 2 and not self.options

    @property
    def folder_name(self) -> str:
        return "".join(c if c.isalnum() or c in "-._=" else "_" for c in self.key)


@dataclass(frozen=True)
class Limits:
    """When a job is stopped."""

    seconds: float
    megabytes: float
    second_fit_below: float  # a first fit longer than this is not repeated


class Results:
    """An append-only file of JSON lines; the last line of a key counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:  # the last line of a run that was killed while writing
                    continue
                self.rows[row["key"]] = row

    def add(self, row: dict[str, Any]) -> None:
        self.rows[row["key"]] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if file.tell() and self._last_byte() != b"\n":  # after a torn line, start a new one
                file.write(b"\n")
            file.write(json.dumps(row).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _last_byte(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1)


def install(environment: str, say: Callable[[str], None]) -> str | None:
    """Make the environment if it is missing or out of date; returns why not, or None."""
    folder = ENVIRONMENT_FOLDER / environment
    requirement = ENVIRONMENTS[environment]
    stamp, wanted = folder / "installed", _fingerprint(requirement)
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    say(f"installing {requirement} into {folder}")
    targets = [str(HERE.parent)] if requirement == "." else requirement.split()
    pip = [str(folder / "bin" / "python"), "-m", "pip"]
    commands = [[sys.executable, "-m", "venv", str(folder)]]
    if requirement == ".":  # the same version may be other code; built once, it takes minutes
        commands.append([*pip, "uninstall", "--quiet", "--yes", "nestmap"])
    for command in (*commands, [*pip, "install", "--quiet", *targets]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"not installed: {last_line(done.stderr)}"
    stamp.write_text(wanted)
    return None


def _warm(method: str) -> str | None:
    """Import the method once, untimed: what is measured later does not include reading cold files."""
    python = ENVIRONMENT_FOLDER / METHODS[method].environment / "bin" / "python"
    code = f"from methods import METHODS; METHODS[{method!r}].make()"
    done = subprocess.run(
        [str(python), "-c", code], cwd=HERE, capture_output=True, text=True, check=False
    )
    return f"cannot be imported: {last_line(done.stderr)}" if done.returncode else None


def _fingerprint(requirement: str) -> str:
    if requirement != ".":
        return requirement
    digest = hashlib.sha256()
    root = HERE.parent
    for path in sorted([root / "pyproject.toml", *root.glob("cpp/*"), *root.glob("src/**/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run_job(job: Job, source: dict[str, Any], work: Path, limits: Limits) -> dict[str, Any]:
    """Run one job and describe what came of it; never raises for what the method does."""
    method = METHODS[job.method]
    row: dict[str, Any] = {"key": job.key, **asdict(job), "machine": machine()}
    if source["metric"] not in method.metrics:
        return row | {"status": "unsupported", "why": f"no {source['metric']} metric"}
    folder = work / "jobs" / job.folder_name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    description = asdict(job) | source | {"second_fit": job.repeats}
    (folder / "job.json").write_text(json.dumps(description))
    python = ENVIRONMENT_FOLDER / method.environment / "bin" / "python"
    status, why = _watch(
        [str(python), str(HERE / "worker.py"), str(folder / "job.json")], folder, limits
    )
    found = folder / "result.json"
    if found.exists():
        row |= json.loads(found.read_text())
    if status != "ok" and _has_map(folder, job):
        status, why = "ok", f"second fit not measured: {why}"
    row |= {"status": status, "folder": folder.name}
    return row | ({"why": why} if why else {})


def _has_map(folder: Path, job: Job) -> bool:
    return (folder / ("placed.npy" if job.task == "new" else "map.npy")).exists()


def _watch(command: list[str], folder: Path, limits: Limits) -> tuple[str, str]:
    with (folder / "log.txt").open("w") as log:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        start = time.monotonic()
        try:
            while (code := process.poll()) is None:
                time.sleep(0.2)
                if time.monotonic() - start > limits.seconds:
                    return "timeout", f"stopped after {limits.seconds:.0f} s"
                if resident_megabytes(process.pid) > limits.megabytes:
                    return "out of memory", f"stopped at {limits.megabytes / 1024:.0f} GB"
                if _second_fit_too_long(folder, limits):
                    return "skipped", f"the first took over {limits.second_fit_below:.0f} s"
        finally:
            process.kill()
            process.wait()
    if code == 0:
        return "ok", ""
    if code == -9:
        return "out of memory", "killed by the system"
    return "failed", last_line((folder / "log.txt").read_text())


def _second_fit_too_long(folder: Path, limits: Limits) -> bool:
    found = folder / "result.json"
    if not found.exists() or not (folder / "map.npy").exists():
        return False
    return bool(json.loads(found.read_text()).get("first_fit", 0) > limits.second_fit_below)


def resident_megabytes(pid: int) -> float:
    """Memory in use by a process now (Linux; 0 elsewhere: then there is no limit)."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def machine() -> str:
    """One line about this computer."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def run_all(
    jobs: Iterable[Job],
    sources: dict[str, dict[str, Any]],
    results: Results,
    work: Path,
    limits: Limits,
    *,
    again: tuple[str, ...] = (),
    say: Callable[[str], None] = print,
) -> None:
    """Every job that has no row yet, or whose method is to be run again."""
    jobs = list(jobs)
    blocked: dict[str, str | None] = {}
    for i, job in enumerate(jobs):
        known = results.rows.get(job.key, {"status": "not installed"})
        if known["status"] != "not installed" and job.method not in again:
            continue
        environment = METHODS[job.method].environment
        if environment not in blocked:
            blocked[environment] = install(environment, say) or _warm(job.method)
        say(f"[{i + 1}/{len(jobs)}] {job.key} …")
        if (why := blocked[environment]) is not None:
            row = {"key": job.key, **asdict(job), "status": "not installed", "why": why}
        else:
            row = run_job(job, sources[job.data], work, limits)
        results.add(row)
        say(f"    {summary(row)}")


def summary(row: dict[str, Any]) -> str:
    """A row in words."""
    times = [
        f"{k.replace('_', ' ')} {row[k]:.2f} s"
        for k in ("import", "first_fit", "second_fit", "transform")
        if k in row
    ]
    return ", ".join([row["status"], *times, *([row["why"]] if "why" in row else [])])


def prepare(work: Path, name: str, X: Any, metric: str, n_train: int) -> dict[str, Any]:
    """The rows as every worker gets them: one float32 .npy file."""
    path = work / "data" / f"{name}.npy"
    rows = np.ascontiguousarray(X, dtype=np.float32)
    if not path.exists() or not np.array_equal(
        np.load(path, mmap_mode="r"), rows
    ):  # or other data of this name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".part.npy")
        np.save(temporary, rows)
        temporary.replace(path)
    return {"rows": str(path.resolve()), "metric": metric, "n_train": n_train}
