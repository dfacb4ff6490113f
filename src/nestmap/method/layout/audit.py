"""Checks the guarantees of a map on every node: Lemma 1, nested regions, unmixed leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from ...core.arrays import Array, blocks
from ...core.points.point_set import power_of_two
from ..hierarchy.tree import Hierarchy
from .balls import Placement, lengths
from .base import Layout
from .pieces import find_pieces, piece_unit
from .regions import Regions

_RELATIVE_TOLERANCE = 1e-9  # rounding errors of positions, which are sums of a few terms
_ROWS_PER_QUERY = 100_000  # of a k-d tree; Ctrl-C works between two queries


@dataclass(frozen=True)
class LevelAudit:
    """What was found on one level."""

    level: int
    n_nodes: int
    n_descendants: int  # rows and finer nodes, each counted once
    # descendants outside their ball (a third of the distance to the next anchor) or region
    n_outside: int
    # farthest descendant: in radii of that ball, or in widths of the region beyond its border
    worst: float
    n_crossing: int  # rows that lie nearer to another anchor of the level, or inside another region
    n_rows: int
    promised: bool = True  # False: measured, but no promise of the layout
    # share of the rows in the largest piece of their cluster on the map; nan: unknown
    whole: float = float("nan")
    n_split: int = 0  # clusters that do not lie in one place of the map

    @property
    def share_own(self) -> float:
        """Share of the rows that lie nearest to their own cluster (anchor, centre or region)."""
        return 1 - self.n_crossing / self.n_rows


@dataclass(frozen=True)
class Audit:
    """Truthy if every descendant lies in its ball or region, at every level that promises it.

    `measured_on`: what `LevelAudit.whole` was measured on, 'rows' or 'leaves'; '' where a promise
    stands for it.
    """

    promise: str
    levels: tuple[LevelAudit, ...]
    measured_on: str = ""

    @property
    def ok(self) -> bool:
        return all(level.n_outside == 0 for level in self.levels if level.promised)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        verdict = (
            ("holds" if self.ok else "is violated")
            if any(a.promised for a in self.levels)
            else "measured"
        )
        lines = [
            f"{self.promise}: {verdict}",
            *(_in_words(a) + _whole_in_words(a) for a in self.levels),
        ]
        if self.measured_on == "leaves":
            lines.append("  pieces are those of leaves, each at the mean place of its rows")
        return "\n".join(lines)


def _in_words(a: LevelAudit) -> str:
    if not a.promised:
        return (
            f"  level {a.level}: {a.n_nodes} nodes, {a.share_own:.2%} of the rows nearest to their "
            "own (measured)"
        )
    return (
        f"  level {a.level}: {a.n_nodes} nodes, {a.n_outside} of {a.n_descendants} descendants "
        f"outside (worst {a.worst:.3f}), {a.n_crossing} rows nearer to or inside another"
    )


def _whole_in_words(a: LevelAudit) -> str:
    if np.isnan(a.whole):
        return ""
    clusters = "1 cluster" if a.n_split == 1 else f"{a.n_split} clusters"
    return f"; {a.whole:.2%} in the largest piece of their cluster, {clusters} not in one place"


def audit_layout(hierarchy: Hierarchy, layout: Layout, n_threads: int = 1) -> Audit:
    """Check all descendants, and how whole clusters are; O(n · levels · (levels + log n))."""
    found = layout.check_promise(hierarchy, n_threads)
    levels = list(found.levels)
    unit = piece_unit(hierarchy.n_rows, layout)
    for pieces in find_pieces(hierarchy, layout.positions, n_threads, unit=unit):
        k = pieces.level
        levels[k] = replace(levels[k], whole=pieces.whole, n_split=pieces.n_split)
    return replace(found, levels=tuple(levels), measured_on=unit)


def _unit(places: list[Array], n_threads: int) -> float:
    """A power of two by which squared coordinates stay in range."""
    return min((power_of_two(some, n_threads) for some in places if some.any()), default=1.0)


def audit_balls(
    hierarchy: Hierarchy,
    positions: Array,
    placements: tuple[Placement, ...],
    radius: float,
    n_threads: int,
) -> Audit:
    """Rows and finer anchors inside balls, and rows nearer to no anchor than to their own."""
    found = []
    unit = _unit([positions, *(placement.anchors for placement in placements)], n_threads)
    rows = positions * unit
    placements = tuple(placement.scaled(unit) for placement in placements)
    # a position is an anchor plus a shift, and the map may have been moved as a whole:
    # a few roundings
    rounding = 8e-16 * np.sqrt(rows.shape[1]) * max(np.abs(rows).max(), 1e-300)
    rounding += 2e-323 * unit  # positions of subnormal data are that coarse
    for k, placement in enumerate(placements):
        ball = placement.nearest / 3
        n_descendants = n_outside = n_crossing = 0
        worst = 0.0
        for below in range(-1, k):
            places = rows if below < 0 else placements[below].anchors
            owner = _owner(hierarchy, below, k)
            away = lengths(places - placement.anchors[owner])
            away = np.maximum(away - rounding, 0)
            share = np.divide(
                away, ball[owner], out=np.where(away > 0, np.inf, 0.0), where=ball[owner] > 0
            )
            share[np.isinf(ball[owner])] = 0.0
            n_descendants += len(owner)
            n_outside += int((share > 1 + _RELATIVE_TOLERANCE).sum())
            worst = max(worst, float(share.max()))
            if below < 0:
                n_crossing = _nearer_to_others(placement, owner, places, away, rounding, n_threads)
        found.append(
            LevelAudit(k, len(ball), n_descendants, n_outside, worst, n_crossing, len(rows))
        )
    return Audit(f"Lemma 1 (radius {radius:g})", tuple(found))


def _nearer_to_others(
    placement: Placement,
    owner: Array,
    positions: Array,
    away: Array,
    rounding: float,
    n_threads: int,
) -> int:
    """How many rows lie nearer to another anchor than to their own."""
    # within half the distance to the next anchor nothing else can be nearer
    doubtful = np.flatnonzero(
        2 * (away + rounding) >= placement.nearest[owner] * (1 - _RELATIVE_TOLERANCE)
    )
    tree = cKDTree(placement.anchors)
    crossing = 0
    for part in blocks(len(doubtful), 1, values=_ROWS_PER_QUERY):
        rows = doubtful[part]
        nearest = tree.query(positions[rows], workers=n_threads)[0]
        crossing += int((nearest < away[rows] * (1 - _RELATIVE_TOLERANCE) - rounding).sum())
    return crossing


def audit_leaves(
    hierarchy: Hierarchy, rows: Array, leaves: Placement | None, n_threads: int
) -> Audit:
    """Rows inside the balls of their leaves, if there are any.

    On upper levels, rows nearest to their own centre.
    """
    found = []
    for k, level in enumerate(hierarchy.levels):
        owner = _owner(hierarchy, -1, k)
        if k == 0 and leaves is not None:
            centres = leaves.anchors
            radii = leaves.radii
        else:
            total = np.stack([np.bincount(owner, along, level.n_nodes) for along in rows.T], axis=1)
            centres = total / level.sizes[:, None]
            radii = np.full(level.n_nodes, np.inf)
        away = lengths(rows - centres[owner])
        rounding = 4e-16 * max(float(np.abs(rows).max()), 1e-300)
        share = np.maximum(away - rounding, 0) / np.maximum(radii[owner], 1e-300)
        nearest = _distances_to(centres, rows, n_threads)
        crossing = int((nearest < away * (1 - _RELATIVE_TOLERANCE) - rounding).sum())
        outside = int((share > 1 + _RELATIVE_TOLERANCE).sum())
        worst = float(share.max())
        promised = k == 0 and leaves is not None
        found.append(
            LevelAudit(k, level.n_nodes, len(rows), outside, worst, crossing, len(rows), promised)
        )
    promise = (
        "rows inside the balls of their leaves"
        if leaves is not None
        else "rows nearest to their own"
    )
    return Audit(promise, tuple(found))


def _distances_to(centres: Array, positions: Array, n_threads: int) -> Array:
    """From each position to the nearest of some centres."""
    tree = cKDTree(centres)
    nearest = np.empty(len(positions))
    for part in blocks(len(positions), 1, values=_ROWS_PER_QUERY):
        nearest[part] = tree.query(positions[part], workers=n_threads)[0]
    return nearest


def audit_regions(
    hierarchy: Hierarchy, positions: Array, regions: tuple[Regions, ...], n_threads: int
) -> Audit:
    """Rows, corners of finer regions inside their region; rows inside none nearby but theirs."""
    found = []
    unit = _unit([positions, *(each.points for each in regions)], n_threads)
    rows = positions * unit
    levels = [each.scaled(unit) for each in regions]
    order = _by_place(rows)
    for k, own in enumerate(levels):
        width = np.sqrt(np.maximum(own.areas, 1e-300))
        n_descendants = n_outside = 0
        worst = -np.inf
        for below in range(-1, k):
            owner = _owner(hierarchy, below, k)
            points = rows
            if below >= 0:
                points = levels[below].points
                owner = np.repeat(owner, np.diff(levels[below].starts))
            away = own.outside(owner, points, n_threads) / width[owner]
            n_descendants += len(owner)
            n_outside += int((away > _RELATIVE_TOLERANCE).sum())
            worst = max(worst, float(away.max()))
        crossing = _crossing(own, _owner(hierarchy, -1, k), rows, order, n_threads)
        found.append(LevelAudit(k, len(own), n_descendants, n_outside, worst, crossing, len(rows)))
    return Audit("regions are nested", tuple(found))


def _crossing(
    regions: Regions, owner: Array, positions: Array, order: Array, n_threads: int
) -> int:
    """How often a row lies inside one of the regions nearby that is not its own."""
    tree = cKDTree(regions.centres)
    n_near = min(6, len(regions))
    limits = -_RELATIVE_TOLERANCE * np.sqrt(np.maximum(regions.areas, 1e-300))
    crossing = 0
    for part in blocks(len(order), 1, values=_ROWS_PER_QUERY):
        own = order[part]
        near = tree.query(positions[own], n_near, workers=n_threads)[1].reshape(len(own), n_near)
        row, other = np.nonzero(near != owner[own, None])
        other = near[row, other]
        crossing += int(
            (regions.outside(other, positions[own[row]], n_threads) < limits[other]).sum()
        )
    return crossing


def _by_place(positions: Array) -> Array:
    """Rows in the order of a k-d tree, so that consecutive queries share the cache."""
    low = positions.min(axis=0)
    high = positions.max(axis=0)
    squares = (positions - low) * (255 / np.maximum(high - low, 1e-300))
    key = np.zeros(len(positions), dtype=np.uint16)
    for column in squares.T[:2]:
        key = key * np.uint16(256) + column.astype(np.uint16)
    return np.argsort(key, kind="stable")


def _owner(hierarchy: Hierarchy, below: int, level: int) -> Array:
    """Node of `level` above each item of level `below` (-1: rows)."""
    owner = hierarchy.levels[below + 1].members
    for above in hierarchy.levels[below + 2 : level + 1]:
        owner = above.members[owner]
    return owner
