"""The maps that a store holds: the model's own, and those it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import SIDES, Frame, find_frame, is_outside, project_to_edge
from ...method.hierarchy import Hierarchy
from ...method.layout.pieces import piece_unit
from .content import clean
from .store_format import level_name
from .tiles import Tiles

# Rows beyond the frame are told in groups, by distance and direction: a wide window shows some of
# them.
_RINGS_PER_DOUBLING = 2
_SECTORS = 32


@dataclass(frozen=True, eq=False)
class StoredMap:
    """One map of the rows: name, layout, where the rows lie, and what clusters are outlined by.

    `unit`: what pieces of clusters are made of; `depth`: the third coordinate of the rows, of a
    map in space.
    """

    name: str
    layout: str
    positions: Array
    outlined: Any
    unit: str
    depth: Array | None = None

    @property
    def middle(self) -> Array:
        """The centre of its frame."""
        return np.asarray((self.frame.low + self.frame.high) / 2)

    @property
    def bounds(self) -> list[float]:
        if self.depth is None:
            return _box_of(self.positions)
        return [*self.frame.low.tolist(), *self.frame.high.tolist()]

    @cached_property
    def frame(self) -> Frame:
        """What the first view shows; in space the same from every side."""
        if self.depth is None:
            return find_frame(self.positions)
        space = np.column_stack([self.positions, self.depth])
        middle = (space.min(axis=0) + space.max(axis=0)) / 2
        reach = float(np.sqrt(((space - middle) ** 2).sum(axis=1).max()))
        return Frame(middle[:2] - reach, middle[:2] + reach, 0)

    def beyond(self) -> list[dict[str, Any]]:
        """Rows beyond the frame in groups that lie together: side, how many, the box of them."""
        outside = self.positions[is_outside(self.positions, self.frame)]
        if not len(outside):
            return []
        edge = project_to_edge(outside, self.frame)
        rings = np.floor(_RINGS_PER_DOUBLING * np.log2(edge.distances))
        x, y = (outside - self.middle).T
        sectors = np.floor(_SECTORS / 2 * (1 + np.arctan2(y, x) / np.pi))
        keys = np.stack([edge.sides, rings, sectors], axis=1).astype(np.int64)
        groups, of_row = np.unique(keys, axis=0, return_inverse=True)
        members = [outside[of_row.reshape(-1) == group] for group in range(len(groups))]
        return [
            {"side": SIDES[side], "n_rows": len(own), "box": _box_of(own)}
            for side, own in zip(groups[:, 0].tolist(), members, strict=True)
        ]

    def record(self, tiles: Mapping[int, Tiles]) -> dict[str, Any]:
        """Its entry in meta.json, but for what is measured of its clusters."""
        return {
            "name": self.name,
            "layout": self.layout,
            "bounds": self.bounds,
            "frame": [*self.frame.low.tolist(), *self.frame.high.tolist()],
            "beyond": self.beyond(),
            "tiles": {level_name(level): own.record() for level, own in tiles.items()},
        }


def _box_of(positions: Array) -> list[float]:
    return [*positions.min(axis=0).tolist(), *positions.max(axis=0).tolist()]


def check_maps(model: Any, compare: Any) -> list[StoredMap]:
    """The model's own map, then those to compare it with."""
    if compare is not None and not isinstance(compare, Mapping):
        raise ValueError(
            f"compare: a dict of models or positions by name, got {type(compare).__name__}"
        )
    given = [(None, model), *((clean(name, 100), other) for name, other in (compare or {}).items())]
    found: list[StoredMap] = []
    n_rows = model.hierarchy_.n_rows
    for own_name, each in given:
        layout = getattr(getattr(each, "layout_", None), "kind", "points")
        name = own_name or layout
        positions = np.asarray(getattr(each, "embedding_", each), dtype=np.float64)
        in_space = each is model and positions.shape == (n_rows, 3)
        if positions.shape != (n_rows, 2) and not in_space:
            raise ValueError(
                f"map {name!r}: the explorer shows {n_rows} rows in 2-D, or the first map in 3-D; "
                f"this map has the shape {positions.shape}; "
                "use HNNE(n_components=2), or relayout(n_components=2) of a fitted model"
            )
        if not np.isfinite(positions).all():
            raise ValueError(f"map {name!r}: has positions that are NaN or infinite")
        # regions and balls of another tree are not our clusters': coasts go around their rows
        is_ours = _same_tree(getattr(each, "hierarchy_", None), model.hierarchy_)
        outlined = (
            each if is_ours else SimpleNamespace(hierarchy_=model.hierarchy_, embedding_=positions)
        )
        unit = "" if in_space else piece_unit(n_rows, getattr(each, "layout_", None))
        depth = positions[:, 2] if in_space else None
        found.append(StoredMap(name, layout, positions[:, :2], outlined, unit, depth))
    return found


def _same_tree(one: Hierarchy | None, other: Hierarchy) -> bool:
    if one is None or one is other:
        return one is other
    return one.level_sizes == other.level_sizes and all(
        np.array_equal(a.members, b.members) for a, b in zip(one.levels, other.levels, strict=True)
    )
