"""Files and folders that are whole or absent: written under a name of their own, then renamed.

The name tells who writes: `NAME.HOST-PID-TOKEN.part`. What a killed process has left is removed by
the next one that writes the same NAME. Only the standard library is imported, so that small
commands stay quick.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OWNER = re.compile(r"\.([0-9a-f]{6})-([0-9]{1,10})-([0-9a-f]{8})\.(part|old)")
# Windows neither replaces nor renames what a program has open, and scanners open what is new: they
# are done within moments
_PATIENCE_SECONDS = 2.0
_PAUSE_SECONDS = 0.02
# age from which a part file of another machine is taken for abandoned: a day
_ABANDONED_SECONDS = 86_400.0
_own: set[str] = set()  # tokens of parts that this process is writing


@contextmanager
def temporary(path: Path) -> Iterator[Path]:
    """A name to write a file to; becomes `path` at the end, or goes if anything fails.

    A symbolic link is written through: the file that it leads to is replaced.
    """
    target = _real(path)
    if target.exists() and not target.is_file():
        raise FileExistsError(
            f"{path} is a folder or a device: it is not replaced; choose another name"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with _own_name(target) as part:
        try:
            yield part
            move(part, target)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def replaced(
    folder: Path, spare: Callable[[Path, Path], Path | None] | None = None
) -> Iterator[Path]:
    """A folder to write to; takes the place of `folder` at the end, or goes if anything fails.

    Parameters
    ----------
    folder : Path
        A symbolic link is written through.
    spare : function (old folder, new folder) -> Path or None
        Called before the two change places: where the old one is kept. None deletes it.
    """
    target = _real(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _own_name(target) as part:
        part.mkdir()
        try:
            yield part
            kept = spare(target, part) if spare is not None and target.exists() else None
            _exchange(part, target, kept)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def move(source: Path, target: Path) -> None:
    """Give a file or a folder another name; a file takes the place of the one that is there.

    On Windows, wait for other programs that have it open; those that stay are an error in words.
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return os.replace(source, target)
        except PermissionError as error:
            if sys.platform != "win32":
                raise
            if time.monotonic() >= end:
                raise PermissionError(
                    error.errno,
                    f"{target} cannot be replaced: a program has it open, perhaps this one (a "
                    "model that was loaded from it, an explorer that shows it); close it and try "
                    "again, or choose another name",
                ) from error
        time.sleep(_PAUSE_SECONDS)


def _exchange(part: Path, target: Path, kept: Path | None) -> None:
    """Put a folder in the place of another, which comes back if that fails."""
    old = kept or part.with_suffix(".old")
    is_there = target.exists()
    if is_there:
        move(target, old)
    try:
        move(part, target)
    except BaseException:
        if is_there:
            move(old, target)
        raise
    if is_there and kept is None:
        shutil.rmtree(old, ignore_errors=True)


def _real(path: Path) -> Path:
    """The file or folder that a path leads to."""
    return Path(os.path.realpath(path))


@contextmanager
def _own_name(target: Path) -> Iterator[Path]:
    """A name beside the target that no other thread, process or machine has; abandoned ones go."""
    _remove_abandoned(target)
    token = secrets.token_hex(4)
    _own.add(token)
    try:
        yield target.with_name(f"{target.name}.{_host()}-{os.getpid()}-{token}.part")
    finally:
        _own.discard(token)


def _host() -> str:
    """A few letters for this machine: process ids of another one say nothing here."""
    return hashlib.sha256(platform.node().encode("utf-8", "surrogateescape")).hexdigest()[:6]


def _remove_abandoned(target: Path) -> None:
    """Remove parts of this target whose process is dead; `.old` only while the target is there."""
    # one that cannot be listed: names are unique
    with suppress(OSError), os.scandir(target.parent) as entries:
        for left in entries:
            found = _OWNER.fullmatch(left.name.removeprefix(target.name))
            if not found or not left.name.startswith(target.name) or left.is_symlink():
                continue
            if found[4] == "old" and not target.exists():
                continue  # killed between two renames: this is the only copy
            with suppress(FileNotFoundError):  # someone is just done with it
                if _is_abandoned(Path(left.path), *found.group(1, 2, 3)):
                    _remove(Path(left.path))


def _is_abandoned(path: Path, host: str, pid: str, token: str) -> bool:
    age = time.time() - path.stat().st_mtime
    # Windows has no harmless way to ask for a process
    if host != _host() or sys.platform == "win32":
        return age > _ABANDONED_SECONDS
    if int(pid) == os.getpid():
        return token not in _own  # in a container the number comes again
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        pass
    return age > _ABANDONED_SECONDS


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
