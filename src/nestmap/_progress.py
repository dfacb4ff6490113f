"""What verbose=1 shows: the stages, with a share for those that take more than a moment."""

from __future__ import annotations

import sys
from time import perf_counter


class Progress:
    """Says to stderr what is going on; silent with verbose=0."""

    def __init__(self, verbose: int) -> None:
        self.verbose = int(verbose)
        self.start = perf_counter()
        self.stage = ""
        self.said = 0.0

    def begin(self, stage: str) -> None:
        """A stage starts."""
        self.stage = stage
        self.said = perf_counter()
        self._say(f"{stage} …")

    def share(self, done: float) -> None:
        """The running stage is `done` (0 to 1) finished; said every two seconds."""
        if perf_counter() - self.said > 2:
            self.said = perf_counter()
            self._say(f"{self.stage} … {100 * done:.0f}%")

    def note(self, text: str) -> None:
        """A result worth a line."""
        self._say(text)

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[nestmap {perf_counter() - self.start:7.2f} s] {text}", file=sys.stderr, flush=True)
