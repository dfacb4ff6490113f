"""Standard streams that are closed, full, or whose reader has ended."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any

CLOSED = (
    "standard output is closed, and the result goes there: "
    "send it to a file, or to /dev/null, or use --quiet"
)


def open_closed_streams() -> set[str]:
    """Give a process all three streams; the names of those that were closed.

    A file that is opened later would else get the number of a closed one, and with it whatever
    libraries print.
    """
    closed = set()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            closed.add(name)
            mode = "r" if name == "stdin" else "w"
            # stays open until the end
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    return closed


def escape_what_cannot_be_said() -> None:
    """Print characters that the encoding lacks, and lone surrogates, as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, end: str = "\n") -> None:
    """Print on standard error and flush; errors of the stream are ignored."""
    with suppress(OSError, ValueError):
        print(text, end=end, file=sys.stderr, flush=True)


def let_go(stream: Any) -> None:
    """Redirect a stream to the null device: Python would flush it again at exit, and fail."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def let_go_if_full(stream: Any) -> None:
    """Let go of a stream that does not take what was printed."""
    try:
        stream.flush()
    except (OSError, ValueError):
        let_go(stream)


def give(text: str) -> None:
    """Print on standard output and flush; an error says that standard output failed."""
    with _told():
        print(text, flush=True)


def flush_all() -> None:
    """Flush standard output, or raise that it could not be written."""
    with _told():
        sys.stdout.flush()
    let_go_if_full(sys.stderr)


@contextmanager
def _told() -> Iterator[None]:
    """An error of standard output that says so."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        let_go(sys.stdout)
        raise OSError(
            error.errno, f"standard output cannot be written: {error.strerror}"
        ) from error
