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
from .._input.source import check_unchanged, load_rows
from .._input.validate import as_rows, check_number, dense_block, work_dtype_of
from .._native import kernels
from .._parallel import map_blocks, resolve_n_jobs
from .._points.duplicates import hash_points
from .._points.reduce import Reducer
from .._progress import Progress
from .._run import Run
from ..neighbors import (
    FirstNeighbors,
    Found,
    NeighborReport,
    centroid_kind,
    check_metric,
    given_neighbors,
    search,
    warn_of_recall,
)
from ..neighbors.blocked import BlockedIndex, measure_links
from ..neighbors.choice import Search
from ..neighbors.join import Index
from ..neighbors.shared import Start
from .medoids import merge_medoids
from .merge import Links, components, link_graph
from .tree import Grouping, Hierarchy, Level

# Another way to find neighbours below level k, from items, keys, hashes (of rows) and directions; None: not needed.
Finder = Callable[[int, Any, Array, Array | None, Reducer | None], Found | None]
_GATHER, _MOST_VALUES = 500_000, 64_000_000  # values of rows that are gathered at a time


@dataclass(frozen=True, eq=False)
class Step:
    """From the items of one level to the nodes of the next; no centroids where a single node is left."""

    members: Array
    link: float  # mean distance to the first neighbour
    far_distance: float  # 999 of 1000 items have a first neighbour nearer than this
    report: NeighborReport
    links: Links
    centroids: Any = None
    sizes: Array | None = None
    reducer: Reducer | None = None
    index: Index | BlockedIndex | None = None


class SavedSteps(Protocol):
    """Keeps finished steps, so that a fit that was stopped can go on from them."""

    def load(self, k: int) -> Step | None: ...

    def save(self, k: int, step: Step) -> None: ...


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
    metric = check_metric(metric, X, metric_params)
    check_number("min_nodes", min_nodes, 1, np.inf, integer=True)
    given = None if isinstance(neighbors, str) else given_neighbors(neighbors, X.shape[0])
    options = Search("auto" if given else neighbors, target_recall)
    run = Run(n_threads, Progress(verbose), options, options)
    return build_levels(X, metric, run, given=given, min_nodes=min_nodes)


def build_levels(
    X: Any,
    metric: Any,
    run: Run,
    *,
    dtype: Any = None,
    given: FirstNeighbors | None = None,
    hashes: Array | None = None,
    min_nodes: int = 3,
    saved: SavedSteps | None = None,
    find: Finder | None = None,
    most_nodes: int = 0,
    start: Start | None = None,
) -> Hierarchy:
    """Section 3.1 on validated rows: levels until the last one with at least `min_nodes` nodes.

    `dtype` is that of the centroids, `given` are first neighbours of the rows that the caller has (upper levels
    are searched), `hashes` what `hash_points` gives for the rows, `saved` finished steps of an earlier fit.
    `find` is asked first for the neighbours of each level. `most_nodes`: levels end at the first that has no more.
    `start`: of `search`, for the rows.
    """
    items, weights, dtype = X, np.broadcast_to(1.0, X.shape[0]), dtype or work_dtype_of(X, run.n_threads)
    keys = hashes = hash_points(X, run.n_threads) if hashes is None else hashes
    levels: list[Level] = []
    steps: list[Step] = []
    reducer: Reducer | None = None
    computed = False
    while True:
        k = len(steps)
        step = None if saved is None or computed else saved.load(k)
        if step is None:
            computed = True  # levels above belong to other clusters, should they be there
            check_unchanged(X)
            step = _join_items(  # nothing but the call holds what the search has found
                k, items, weights, metric,
                _find_neighbors(k, items, metric, run, reducer, given, hashes, keys, find, start), keys, dtype, run,
            )  # fmt: skip
            if saved is not None:
                saved.save(k, step)
        given = hashes = start = None
        reducer = reducer or step.reducer
        steps.append(step)
        warn_of_recall(step.report)
        if len(levels) == k > 0:
            levels[-1] = replace(levels[-1], gap=step.link)
        if step.centroids is None or step.sizes is None:
            break
        group = Grouping.of(step.members, len(step.sizes))
        keys = np.add.reduceat(keys[group.order], group.starts[:-1])  # the same for any order of the rows
        if k == 0 or len(step.sizes) >= min_nodes:  # steps above the top only tell how its nodes join
            levels.append(Level(step.centroids, step.sizes, step.members, step.link, np.nan, keys))
        items, weights = step.centroids, step.sizes.astype(np.float64)
        if len(step.sizes) <= max(1, most_nodes):
            break
    index = steps[1].index if len(steps) > 1 else None
    reports, links = tuple(s.report for s in steps), tuple(s.links for s in steps)
    return Hierarchy(tuple(levels), metric, reports, index, steps[0].far_distance, links)


