"""New rows on a map whose rows were optimised one by one: where would their leaf's own arrangement put them?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..._arrays import Array
from ..._native import kernels
from ...arrangement import DistinctRows
from ...arrangement.local import nearest_orthogonal
from ...hierarchy.tree import Level
from ..descent import Placement, lengths, neighbors_in_map


def fit_placement(
    start: Placement, offsets: Array, positions: Array, leaf: Level, distinct: DistinctRows | None, n_threads: int
) -> Placement:
    """The placement of each leaf that comes nearest to where its rows lie now; O(n).

    The anchor is their mean; `start`'s frame is turned, mirrored and scaled to fit them best (Procrustes); the ball
    ends at the farthest of them.
    """
    group, n = leaf.grouping, leaf.n_nodes
    anchors = kernels.group_means(positions, group.order, group.starts, np.ones(len(positions)), n_threads)
    away = positions - anchors[leaf.members]
    turned = np.empty((n, 2, 2))
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        turned[:, i, j] = np.bincount(leaf.members, away[:, i] * offsets[:, j], n)
    turns = nearest_orthogonal(turned)
    size = np.bincount(leaf.members, (offsets * offsets).sum(axis=1), n)
    fit = (turns * turned).sum(axis=(1, 2))
    scales = np.divide(fit, size, out=np.zeros(n), where=size > 0)
    if distinct is not None:
        scales[distinct.alone] = 0.0  # what their rows are offset by is rounding
    maps = start.maps if start.maps.shape[1] == 2 else start.maps * np.eye(2)
    maps = np.einsum("gde,gep->gdp", turns, maps).astype(start.maps.dtype)
    nearest, _ = neighbors_in_map(anchors, n_threads)
    return replace(
        start, anchors=anchors, nearest=nearest, radii=group.maximum(lengths(away)), scales=scales, maps=maps
    )
