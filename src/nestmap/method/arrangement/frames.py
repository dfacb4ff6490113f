"""Frames: from coordinates of members to offsets around their node."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from ...core.arrays import Array, blocks
from ...core.threads import map_blocks
from ..hierarchy.tree import Grouping, Level

# float64 values of the matrices of a thread: 3 MB, which stay in its cache
_VALUES_PER_TASK = 400_000
_MAX_COORDINATE = 1e100  # absolute value; squares of larger ones may overflow


@dataclass(frozen=True, eq=False)
class Frames:
    """The frames of one level: member z of node g is offset by maps[g] @ (z - centres[g])."""

    offsets: Array  # (n_members, d) of the training members
    maps: Array  # (n_nodes, d, p), or (n_nodes, 1, 1): the identity
    centres: Array  # (n_nodes, p)
    # (n_members, c) float32: their leading coordinates, where they were asked for
    short: Array | None = None

    def kept(self, maps: Array | None = None) -> tuple[Array, Array]:
        """What places new members: the maps (or others of these centres), and where centres go.

        Unit vectors are kept in float16, half of a model's size: a new member moves by a thousandth
        of its offset at most. Centres go through the maps as they are kept, so that even the
        smallest group has its centre at 0.
        """
        maps = self.maps if maps is None else maps
        maps = maps.astype(np.float16) if maps.dtype == np.float32 else maps
        centres = self.centres.astype(np.float64)
        if _is_identity(maps, centres):
            return maps, centres
        return maps, apply_maps(maps, np.arange(len(centres)), centres)


def _is_identity(maps: Array, z: Array) -> bool:
    return bool(maps.shape[2] != z.shape[1])


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The rows of each leaf without those that equal another one of the leaf."""

    rows: Array  # of X, ascending: of equal rows the first
    counts: Array  # (n_distinct,) float64: rows that equal it, itself included
    grouping: Grouping  # of positions in `rows`, by leaf
    of_row: Array  # (n_rows,) position in `rows` of the one that equals it

    @property
    def alone(self) -> Array:
        """Leaves whose rows are all equal."""
        return np.flatnonzero(np.diff(self.grouping.starts) == 1)

    @classmethod
    def of(cls, leaf: Level, first_equal: Array | None) -> DistinctRows | None:
        """From the lowest level and the first row that equals each row; None if all rows differ."""
        if first_equal is None:
            return None
        own = np.arange(len(first_equal))
        # first neighbours that were given may part equal rows
        first = np.where(leaf.members[first_equal] == leaf.members, first_equal, own)
        rows = np.flatnonzero(first == own)
        of_row = (np.cumsum(first == own) - 1)[first]
        counts = np.bincount(of_row).astype(np.float64)
        return cls(rows, counts, Grouping.of(leaf.members[rows], leaf.n_nodes), of_row)


def apply_maps(maps: Array, parents: Array, offsets: Array, n_threads: int = 1) -> Array:
    """maps[parents[i]] @ offsets[i] for each i; bits do not depend on the batch."""
    out = np.empty((len(offsets), maps.shape[1]))

    def apply(part: slice) -> None:
        own = maps[parents[part]]
        total = own[:, :, 0] * offsets[part, 0, None]
        for k in range(1, maps.shape[2]):
            total += own[:, :, k] * offsets[part, k, None]
        out[part] = total

    map_blocks(
        apply,
        blocks(len(offsets), maps.shape[1] * maps.shape[2], values=_VALUES_PER_TASK),
        n_threads,
    )
    return out


def frame_offsets(maps: Array, origins: Array, parents: Array, z: Array | None) -> Array:
    """Offsets of new members at z (None: 0) from their nodes; see `Frames.kept` for the rest."""
    if z is None:
        return np.zeros((len(parents), origins.shape[1]))
    z = np.clip(np.nan_to_num(z), -_MAX_COORDINATE, _MAX_COORDINATE)  # a new row may be anywhere
    return np.asarray(
        (z if _is_identity(maps, z) else apply_maps(maps, parents, z)) - origins[parents]
    )


def sum_products(a: Array, b: Array, groups: Array, n_groups: int) -> Array:
    """Sums of a_i * b_j over the items of each group, (n_groups, d, d)."""
    d = a.shape[1]
    sums = [np.bincount(groups, a[:, i] * b[:, j], n_groups) for i in range(d) for j in range(d)]
    return np.stack(sums, axis=1).reshape(n_groups, d, d)


def scatter(offsets: Array, parents: Array, n_groups: int) -> Array:
    """Sums of products of the coordinates of each group's members, (n_groups, d, d)."""
    d = offsets.shape[1]
    out = np.empty((n_groups, d, d))
    for i, j in combinations_with_replacement(range(d), 2):
        out[:, i, j] = out[:, j, i] = np.bincount(parents, offsets[:, i] * offsets[:, j], n_groups)
    return out
