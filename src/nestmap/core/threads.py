"""Threads: how many, and a map over blocks that keeps BLAS out of the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Event, Lock, RLock, local
from typing import Any, Generic, Self, TypeVar

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

P = TypeVar("P")
T = TypeVar("T")
_WAIT_SECONDS = 0.1  # between two looks for Ctrl-C while threads work
# threads: more gain nothing, and each takes memory; results do not depend on the number
_MAX_THREADS = 512


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads: None and -1 mean all usable cores; at most 512, or one per core."""
    if n_jobs is None or n_jobs == -1:
        return int(cpu_count())
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r}: use a positive number of threads, or None for all cores"
        )
    n_threads = int(n_jobs) if n_jobs > 0 else max(1, int(cpu_count()) + 1 + int(n_jobs))
    return min(n_threads, max(_MAX_THREADS, int(cpu_count())))


class _Own(local):
    """The BLAS limit of one thread."""

    def __init__(self) -> None:
        self.n_inside = 0
        self.before: dict[str, tuple[Any, int]] = {}


class _BlasLimit:
    """One BLAS thread from the first that enters until the last that leaves and restores what was.

    Most libraries have one number of threads for the process. Each user restoring what it found
    would not do there: of two that overlap, the second finds 1. Some have a number per thread; each
    thread restores its own.
    """

    def __init__(self) -> None:
        self.lock = RLock()  # a signal may come, and fork, at any point
        self.n_inside = 0
        self.own = _Own()
        # libraries that are limited now, and their numbers of threads before, by path
        self.before: dict[str, tuple[Any, int]] = {}
        self.libraries: list[Any] = []
        self.n_modules = -1
        self.per_thread: dict[str, bool] = {}

    def enter(self) -> None:
        with self.lock:
            # to look takes 10 ms, and libraries come with modules
            if self.n_modules != len(sys.modules):
                self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                self.n_modules = len(sys.modules)
            for library in self.libraries:
                n_threads = library.num_threads
                if n_threads not in (1, None):
                    before = self.own.before if self._is_per_thread(library) else self.before
                    before.setdefault(library.filepath, (library, n_threads))
                    _set_threads(library, 1)
            self.own.n_inside += 1
            self.n_inside += 1

    def leave(self) -> None:
        with self.lock:
            self.own.n_inside -= 1
            self.n_inside -= 1
            self._restore()

    def after_fork(self) -> None:
        """In a child process only the thread that forked lives on: the others will not leave."""
        self.lock = RLock()
        self.n_inside = self.own.n_inside
        self._restore()

    def _restore(self) -> None:
        for limits in (self.own, self):
            while limits.before and not limits.n_inside:
                _set_threads(*limits.before.popitem()[1])

    def _is_per_thread(self, library: Any) -> bool:
        """Whether another thread sees its own number; found out once, by trying."""
        if library.filepath not in self.per_thread:
            n_threads = library.num_threads
            try:
                _set_threads(library, 1)
                with ThreadPoolExecutor(1) as other:
                    self.per_thread[library.filepath] = (
                        other.submit(lambda: library.num_threads).result() != 1
                    )
            finally:
                _set_threads(library, n_threads)
        return self.per_thread[library.filepath]


def _set_threads(library: Any, n_threads: int) -> None:
    """Set the number of threads, whoever set it last.

    threadpoolctl 3.8 ignores all threads but the first.
    """
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(n_threads)
    release(force=True)


