"""The paper's arrangement: one linear map for all nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array
from ...core.native import kernels
from ..hierarchy.tree import Hierarchy
from ..preliminary.build import Preliminary
from ..preliminary.maps import LinearMap, RandomMap
from .frames import Frames, apply_maps
from .inflate import inflation_maps


@dataclass(frozen=True, eq=False)
class GlobalArrangement:
    """The preliminary embedding, with or without inflation.

    Members are offset from the mean of all rows below the node; with inflation, as in the authors'
    code, from the mean of the members.
    """

    preliminary: Preliminary
    inflate: bool
    kind: str = "global"

    @property
    def transform(self) -> LinearMap | RandomMap | None:
        return self.preliminary.transform

    def prepared(self, hierarchy: Hierarchy) -> GlobalArrangement:
        """There is nothing to do ahead."""
        return self

    def frames(self, hierarchy: Hierarchy, k: int, anchors: Array, around: Array) -> Frames:
        """Frames of level k."""
        level = hierarchy.levels[k]
        centres = self.preliminary.nodes[k]
        z = self.preliminary.nodes[k - 1] if k else self.preliminary.rows
        if self.inflate:  # each member counts once, however many rows are below it
            centres = kernels.group_means(
                z, level.grouping.order, level.grouping.starts, np.ones(len(z)), 1
            )
        offsets = centres[level.members]
        np.subtract(z, offsets, out=offsets)
        if not self.inflate:
            return Frames(offsets, np.ones((level.n_nodes, 1, 1)), centres)
        maps = inflation_maps(offsets, level.members, level.n_nodes)
        return Frames(apply_maps(maps, level.members, offsets), maps, centres)
