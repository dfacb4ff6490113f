"""The third coordinate of a map in space: a file beside each tile, and how deep each tile is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array
from .maps import StoredMap
from .order import ROWS
from .store_format import level_name
from .tiles import Tiles
from .writing import Writing


def write_depth(
    writing: Writing, number: int, of: StoredMap, tiles: Mapping[int, Tiles]
) -> dict[str, Any] | None:
    """What meta.json says of the space; None for a map in the plane."""
    if of.depth is None:
        return None
    middle = float((of.depth.min() + of.depth.max()) / 2)
    rows = of.depth[writing.tree.rows] - middle
    reach: dict[str, list[list[float]]] = {}
    for level, cut in tiles.items():
        starts = writing.tree.starts(level)
        items = rows if level == ROWS else _means(rows, starts)
        first = cut.cuts if level == ROWS else starts[cut.cuts]
        low = np.minimum.reduceat(rows, first[:-1])
        high = np.maximum.reduceat(rows, first[:-1])
        reach[level_name(level)] = np.stack([low, high], axis=1).tolist()
        for t, (begin, end) in enumerate(zip(cut.cuts[:-1], cut.cuts[1:], strict=True)):
            name = f"m{number}/depth/{level_name(level)}/{t}.bin"
            writing.sink.put_arrays(name, items[begin:end].astype(np.float32))
    return {"middle": [*of.middle.tolist(), middle], "reach": reach}


def _means(rows: Array, starts: Array) -> Array:
    return np.asarray(np.add.reduceat(rows, starts[:-1]) / np.diff(starts))
