"""JSON files that are on disk when a function returns; nothing else is imported, so that a record is read at once."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MOST_JSON = 10_000_000  # bytes


def write_json(path: Path, record: dict[str, Any], *, default: Callable[[Any], Any] | None = None) -> None:
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
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_JSON:
            raise ValueError("it is no regular file of a few kilobytes")
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record, dict):
            raise ValueError("it does not hold a JSON object")
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"{path.name} is missing") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} cannot be read ({error})") from error
    return record
