"""`nestmap mcp`: a run for assistants, over standard input and output."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import BinaryIO

from ...core.progress import Progress
from ...views.explore.mcp import answer_line
from ...views.explore.query import RowQueries
from ..runs.folder import RunFolder
from ..runs.store import open_store
from .explorer import forget_store
from .talk import Talk

_LONGEST_LINE = 1_000_000  # bytes of a message


def run_mcp(options: Namespace) -> None:
    """`nestmap mcp`: answers until standard input ends."""
    talk = Talk(options.quiet)
    run = RunFolder(options.run)
    held: list[RowQueries] = []

    def current() -> RowQueries:
        """The store, made when it is first needed: a client waits longer for an answer than for
        a greeting.
        """
        if not held:
            store = open_store(run, progress=Progress(0, talk), n_jobs=options.threads)
            held.append(RowQueries(store))
        elif not held[0].store.is_current:  # the run was built again
            held[0] = RowQueries(held[0].store.again())
        return held[0]

    out = sys.stdout.buffer
    try:
        with redirect_stdout(sys.stderr):  # nothing but answers may stand there
            serve(sys.stdin.buffer, out, current)
    except KeyboardInterrupt:
        talk.note("stopped")
    finally:
        for queries in held:
            forget_store(queries.store.folder)


def serve(source: BinaryIO, out: BinaryIO, current: Callable[[], RowQueries]) -> None:
    """One answer after the other."""
    while line := source.readline(_LONGEST_LINE):
        whole = line.endswith(b"\n") or len(line) < _LONGEST_LINE
        while not whole:  # too long: what is left of it is no message
            rest = source.readline(_LONGEST_LINE)
            whole = rest.endswith(b"\n") or len(rest) < _LONGEST_LINE
            line = b""
        if line.strip() or not line:
            told = answer_line(line, current)
            if told is not None:
                out.write(told + b"\n")
                out.flush()
