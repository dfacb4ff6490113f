"""JSON files that are on disk when a function returns.

Nothing else is imported, so that a record is read at once.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MAX_JSON_BYTES = 10_000_000  # of a record; those of nestmap have a few kilobytes
_MAX_DEPTH = 40  # objects and lists inside one another: what nestmap writes has 8
_MAX_WHOLE_NUMBER = 2**64  # seeds of 64 bits are the largest that nestmap writes


def write_json(
    path: Path, record: dict[str, Any], *, default: Callable[[Any], Any] | None = None
) -> None:
    """Write JSON and flush it; floats keep their bits, NaN and infinity are allowed."""
    text = json.dumps(record, indent=1, default=default)
    with path.open("x", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; ValueError says what is wrong with the file."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_JSON_BYTES:
            raise ValueError("it is no regular file of a few kilobytes")
        record = json.loads(path.read_text(encoding="utf-8"), parse_int=bounded_int)
        refuse_deep(record)
        if not isinstance(record, dict):
            raise ValueError("it does not hold a JSON object")
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{path.name} is missing") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} cannot be read ({error})") from error
    return record


def bounded_int(text: str) -> int:
    """A whole number of JSON; ValueError if arithmetic with it would fail or take long.

    Examples
    --------
    >>> bounded_int("-12")
    -12
    """
    if len(text) > 20 or abs(value := int(text)) >= _MAX_WHOLE_NUMBER:
        raise ValueError(f"a number of {len(text)} digits, {text[:12]}…, is too large")
    return value


def refuse_deep(value: Any) -> None:
    """ValueError for JSON that is nested so deeply that to print or to write it would fail."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        inside = [each for each in level if isinstance(each, dict | list)]
        level = [
            part for each in inside for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError(f"objects are nested more than {_MAX_DEPTH} deep")
