"""Does the map keep its promise? Lemma 1, or nested regions, checked on every node of a fitted map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .._native.twins import Array
from ..hierarchy import Hierarchy
from .descent import Layout
from .mosaic import Mosaic

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LevelAudit:
    """What was found on one level."""

    level: int
    n_nodes: int
    n_descendants: int  # rows and finer nodes, each counted once
    n_outside: int  # descendants outside their ball (a third of the distance to the next anchor) or region
    worst: float  # farthest descendant: in radii of that ball, or in widths of the region beyond its border
    n_crossing: int  # rows that lie nearer to another anchor of the level, or inside another region


@dataclass(frozen=True)
class Audit:
    """Truthy if every descendant lies inside its ball (Lemma 1) or region (mosaic), at every level."""

    promise: str
    levels: tuple[LevelAudit, ...]

    @property
    def ok(self) -> bool:
        return all(level.n_outside == 0 for level in self.levels)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"{self.promise}: {'holds' if self.ok else 'is violated'}"]
        lines += [
            f"  level {a.level}: {a.n_nodes} nodes, {a.n_outside} of {a.n_descendants} descendants outside "
            f"(worst {a.worst:.3f}), {a.n_crossing} rows nearer to or inside another"
            for a in self.levels
        ]
        return "\n".join(lines)


def audit_layout(hierarchy: Hierarchy, layout: Layout | Mosaic) -> Audit:
    """Check every descendant of every node; O(n · levels^2)."""
    if isinstance(layout, Mosaic):
        return _audit_mosaic(hierarchy, layout)
    found = []
    # a position is an anchor plus a shift: it cannot be nearer to its place than one rounding
    rounding = 4e-16 * np.sqrt(layout.positions.shape[1]) * max(np.abs(layout.positions).max(), 1e-300)
    for k in range(hierarchy.n_levels):
        placement = layout.placements[k]
        ball = placement.nearest / 3
        n_descendants = n_outside = n_crossing = 0
        worst = 0.0
        for below in range(-1, k):
            positions = layout.positions if below < 0 else layout.placements[below].anchors
            owner = _owner(hierarchy, below, k)
            away = np.linalg.norm(positions - placement.anchors[owner], axis=1)
            away = np.maximum(away - rounding, 0)
            share = np.divide(away, ball[owner], out=np.where(away > 0, np.inf, 0.0), where=ball[owner] > 0)
            share[np.isinf(ball[owner])] = 0.0
            n_descendants += len(owner)
            n_outside += int((share > 1 + _TOLERANCE).sum())
            worst = max(worst, float(share.max()))
            if below < 0:
                nearest = cKDTree(placement.anchors).query(positions)[0]
                n_crossing = int((nearest < away * (1 - _TOLERANCE) - rounding).sum())
        found.append(LevelAudit(k, len(ball), n_descendants, n_outside, worst, n_crossing))
    return Audit(f"Lemma 1 (radius {layout.radius:g})", tuple(found))


def _audit_mosaic(hierarchy: Hierarchy, mosaic: Mosaic) -> Audit:
    """Rows and corners of finer regions inside their region; rows inside no region nearby but their own."""
    found = []
    for k, regions in enumerate(mosaic.regions):
        width = np.sqrt(np.maximum(regions.areas, 1e-300))
        n_descendants = n_outside = 0
        worst = -np.inf
        for below in range(-1, k):
            owner = _owner(hierarchy, below, k)
            points = mosaic.positions
            if below >= 0:
                finer = mosaic.regions[below]
                points, owner = finer.points, np.repeat(owner, np.diff(finer.starts))
            away = regions.outside(owner, points) / width[owner]
            n_descendants += len(owner)
            n_outside += int((away > _TOLERANCE).sum())
            worst = max(worst, float(away.max()))
        crossing = 0
        rows = _owner(hierarchy, -1, k)
        n_near = min(6, len(regions))
        near = cKDTree(regions.centres).query(mosaic.positions, n_near)[1].reshape(len(rows), n_near)
        for other in near.T:
            inside = regions.outside(other, mosaic.positions) < -_TOLERANCE * width[other]
            crossing += int((inside & (other != rows)).sum())
        found.append(LevelAudit(k, len(regions), n_descendants, n_outside, worst, crossing))
    return Audit("regions are nested", tuple(found))


def _owner(hierarchy: Hierarchy, below: int, level: int) -> Array:
    """Node of `level` above each item of level `below` (-1: rows)."""
    owner = hierarchy.levels[below + 1].members
    for above in hierarchy.levels[below + 2 : level + 1]:
        owner = above.members[owner]
    return owner
