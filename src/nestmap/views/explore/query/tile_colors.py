"""Colours of tiles by columns that the store has no such files of: made when they are asked for."""

from __future__ import annotations

import re

import numpy as np

from ....core.arrays import Array, runs
from ..colors import means
from ..map_store import MapStore, sound
from ..order import ROWS
from .columns import ColumnFiles
from .sets import ROWS_AT_ONCE

_NAME = re.compile(r"colors/([a-z][0-9]{1,3})/(rows|[0-9]{1,2})/([0-9]{1,6})\.bin")


def tile_colors(store: MapStore, files: ColumnFiles, name: str) -> bytes | None:
    """The file of a tile's colours, of a column of numbers; None for anything else.

    Rows have their number as float32, nodes the mean of theirs.
    """
    match = _NAME.fullmatch(name)
    if match is None or files.records.get(match[1], {}).get("kind") != "number":
        return None
    with sound(store.folder, "meta.json"):
        tiles = store.meta["maps"][0]["tiles"].get(match[2])
        if tiles is None or int(match[3]) >= len(tiles["begin"]):
            return None
        begin = int(tiles["begin"][int(match[3])])
        end = int(tiles["end"][int(match[3])])
    level = ROWS if match[2] == "rows" else int(match[2])
    if level == ROWS:
        return files.values(match[1], begin, end).astype("<f4").tobytes()
    return _of_nodes(files, match[1], files.starts(level, begin, end).astype(np.int64))


def _of_nodes(files: ColumnFiles, key: str, starts: Array) -> bytes:
    """Means of nodes, some of them at a time."""
    found = []
    for part in runs(starts - starts[0], ROWS_AT_ONCE):
        own = starts[part.start : part.stop + 1]
        values = files.values(key, int(own[0]), int(own[-1]))
        found.append(means(values, own - own[0]))
    return np.concatenate(found).astype("<f4").tobytes()
