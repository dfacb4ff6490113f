"""Coasts, regions or balls of clusters as matplotlib draws them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import Frame, is_outside
from ...method.hierarchy import Hierarchy
from ...method.layout.islands.coasts import trace_coasts

_TRACED = 25_000  # rows that coasts are traced from: of more they would be ragged
_MAX_CLUSTERS = 2000  # clusters that are outlined


def get_outlines(model: Any, level: int, frame: Frame) -> list[list[Array]]:
    """Rings of each cluster of a level; clockwise ones are holes. Empty for very many clusters.

    Coasts are those of the rows in the frame: rows far out would make them coarse.
    """
    hierarchy: Hierarchy = model.hierarchy_
    if hierarchy.level_sizes[level] > _MAX_CLUSTERS:
        return []
    layout = getattr(model, "layout_", None)
    if layout is not None and not layout.piece_unit:
        return [[ring] for ring in layout.outlines(level)]
    labels = hierarchy.labels(level)
    positions = np.asarray(model.embedding_)
    if frame.n_outside:
        inside = ~is_outside(positions, frame)
        labels = labels[inside]
        positions = positions[inside]
    step = -(-len(labels) // _TRACED)
    return list(trace_coasts(positions[::step], labels[::step], hierarchy.level_sizes[level]))


def as_path(rings: list[Array]) -> Any:
    """Rings as one path."""
    from matplotlib.path import Path

    closed = [np.vstack([ring, ring[:1]]) for ring in rings]
    codes = [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in closed]
    return Path(np.concatenate(closed), np.concatenate(codes))


def draw_outlines(
    axes: Any, outlines: list[list[Array]], faces: Any, edges: Any, width: float, zorder: float
) -> None:
    """Fill and edge of each cluster: rows of colours, or one for all."""
    from matplotlib.collections import PathCollection

    drawn = [i for i, rings in enumerate(outlines) if rings]
    paths = [as_path(outlines[i]) for i in drawn]
    chosen = [c[drawn] if isinstance(c, np.ndarray) and c.ndim == 2 else c for c in (faces, edges)]
    axes.add_collection(
        PathCollection(
            paths, facecolors=chosen[0], edgecolors=chosen[1], linewidths=width, zorder=zorder
        ),
        autolim=False,
    )
