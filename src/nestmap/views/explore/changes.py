"""What pages of the explorer may change: names of clusters, the tour, selections that are kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ...errors import ModelFileError
from .asked import Refused
from .kept_rows import change_selections
from .tour import TourChanged

if TYPE_CHECKING:
    from .server import Shown

MOST_ASKED_BYTES = 8_000_000  # of a set of rows: as many ranges as it may have
NAMES = "api/names"
TOUR = "api/tour"
SELECTIONS = "api/selections"
# with the bytes that say it at most
CHANGES = {NAMES: 10_000, TOUR: 1_000_000, SELECTIONS: MOST_ASKED_BYTES}
_TOLD = {NAMES: "the name", TOUR: "the tour", SELECTIONS: "the selection"}


def make_change(shown: Shown, path: str, given: Any) -> Any:
    """Keep what a page has posted; Refused says why it cannot be kept."""
    store = shown.store
    changes: dict[str, Callable[[Any], Any]] = {
        NAMES: store.rename,
        TOUR: store.change_tour,
        SELECTIONS: partial(change_selections, store.selections, shown.queries),
    }
    try:
        return changes[path](given)
    except ModelFileError:
        raise
    except TourChanged as error:
        raise Refused(HTTPStatus.PRECONDITION_FAILED, str(error)) from error
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from error
    except OSError as error:
        why = error.strerror or str(error)
        what = _TOLD[path]
        raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, f"{what} cannot be saved: {why}") from error
