"""Faults of fits on a cluster: workers killed in each phase, lost, out of memory; clusters that go
away.
"""

# ruff: noqa: F401, F811 (fixtures)

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT
from workers import (
    OPTIONS,
    PAPER,
    ROWS,
    alone,
    alone_as_paper,
    approximate,
    client,
    clusters,
    distributed,
    parts,
    pointers,
    same,
)

from nestmap import HNNE, MemoryBudgetError
from nestmap.distributed import fit, leaf_places, level_search, merge, phases

da = pytest.importorskip("dask.array")


def _held(dask_scheduler: Any) -> list[str]:
    return [str(key) for key in dask_scheduler.tasks if "nestmap" in str(key)]


def _kill_once(flag: str) -> None:
    """Kill this worker, the first time."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly:
    """A task that kills its worker, the first time that one of its kind runs."""

    def __init__(self, task: Any, flag: Path) -> None:
        self.task, self.flag, self.__name__ = task, str(flag), task.__name__

    def __call__(self, *arguments: Any) -> Any:
        result = self.task(*arguments)
        _kill_once(self.flag)  # with all files written, and no result
        return result


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, task",
    [
        (fit, "check_chunk"),
        (level_search, "sort_block"),
        (level_search, "spread_block"),
        (level_search, "join_part"),
        (level_search, "ask_part"),
        (leaf_places, "project_block"),
        (leaf_places, "place_leaves"),
    ],
)
def test_killed_workers(
    client: Any,
    parts: None,
    alone: HNNE,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    task: str,
) -> None:
    monkeypatch.setattr(module, task, Deadly(getattr(module, task), tmp_path / "killed"))
    same(HNNE(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10))), alone)
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
@pytest.mark.parametrize("task", ["link_part", "jump_part", "root_part", "mean_part"])
def test_killed_workers_while_clusters_are_joined(
    client: Any,
    pointers: None,
    alone: HNNE,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    task: str,
) -> None:
    monkeypatch.setattr(merge, task, Deadly(getattr(merge, task), tmp_path / "killed"))
    same(HNNE(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10))), alone)
    assert (tmp_path / "killed").exists()


@pytest.mark.slow
@pytest.mark.parametrize("task", ["sort_block", "spread_block", "join_part"])
def test_killed_workers_in_an_approximate_search(
    client: Any, approximate: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    X, options = (
        da.from_array(approximate, chunks=(5000, 6)),
        {"neighbors": "approximate", **OPTIONS},
    )
    undisturbed = HNNE(**options).fit(X)
    monkeypatch.setattr(
        level_search, task, Deadly(getattr(level_search, task), tmp_path / "killed")
    )
    same(HNNE(**options).fit(X), undisturbed)
    assert (tmp_path / "killed").exists()


def _fatal(*arguments: Any) -> None:
    os.kill(
        os.getpid(), signal.SIGKILL
    )  # as the system does to a process that takes too much memory


def _allow_failures(n: int, dask_scheduler: Any) -> int:
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, n
    return int(before)


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, task, told",
    [
        (fit, "check_chunk", r"phase 'check'.*has 500 rows.*X\.rechunk\(\{0: 250\}\)"),
        (level_search, "join_part", r"phase 'join'.*max_memory="),
        (leaf_places, "place_leaves", r"phase 'place'.*max_memory="),
    ],
)
def test_workers_that_always_die(
    client: Any, parts: None, monkeypatch: pytest.MonkeyPatch, module: Any, task: str, told: str
) -> None:
    monkeypatch.setattr(module, task, _fatal)
    before = client.run_on_scheduler(_allow_failures, 0)
    try:
        with pytest.raises(MemoryBudgetError, match=told):
            HNNE(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)))
    finally:
        client.run_on_scheduler(_allow_failures, before)


class Processes:
    """A scheduler and workers that nobody starts again when they die."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file, self.started = folder, str(folder / "scheduler.json"), []
        self._start("scheduler", "--port", "0")

    def _start(self, name: str, *more: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *more]
        self.started.append(
            subprocess.Popen(
                [*command, "--no-dashboard", "--scheduler-file", self.file],
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},  # tasks of tests
                stderr=subprocess.DEVNULL,
                cwd=self.folder,
            )
        )

    def start_worker(self) -> None:
        self._start("worker", "--nthreads", "1", "--no-nanny", "--memory-limit", "1GiB")

    def kill(self) -> None:
        for process in self.started:
            process.kill()
            process.wait(timeout=LIMIT)

    def client(self) -> Any:
        return distributed.Client(scheduler_file=self.file, set_as_default=False, timeout=240)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    started.start_worker()
    yield started
    started.kill()


@pytest.mark.slow
def test_workers_that_are_lost_for_good(
    processes: Processes, parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(level_search, "join_part", _fatal)
    with processes.client() as client, client.as_current():
        client.wait_for_workers(1, timeout=240)
        monkeypatch.setattr(phases, "_SECONDS_WITHOUT_WORKERS", 1.0)
        with pytest.raises(
            RuntimeError, match=r"phase 'join'.*no workers for 1 seconds.*lost-worker-timeout"
        ):
            HNNE(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)))


@pytest.mark.slow
def test_a_cluster_without_workers_for_a_while(
    processes: Processes, parts: None, alone: HNNE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        level_search, "join_part", Deadly(level_search.join_part, tmp_path / "killed")
    )
    monkeypatch.setattr(phases, "_SECONDS_BETWEEN_LOOKS", 0.1)
    nthreads, n_started = distributed.Client.nthreads, [1]

    def look(client: Any) -> Any:
        found = nthreads(client)
        if not found and n_started == [1]:
            n_started.append(1)
            processes.start_worker()
        return found

    with processes.client() as client, client.as_current():
        client.wait_for_workers(1, timeout=240)
        monkeypatch.setattr(distributed.Client, "nthreads", look)
        same(HNNE(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10))), alone)
    assert (tmp_path / "killed").exists() and n_started == [1, 1]


