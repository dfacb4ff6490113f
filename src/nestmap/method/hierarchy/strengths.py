"""Memberships: on each level, the share of each row's links that stay in its cluster.

Kept as uint8; a table has the figures per cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array, blocks, brief_repr
from ...core.threads import map_blocks
from .level import read_only

if TYPE_CHECKING:
    from .tree import Hierarchy

# shares are exact where all links of an item weigh no more, as those to 15 neighbours do
_MAX_WHOLE = 255
_LINKS_PER_BLOCK = 200_000  # that are looked up at a time
_MAX_LISTED = 20  # clusters in a repr


@dataclass(frozen=True, eq=False)
class Strengths:
    """Of each item on each level, the share of its links that stays in its cluster.

    Items are rows, or the nodes of a level, whose rows share theirs. On that level and below
    nothing is measured: 1.
    """

    shares: Array  # (levels above `level`, items) uint8, in parts of `whole`
    whole: int  # what a share of 1 is
    level: int = -1  # whose nodes the items are; -1: rows

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", read_only(self.shares))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def of_rows(self, level: int, hierarchy: Hierarchy) -> Array:
        """Of each row on a level of the hierarchy, float32."""
        if level <= self.level:
            return np.ones(hierarchy.n_rows, dtype=np.float32)
        shares = self.shares[level - self.level - 1] / np.float32(self.whole)
        return np.asarray(shares if self.level < 0 else shares[hierarchy.labels(self.level)])

    def take(self, items: Array) -> Strengths:
        """Of some items, in this order."""
        return replace(self, shares=self.shares[:, items])

    def grown(self, hierarchy: Hierarchy) -> Strengths:
        """With memberships of new items, the last ones of a grown hierarchy.

        Theirs are the means over the old items of the lowest cluster above them that has any.
        """
        items = _items(hierarchy, self.level)
        n_old = self.shares.shape[1]
        shares = np.empty((len(self.shares), len(items)), dtype=np.uint8)
        shares[:, :n_old] = self.shares
        left = np.arange(n_old, len(items))
        for k in range(max(self.level, 0), hierarchy.n_levels):
            if not len(left):
                break
            nodes = hierarchy.climb(items, k, max(self.level, 0))
            counts = np.bincount(nodes[:n_old], minlength=hierarchy.levels[k].n_nodes)
            settled = left[counts[nodes[left]] > 0]
            own = nodes[settled]
            for share in shares:
                sums = np.bincount(nodes[:n_old], weights=share[:n_old], minlength=len(counts))
                share[settled] = np.rint(sums[own] / counts[own])
            left = left[counts[nodes[left]] == 0]
        shares[:, left] = np.rint(self.shares.mean(axis=1, keepdims=True))
        return replace(self, shares=shares)


def _items(hierarchy: Hierarchy, level: int) -> Array:
    """The node of level 0, or of the level whose nodes they are, of each item."""
    return hierarchy.levels[0].members if level < 0 else np.arange(hierarchy.levels[level].n_nodes)


def measure_shares(labels: Sequence[Array], ids: Array, n_threads: int = 1) -> tuple[Array, int]:
    """The share of links that stay in each item's cluster, on several levels, as in `Strengths`.

    And the whole number that stands for 1.

    Parameters
    ----------
    labels : sequence of ndarray of shape (n,)
        Cluster of each item, per level.
    ids : ndarray of shape (n, k)
        The items that each has links to, the nearest first: it counts k, the next k - 1, and so on.
        -1 is none.

    Examples
    --------
    >>> shares, whole = measure_shares([np.array([0, 0, 1])], np.array([[1, 2], [0, 2], [1, 0]]))
    >>> shares.tolist(), whole
    ([[2, 2, 0]], 3)
    """
    n, k = ids.shape
    weights = np.arange(k, 0, -1, dtype=np.float32)
    complete = bool((ids >= 0).all())
    whole = int(weights.sum()) if complete and weights.sum() <= _MAX_WHOLE else _MAX_WHOLE
    known = [_with_none(each) for each in labels]
    shares = np.empty((len(known), n), dtype=np.uint8)

    def measure(part: slice) -> None:
        ends = ids[part]
        totals = weights.sum() if complete else np.maximum((ends >= 0) @ weights, 1)
        for level, own in enumerate(known):
            inside = (
                own[ends] == own[part, None]
            ) @ weights  # whole numbers: the same bits in any order
            shares[level, part] = (
                inside if complete and whole < _MAX_WHOLE else np.rint(whole * inside / totals)
            )

    map_blocks(measure, blocks(n, k, values=_LINKS_PER_BLOCK), n_threads)
    return shares, whole


def _with_none(labels: Array) -> Array:
    """Labels in the narrowest type; a unique one at the end, so that index -1 matches none."""
    n = int(labels.max()) + 1
    return np.append(labels, n).astype(np.min_scalar_type(n))


# -- per cluster -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClusterFigures:
    """One cluster in numbers."""

    cluster: int
    size: int
    # how well separated: share of the links of its rows that stay inside; nan: unknown
    inside: float
    # how stable: overlap with the most similar cluster of other partitions; nan: unknown
    agreement: float


@dataclass(frozen=True)
class ClusterTable:
    """The clusters of a level, by number; prints the largest of them."""

    level: int
    clusters: tuple[ClusterFigures, ...]

    def __iter__(self) -> Iterator[ClusterFigures]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, cluster: int) -> ClusterFigures:
        return self.clusters[cluster]

    def __repr__(self) -> str:
        shown = sorted(self.clusters, key=lambda each: -each.size)[:_MAX_LISTED]
        lines = ["cluster    size  inside  agreement"]
        lines += [
            f"{c.cluster:>7}  {c.size:>6}  {_share(c.inside):>6}  {_share(c.agreement):>9}"
            for c in shown
        ]
        return "\n".join(
            lines + [f"… and {len(self) - len(shown)} smaller"] * (len(self) > len(shown))
        )

    def to_frame(self) -> Any:
        """One row per cluster, as a pandas DataFrame."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError("to_frame gives a pandas DataFrame: pip install pandas") from error
        return DataFrame([asdict(cluster) for cluster in self.clusters]).set_index("cluster")


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def tabulate(hierarchy: Hierarchy, level: int) -> ClusterTable:
    """The table of the clusters of a level (a number from 0)."""
    nodes = hierarchy.levels[level]
    strengths = hierarchy.strengths
    inside = np.full(nodes.n_nodes, np.nan)
    if strengths is not None and level > strengths.level:
        sums = np.bincount(
            hierarchy.labels(level), strengths.of_rows(level, hierarchy), nodes.n_nodes
        )
        inside = sums / nodes.sizes
    agreement = np.full(nodes.n_nodes, np.nan) if nodes.agreement is None else nodes.agreement
    columns = zip(nodes.sizes.tolist(), inside.tolist(), agreement.tolist(), strict=True)
    return ClusterTable(level, tuple(ClusterFigures(i, *each) for i, each in enumerate(columns)))
