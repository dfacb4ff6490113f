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

from ...core.arrays import Array, blocks, runs
from ...core.input.source import check_unchanged, load_rows
from ...core.input.validate import as_rows, check_number, dense_block, work_dtype_of
from ...core.native import kernels
from ...core.points.duplicates import hash_points
from ...core.points.reduce import Reducer
from ...core.progress import Progress
from ...core.threads import map_blocks, resolve_n_jobs
from ..neighbors import (
    FirstNeighbors,
    Found,
    KnownItems,
    NeighborReport,
    check_metric,
    given_neighbors,
    search,
    warn_of_recall,
)
from ..neighbors.blocked import BlockedIndex, measure_links
from ..neighbors.choice import Search
from ..neighbors.index import Index
from ..neighbors.metric import Metric
from ..neighbors.shared import Start
from ..run import Decided, Run
from .medoids import merge_medoids
from .merge import Links, components, link_graph
from .tree import Grouping, Hierarchy, Level

_VALUES_PER_GATHER = 500_000  # of X that a thread copies at a time: a few megabytes
_MAX_VALUES_PER_GROUP = 64_000_000  # a larger group is summed in blocks, not copied as a whole


@dataclass(frozen=True, eq=False)
class KnownRows:
    """What the caller already has of the rows."""

    hashes: Array | None = None  # by `hash_points`
    given: FirstNeighbors | None = None  # first neighbours of the rows; upper levels are searched
    start: Start | None = None  # what a graph search of the same rows has left for this one


@dataclass(frozen=True, eq=False)
class LevelStep:
    """From the items of one level to the nodes of the next."""

    members: Array  # node of each item
    link: float  # mean distance to the first neighbour
    far_distance: float  # 999 of 1000 items have a first neighbour nearer than this
    report: NeighborReport
    links: Links
    centroids: Any = None  # None where a single node is left
    sizes: Array | None = None
    reducer: Reducer | None = None
    index: Index | BlockedIndex | None = None

    def with_nodes(self, centroids: Any, sizes: Array) -> LevelStep:
        """The same with the centroids of the nodes, and the rows below each."""
        return replace(self, centroids=centroids, sizes=sizes.astype(np.int64))

    def level(self, keys: Array) -> Level:
        """The level of these nodes; the distance between them is known after the next step."""
        assert self.sizes is not None
        return Level(self.centroids, self.sizes, self.members, self.link, np.nan, keys)


class SavedSteps(Protocol):
    """Keeps finished steps, so that an interrupted fit can resume."""

    def load(self, k: int) -> LevelStep | None: ...

    def save(self, k: int, step: LevelStep) -> None: ...


