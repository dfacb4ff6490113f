"""Clusters of a store as arrays: a level's tiles, read where they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from ...core.arrays import Array, brief_repr
from ...errors import ModelFileError
from .map_store import MapStore

_WORDS_BEFORE_CHILDREN = 5  # x, y, radius, size, first_row: 4 bytes each per node
_MAX_NODES_HELD = 200_000  # nodes of a level that is read whole to find the clusters of rows


@dataclass(frozen=True, eq=False)
class Nodes:
    """Some nodes of a level that follow each other in tree order.

    Attributes
    ----------
    size, first_row : ndarray
        Rows of each, and where they begin in tree order.
    children : ndarray
        Node i has the items children[i] to children[i + 1] of the level below.
    parent : ndarray
        On the level above; of the top level 0xFFFFFFFF.
    cluster : ndarray
        The hierarchy's numbers.
    """

    size: Array
    first_row: Array
    children: Array
    parent: Array
    cluster: Array

    __repr__ = brief_repr


def count_nodes(store: MapStore, level: int) -> int:
    """Nodes of a level."""
    return int(store.meta["levels"][level]["n_nodes"])


def read_nodes(store: MapStore, level: int, begin: int, end: int) -> Nodes:
    """Nodes begin to end of a level; only the tiles that hold them are read."""
    tiles = store.meta["maps"][0]["tiles"][str(level)]
    parts = [
        _cut(_read_tile(store, level, t, last - first), max(begin - first, 0), end - first)
        for t, (first, last) in enumerate(zip(tiles["begin"], tiles["end"], strict=True))
        if first < end and last > begin
    ]
    size, first_row, parent, cluster = (
        np.concatenate([each[i] for each in parts]) for i in (0, 1, 3, 4)
    )
    children = np.concatenate([*(each[2][:-1] for each in parts), parts[-1][2][-1:]])
    return Nodes(size, first_row, children, parent, cluster)


def _read_tile(store: MapStore, level: int, tile: int, n: int) -> list[Array]:
    """The arrays of a tile: size, first_row, children, parent, cluster."""
    name = f"m0/{level}/{tile}.bin"
    words = np.frombuffer(store.read(name), dtype="<u4")
    if len(words) != n * (_WORDS_BEFORE_CHILDREN + 3) + 1:
        raise ModelFileError(
            f"{store.folder}: {name} is damaged: delete the folder to build it anew"
        )
    at = [3 * n, 4 * n, 5 * n, 6 * n + 1, 7 * n + 1, 8 * n + 1]
    return [words[a:b].astype(np.int64) for a, b in pairwise(at)]


def _cut(arrays: list[Array], begin: int, end: int) -> list[Array]:
    size, first_row, children, parent, cluster = arrays
    some = slice(begin, end)
    return [size[some], first_row[some], children[begin : end + 1], parent[some], cluster[some]]


def clusters_of(store: MapStore, level: int, places: Array) -> Array | None:
    """The cluster of each row, by its place, on a level; None where the level is too large."""
    if count_nodes(store, level) > _MAX_NODES_HELD:
        return None
    starts = _starts(store, level)
    return np.searchsorted(starts, places, side="right") - 1


@lru_cache(maxsize=8)
def _starts(store: MapStore, level: int) -> Array:
    """Where the rows of each node of a level begin."""
    return read_nodes(store, level, 0, count_nodes(store, level)).first_row
