"""`nestmap mcp`: a run for assistants, over standard input and output."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import BinaryIO

from ...core.progress import Progress
from ...views.explore.map_store import MapStore
from ...views.explore.mcp import answer_line
from ..runs.folder import RunFolder
from ..runs.store import open_store
from .explorer import forget_store
from .talk import Talk

_LONGEST_LINE = 1_000_000  # bytes of a message


def run_mcp(options: Namespace) -> None:
    """`nestmap mcp`: answers until standard input ends."""
    talk = Talk(options.quiet)
    run = RunFolder(options.run)
    held: list[MapStore] = []

    def current() -> MapStore:
        """The store, made when it is first needed: a client waits longer for an answer than for
        a greeting.
        """
        if not held:
            held.append(open_store(run, progress=Progress(0, talk), n_jobs=options.threads))
        elif not held[0].is_current:  # the run was built again
            held[0] = MapStore(held[0].folder, held[0].saved)
        return held[0]

    out = sys.stdout.buffer
    try:
        with redirect_stdout(sys.stderr):  # nothing but answers may stand there
            serve(sys.stdin.buffer, out, current)
    except KeyboardInterrupt:
        talk.note("stopped")
    finally:
        for store in held:
            forget_store(store.folder)


def serve(source: BinaryIO, out: BinaryIO, current: Callable[[], MapStore]) -> None:
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
