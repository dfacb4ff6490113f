"""A lock file that lets one process at a time work in a directory.

The system lets go of it when the process ends.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_PAUSE_SECONDS = 0.005  # between two tries


def take_lock(path: Path, what: str) -> int:
    """Lock the file; its descriptor, to be closed in the end. BlockingIOError if another has it.

    File systems without locks (some network ones) are used without. A file that is not ours is left
    as it is.
    """
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise _not_ours(path, what)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in _HELD:
                raise BlockingIOError(
                    errno.EAGAIN,
                    f"{what} is in use by {_holder(_content(descriptor))}; wait until that fit "
                    "ends, or name another directory",
                ) from error
        if not re.fullmatch("[0-9]*", _content(descriptor)):
            raise _not_ours(path, what)
    except BaseException:
        os.close(descriptor)
        raise
    _write_holder(descriptor)
    return descriptor


@contextmanager
def locked(path: Path, what: str, seconds: float = 10.0) -> Iterator[None]:
    """One process and one thread at a time: wait for others; BlockingIOError after too long.

    The file stays: whoever deletes it while others wait for it would let two in. File systems
    without locks are used without.
    """
    descriptor = _open_shared(path)
    try:
        _wait(descriptor, what, seconds)
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)


def _open_shared(path: Path) -> int:
    """A lock file that another user has made is only read: that is enough to lock it."""
    own = getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | own, 0o666)
    except PermissionError:
        return os.open(path, os.O_RDONLY | own)


def _wait(descriptor: int, what: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return _lock(descriptor)
        except OSError as error:
            if error.errno not in _HELD:
                return  # a file system without locks
            if time.monotonic() >= end:
                raise BlockingIOError(
                    errno.EAGAIN,
                    f"{what} is being changed by another process for {seconds:g} s; try again",
                ) from error
        time.sleep(_PAUSE_SECONDS)


def _not_ours(path: Path, what: str) -> ValueError:
    return ValueError(f"{what} holds a {path.name!r} that is not nestmap's; name another directory")


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        # one byte far beyond the text, which stays readable
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _unlock(descriptor: int) -> None:
    """Unlock before closing: Windows unlocks late, and a forked process keeps the file open."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        pass  # there was none


def _content(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 20).decode("ascii", "replace")


def _holder(text: str) -> str:
    if text == str(os.getpid()):
        return "another fit in this process"
    return f"another process (pid {text})" if text.isdecimal() else "another process"


def _write_holder(descriptor: int) -> None:
    """For the message above only, so that a full disk is no reason to stop."""
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
    except OSError:
        pass
