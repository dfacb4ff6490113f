"""The command `nestmap`: arguments, exit codes, and what is said. Stages are imported when they are needed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from .options import make_parser

DONE, FAULT, USAGE, FILES, MEMORY, INTERRUPTED = 0, 1, 2, 3, 4, 130
EXIT_CODES = {
    DONE: "done",
    FAULT: "a fault of nestmap; please report what it printed",
    USAGE: "wrong arguments, or data that cannot be mapped",
    FILES: "a file is missing, damaged, or cannot be written",
    MEMORY: "not enough memory: see --max-memory",
    INTERRUPTED: "interrupted (Ctrl-C); nothing half-written is left",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    parser = make_parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help()
        return USAGE
    options = parser.parse_args(arguments)
    if arguments is None:  # a process of its own: SIGTERM ends it like Ctrl-C, with nothing half-written
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        homes = {"info": "info", "plot": "pictures", "explore": "explorer"}
        home = homes.get(options.command, "commands")
        getattr(import_module(f".{home}", __name__), f"run_{options.command}")(options)
        sys.stdout.flush()
        return DONE
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        code = _code_of(error)
        if code == FAULT or os.environ.get("NESTMAP_TRACEBACK"):
            raise
        return _say(str(error), code)


def _code_of(error: Exception) -> int:
    from ..errors import FileFormatError, MemoryBudgetError, ModelFileError

    if isinstance(error, MemoryBudgetError | MemoryError):
        return MEMORY
    if isinstance(error, FileFormatError | ModelFileError | OSError):
        return FILES
    return USAGE if isinstance(error, ValueError | ImportError) else FAULT


def _say(text: str, code: int) -> int:
    print(f"nestmap: {text}", file=sys.stderr)
    return code
