"""malloc keeps freed memory for reuse while a task runs, and returns it to the system after.

Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, so that what they free goes back to the
system at once. That also stops malloc from learning the sizes that a program asks for: every array
of more than 128 kB then comes as fresh pages, which cost tasks of many small steps more than their
sums. While one runs, malloc does what it does elsewhere.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

# numbers of the two thresholds in malloc.h
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_MAX_THRESHOLD_BYTES = (
    32 * 2**20
)  # what they may become by themselves: this, and twice as much for trimming
_FIRST_THRESHOLD_BYTES = 128 * 2**10  # what they are at first
_lock = threading.Lock()
_running = 0

P = ParamSpec("P")
T = TypeVar("T")


def keeps_pages(task: Callable[P, T]) -> Callable[P, T]:
    """The same task, with a malloc that keeps what it may need; the rest goes back at the end."""

    @wraps(task)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        _count(1)
        try:
            return task(*args, **kwargs)
        finally:
            _count(-1)

    return run


def _count(change: int) -> None:
    """A task begins or ends: the first and the last one of a worker's change its malloc."""
    global _running
    libc = _glibc()
    with _lock:
        _running += change
        if libc is None or _running > 1 or (_running == 1 and change < 0):
            return
        begins = change > 0
        libc.mallopt(
            _M_MMAP_THRESHOLD,
            _MAX_THRESHOLD_BYTES if begins else _setting("MALLOC_MMAP_THRESHOLD_"),
        )
        libc.mallopt(
            _M_TRIM_THRESHOLD,
            2 * _MAX_THRESHOLD_BYTES if begins else _setting("MALLOC_TRIM_THRESHOLD_"),
        )
        if not begins:
            libc.malloc_trim(0)


@cache
def _glibc() -> Any:
    """The library of a process whose malloc was told when to trim; None elsewhere."""
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return None
    try:
        libc = ctypes.CDLL(None)
        return libc if libc.mallopt and libc.malloc_trim else None
    except (OSError, TypeError, AttributeError):  # no glibc
        return None


def _setting(name: str) -> int:
    """What the environment says, as malloc reads it."""
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return _FIRST_THRESHOLD_BYTES
