"""Threads: how many, and a map over blocks that keeps BLAS out of the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from joblib import cpu_count
from threadpoolctl import threadpool_limits

P = TypeVar("P")
T = TypeVar("T")


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


def map_blocks(function: Callable[[P], T], parts: Sequence[P], n_threads: int) -> list[T]:
    """function(part) for each part, in threads; NumPy and BLAS release the GIL."""
    if n_threads == 1 or len(parts) < 2:
        return [function(part) for part in parts]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(function, parts))
