"""Phases of a fit on a cluster: tasks with readable names, progress, errors that say what to do."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from .._version import __version__
from ..core.input.memory import format_size
from ..core.input.scratch import default_folder
from ..core.progress import Progress
from ..core.work.directory import CLUSTER
from ..core.work.lock import take_lock
from ..errors import MemoryBudgetError
from .inputs import import_distributed
from .tasks import sees, survey

ADVICE = "give a smaller max_memory=, the bytes that a task may take, or workers more memory"
# seconds between two looks at results, and at workers if there are none
_SECONDS_BETWEEN_RESULTS = 0.01
_SECONDS_BETWEEN_LOOKS = 5.0
# seconds that a fit waits for workers: clusters that grow and shrink may have none for a while
_SECONDS_WITHOUT_WORKERS = 300.0


class Phases:
    """Runs the tasks of one fit on a client's workers; counts tasks, and bytes read and written."""

    def __init__(self, client: Any, progress: Progress) -> None:
        self.client = client
        self.progress = progress
        self.distributed = import_distributed()
        self.token = uuid4().hex
        self.tasks: dict[str, int] = {}
        self.moved: dict[str, int] = {}  # bytes
        self.shuffled = 0  # bytes of rows that were given to a part, or asked one
        self.worker_memory = self._survey()

    def _survey(self) -> int | None:
        """Bytes that the smallest worker may use per thread; None if no worker has a limit."""
        if not self.client.nthreads():
            self.client.wait_for_workers(1, timeout=60)
        try:
            found = self._ask_workers(survey)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"workers need nestmap {__version__}, as this process: "
                f"pip install nestmap=={__version__} where they run, "
                f"or client.register_plugin(distributed.PipInstall(['nestmap=={__version__}'])) "
                f"({error})"
            ) from error
        others = sorted({worker.version for worker in found.values()} - {__version__})
        if others:
            raise RuntimeError(
                f"workers have nestmap {', '.join(others)}, this process {__version__}: "
                "install the same everywhere"
            )
        limits = [each.memory // max(1, each.n_threads) for each in found.values() if each.memory]
        return min(limits) if limits else None

    def _ask_workers(self, function: Any, *arguments: Any) -> dict[str, Any]:
        """What a function gives on each worker; those that have gone meanwhile have no say."""
        found = self.client.run(function, *arguments, on_error="return")
        for answer in found.values():
            if isinstance(answer, Exception) and not isinstance(
                answer, OSError
            ):  # OSError: the connection
                raise answer
        return {
            worker: answer for worker, answer in found.items() if not isinstance(answer, Exception)
        }

    def submit(self, name: str, function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """One task for each tuple of arguments, among which may be futures."""
        key = f"nestmap-{name}-{uuid4().hex}"
        return [
            self.client.submit(function, *each, key=(key, i), pure=False)
            for i, each in enumerate(arguments)
        ]

    def compute(
        self, name: str, function: Any, chunks: Sequence[Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Any]:
        """One task for each chunk of a dask array, which is computed for it and not kept."""
        from dask import delayed

        lazy = delayed(function, pure=False)
        key = f"nestmap-{name}-{uuid4().hex}"
        calls = [
            lazy(chunk, *each, dask_key_name=(key, i))
            for i, (chunk, each) in enumerate(zip(chunks, arguments, strict=True))
        ]
        futures: list[Any] = self.client.compute(calls)
        return futures

    def results(
        self, name: str, what: str, futures: list[Any], advice: str, keep: bool = False
    ) -> Iterator[tuple[int, Any]]:
        """Number and result of each task, as they finish.

        `what` is what the stage is called, `advice` what to do if memory runs out.

        Tasks are released as they finish, unless others depend on them (`keep`). All are cancelled
        if one fails.
        """
        self.tasks[name] = self.tasks.get(name, 0) + len(futures)
        number = {future.key: i for i, future in enumerate(futures)}
        done = False
        try:
            self.progress.begin(what)
            for n_done, future in enumerate(self._as_completed(name, futures), start=1):
                yield number[future.key], future.result()
                if not keep:
                    future.release()
                self.progress.share(n_done / len(futures))
            done = True
        except self.distributed.KilledWorker as error:
            raise MemoryBudgetError(
                f"the phase {name!r} of the fit was given up: workers died of it again and "
                f"again, most likely out of memory; {advice} ({error})"
            ) from error
        finally:
            if not done:
                self.client.cancel(futures, force=True)

    def _as_completed(self, name: str, futures: list[Any]) -> Iterator[Any]:
        """Tasks as they finish; an error if there are no workers for too long."""
        todo = self.distributed.as_completed(futures)
        since = None
        looked = time.monotonic()
        while not todo.is_empty():
            found = todo.next_batch(block=False)
            yield from found
            now = time.monotonic()
            if found:
                since = None
                looked = now
                continue
            if now - looked > min(_SECONDS_BETWEEN_LOOKS, _SECONDS_WITHOUT_WORKERS):
                since = None if self.client.nthreads() else since or now
                looked = now
                if since and now - since >= _SECONDS_WITHOUT_WORKERS:
                    raise RuntimeError(
                        f"the phase {name!r} of the fit was given up: "
                        "the cluster has had no workers for "
                        f"{_SECONDS_WITHOUT_WORKERS:.0f} seconds. "
                        "Dask gives up a worker that died and is not back soon (in local "
                        "clusters: distributed.deploy.lost-worker-timeout, 15 seconds): "
                        "start workers, and fit again"
                    )
            time.sleep(_SECONDS_BETWEEN_RESULTS)

    @contextmanager
    def shared_folder(self, work_dir: Path | None) -> Iterator[str]:
        """A folder that the client and all workers see; gone at the end."""
        if work_dir is None:
            folder = Path(tempfile.mkdtemp(prefix="nestmap-cluster-", dir=default_folder()))
        else:
            _remove_left(work_dir)
            # workers have folders of their own
            folder = work_dir.resolve() / f"{CLUSTER}{self.token}"
            folder.mkdir(parents=True)
        lock = take_lock(folder / "lock", f"work_dir={str(folder)!r}")
        try:
            (folder / "token").write_text(self.token)
            blind = [
                worker
                for worker, ok in self._ask_workers(sees, str(folder), self.token).items()
                if not ok
            ]
            if blind:
                raise ValueError(
                    f"work_dir: {len(blind)} workers, such as {blind[0]}, "
                    f"cannot write to {folder}; give work_dir= a folder that this process and "
                    "all workers share (NFS, Lustre, EFS, …)"
                )
            yield str(folder)
        finally:
            os.close(lock)
            shutil.rmtree(folder, ignore_errors=True)


def _remove_left(work_dir: Path) -> None:
    """Remove the folders of fits that were killed: their locks are free."""
    for left in work_dir.glob(f"{CLUSTER}*"):
        try:
            os.close(take_lock(left / "lock", str(left)))
        except OSError:
            continue  # in use, or of another machine
        shutil.rmtree(left, ignore_errors=True)


def chunk_advice(chunk_rows: int, row_bytes: int, limit: int | None) -> str:
    """What to do if chunks are too large for the workers."""
    size = f"the largest chunk has {chunk_rows} rows, {format_size(chunk_rows * row_bytes)}"
    rows = max(1, (limit // 8 if limit else 100_000_000) // max(1, row_bytes))
    return (
        f"{size}: use X.rechunk({{0: {min(rows, max(1, chunk_rows // 2))}}}), "
        "or give workers more memory"
    )


def in_order(
    results: Iterator[tuple[int, Any]], n: int, take: Callable[[Any], Any] = lambda x: x
) -> list[Any]:
    """Results by the numbers of their tasks."""
    found: list[Any] = [None] * n
    for i, result in results:
        found[i] = take(result)
    return found
