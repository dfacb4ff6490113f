"""New rows on a map whose rows were optimised one by one.

They lie beside the row of their leaf that they are most like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.arrays import Array, blocks
from ....core.native import kernels
from ....core.rotations import turned
from ...arrangement import Arrangement
from ...arrangement.frames import DistinctRows, Frames, apply_maps, frame_offsets, sum_products
from ...arrangement.local import nearest_orthogonal
from ...hierarchy.tree import Grouping, Hierarchy, Level
from ..balls import lengths, neighbors_in_map
from ..frozen import Frozen

_PAIRS_AT_ONCE = 1_000_000  # of a new row and a row of its leaf, in one block
# of the distance to the nearest other row: whoever is placed beside a row has it as nearest
REACH = 1 / 3
# leading directions along which rows are kept: 1-NN accuracy of Fashion-MNIST .846,
# with 32 of them .830
SHORT = 64
FARTHEST = 1e18  # coordinates: squares of larger ones leave float32
_ROUNDING = 1 / 8  # of the usual offset in a leaf: float16 may change short rows by so much


@dataclass(frozen=True, eq=False)
class RowPlacement(Frozen):
    """Leaves of a map of rows: where rows lie, and how they lay in the leaf's own arrangement.

    A new row with coordinates z has the offset map @ z - origin in its leaf; it goes beside the row
    with the nearest offset, in the direction and by the length that the leaf is stretched with.
    """

    anchors: Array  # (n_leaves, d): means of their rows
    # (n_leaves,): how far the rows of a leaf, and new ones, lie from its anchor at most
    radii: Array
    scales: Array  # (n_leaves,)
    maps: Array  # (n_leaves, d, p)
    origins: Array  # (n_leaves, d): where the maps take the centres
    positions: Array  # (n_rows, d)
    offsets: Array  # (n_rows, d) float32
    reach: Array  # (n_rows,) float32
    order: Array  # rows by leaf, those of leaf g are order[starts[g]:starts[g + 1]]
    starts: Array
    # (n_rows, c): rows along their leading directions, for `extend`; None: not kept
    short: Array | None = None

    def keep(self, rows: Array, nodes: Array, grouping: Grouping) -> RowPlacement:
        """Some rows and leaves; `grouping`: these rows by leaf."""
        per_node = {
            name: getattr(self, name)[nodes]
            for name in ("anchors", "radii", "scales", "maps", "origins")
        }
        per_row = {name: getattr(self, name)[rows] for name in ("positions", "offsets", "reach")}
        short = None if self.short is None else self.short[rows]
        return RowPlacement(
            **per_node, **per_row, order=grouping.order, starts=grouping.starts, short=short
        )

    def place(self, parents: Array, z: Array | None) -> Array:
        """Places of new rows at z (None: at centres) below the given leaves; each by itself."""
        offsets = frame_offsets(self.maps, self.origins, parents, z)
        beside = np.empty(len(parents), dtype=np.int64)
        widest = int(np.diff(self.starts).max())
        for part in blocks(len(parents), widest, values=_PAIRS_AT_ONCE):
            beside[part] = self._nearest(parents[part], offsets[part])
        return self._put(beside, parents, offsets)

    def place_beside(self, rows: Array, parents: Array, z: Array) -> Array:
        """Positions of new rows, at z, beside given rows, whose leaves are the parents."""
        return self._put(rows, parents, frame_offsets(self.maps, self.origins, parents, z))

    def _put(self, beside: Array, parents: Array, offsets: Array) -> Array:
        step = self.scales[parents, None] * (offsets - self.offsets[beside])
        long = lengths(step)
        reach = self.reach[beside]
        step *= np.divide(reach, long, out=np.ones(len(long)), where=long > reach)[:, None]
        return np.asarray(self.positions[beside] + step)

    def _nearest(self, parents: Array, offsets: Array) -> Array:
        """The row of its leaf that has the nearest offset, the first of several."""
        rows = Grouping(self.order, self.starts).items_of(parents)
        sizes = self.starts[parents + 1] - self.starts[parents]
        first = np.cumsum(sizes) - sizes
        own = np.repeat(np.arange(len(parents)), sizes)
        away = lengths(offsets[own] - self.offsets[rows])
        best = np.minimum.reduceat(away, first)
        hits = np.flatnonzero(away == best[own])
        return np.asarray(rows[hits[np.searchsorted(own[hits], np.arange(len(parents)))]])


def fit_leaves(
    hierarchy: Hierarchy,
    arrangement: Arrangement,
    positions: Array,
    distinct: DistinctRows | None,
    n_threads: int,
) -> RowPlacement:
    """What places new rows beside those of a map that was not made leaf by leaf."""
    leaf = hierarchy.levels[0]
    group = leaf.grouping
    anchors = kernels.group_means(
        positions, group.order, group.starts, np.ones(len(positions)), n_threads
    )
    frames = arrangement.frames(hierarchy, 0, anchors, neighbors_in_map(anchors, n_threads)[1])
    return fit_rows(frames, positions, leaf, distinct, n_threads)


def fit_rows(
    frames: Frames, positions: Array, leaf: Level, distinct: DistinctRows | None, n_threads: int
) -> RowPlacement:
    """What places new rows beside rows that have left the frames of their leaves; O(n log n).

    The frame of each leaf is turned, mirrored and scaled to fit its rows best (Procrustes).
    """
    group = leaf.grouping
    n = leaf.n_nodes
    offsets = frames.offsets
    anchors = kernels.group_means(
        positions, group.order, group.starts, np.ones(len(positions)), n_threads
    )
    away = positions - anchors[leaf.members]
    products = sum_products(away, offsets, leaf.members, n)
    turns = nearest_orthogonal(products)
    size = np.bincount(leaf.members, (offsets * offsets).sum(axis=1), n)
    scales = np.divide((turns * products).sum(axis=(1, 2)), size, out=np.zeros(n), where=size > 0)
    if distinct is not None:
        scales[distinct.alone] = 0.0  # what their rows are offset by is rounding
    maps = frames.maps if frames.maps.shape[1] == 2 else frames.maps * np.eye(2)
    maps = turned(turns, maps).astype(frames.maps.dtype)
    offsets = apply_maps(turns, leaf.members, offsets, n_threads).astype(np.float32)
    reach = (REACH * _nearest_other(positions, distinct, n_threads)).astype(np.float32)
    radii = group.maximum(lengths(away) + reach)
    short = None if frames.short is None else keep_short(frames.short, offsets)
    return RowPlacement(
        anchors,
        radii,
        scales,
        *frames.kept(maps),
        positions,
        offsets,
        reach,
        group.order,
        group.starts,
        short,
    )


def keep_short(short: Array, offsets: Array) -> Array:
    """Leading coordinates as a model keeps them: float16 if that tells the rows of a leaf apart."""
    rounded = shortened(short, np.float16)
    change = np.sqrt(np.mean(lengths(short - rounded) ** 2))
    usual = np.median(lengths(offsets))
    return rounded if change <= _ROUNDING * usual else short


def shortened(z: Array, dtype: Any) -> Array:
    """Coordinates in a narrow type; what is beyond its range lies at the end of it."""
    end = min(float(np.finfo(dtype).max), FARTHEST)
    return np.clip(z, -end, end).astype(dtype)


def _nearest_other(positions: Array, distinct: DistinctRows | None, n_threads: int) -> Array:
    """Distance from each row to the nearest one that does not equal it; 0 where there is none."""
    places = positions if distinct is None else positions[distinct.rows]
    nearest = neighbors_in_map(places, n_threads)[0]
    nearest[np.isinf(nearest)] = 0.0
    return nearest if distinct is None else nearest[distinct.of_row]
