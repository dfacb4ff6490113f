"""The command `nestmap`: arguments, exit codes, what is said. Stages are imported when needed."""

from __future__ import annotations

import os
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from errno import ENOSPC
from importlib import import_module

from .commands import COMMANDS
from .parser import make_parser
from .streams import (
    CLOSED,
    escape_what_cannot_be_said,
    flush_all,
    let_go,
    let_go_if_full,
    open_closed_streams,
    say,
)

DONE = 0
FAULT = 1
USAGE = 2
FILES = 3
MEMORY = 4
INTERRUPTED = 130
EXIT_CODES = {
    DONE: "done",
    FAULT: "a fault of nestmap; please report what it printed",
    USAGE: "wrong arguments, or data that cannot be mapped",
    FILES: "a file is missing, damaged, or cannot be written; or a server does not answer",
    MEMORY: "not enough memory: see --max-memory",
    INTERRUPTED: "interrupted (Ctrl-C); nothing half-written is left",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    is_process = arguments is None
    closed = open_closed_streams() if is_process else set()
    parser = make_parser()
    if not (sys.argv[1:] if is_process else arguments):
        parser.print_help()
        return USAGE
    options = parser.parse_args(arguments)
    if is_process:  # SIGTERM ends it like Ctrl-C, with nothing half-written
        escape_what_cannot_be_said()
        for name in ("SIGTERM", "SIGBREAK"):  # Windows has the second: a console that is closed
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: sys.exit(143))
    try:
        _check_streams(options, closed)
        command = COMMANDS[options.command]
        getattr(import_module(f".{command.module}", __name__), f"run_{command.name}")(options)
        flush_all()
        return DONE
    except KeyboardInterrupt as stop:
        return _say(f"interrupted: {str(stop) or 'nothing was written'}", INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has enough
        let_go(sys.stdout)
        return DONE
    except Exception as error:
        code = _code_of(error)
        if isinstance(error, OSError) and error.errno == ENOSPC:  # perhaps of standard output
            let_go(sys.stdout)
        if code == FAULT or os.environ.get("NESTMAP_TRACEBACK"):
            raise
        return _say(_sentence(error), code)


def _check_streams(options: Namespace, closed: set[str]) -> None:
    """Raise before any work where the result has nowhere to go, or the data come from nowhere."""
    is_silent = getattr(options, "quiet", False) and not getattr(options, "json", False)
    if (
        "stdout" in closed
        and not is_silent
        and (COMMANDS[options.command].prints or getattr(options, "output", "") == "-")
    ):
        raise OSError(CLOSED)
    if "stdin" in closed and getattr(options, "data", "") == "-":
        raise OSError(
            "standard input is closed, and the data are to come from there: "
            "name a file, or pipe them in"
        )


def _code_of(error: Exception) -> int:
    from ...errors import FileFormatError, MemoryBudgetError, ModelFileError

    if isinstance(error, MemoryBudgetError | MemoryError):
        return MEMORY
    if isinstance(error, FileFormatError | ModelFileError | OSError):
        return FILES
    return USAGE if isinstance(error, ValueError | ImportError) else FAULT


def _sentence(error: Exception) -> str:
    """What went wrong, in the words of the command line."""
    from .words import in_options

    if isinstance(error, OSError) and error.strerror and not error.filename:
        return in_options(error.strerror)
    return in_options(str(error))


def _say(text: str, code: int) -> int:
    say(f"nestmap: {text}")
    let_go_if_full(sys.stderr)
    return code