def build_hierarchy(
    X: Any,
    metric: Any = "euclidean",
    *,
    metric_params: dict[str, Any] | None = None,
    neighbors: Any = "auto",
    target_recall: float = 0.9,
    min_nodes: int = 3,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Hierarchy:
    """The hierarchy of the rows of X alone, without a map.

    Parameters
    ----------
    X : array-like, CSR matrix, path of a .npy file, or anything with shape, dtype and row slicing
    metric, metric_params, neighbors, target_recall, n_jobs, verbose
        As in `nestmap.HNNE`.
    min_nodes : int
        Levels go up as long as they have at least this many nodes.

    Returns
    -------
    Hierarchy

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import build_hierarchy
    >>> build_hierarchy(load_digits().data)
    Hierarchy(1797 rows -> 401 -> 88 -> 21 -> 7 nodes, metric='euclidean')
    """
    n_threads = resolve_n_jobs(n_jobs)
    X = as_rows(load_rows(X), n_threads=n_threads)
    known = check_metric(metric, X, metric_params)
    check_number("min_nodes", min_nodes, 1, np.inf, integer=True)
    given = None if isinstance(neighbors, str) else given_neighbors(neighbors, X.shape[0])
    options = Search("auto" if given else neighbors, target_recall)
    run = Run(n_threads, Progress(verbose), Decided(nodes=options))
    return build_levels(X, known, run, KnownRows(given=given), min_nodes=min_nodes)


@dataclass(frozen=True, eq=False)
class LevelItems:
    """What is joined to the nodes of level k: the rows, or the nodes of level k - 1."""

    k: int
    values: Any  # rows or centroids
    weights: Array  # rows below each item
    keys: Array
    known: KnownRows
    dtype: np.dtype[Any]  # of centroids
    reducer: Reducer | None = None  # of a level below


# Joins the items of a level along their first neighbours, as `join_items` does.
Join = Callable[[LevelItems, Metric, Run], LevelStep]


def join_items(items: LevelItems, metric: Metric, run: Run) -> LevelStep:
    """One step; only the call holds what the search has found, to free it early."""
    return merge_found(items, _search(items, metric, run), metric, run)


def build_levels(
    X: Any,
    metric: Metric,
    run: Run,
    known: KnownRows | None = None,
    *,
    min_nodes: int = 3,
    max_nodes: int = 1,
    saved: SavedSteps | None = None,
    join: Join = join_items,
) -> Hierarchy:
    """Section 3.1 on validated rows: levels until the last one with at least `min_nodes` nodes.

    Levels end early at the first with at most `max_nodes` nodes. `saved` are finished steps of an
    earlier fit.
    """
    items = _first_items(X, known or KnownRows(), run)
    levels: list[Level] = []
    steps: list[LevelStep] = []
    resumes = saved is not None
    while True:
        step = saved.load(items.k) if saved is not None and resumes else None
        if step is None:
            resumes = False  # saved levels above would belong to other clusters
            check_unchanged(X)
            step = join(items, metric, run)
            if saved is not None:
                saved.save(items.k, step)
        steps.append(step)
        warn_of_recall(step.report)
        if len(levels) == items.k > 0:
            levels[-1] = replace(levels[-1], gap=step.link)
        if step.centroids is None or step.sizes is None:
            break
        items = _next_items(items, step)
        # steps above the top only tell how its nodes merge
        if items.k == 1 or len(step.sizes) >= min_nodes:
            levels.append(step.level(items.keys))
        if len(step.sizes) <= max_nodes:
            break
    index = steps[1].index if len(steps) > 1 else None  # of the nodes of level 0
    reports = tuple(step.report for step in steps)
    links = tuple(step.links for step in steps)
    return Hierarchy(tuple(levels), metric, reports, index, steps[0].far_distance, links)


def _first_items(X: Any, known: KnownRows, run: Run) -> LevelItems:
    dtype = work_dtype_of(X, run.n_threads)
    hashes = hash_points(X, run.n_threads) if known.hashes is None else known.hashes
    weights = np.broadcast_to(1.0, X.shape[0])
    return LevelItems(0, X, weights, hashes, replace(known, hashes=hashes), dtype)


def _next_items(items: LevelItems, step: LevelStep) -> LevelItems:
    assert step.sizes is not None
    group = Grouping.of(step.members, len(step.sizes))
    keys = np.add.reduceat(items.keys[group.order], group.starts[:-1])  # for any order of the rows
    weights = step.sizes.astype(np.float64)
    reducer = items.reducer or step.reducer
    return LevelItems(items.k + 1, step.centroids, weights, keys, KnownRows(), items.dtype, reducer)


def _search(items: LevelItems, metric: Metric, run: Run) -> Found:
    """First neighbours of the items."""
    known = items.known
    n = items.values.shape[0]
    run.progress.begin(f"level {items.k}: first neighbours of {n} {'nodes' if items.k else 'rows'}")
    if known.given is not None:
        return Found(measure_links(known.given, items.values, metric, run.n_threads))
    if n == 1:
        alone = np.zeros(1, dtype=np.int64)
        return Found(FirstNeighbors(alone, np.full(1, np.nan), _single_row_report()))
    found = search(
        items.values,
        metric,
        run.n_threads,
        run.plan.search(items.k),
        KnownItems(known.hashes, items.keys, items.reducer, known.start),
        run.progress.share,
    )
    # new rows are compared with the nodes of level 0 only: other indices are not kept
    return found if items.k == 1 else replace(found, index=None)


def merge_found(items: LevelItems, found: Found, metric: Metric, run: Run) -> LevelStep:
    """Components of the first-neighbour graph and their centroids (or medoids)."""
    members = components(link_graph(found.neighbors.ids))
    step = linked_step(items, found, members)
    n_nodes = int(members.max()) + 1
    if items.k and n_nodes == 1:
        return step
    run.progress.begin(f"level {items.k}: centroids of {n_nodes} nodes")
    if metric.centroid_kind == "medoid":
        centroids, sizes = merge_medoids(
            items.values,
            items.weights,
            Grouping.of(members, n_nodes),
            metric,
            items.keys,
            run.n_threads,
            run.progress.share,
        )
    else:
        centroids, sizes = merge_items(
            items.values, items.weights, members, n_nodes, items.dtype, run
        )
    return step.with_nodes(centroids, sizes)


def linked_step(items: LevelItems, found: Found, members: Array) -> LevelStep:
    """The step to these nodes, before their centroids are known."""
    distances = found.neighbors.distances
    return LevelStep(
        members,
        float(np.mean(distances)),
        float(np.quantile(distances, 0.999)),
        found.neighbors.report,
        Links.of(found.neighbors, items.keys),
        reducer=found.reducer,
        index=found.index,
    )


def _single_row_report() -> NeighborReport:
    return NeighborReport("a single row", True, 1, 1, "none")


def merge_items(
    items: Any, weights: Array, members: Array, n_nodes: int, dtype: Any, run: Run
) -> tuple[Any, Array]:
    """Centroids and sizes of groups of items: means weighted by the rows below, summed in float64.

    Each group is summed separately, in the order of its items: its bits do not depend on the other
    groups.
    """
    sizes = np.bincount(members, weights=weights, minlength=n_nodes)
    if sparse.issparse(items):
        return _sparse_means(items, weights, members, sizes, dtype), sizes
    group = Grouping.of(members, n_nodes)
    centroids = run.table((n_nodes, items.shape[1]), dtype)
    largest = _MAX_VALUES_PER_GROUP // items.shape[1]

    def mean(part: slice) -> None:
        starts = group.starts[part.start : part.stop + 1]
        rows = group.order[starts[0] : starts[-1]]
        if len(starts) == 2 and len(rows) > largest:  # one huge group: in blocks
            total = np.zeros(items.shape[1])
            for some in blocks(len(rows), items.shape[1], values=_VALUES_PER_GATHER):
                total += (weights[rows[some], None] * dense_block(items, rows[some])).sum(axis=0)
            centroids[part] = total / sizes[part]
            return
        x = dense_block(items, rows)
        order = np.arange(len(rows))
        centroids[part] = kernels.group_means(x, order, starts - starts[0], weights[rows], 1)

    parts = runs(group.starts, max(1, _VALUES_PER_GATHER // items.shape[1]), alone=largest)
    map_blocks(mean, parts, run.n_threads, run.progress.share)
    return centroids, sizes


def _sparse_means(items: Any, weights: Array, members: Array, sizes: Array, dtype: Any) -> Any:
    """Means of CSR rows, summed in the same order, for the same bits as of dense rows."""
    n = len(members)
    n_nodes = len(sizes)
    sums = sparse.csr_matrix((weights, (members, np.arange(n))), shape=(n_nodes, n)) @ items.astype(
        np.float64
    )
    sums = sums.tocsr()
    sums.sort_indices()
    sums.data /= np.repeat(sizes, np.diff(sums.indptr))
    return sums.astype(dtype)
