"""What verbose=1 shows and what a callback gets: stages, how much is done, the time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

from .forecast import Forecast

Share = Callable[[float], None]  # how much of something is done, 0 to 1

_SECONDS_BETWEEN_LINES = 2.0  # shorter stages tell no share
_SECONDS_BETWEEN_EVENTS = 0.1  # of the callback, in one stage
_SECONDS_BEFORE_ESTIMATE = 0.5  # of a stage, before which its rate says nothing


@dataclass(frozen=True)
class ProgressEvent:
    """How far a stage is: `share` is 0 at its beginning, 1.0 exactly once, at its end.

    `seconds` is the time since the stage began, `seconds_left` an estimate of what it still takes
    (None as long as there is nothing to estimate from). `fit_left` is an estimate for the whole
    fit, from costs that were predicted for all of its stages.
    """

    stage: str
    share: float
    seconds: float
    seconds_left: float | None
    fit_left: float | None = None


class Progress:
    """Says to stderr what is going on (silent with verbose=0) and tells a callback.

    The callback runs in the thread that fits; what it raises stops the fit.
    """

    def __init__(
        self, verbose: int, callback: Callable[[ProgressEvent], None] | None = None
    ) -> None:
        if callback is not None and not callable(callback):
            raise TypeError(
                f"callback={callback!r}: must be a function of one ProgressEvent, or None"
            )
        self.verbose = int(verbose)
        self.callback = callback
        self.start = perf_counter()
        self.stage = ""
        self.forecast: Forecast | None = None
        self._clear()

    def expect(self, costs: Mapping[str, float]) -> None:
        """What the stages will take, by kind and in order: events tell the time left of the fit."""
        self.forecast = Forecast(costs)

    @property
    def is_silent(self) -> bool:
        """Whether there is neither output nor a callback."""
        return not self.verbose and self.callback is None

    def _clear(self) -> None:
        self.began = self.said = self.told = perf_counter()
        self.pass_began = self.began
        self.pass_from = 0.0
        self.last = 0.0

    def begin(self, stage: str) -> None:
        """A stage starts, and with that the one before has ended."""
        self.done()
        self.stage = stage
        self._clear()
        if self.forecast is not None:
            self.forecast.begin(stage, self.began)
        self._say(f"{stage} …")
        self._tell(0.0, None)

    def share(self, done: float) -> None:
        """The running stage is `done` (0 to 1) finished.

        A line every two seconds, an event ten times a second.
        """
        now = perf_counter()
        if done < self.last:  # another pass over the same data: its speed is its own
            self.pass_began = now
            self.pass_from = done
        self.last = done
        if done >= 1:  # the end is told by `begin` of the next stage, or `done`
            return
        if self.verbose and now - self.said >= _SECONDS_BETWEEN_LINES:
            self.said = now
            stage_left = self._seconds_left(done, now)
            fit_left = self._fit_left(done, stage_left, now)
            self._say(
                f"{self.stage} … {100 * done:.0f}%"
                f"{in_words(stage_left if fit_left is None else fit_left)}"
            )
        if self.stage and self.callback is not None and now - self.told >= _SECONDS_BETWEEN_EVENTS:
            self.told = now
            self._tell(done, self._seconds_left(done, now))

    def done(self) -> None:
        """The running stage, if there is one, has ended."""
        if self.stage:
            self._tell(1.0, 0.0)
            self.stage = ""

    def note(self, text: str) -> None:
        """Print a result as a line of its own."""
        self._say(text)

    def _seconds_left(self, done: float, now: float) -> float | None:
        """Seconds left of the stage, at its mean rate so far."""
        passed = now - self.pass_began
        advance = done - self.pass_from
        return (
            passed * (1 - done) / advance
            if passed >= _SECONDS_BEFORE_ESTIMATE and advance > 0
            else None
        )

    def _fit_left(self, done: float, stage_left: float | None, now: float) -> float | None:
        return None if self.forecast is None else self.forecast.left(done, stage_left, now)

    def _tell(self, done: float, left: float | None) -> None:
        if self.callback is not None:
            now = perf_counter()
            fit_left = self._fit_left(done, left, now)
            self.callback(ProgressEvent(self.stage, float(done), now - self.began, left, fit_left))

    def _say(self, text: str) -> None:
        if self.verbose:
            print(
                f"[nestmap {perf_counter() - self.start:7.2f} s] {text}",
                file=sys.stderr,
                flush=True,
            )


def part_of(progress: Share | None, start: float, stop: float) -> Share | None:
    """Progress of a part, from `start` to `stop` of the whole."""
    return None if progress is None else lambda share: progress(start + (stop - start) * share)


def in_seconds(seconds: float) -> str:
    """'42 s', '3 min', '1.5 h': no more digits than an estimate deserves."""
    if seconds < 89.5:
        return f"{max(1, round(seconds))} s"
    if seconds < 89.5 * 60:
        return f"{round(seconds / 60)} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 9.95 else f"{hours:.0f} h"


def in_words(seconds: float | None) -> str:
    """', about 3 min left', or nothing.

    Examples
    --------
    >>> [in_words(s) for s in (0.2, 42.4, 170, 5400, 40000)]  # doctest: +NORMALIZE_WHITESPACE
    [', about 1 s left', ', about 42 s left', ', about 3 min left', ', about 1.5 h left', ', about
    11 h left']
    """
    return "" if seconds is None else f", about {in_seconds(seconds)} left"
