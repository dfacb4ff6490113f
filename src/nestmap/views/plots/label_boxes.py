"""Where to write names: near their clusters, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.arrays import Array

_RINGS = (0.0, 0.7, 1.4, 2.2, 3.2)  # distances to try, in heights of the text
_HALVINGS = 3  # of a cluster's rows, to find where most of them are
_DIRECTIONS = 12  # directions to try on each
_MAX_ROWS_TRIED = 200  # rows of a cluster: which of them lies farthest inland?


@dataclass(frozen=True, eq=False)
class PlacedBoxes:
    """Centres of boxes, and which of them have a place."""

    centres: Array  # (n, 2)
    shown: Array  # bool
    moved: Array  # distance from the anchor


def place_boxes(
    anchors: Array,
    sizes: Array,
    frame: Sequence[float],
    taken: Sequence[Sequence[float]] = (),
    farthest: float = 3.2,
) -> PlacedBoxes:
    """Boxes of given sizes near their anchors, without overlap; the first come before the others.

    Parameters
    ----------
    anchors, sizes : ndarray of shape (n, 2)
    frame : left, right, bottom, top
        Boxes stay inside.
    taken : sequence of (left, right, bottom, top)
        Where nothing may be written.
    farthest : float
        Boxes that find no place within so many heights are left out.

    Examples
    --------
    >>> placed = place_boxes(np.zeros((2, 2)), np.full((2, 2), 2.0), (-10, 10, -10, 10))
    >>> placed.shown.tolist(), bool(abs(placed.centres[1] - placed.centres[0]).max() >= 2)
    ([True, True], True)
    """
    boxes = np.array(taken, dtype=np.float64).reshape(-1, 4)
    centres = anchors.astype(np.float64)
    shown = np.zeros(len(anchors), dtype=bool)
    moved = np.zeros(len(anchors))
    turn = 2 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for i, (anchor, half) in enumerate(zip(centres.copy(), sizes / 2, strict=True)):
        low = np.array([frame[0], frame[2]]) + half
        high = np.array([frame[1], frame[3]]) - half
        for reach in _RINGS:
            if reach > farthest:
                break
            tries = anchor + ring * (half * [1, 2] * reach * [0.6, 1.0]) if reach else anchor[None]
            tries = np.clip(tries, low, np.maximum(low, high))
            free = ~_overlap(tries, half, boxes).any(axis=1)
            if free.any():
                centres[i] = tries[np.argmax(free)]
                shown[i] = True
                moved[i] = float(np.linalg.norm(centres[i] - anchor))
                x, y = centres[i]
                boxes = np.vstack([boxes, [x - half[0], x + half[0], y - half[1], y + half[1]]])
                break
    return PlacedBoxes(centres, shown, moved)


def _overlap(centres: Array, half: Array, boxes: Array) -> Array:
    """Whether a box around each centre meets each of the boxes; (centres, boxes)."""
    x = centres[:, :1]
    y = centres[:, 1:]
    across = (x - half[0] < boxes[:, 1]) & (x + half[0] > boxes[:, 0])
    return np.asarray(across & (y - half[1] < boxes[:, 3]) & (y + half[1] > boxes[:, 2]))


def find_anchors(positions: Array, labels: Array, n_clusters: int) -> Array:
    """A row in the thick of each cluster, nan for clusters without rows.

    The median of the half of the rows that lies nearest to the median, and so on: where most of
    them are.
    """
    anchors = np.full((n_clusters, 2), np.nan)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))
    for i, rows in enumerate(np.split(order, ends[:-1])):
        if len(rows):
            own = positions[rows]
            for _ in range(_HALVINGS):
                away = ((own - np.median(own, axis=0)) ** 2).sum(axis=1)
                own = own[np.argsort(away, kind="stable")[: max(1, len(own) // 2)]]
            anchors[i] = own[0]
    return anchors


def find_inland(
    positions: Array, labels: Array, outlines: Sequence[Sequence[Array]]
) -> tuple[Array, Array]:
    """A row far from the coast on each cluster's largest part, and the share of its rows there.

    Clusters without land keep the place that `find_anchors` gives, and count as one part.

    Parameters
    ----------
    outlines : per cluster its rings; those that run clockwise are holes
    """
    anchors = find_anchors(positions, labels, len(outlines))
    shares = np.ones(len(outlines))
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=len(outlines)))
    for i, (rows, rings) in enumerate(zip(np.split(order, ends[:-1]), outlines, strict=True)):
        own = positions[rows]
        parts = [own[_inside(own, ring)] for ring in rings if _signed_area(ring) > 0]
        if not parts or max(map(len, parts)) == 0:
            continue
        most = max(parts, key=len)
        shares[i] = len(most) / len(own)
        tried = most[:: -(-len(most) // _MAX_ROWS_TRIED)]
        anchors[i] = tried[np.argmax(np.min([_to_ring(tried, ring) for ring in rings], axis=0))]
    return anchors, shares


def _inside(points: Array, ring: Array) -> Array:
    from matplotlib.path import Path

    return np.asarray(Path(ring).contains_points(points))


def _to_ring(points: Array, ring: Array) -> Array:
    """Squared distance from each point to the line of a ring."""
    way = np.roll(ring, -1, axis=0) - ring
    from_start = points[:, None] - ring
    along = (from_start * way).sum(axis=2) / np.maximum((way * way).sum(axis=1), 1e-300)
    from_line = from_start - np.clip(along, 0, 1)[:, :, None] * way
    return np.asarray((from_line * from_line).sum(axis=2).min(axis=1))


def _signed_area(ring: Array) -> float:
    """Positive for a ring that runs counterclockwise."""
    x, y = ring.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
