"""Threads: how many, and a map over blocks that keeps BLAS out of the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from threading import Lock
from typing import Any, Generic, TypeVar

from joblib import cpu_count
from threadpoolctl import threadpool_limits

P = TypeVar("P")
T = TypeVar("T")
_WAKE_EVERY = 0.1  # seconds


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads: None and -1 mean all cores that this process may use."""
    if n_jobs is None or n_jobs == -1:
        return int(cpu_count())
    if isinstance(n_jobs, bool) or int(n_jobs) != n_jobs or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r}: use a positive number of threads, or None for all cores")
    return int(n_jobs) if n_jobs > 0 else max(1, int(cpu_count()) + 1 + int(n_jobs))


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Inside: one BLAS thread per calling thread.

    The bits of a matrix product then do not depend on the number of cores, and idle BLAS threads
    do not spin beside our own.
    """
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


def map_blocks(
    function: Callable[[P], T], parts: Sequence[P], n_threads: int, progress: Callable[[float], None] | None = None
) -> list[T]:
    """function(part) for each part, in threads, results in order; NumPy and BLAS release the GIL.

    An exception in one block, in `progress` or by Ctrl-C ends the work after the blocks that are
    running; the exception of the first part that failed is raised.

    Parameters
    ----------
    progress : callable, optional
        Gets the share of parts that are finished, in the calling thread.
    """
    if n_threads == 1 or len(parts) < 2:
        return [*_one_by_one(function, parts, progress)]
    work = _Work(function, parts)
    # Each thread takes the next part when it is free: no queue of futures, so nothing to be cancelled.
    with ThreadPoolExecutor(min(n_threads, len(parts))) as pool:
        try:
            running = {pool.submit(work.run) for _ in range(min(n_threads, len(parts)))}
            while running:  # wake up now and then: for progress, and for Ctrl-C on Windows
                _, running = wait(running, timeout=_WAKE_EVERY)
                if progress and not work.errors:
                    progress(work.n_done / len(parts))
        finally:
            work.stop = True
    if work.errors:
        raise work.errors[min(work.errors)]
    return [work.results[i] for i in range(len(parts))]


def _one_by_one(
    function: Callable[[P], T], parts: Sequence[P], progress: Callable[[float], None] | None
) -> Iterator[T]:
    for i, part in enumerate(parts, start=1):
        yield function(part)
        if progress:
            progress(i / len(parts))


class _Work(Generic[P, T]):
    """Parts that several threads share; `stop` makes each end after its present one."""

    def __init__(self, function: Callable[[P], T], parts: Sequence[P]) -> None:
        self.function, self.parts = function, parts
        self.next, self.n_done, self.stop = 0, 0, False
        self.results: dict[int, T] = {}
        self.errors: dict[int, BaseException] = {}
        self.lock = Lock()

    def run(self) -> None:
        """What each thread does."""
        while (i := self._take()) is not None:
            try:
                result = self.function(self.parts[i])
            except BaseException as error:
                self.errors[i], self.stop = error, True
                return
            with self.lock:
                self.results[i] = result
                self.n_done += 1

    def _take(self) -> int | None:
        with self.lock:
            if self.stop or self.next == len(self.parts):
                return None
            self.next += 1
            return self.next - 1
