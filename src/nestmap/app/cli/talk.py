"""What a command says: lines and a bar on standard error, the result on standard output."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from time import perf_counter
from typing import Any

from ...core.progress import ProgressEvent, in_words
from ..runs.record import read_record, to_text
from .streams import give, say

_BAR_LETTERS = 24  # of the bar
_OLD_ESTIMATE_WEIGHT = 0.8  # weight of the last estimate of the time left, so that it settles
_SECONDS_WORTH_A_LINE = 1.0  # seconds: shorter stages get no line in a log


class Talk:
    """Progress on standard error: a bar on a terminal, plain lines in a log, nothing if quiet."""

    def __init__(self, quiet: bool, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self.is_terminal = sys.stderr.isatty()
        self.start = perf_counter()
        self.left: float | None = None
        self.shown = False

    def note(self, text: str) -> None:
        """A line on standard error."""
        if not self.quiet:
            self._clear()
            say(f"[{perf_counter() - self.start:7.1f} s] {text}")

    def result(self, text: str, record: Any) -> None:
        """What the command was asked for, as text or JSON, on standard output."""
        self._clear()
        if self.as_json:
            give(json.dumps(record, indent=1))
        elif not self.quiet:
            print_text(text)

    def __call__(self, event: ProgressEvent) -> None:
        """A callback of a fit."""
        if self.quiet:
            return
        if event.share >= 1:
            self.left = None
            if event.seconds >= _SECONDS_WORTH_A_LINE:
                self.note(f"{event.stage}: {event.seconds:.1f} s")
        elif self.is_terminal:
            self._bar(event)

    def _bar(self, event: ProgressEvent) -> None:
        if event.fit_left is not None:  # settled already
            self.left = event.fit_left
        elif event.seconds_left is not None:
            known = self.left if self.left is not None else event.seconds_left
            self.left = (
                _OLD_ESTIMATE_WEIGHT * known + (1 - _OLD_ESTIMATE_WEIGHT) * event.seconds_left
            )
        full = round(_BAR_LETTERS * event.share)
        line = f"{'█' * full}{'░' * (_BAR_LETTERS - full)} {event.stage}{in_words(self.left)}"
        say(f"\r\033[K{line[:118]}", end="")
        self.shown = True

    def _clear(self) -> None:
        if self.shown:
            say("\r\033[K", end="")
            self.shown = False


def tell_written(talk: Talk, options: Namespace, record: dict[str, Any]) -> None:
    """Say that a result file is there, and what it holds."""
    if options.output == "-":
        return
    talk.note(
        f"wrote {options.output}: " + ", ".join(f"{n:,} {what}" for what, n in record.items())
    )
    if options.json:
        give(json.dumps({"output": options.output, **record}))


def run_info(options: Namespace) -> None:
    """`nestmap info`: what a run holds; reads a few kilobytes, and imports nothing large."""
    record = read_record(Path(options.run).expanduser())
    if options.json:
        give(json.dumps(record, indent=1))
    else:
        print_text(to_text(record))


def print_text(text: str) -> None:
    """Lines longer than a terminal is wide go on below, further in; files get them whole."""
    width = get_terminal_size().columns if sys.stdout.isatty() else 0
    give(fold(text, width) if width else text)


def fold(text: str, width: int) -> str:
    """Break lines between words.

    Examples
    --------
    >>> print(fold("levels:\\n  0 one two three four", 16))
    levels:
      0 one two three
          four
    """
    lines = []
    for line in text.splitlines():
        margin = " " * (len(line) - len(line.lstrip()) + 4)
        whole = len(line) <= width
        lines += (
            [line]
            if whole
            else wrap(line, max(width, 20), subsequent_indent=margin, break_on_hyphens=False)
        )
    return "\n".join(lines)