def test_what_to_do_about_large_chunks() -> None:
    assert phases.chunk_advice(900, 40, None).startswith(
        "the largest chunk has 900 rows, 36 kB: use X.rechunk({0: 450})"
    )
    assert "rechunk({0: 12})" in phases.chunk_advice(900, 1000, 100_000)


@pytest.mark.slow
def test_nothing_is_left_behind(
    client: Any, parts: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    HNNE(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)))

    def fail(event: Any) -> None:
        if "across" in event.stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HNNE(callback=fail, **OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)))
    assert [*tmp_path.iterdir()] == []
    deadline = time.monotonic() + 30  # a task that runs is not interrupted
    while held := client.run_on_scheduler(_held):
        assert time.monotonic() < deadline, held
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, stage, fixture",
    [(OPTIONS, "communities", "alone"), (PAPER, "level 1", "alone_as_paper")],
)
def test_work_dir_resumes(
    client: Any, parts: None, request: Any, tmp_path: Path, options: Any, stage: str, fixture: str
) -> None:
    X, stages, alone = da.from_array(ROWS, chunks=(500, 10)), [], request.getfixturevalue(fixture)

    def fail(event: Any) -> None:
        if event.stage.startswith(stage):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HNNE(work_dir=tmp_path / "work", callback=fail, **options).fit(X)
    model = HNNE(
        work_dir=tmp_path / "work", callback=lambda event: stages.append(event.stage), **options
    ).fit(X)
    same(model, alone)
    assert not [stage for stage in stages if stage.startswith("level 0")]  # was found
    same(
        HNNE(work_dir=tmp_path / "work", **options).fit(ROWS), alone
    )  # one machine goes on from it, too
    assert not [*(tmp_path / "work").glob("cluster*")]


@pytest.mark.slow
def test_work_dir_resumes_after_the_whole_cluster_died(
    processes: Processes, client: Any, parts: None, alone: HNNE, tmp_path: Path
) -> None:
    X, stages = da.from_array(ROWS, chunks=(500, 10)), []

    def kill(event: Any) -> None:
        if event.stage.startswith("level 1: first neighbours"):
            processes.kill()

    with processes.client() as other, other.as_current():
        other.wait_for_workers(1, timeout=240)
        with pytest.raises(Exception, match="lost the connection to the scheduler"):
            HNNE(work_dir=tmp_path / "work", callback=kill, **PAPER).fit(X)
    # any fit goes on from the leaves, whatever is above them
    same(
        HNNE(
            work_dir=tmp_path / "work", callback=lambda event: stages.append(event.stage), **OPTIONS
        ).fit(X),
        alone,
    )
    assert not [stage for stage in stages if stage.startswith("level 0")]  # was found
    assert not [*(tmp_path / "work").glob("cluster*")]


class Slow:
    """A task that takes its time, and says when the first one has begun."""

    def __init__(self, task: Any, flag: Path) -> None:
        self.task, self.flag, self.__name__ = task, str(flag), task.__name__

    def __call__(self, *arguments: Any) -> Any:
        Path(self.flag).touch()
        time.sleep(0.3)
        return self.task(*arguments)


def fit_slowly(scheduler: str, folder: Path) -> None:
    """What a client does that will be killed."""
    fit.PART_BYTES, level_search.BLOCK_BYTES = 180_000, 40_000
    level_search.join_part = Slow(level_search.join_part, folder / "begun")  # type: ignore[assignment]
    with distributed.Client(scheduler_file=scheduler):
        HNNE(work_dir=folder / "work", **OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)))


def _busy(dask_scheduler: Any) -> list[str]:
    """Tasks that are held, and workers that have some to run."""
    busy = [address for address, worker in dask_scheduler.workers.items() if worker.processing]
    return _held(dask_scheduler) + busy


def _sizes(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_client_that_is_killed(
    processes: Processes, parts: None, alone: HNNE, tmp_path: Path
) -> None:
    code = (
        "import sys, test_distributed_faults as t; t.fit_slowly(sys.argv[1], t.Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, processes.file, str(tmp_path)]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    with processes.client() as watcher:
        watcher.wait_for_workers(1, timeout=240)
        doomed = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
        deadline = time.monotonic() + 240
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < deadline and doomed.poll() is None
            time.sleep(0.05)
        assert watcher.run_on_scheduler(_busy)
        doomed.kill()
        doomed.wait(timeout=LIMIT)
        deadline = time.monotonic() + 60  # the task that runs ends
        while held := watcher.run_on_scheduler(_busy):
            assert time.monotonic() < deadline, held
            time.sleep(0.05)
        left = _sizes(tmp_path / "work")
        assert any("cluster" in name for name in left)
        time.sleep(1.0)
        assert (
            not watcher.run_on_scheduler(_busy) and _sizes(tmp_path / "work") == left
        )  # nothing grows
        with watcher.as_current():
            same(
                HNNE(work_dir=tmp_path / "work", **OPTIONS).fit(
                    da.from_array(ROWS, chunks=(500, 10))
                ),
                alone,
            )
    assert not [*(tmp_path / "work").glob("cluster*")]


@pytest.mark.slow
def test_folders_that_workers_do_not_see(
    client: Any, parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "sees", lambda folder, token: False)
    with pytest.raises(ValueError, match=r"work_dir: 2 workers.*share"):
        HNNE(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)))
