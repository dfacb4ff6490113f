"""Does the map keep its promise? Lemma 1, checked on every node of a fitted map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from .._native.twins import Array
from ..hierarchy import Hierarchy
from .descent import Layout

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class LevelAudit:
    """What was found on one level."""

    level: int
    n_nodes: int
    n_descendants: int  # rows and finer nodes, each counted once
    n_outside: int  # descendants outside the ball of a third of the distance to the next anchor
    worst: float  # largest distance from the anchor, in units of that ball's radius
    n_crossing: int  # rows that lie nearer to another anchor of the level


@dataclass(frozen=True)
class Audit:
    """Lemma 1 on a fitted map: truthy if every descendant lies inside its ball, at every level."""

    radius: float
    levels: tuple[LevelAudit, ...]

    @property
    def ok(self) -> bool:
        return all(level.n_outside == 0 for level in self.levels)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [f"Lemma 1 {'holds' if self.ok else 'is violated'} (radius {self.radius:g})"]
        lines += [
            f"  level {a.level}: {a.n_nodes} nodes, {a.n_outside} of {a.n_descendants} descendants outside "
            f"their ball (worst {a.worst:.3f} of its radius), {a.n_crossing} rows nearer to another anchor"
            for a in self.levels
        ]
        return "\n".join(lines)


def audit_layout(hierarchy: Hierarchy, layout: Layout) -> Audit:
    """Check every descendant of every node; O(n · levels^2)."""
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
    return Audit(layout.radius, tuple(found))


def _owner(hierarchy: Hierarchy, below: int, level: int) -> Array:
    """Node of `level` above each item of level `below` (-1: rows)."""
    owner = hierarchy.levels[below + 1].members
    for above in hierarchy.levels[below + 2 : level + 1]:
        owner = above.members[owner]
    return owner
