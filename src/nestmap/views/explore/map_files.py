"""Files of one map in a store: tiles, outlines of clusters, pieces of those that are split."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.arrays import Array
from ...core.framing import is_outside
from ...method.layout.pieces import find_pieces
from ..plots.outlines import get_outlines
from .colors import Scale
from .maps import StoredMap
from .order import ROWS, TreeOrder
from .store_format import level_name
from .tiles import Tiles, centres, find_split, make_tiles, radii
from .writing import Writing

_MOST_ROWS_LOOKED_AT = 1000  # of a cluster: larger ones fill their land
_NO_PARENT = 0xFFFFFFFF  # of the nodes of the top level


def write_tiles(writing: Writing, number: int, of: StoredMap) -> dict[int, Tiles]:
    """Tiles of one map."""
    tree = writing.tree
    positions = of.positions[tree.rows]
    outside = is_outside(positions, of.frame)
    found = {}
    for level in writing.levels:
        writing.progress.share((level + 1) / len(writing.levels))
        found[level] = tiles = make_tiles(tree, level, positions, of.frame)
        starts = tree.starts(level)
        places = positions if level == ROWS else centres(starts, positions, outside)
        counts = np.diff(tiles.cuts)
        x, y = (places - np.repeat(tiles.origins, counts, axis=0)).T.astype(np.float32)
        others = _items(tree, level, radii(starts, positions, places) if level != ROWS else None)
        for t, (begin, end) in enumerate(
            zip(tiles.cuts[:-1].tolist(), tiles.cuts[1:].tolist(), strict=True)
        ):
            arrays = [
                each[begin : end + 1] if len(each) > len(places) else each[begin:end]
                for each in (x, y, *others)
            ]
            writing.sink.put_arrays(f"m{number}/{level_name(level)}/{t}.bin", *arrays)
    return found


def _items(tree: TreeOrder, level: int, radius: Array | None) -> list[Array]:
    """What a tile says of items beside places; `children` has one number more than items."""
    is_top = level == tree.n_levels - 1
    parents = (np.full(tree.size(level), _NO_PARENT) if is_top else tree.parents(level)).astype(
        np.uint32
    )
    if radius is None:
        return [tree.rows.astype(np.uint32), parents]
    starts = tree.starts(level)
    return [
        radius,
        np.diff(starts).astype(np.uint32),
        starts[:-1].astype(np.uint32),
        tree.children[level].astype(np.uint32),
        parents,
        tree.clusters[level].astype(np.uint32),
    ]


def write_colors(writing: Writing, scale: Scale, tiles: Mapping[int, Tiles]) -> None:
    """A column to colour by: a value per row, and per node of each level."""
    for level in writing.levels:
        values = scale.of(writing.tree, level)
        cuts = tiles[level].cuts.tolist()
        for t in range(len(cuts) - 1):
            writing.sink.put_arrays(
                f"colors/{scale.key}/{level_name(level)}/{t}.bin", values[cuts[t] : cuts[t + 1]]
            )


def write_outlines(writing: Writing, number: int, of: StoredMap, level: int) -> None:
    """Polygons of the clusters of a level, relative to the middle of the map."""
    outlines = get_outlines(of.outlined, level, of.frame)
    tree = writing.tree
    starts = tree.starts(level)
    rings = [
        _around_rows(outlines[i], of.positions[tree.rows[begin:end]])
        for i, begin, end in zip(
            tree.clusters[level].tolist(), starts[:-1].tolist(), starts[1:].tolist(), strict=True
        )
    ]
    middle = of.middle
    points = [ring - middle for own in rings for ring in own]
    writing.sink.put_arrays(
        f"m{number}/outlines/{level}.bin",
        np.array(
            [len(rings), *(len(own) for own in rings), *(len(ring) for ring in points)],
            dtype=np.uint32,
        ),
        np.concatenate([np.empty((0, 2)), *points]).astype(np.float32),
    )


def _around_rows(rings: list[Array], rows: Array) -> list[Array]:
    """Rings that may hold rows of their cluster.

    Coasts are found on a grid, where the sea between two rows of a small cluster may come to be its
    land: who flies there finds nothing.
    """
    if len(rows) > _MOST_ROWS_LOOKED_AT:
        return rings
    return [
        ring
        for ring in rings
        if ((rows >= ring.min(axis=0)) & (rows <= ring.max(axis=0))).all(axis=1).any()
    ]


def write_pieces(writing: Writing, number: int, of: StoredMap, levels: list[int]) -> list[int]:
    """Clusters that do not lie in one place of a map; the levels known to have some."""
    if not of.unit:
        return []
    writing.progress.begin(f"pieces of clusters in the map {of.name!r}")
    order = writing.tree.rows
    leaves = writing.hierarchy.levels[0].members
    positions = of.positions[order]
    found = []
    points = order if of.unit == "rows" else leaves[order]
    for pieces in find_pieces(writing.hierarchy, of.positions, writing.n_threads, unit=of.unit):
        if pieces.level not in levels or not pieces.n_split:
            continue
        split = find_split(writing.tree, pieces, pieces.of_point[points], positions)
        writing.sink.put_arrays(
            f"m{number}/pieces/{pieces.level}.bin",
            np.array([len(split.nodes), *split.nodes, *split.places], dtype=np.uint32),
            *(split.centres - of.middle).T.astype(np.float32),
            split.radii.astype(np.float32),
        )
        found.append(pieces.level)
    return found


def write_copies(writing: Writing, number: int, of: StoredMap, tiles: Tiles) -> list[int]:
    """How many rows lie at exactly the place of each row; tiles with rows that share theirs."""
    writing.progress.begin(f"rows at one place in the map {of.name!r}")
    if of.depth is not None:
        return []  # rows behind one another are at one place on the screen only
    places = np.ascontiguousarray(of.positions[writing.tree.rows], dtype=np.float64) + 0.0
    _, group, counts = np.unique(
        places.view(np.complex128).reshape(-1), return_inverse=True, return_counts=True
    )
    copies = counts[group.reshape(-1)].astype(np.uint32)
    found = []
    cuts = tiles.cuts.tolist()
    for t in range(len(cuts) - 1):
        own = copies[cuts[t] : cuts[t + 1]]
        if (own > 1).any():
            writing.sink.put_arrays(f"m{number}/copies/{t}.bin", own)
            found.append(t)
    return found
