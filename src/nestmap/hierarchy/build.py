"""Section 3.1: the hierarchy of nearest-neighbour graphs.

Link every row to its nearest other row; the connected components become clusters, their centroids
(means weighted by the number of rows below) the points of the next level; repeat until the last
level that still has at least three nodes. Level 0 is the first partition of the rows, level -1 the
top. Level 0 is kept even when it has fewer than three nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from .._arrays import Array, blocks, runs
from .._input.source import check_unchanged
from .._input.validate import dense_block, work_dtype
from .._native import kernels
from .._parallel import map_blocks
from .._points.reduce import Reducer
from .._progress import Progress, Share
from ..neighbors import FirstNeighbors, Found, NeighborReport, search, warn_of_recall
from ..neighbors.blocked import BlockedIndex
from ..neighbors.choice import Search
from ..neighbors.join import Index
from .tree import Grouping, Hierarchy, Level

_GATHER, _MOST_VALUES = 500_000, 64_000_000  # values of rows that are gathered at a time

Table = Callable[[tuple[int, int], Any], Array]


@dataclass(frozen=True, eq=False)
class Step:
    """From the items of one level to the nodes of the next; no centroids where the top was reached."""

    members: Array
    link: float  # mean distance to the first neighbour
    far: float  # 999 of 1000 items have a first neighbour nearer than this
    report: NeighborReport
    centroids: Any = None
    sizes: Array | None = None
    reducer: Reducer | None = None
    index: Index | BlockedIndex | None = None


class Keeper(Protocol):
    """Keeps finished steps, so that a fit that was stopped can go on from them."""

    def load(self, k: int) -> Step | None: ...

    def save(self, k: int, step: Step) -> None: ...


@dataclass(frozen=True, eq=False)
class _Climb:
    """What all steps of a hierarchy share."""

    metric: Any
    min_nodes: int
    n_threads: int
    progress: Progress
    how: Search
    table: Table

    def step(self, k: int, items: Any, weights: Array, reducer: Reducer | None, first: Any, hashes: Any) -> Step:
        """First neighbours, components, centroids."""
        name = "nodes" if k else "rows"
        self.progress.begin(f"level {k}: first neighbours of {items.shape[0]} {name}")
        if first is not None:
            found = Found(first)
        elif items.shape[0] > 1:
            found = search(items, self.metric, self.n_threads, self.how, reducer, self.progress.share, hashes)
        else:
            found = Found(FirstNeighbors(np.zeros(1, dtype=np.int64), np.full(1, np.nan), _single_row_report()))
        distances = found.neighbors.distances
        members = components(found.neighbors.ids)
        n_nodes = int(members.max()) + 1
        base = Step(
            members, float(np.mean(distances)), float(np.quantile(distances, 0.999)), found.neighbors.report,
            reducer=found.reducer, index=found.index,
        )  # fmt: skip
        if k and (n_nodes < self.min_nodes or n_nodes == items.shape[0]):
            return base
        self.progress.begin(f"level {k}: centroids of {n_nodes} nodes")
        centroids, sizes = merge_items(
            items, weights, members, n_nodes, self.n_threads, self.table, self.progress.share
        )
        return replace(base, centroids=centroids, sizes=sizes.astype(np.int64))


def build_hierarchy(
    X: Any,
    metric: Any = "euclidean",
    *,
    first: FirstNeighbors | None = None,
    hashes: Array | None = None,
    min_nodes: int = 3,
    n_threads: int = 1,
    progress: Progress | None = None,
    how: Search | None = None,
    table: Table = np.empty,
    keeper: Keeper | None = None,
) -> Hierarchy:
    """Section 3.1 on validated rows: levels until the last one with at least `min_nodes` nodes.

    `first` are first neighbours of the rows that the caller has (upper levels are searched), `hashes`
    what `hash_points` gives for the rows; `table(shape, dtype)` makes the array of a level's centroids.
    """
    climb = _Climb(metric, min_nodes, n_threads, progress or Progress(0), how or Search(), table)
    items, weights = X, np.ones(X.shape[0])
    levels: list[Level] = []
    steps: list[Step] = []
    reducer: Reducer | None = None
    computed = False
    while True:
        k = len(levels)
        step = None if keeper is None or computed else keeper.load(k)
        if step is None:
            computed = True  # levels above belong to other clusters, should they be there
            check_unchanged(X)
            step = climb.step(k, items, weights, reducer, first, hashes)
            if keeper is not None:
                keeper.save(k, step)
        first = hashes = None
        reducer = reducer or step.reducer
        steps.append(step)
        warn_of_recall(step.report)
        if levels:
            levels[-1] = replace(levels[-1], gap=step.link)
        if step.centroids is None or step.sizes is None:
            break
        levels.append(Level(step.centroids, step.sizes, step.members, step.link, np.nan))
        items, weights = step.centroids, step.sizes.astype(np.float64)
        if len(step.sizes) == 1:
            break
    index = steps[1].index if len(steps) > 1 else None
    return Hierarchy(tuple(levels), metric, tuple(s.report for s in steps), index, steps[0].far)


def _single_row_report() -> NeighborReport:
    return NeighborReport("a single row", True, 1, 1, "none")


def components(ids: Array) -> Array:
    """Connected components of the first-neighbour graph, numbered by their lowest item; O(n)."""
    from scipy.sparse.csgraph import connected_components

    n = len(ids)
    graph = sparse.csr_matrix((np.ones(n, dtype=np.int8), ids, np.arange(n + 1)), shape=(n, n))
    n_nodes, labels = connected_components(graph, directed=True, connection="weak")
    first = np.full(n_nodes, n)
    np.minimum.at(first, labels, np.arange(n))
    rank = np.empty(n_nodes, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(n_nodes)
    return np.asarray(rank[labels])


def merge_items(
    items: Any,
    weights: Array,
    members: Array,
    n_nodes: int,
    n_threads: int,
    table: Table = np.empty,
    progress: Share | None = None,
) -> tuple[Any, Array]:
    """Centroids and sizes of groups of items: means weighted by the rows below, summed in float64."""
    sizes = np.bincount(members, weights=weights, minlength=n_nodes)
    if sparse.issparse(items):
        shares = sparse.csr_matrix(
            (weights / sizes[members], (members, np.arange(len(members)))), shape=(n_nodes, len(members))
        )
        centroids = (shares @ items).astype(items.dtype).tocsr()
        centroids.sort_indices()
        return centroids, sizes
    group = Grouping.of(members, n_nodes)
    centroids = table((n_nodes, items.shape[1]), work_dtype(items.dtype))

    def mean(part: slice) -> None:
        starts = group.starts[part.start : part.stop + 1]
        rows = group.order[starts[0] : starts[-1]]
        if len(rows) * items.shape[1] > _MOST_VALUES:  # one group of very many: run by run
            total = np.zeros(items.shape[1])
            for some in blocks(len(rows), items.shape[1], values=_GATHER):
                total += weights[rows[some]] @ dense_block(items, rows[some]).astype(np.float64)
            centroids[part] = total / sizes[part]
            return
        x = dense_block(items, rows)  # a gather of some megabytes, of any type, from memory or disk
        order = np.arange(len(rows))
        centroids[part] = kernels.group_means(x, order, starts - starts[0], weights[rows], 1)

    map_blocks(mean, runs(group.starts, max(1, _GATHER // items.shape[1])), n_threads, progress)
    return centroids, sizes
