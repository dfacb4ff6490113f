"""Where to write names: near their clusters, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._arrays import Array

_RINGS = (0.0, 0.7, 1.4, 2.2, 3.2)  # distances to try, in heights of the text
_HALVINGS = 3  # of a cluster's rows, to find where most of them are
_WAYS = 12  # directions to try on each


@dataclass(frozen=True, eq=False)
class Placed:
    """Centres of boxes, and which of them have a place."""

    centres: Array  # (n, 2)
    shown: Array  # bool
    moved: Array  # distance from the anchor


def place_boxes(
    anchors: Array, sizes: Array, frame: Sequence[float], taken: Sequence[Sequence[float]] = (), farthest: float = 3.2
) -> Placed:
    """Boxes of given widths and heights near their anchors, the first before the others, without overlap.

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
    centres, shown, moved = anchors.astype(np.float64), np.zeros(len(anchors), dtype=bool), np.zeros(len(anchors))
    turn = 2 * np.pi * np.arange(_WAYS) / _WAYS
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for i, (anchor, half) in enumerate(zip(centres.copy(), sizes / 2, strict=True)):
        low, high = np.array([frame[0], frame[2]]) + half, np.array([frame[1], frame[3]]) - half
        for reach in _RINGS:
            if reach > farthest:
                break
            tries = anchor + ring * (half * [1, 2] * reach * [0.6, 1.0]) if reach else anchor[None]
            tries = np.clip(tries, low, np.maximum(low, high))
            free = ~_overlap(tries, half, boxes).any(axis=1)
            if free.any():
                centres[i] = tries[np.argmax(free)]
                shown[i], moved[i] = True, float(np.linalg.norm(centres[i] - anchor))
                x, y = centres[i]
                boxes = np.vstack([boxes, [x - half[0], x + half[0], y - half[1], y + half[1]]])
                break
    return Placed(centres, shown, moved)


def _overlap(centres: Array, half: Array, boxes: Array) -> Array:
    """Whether a box around each centre meets each of the boxes; (centres, boxes)."""
    x, y = centres[:, :1], centres[:, 1:]
    across = (x - half[0] < boxes[:, 1]) & (x + half[0] > boxes[:, 0])
    return np.asarray(across & (y - half[1] < boxes[:, 3]) & (y + half[1] > boxes[:, 2]))


def find_anchors(positions: Array, labels: Array, n_clusters: int, rings: Sequence[Sequence[Array]] = ()) -> Array:
    """A row in the thick of each cluster, nan for clusters without rows.

    The median of the half of the rows that lies nearest to the median, and so on: where most of them are. Of a
    cluster in several parts, whose `rings` are given, only the part with the most rows counts: the middle of all
    of them may lie in another cluster, or in a part that the name says nothing of.
    """
    anchors = np.full((n_clusters, 2), np.nan)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))
    for i, rows in enumerate(np.split(order, ends[:-1])):
        if len(rows):
            own = positions[rows]
            if rings and len(rings[i]) > 1:
                own = _largest_part(own, rings[i])
            for _ in range(_HALVINGS):
                away = ((own - np.median(own, axis=0)) ** 2).sum(axis=1)
                own = own[np.argsort(away, kind="stable")[: max(1, len(own) // 2)]]
            anchors[i] = own[0]
    return anchors


def _largest_part(positions: Array, rings: Sequence[Array]) -> Array:
    """The positions inside the ring that holds the most of them; all, if none holds any."""
    from matplotlib.path import Path

    inside = [Path(ring).contains_points(positions) for ring in rings]
    best = max(inside, key=np.count_nonzero)
    return positions[best] if best.any() else positions