_BLAS_LIMIT = _BlasLimit()
if hasattr(os, "register_at_fork"):  # the lock: no fork while another thread is between two steps
    os.register_at_fork(
        before=lambda: _BLAS_LIMIT.lock.acquire(),
        after_in_parent=lambda: _BLAS_LIMIT.lock.release(),
        after_in_child=lambda: _BLAS_LIMIT.after_fork(),
    )


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Inside: one BLAS thread per calling thread.

    The bits of a matrix product then do not depend on the number of cores, and idle BLAS threads do
    not spin beside our own. Calls may nest and overlap, in any threads. A process that is forked by
    a thread inside is inside, too, until it leaves; one that is forked by any other thread is not.
    """
    _BLAS_LIMIT.enter()
    try:
        yield
    finally:
        _BLAS_LIMIT.leave()


@single_threaded_blas()
def map_blocks(
    function: Callable[[P], T],
    parts: Sequence[P],
    n_threads: int,
    progress: Callable[[float], None] | None = None,
    stop: Callable[[], None] = lambda: None,
) -> list[T]:
    """function(part) for each part, in threads, results in order; NumPy and BLAS release the GIL.

    Each part has one BLAS thread, so that its bits do not depend on the number of cores.
    An exception in one block, in `progress` or by Ctrl-C ends the work after the blocks that are
    running; the exception of the first part that failed is raised.

    Parameters
    ----------
    progress : callable, optional
        Gets the share of parts that are finished, in the calling thread.
    stop : callable, optional
        Called where threads work and the calling one is interrupted: ends the parts that wait.
    """
    if n_threads == 1 or len(parts) < 2:
        return [*_one_by_one(function, parts, progress)]
    work = _Work(function, parts)
    # Each thread takes the next part when it is free: no queue of futures to cancel.
    with ThreadPoolExecutor(min(n_threads, len(parts))) as pool:
        try:
            running = {pool.submit(work.run) for _ in range(min(n_threads, len(parts)))}
            while running:  # wake up now and then: for progress, and for Ctrl-C on Windows
                done, running = wait(running, timeout=_WAIT_SECONDS)
                for thread in done:
                    thread.result()  # raises what went wrong outside of the parts
                if progress and not work.errors:
                    progress(work.n_done / len(parts))
        except BaseException:
            stop()
            raise
        finally:
            work.stop = True
    if work.errors:
        raise work.errors[min(work.errors)]
    return [work.results[i] for i in range(len(parts))]


class _Left(Exception):
    """Raised in a thread whose result nobody waits for any more."""


class Beside(Generic[T]):
    """A function in a thread of its own while the calling thread goes on; `result` waits for it.

    It gets a callable that it is to tell the share of its work that is done. Where the block is
    left without the result, by an error or Ctrl-C, that callable raises, which ends the function.

    Parameters
    ----------
    n_threads : int
        If it is 1, or the system refuses a thread, the function runs when its result is asked for.

    Examples
    --------
    >>> from nestmap.core.threads import Beside
    >>> with Beside(lambda share: 6 * 7, n_threads=2) as answer:
    ...     question = "what is six by seven?"
    ...     print(question, answer.result())
    what is six by seven? 42
    """

    def __init__(
        self, function: Callable[[Callable[[float], None] | None], T], n_threads: int
    ) -> None:
        self._function = function
        self._pool = ThreadPoolExecutor(1) if n_threads > 1 else None
        self._left = Event()
        self._done = 0.0

    def __enter__(self) -> Self:
        try:
            self._running = self._pool.submit(self._function, self._tell) if self._pool else None
        except RuntimeError:  # no room for a thread
            self._running = None
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        if self._pool:
            self._pool.shutdown()

    def _tell(self, done: float) -> None:
        if self._left.is_set():
            raise _Left
        self._done = done

    def result(self, progress: Callable[[float], None] | None = None) -> T:
        """What the function returned or raised.

        `progress` is told its share, in the calling thread.
        """
        if self._running is None:
            return self._function(progress)
        # wake up now and then: for progress, and for Ctrl-C on Windows
        while not self._running.done():
            wait([self._running], timeout=_WAIT_SECONDS)
            if progress:
                progress(self._done)
        return self._running.result()


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
        self.function = function
        self.parts = parts
        self.next = 0
        self.n_done = 0
        self.stop = False
        self.results: dict[int, T] = {}
        self.errors: dict[int, BaseException] = {}
        self.lock = Lock()

    def run(self) -> None:
        """The loop of a worker thread."""
        with single_threaded_blas():  # for libraries that have a number per thread
            self._run()

    def _run(self) -> None:
        while (i := self._take()) is not None:
            try:
                result = self.function(self.parts[i])
            except BaseException as error:
                self.errors[i] = error
                self.stop = True
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
