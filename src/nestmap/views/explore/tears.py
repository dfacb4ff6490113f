"""Where a map tears: links between true neighbours that it puts far apart, bundled per cluster.

Counted once, when the store is written: every link of every row, so that the numbers are exact for
clusters of any size, and a static page has them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks
from .maps import StoredMap
from .order import TreeOrder
from .store_format import PANELS_PER_FILE
from .writing import Writing

FAR = 0.1  # of the longer side of the frame, as FAR of the page: farther neighbours are torn away
_MOST_BUNDLES = 40  # of a cluster: the widest are told
_MOST_CLUSTERS = 8  # of those that links of a cluster lead to
_DIGITS = 4  # significant ones of a place: more than a screen shows


@dataclass(frozen=True, eq=False)
class Bundles:
    """Links that are far, in groups with the same clusters and about the same ends.

    Attributes
    ----------
    source, target : ndarray
        Clusters in tree order.
    ends : ndarray
        A number for the two cells of the map in which the links begin and end.
    counts : ndarray
    sums : ndarray of shape (n, 4)
        Of the coordinates of both ends.
    """

    source: Array
    target: Array
    ends: Array
    counts: Array
    sums: Array

    def joined(self, source: Array, target: Array) -> Bundles:
        """The same links with other clusters, such as their parents; equal groups are one."""
        keys = np.stack([source, target, self.ends])
        groups, first, of = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        of = of.reshape(-1)
        counts = np.bincount(of, self.counts, groups.shape[1]).astype(np.int64)
        sums = np.stack([np.bincount(of, column, groups.shape[1]) for column in self.sums.T], 1)
        return Bundles(groups[0], groups[1], self.ends[first], counts, sums)


def write_tears(writing: Writing, number: int, of: StoredMap, levels: Sequence[int]) -> list[int]:
    """Bundles of each cluster of some levels; the levels written."""
    if writing.content.neighbors is None or not levels or of.depth is not None:
        return []
    writing.progress.begin(f"links that the map {of.name!r} tears")
    tree = writing.tree
    bundles = find_bundles(tree, of, writing.content.neighbors, min(levels))
    n_links = writing.content.neighbors.shape[1]
    for level in range(min(levels), max(levels) + 1):
        if level > min(levels):
            parents = tree.parents(level - 1)
            bundles = bundles.joined(parents[bundles.source], parents[bundles.target])
        if level in levels:
            told = _tell(bundles, np.diff(tree.starts(level)) * n_links)
            for c in range(0, len(told), PANELS_PER_FILE):
                name = f"m{number}/tears/{level}/{c // PANELS_PER_FILE}.json"
                writing.sink.put_json(name, told[c : c + PANELS_PER_FILE])
    return list(levels)


def find_bundles(tree: TreeOrder, of: StoredMap, neighbors: Array, level: int) -> Bundles:
    """Links that are far, by the clusters of a level and by cells as wide as what is far."""
    reach = FAR * float((of.frame.high - of.frame.low).max())
    parts = []
    for some in blocks(len(tree.rows), neighbors.shape[1], values=4_000_000):
        rows = tree.rows[some]
        ends = np.stack([np.repeat(rows, neighbors.shape[1]), neighbors[rows].reshape(-1)])
        steps = of.positions[ends[1]] - of.positions[ends[0]]
        parts.append(ends[:, np.einsum("ij,ij->i", steps, steps) > reach**2])
    source, target = np.concatenate(parts, axis=1)
    owner = np.repeat(np.arange(tree.size(level)), np.diff(tree.starts(level)))
    places = of.positions[np.stack([source, target])] - of.middle
    cells = np.floor(np.clip(places, *_edges(of)) / reach).astype(np.int64)
    n_cells = np.ptp(cells, axis=(0, 1)) + 1 if cells.size else np.ones(2, np.int64)
    cells = cells - cells.min(axis=(0, 1)) if cells.size else cells
    flat = cells[..., 0] * n_cells[1] + cells[..., 1]
    links = Bundles(
        source,
        target,
        flat[0] * n_cells.prod() + flat[1],
        np.ones(len(source), np.int64),
        np.concatenate([places[0], places[1]], axis=1),
    )
    return links.joined(owner[tree.places[source]], owner[tree.places[target]])


def _edges(of: StoredMap) -> tuple[Array, Array]:
    """The frame around its middle: rows further out count to the cells at its edge."""
    half = (of.frame.high - of.frame.low) / 2
    return -half, half


def _tell(bundles: Bundles, n_links: Array) -> list[dict[str, Any]]:
    """Per cluster: links in all, far ones, the widest bundles, the clusters that most lead to."""
    found = []
    bounds = np.searchsorted(bundles.source, np.arange(len(n_links) + 1))
    for cluster, total in enumerate(n_links.tolist()):
        own = slice(bounds[cluster], bounds[cluster + 1])
        counts, sums = _by_ends(bundles, own)
        means = sums / counts[:, None]
        widest = np.argsort(-counts, kind="stable")[:_MOST_BUNDLES]
        targets, of = np.unique(bundles.target[own], return_inverse=True)
        per_target = np.bincount(of.reshape(-1), bundles.counts[own], len(targets)).astype(np.int64)
        most = np.argsort(-per_target, kind="stable")[:_MOST_CLUSTERS]
        found.append(
            {
                "links": total,
                "far": int(counts.sum()),
                "bundles": [
                    [*(float(f"{v:.{_DIGITS}g}") for v in means[i].tolist()), int(counts[i])]
                    for i in widest.tolist()
                ],
                "to": [[int(targets[i]), int(per_target[i])] for i in most.tolist()],
            }
        )
    return found


def _by_ends(bundles: Bundles, own: slice) -> tuple[Array, Array]:
    """Counts and sums of one cluster's bundles, whatever clusters they lead to."""
    ends, of = np.unique(bundles.ends[own], return_inverse=True)
    of = of.reshape(-1)
    counts = np.bincount(of, bundles.counts[own], len(ends)).astype(np.int64)
    sums = [np.bincount(of, column, len(ends)) for column in bundles.sums[own].T]
    return counts, np.stack(sums, axis=1)
