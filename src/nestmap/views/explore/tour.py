"""An author's tour: views of a map with a title and a text each, in one small file beside a run."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...core.work.lock import locked
from ...core.work.records import read_json, write_json
from ...core.work.replacing import temporary
from ...errors import ModelFileError
from .names import tidy
from .sink import to_json

FILE = "tour.json"
MOST_STOPS = 100
_LONGEST_TEXT = 2000  # characters
_LONGEST_VIEW = 8000  # characters of an address with filters
_LARGEST_WINDOW = 100_000.0  # pixels


@dataclass(frozen=True)
class Stop:
    """A view of a tour.

    Attributes
    ----------
    title, text : str
    view : str
        The part of the page's address from `#` on.
    width, height : float
        Of the map on the author's screen, in pixels: others show at least as much of it.
    """

    title: str
    text: str
    view: str
    width: float
    height: float


class TourChanged(ValueError):
    """Another page has changed the tour meanwhile."""


class SavedTour:
    """The tour of a run; kept in memory only, if there is no path. The file is the truth."""

    def __init__(self, path: Path | None = None, stops: Sequence[Stop] = ()) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stops = tuple(stops)
        self.read()

    def read(self) -> tuple[Stop, ...]:
        """All stops, in their order."""
        if self.path is None:
            return self._stops
        return _parse(self.path) if self.path.exists() else ()

    def record(self) -> dict[str, Any]:
        """What the page reads: the stops, and a mark that says which they are."""
        return tour_record(self.read())

    def change(self, stops: Sequence[Stop], mark: str) -> dict[str, Any]:
        """Keep these stops instead of those with the mark; the file is replaced whole, or stays.

        Raises TourChanged if the stops are others by now: nobody's work is overwritten unseen.
        """
        if self.path is None:
            with self._lock:
                _check_mark(self._stops, mark)
                self._stops = tuple(stops)
                return tour_record(stops)
        file = self.path.resolve()  # links lead all to one file, and to one lock
        with locked(file.with_name(f"{file.name}.lock"), str(file)):
            _check_mark(self.read(), mark)
            with temporary(file) as part:
                write_json(part, {"stops": [asdict(stop) for stop in stops]})
        return tour_record(stops)


def tour_record(stops: Sequence[Stop]) -> dict[str, Any]:
    """The stops as JSON, with their mark."""
    told = [asdict(stop) for stop in stops]
    return {"stops": told, "mark": hashlib.sha256(to_json(told)).hexdigest()[:16]}


def _check_mark(stops: Sequence[Stop], mark: str) -> None:
    if mark != tour_record(stops)["mark"]:
        raise TourChanged("the tour was changed in another page meanwhile: reload this page")


def check_tour(given: Any) -> tuple[Stop, ...]:
    """Stops from JSON, or from `tour=`; ValueError says which one is wrong, and how."""
    if isinstance(given, str | Path):
        return _parse(Path(given).expanduser())
    if isinstance(given, dict):
        given = given.get("stops")
    if not isinstance(given, list | tuple):
        raise ValueError(
            f"tour: a list of stops, or the path of a tour.json, got {type(given).__name__}"
        )
    if len(given) > MOST_STOPS:
        raise ValueError(f"tour: {len(given)} stops; {MOST_STOPS} at most")
    return tuple(_check_stop(stop, number) for number, stop in enumerate(given, 1))


def _check_stop(given: Any, number: int) -> Stop:
    match given:
        case Stop():
            return given
        case {"title": str(title), "view": str(view), **rest}:
            text = rest.get("text", "")
            sides = (rest.get("width", 1200), rest.get("height", 800))
        case _:
            raise ValueError(f'tour: stop {number} needs a "title" and a "view"')
    if not isinstance(text, str):
        raise ValueError(f"tour: the text of stop {number} is no text")
    if not view.startswith("#") or len(view) > _LONGEST_VIEW or not view.isprintable():
        raise ValueError(
            f"tour: the view of stop {number} is no address of the page from '#' on: {view[:60]!r}"
        )
    return Stop(tidy(title), _tidy_lines(text), view, *(_side(side, number) for side in sides))


def _side(given: Any, number: int) -> float:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not math.isfinite(given) or not 1 <= given <= _LARGEST_WINDOW:
        raise ValueError(f"tour: width and height of stop {number} are pixels, got {given!r:.60}")
    return float(given)


def _tidy_lines(text: str) -> str:
    """Lines of bounded length together, each without control characters."""
    lines = text[:_LONGEST_TEXT].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(tidy(line, _LONGEST_TEXT) for line in lines).strip("\n")


def _parse(path: Path) -> tuple[Stop, ...]:
    try:
        return check_tour(read_json(path))
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}; delete it to go on without a tour") from error