def _find_neighbors(
    k: int,
    items: Any,
    metric: Any,
    run: Run,
    reducer: Reducer | None,
    given: FirstNeighbors | None,
    hashes: Array | None,
    keys: Array,
    find: Finder | None,
    start: Start | None,
) -> Found:
    """First neighbours of the items below level k."""
    if find and given is None and (found := find(k, items, keys, hashes, reducer)) is not None:
        return found
    run.progress.begin(f"level {k}: first neighbours of {items.shape[0]} {'nodes' if k else 'rows'}")
    if given is not None:
        return Found(measure_links(given, items, metric, run.n_threads))
    if items.shape[0] == 1:
        return Found(FirstNeighbors(np.zeros(1, dtype=np.int64), np.full(1, np.nan), _single_row_report()))
    found = search(items, metric, run.n_threads, run.search(k), reducer, run.progress.share, hashes, keys, start)
    return found if k == 1 else replace(found, index=None)  # new rows ask the nodes of level 0 alone


def _join_items(
    k: int, items: Any, weights: Array, metric: Any, found: Found, keys: Array, dtype: Any, run: Run
) -> Step:
    """Components of the first-neighbour graph and their centroids, unless a single node is left."""
    distances, merged = found.neighbors.distances, found.merge and found.merge(weights, dtype)
    members = merged.members if merged else components(link_graph(found.neighbors.ids))
    n_nodes = int(members.max()) + 1
    step = Step(
        members, float(np.mean(distances)), float(np.quantile(distances, 0.999)), found.neighbors.report,
        Links.of(found.neighbors, keys), reducer=found.reducer, index=found.index,
    )  # fmt: skip
    if k and n_nodes == 1:
        return step
    if merged:
        return replace(step, centroids=merged.centroids, sizes=merged.sizes.astype(np.int64))
    run.progress.begin(f"level {k}: centroids of {n_nodes} nodes")
    if centroid_kind(metric) == "medoid":
        group = Grouping.of(members, n_nodes)
        centroids, sizes = merge_medoids(items, weights, group, metric, keys, run.n_threads, run.progress.share)
    else:
        centroids, sizes = merge_items(items, weights, members, n_nodes, dtype, run)
    return replace(step, centroids=centroids, sizes=sizes.astype(np.int64))


def _single_row_report() -> NeighborReport:
    return NeighborReport("a single row", True, 1, 1, "none")


def merge_items(
    items: Any,
    weights: Array,
    members: Array,
    n_nodes: int,
    dtype: Any,
    run: Run,
) -> tuple[Any, Array]:
    """Centroids and sizes of groups of items: means weighted by the rows below, summed in float64.

    Each group by itself, in the order of its items: the same bits whichever groups are merged at once.
    """
    sizes = np.bincount(members, weights=weights, minlength=n_nodes)
    if sparse.issparse(items):
        return _sparse_means(items, weights, members, sizes, dtype), sizes
    group = Grouping.of(members, n_nodes)
    centroids = run.table((n_nodes, items.shape[1]), dtype)
    most = _MOST_VALUES // items.shape[1]

    def mean(part: slice) -> None:
        starts = group.starts[part.start : part.stop + 1]
        rows = group.order[starts[0] : starts[-1]]
        if len(starts) == 2 and len(rows) > most:  # one group of very many: run by run
            total = np.zeros(items.shape[1])
            for some in blocks(len(rows), items.shape[1], values=_GATHER):
                total += (weights[rows[some], None] * dense_block(items, rows[some])).sum(axis=0)
            centroids[part] = total / sizes[part]
            return
        x = dense_block(items, rows)  # a gather of some megabytes, of any type, from memory or disk
        order = np.arange(len(rows))
        centroids[part] = kernels.group_means(x, order, starts - starts[0], weights[rows], 1)

    parts = runs(group.starts, max(1, _GATHER // items.shape[1]), alone=most)
    map_blocks(mean, parts, run.n_threads, run.progress.share)
    return centroids, sizes


def _sparse_means(items: Any, weights: Array, members: Array, sizes: Array, dtype: Any) -> Any:
    """The same for CSR rows: summed in the same order, so that sparse and dense centroids have the same bits."""
    n, n_nodes = len(members), len(sizes)
    sums = sparse.csr_matrix((weights, (members, np.arange(n))), shape=(n_nodes, n)) @ items.astype(np.float64)
    sums = sums.tocsr()
    sums.sort_indices()
    sums.data /= np.repeat(sizes, np.diff(sums.indptr))
    return sums.astype(dtype)
