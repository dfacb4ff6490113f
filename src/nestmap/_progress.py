"""What verbose=1 shows and what a callback gets: the stages, how much is done, and the time that is left."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

Share = Callable[[float], None]  # how much of something is done, 0 to 1

_LINE_EVERY = 2.0  # seconds between two lines; shorter stages tell no share
_EVENT_EVERY = 0.1  # seconds between two calls of the callback in a stage
_ESTIMATE_AFTER = 0.5  # seconds, before which the rate says nothing


@dataclass(frozen=True)
class ProgressEvent:
    """How far a stage is: `share` is 0 at its beginning, 1.0 exactly once, at its end.

    `seconds` is the time since the stage began, `seconds_left` an estimate of what it still takes
    (None as long as there is nothing to estimate from).
    """

    stage: str
    share: float
    seconds: float
    seconds_left: float | None


class Progress:
    """Says to stderr what is going on (silent with verbose=0) and tells a callback.

    The callback runs in the thread that fits; what it raises stops the fit.
    """

    def __init__(self, verbose: int, callback: Callable[[ProgressEvent], None] | None = None) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(f"callback={callback!r}: must be a function of one ProgressEvent, or None")
        self.verbose = int(verbose)
        self.callback = callback
        self.start = perf_counter()
        self.stage = ""
        self._clear()

    def _clear(self) -> None:
        self.began = self.said = self.told = perf_counter()
        self.pass_began, self.pass_from, self.last = self.began, 0.0, 0.0

    def begin(self, stage: str) -> None:
        """A stage starts, and with that the one before has ended."""
        self.done()
        self.stage = stage
        self._clear()
        self._say(f"{stage} …")
        self._tell(0.0, None)

    def share(self, done: float) -> None:
        """The running stage is `done` (0 to 1) finished: a line every two seconds, an event ten times a second."""
        now = perf_counter()
        if done < self.last:  # another pass over the same data: its speed is its own
            self.pass_began, self.pass_from = now, done
        self.last = done
        if done >= 1:  # the end is told by `begin` of the next stage, or `done`
            return
        if self.verbose and now - self.said >= _LINE_EVERY:
            self.said = now
            self._say(f"{self.stage} … {100 * done:.0f}%{in_words(self._seconds_left(done, now))}")
        if self.stage and now - self.told >= _EVENT_EVERY:
            self.told = now
            self._tell(done, self._seconds_left(done, now))

    def done(self) -> None:
        """The running stage, if there is one, has ended."""
        if self.stage:
            self._tell(1.0, 0.0)
            self.stage = ""

    def note(self, text: str) -> None:
        """A result worth a line."""
        self._say(text)

    def _seconds_left(self, done: float, now: float) -> float | None:
        """The rest at the speed so far."""
        passed, advance = now - self.pass_began, done - self.pass_from
        return passed * (1 - done) / advance if passed >= _ESTIMATE_AFTER and advance > 0 else None

    def _tell(self, done: float, left: float | None) -> None:
        if self.callback is not None:
            self.callback(ProgressEvent(self.stage, float(done), perf_counter() - self.began, left))

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[nestmap {perf_counter() - self.start:7.2f} s] {text}", file=sys.stderr, flush=True)


def part_of(progress: Share | None, start: float, stop: float) -> Share | None:
    """Progress of a part, from `start` to `stop` of the whole."""
    return None if progress is None else lambda share: progress(start + (stop - start) * share)


def in_words(seconds: float | None) -> str:
    """', about 3 min left': no more digits than an estimate deserves.

    Examples
    --------
    >>> [in_words(s) for s in (0.2, 42.4, 170, 5400, 40000)]  # doctest: +NORMALIZE_WHITESPACE
    [', about 1 s left', ', about 42 s left', ', about 3 min left', ', about 1.5 h left', ', about 11 h left']
    """
    if seconds is None:
        return ""
    if seconds < 89.5:
        return f", about {max(1, round(seconds))} s left"
    if seconds < 89.5 * 60:
        return f", about {round(seconds / 60)} min left"
    hours = seconds / 3600
    return f", about {hours:.1f} h left" if hours < 9.95 else f", about {hours:.0f} h left"
