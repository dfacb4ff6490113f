"""What a store on disk is: its version, the sizes of its chunks, names of files, its id."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .order import ROWS

FORMAT = "nestmap-explorer"
VERSION = 3
CHUNK = 1024  # rows of a chunk of rows/, neighbors/ and images/
WIDE_CHUNK = 8192  # rows of a chunk of places/ and search/
PANELS_PER_FILE = 256  # clusters of a chunk of panels/


def level_name(level: int) -> str:
    """What a level is called in the names of files and in meta.json."""
    return "rows" if level == ROWS else str(level)


def store_id(folder: Path) -> str:
    """A short name for what a store holds, to tell one from another in caches."""
    return hashlib.sha256((folder / "meta.json.gz").read_bytes()).hexdigest()[:16]
