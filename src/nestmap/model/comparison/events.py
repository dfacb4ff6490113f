"""Matching of the clusters of two levels: same, split, merged, born, gone.

Two clusters belong together if most of the common rows of one of them are in the other. Clusters
that are connected in this way, directly or through others, are one change: one old and one new
cluster are the same one, one old and several new ones are a split, several old and one new a
merger. Most of the rows of a cluster that is gone were removed, or went to many others; most of a
cluster that is born are new, or came from many others.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ...core.arrays import Array

KINDS = ("same", "grown", "shrunk", "split", "merged", "regrouped", "born", "gone")
_MAIN_SHARE = 0.5  # of the rows of a cluster decides which other cluster it is
_GROWTH = 1.25  # factor of the number of rows from which on a cluster has grown


@dataclass(frozen=True)
class Change:
    """One event: what kind it is, and the clusters that take part in it."""

    kind: str
    old: tuple[int, ...]  # numbers of clusters
    new: tuple[int, ...]
    n_old: int  # rows of the old clusters,
    n_new: int  # of the new ones,
    n_common: int  # and rows that are in both
    # how far the middle of these has moved, as a share of the spread; nan where there is none
    moved: float

    def __str__(self) -> str:
        who = " + ".join(map(str, self.old)) + " -> " + " + ".join(map(str, self.new))
        moved = f", moved by {self.moved:.3f}" if self.moved >= 0.01 else ""
        return (
            f"{self.kind:9} {who.strip()} ({self.n_old:,} -> {self.n_new:,} rows, "
            f"{self.n_common:,} common{moved})"
        )


@dataclass(frozen=True)
class LevelChanges:
    """What happened on a level of the old hierarchy.

    Its partner is the new level with about as many clusters.
    """

    old_level: int
    new_level: int
    n_old: int
    n_new: int
    changes: tuple[Change, ...]  # the most rows first
    n_apart: int  # rows that came and are in clusters that were born

    def counts(self) -> dict[str, int]:
        """How many changes of each kind there are."""
        found = Counter(change.kind for change in self.changes)
        return {kind: found[kind] for kind in KINDS}

    def of_kind(self, *kinds: str) -> list[Change]:
        """Changes of some kinds."""
        if wrong := {*kinds} - {*KINDS}:
            raise ValueError(f"{min(wrong)!r}: kinds of changes are {', '.join(KINDS)}")
        return [change for change in self.changes if change.kind in kinds]


def find_changes(
    old: Array, new: Array, rows: tuple[Array, Array], places: tuple[Array, Array] | None
) -> list[Change]:
    """Changes between two clusterings; O(n).

    Parameters
    ----------
    old, new : ndarray of int
        Cluster of each row, on either side.
    rows : the common rows, on either side
    places : positions of the common rows, on either side, in one unit; None without maps
    """
    sizes = np.bincount(old), np.bincount(new)
    a = old[rows[0]]
    b = new[rows[1]]
    shared = sparse.csr_matrix(
        (np.ones(len(a), dtype=np.int64), (a, b)), shape=(len(sizes[0]), len(sizes[1]))
    )
    shared.sum_duplicates()
    groups = _group(shared, *sizes)
    both = groups[0][a] == groups[1][b]  # rows that are in the change on either side
    stayed = groups[0][a][both]
    middles = None if places is None else [_middles(side[both], stayed) for side in places]
    n_common = np.bincount(stayed, minlength=int(groups[0].max(initial=-1)) + 1)
    members = [_members(group, int(max(groups[0].max(), groups[1].max())) + 1) for group in groups]
    found = []
    for g, (ours, theirs) in enumerate(zip(*members, strict=True)):
        n_old = int(sizes[0][ours].sum())
        n_new = int(sizes[1][theirs].sum())
        moved = float("nan")
        if middles is not None and len(ours) and len(theirs) and n_common[g]:
            moved = float(np.linalg.norm(middles[0][g] - middles[1][g]))
        count = int(n_common[g]) if g < len(n_common) else 0
        kind = _kind(len(ours), len(theirs), n_old, n_new)
        found.append(
            Change(kind, tuple(map(int, ours)), tuple(map(int, theirs)), n_old, n_new, count, moved)
        )
    return sorted(
        found, key=lambda change: (-max(change.n_old, change.n_new), change.old, change.new)
    )


def _group(shared: sparse.csr_matrix, old_sizes: Array, new_sizes: Array) -> tuple[Array, Array]:
    """The number of the change that each old and each new cluster takes part in."""
    n_old, n_new = shared.shape
    heirs = _majority(shared, old_sizes)
    sources = _majority(shared.T.tocsr(), new_sizes)
    one = np.flatnonzero(heirs >= 0)
    two = np.flatnonzero(sources >= 0)
    edges = np.concatenate([one, sources[two]]), n_old + np.concatenate([heirs[one], two])
    graph = sparse.coo_matrix((np.ones(len(edges[0])), edges), shape=(n_old + n_new, n_old + n_new))
    groups = connected_components(graph, directed=False)[1]
    return groups[:n_old], groups[n_old:]


def _majority(shared: sparse.csr_matrix, sizes: Array) -> Array:
    """The cluster of the other side that holds most of the common rows of each, or -1."""
    common = np.asarray(shared.sum(axis=1)).ravel()
    best = np.asarray(shared.argmax(axis=1)).ravel()
    most = np.asarray(shared.max(axis=1).todense()).ravel()
    return np.where((common > _MAIN_SHARE * sizes) & (most > _MAIN_SHARE * common), best, -1)


def _middles(places: Array, groups: Array) -> Array:
    """Mean position of the rows of each change."""
    counts = np.maximum(np.bincount(groups), 1)
    return np.stack([np.bincount(groups, column) / counts for column in places.T], axis=1)


def _members(groups: Array, n: int) -> list[Array]:
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.cumsum(np.bincount(groups, minlength=n))[:-1])


def _kind(n_ours: int, n_theirs: int, n_old: int, n_new: int) -> str:
    if n_ours == 0 or n_theirs == 0:
        return "gone" if n_ours else "born"
    if n_ours == n_theirs == 1:
        return (
            "grown" if n_new > _GROWTH * n_old else "shrunk" if n_old > _GROWTH * n_new else "same"
        )
    if n_ours == 1:
        return "split"
    return "merged" if n_theirs == 1 else "regrouped"
