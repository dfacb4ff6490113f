"""Section 3.1 for a fit: first neighbours, the neighbour graph, the levels."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.input.validate import work_dtype
from ..core.points.point_set import PointSet, make_points
from ..core.points.reduce import fit_reducer
from ..core.progress import part_of
from ..core.work.directory import WorkDir
from ..method.hierarchy.build import KnownRows, build_levels
from ..method.hierarchy.graph_levels import add_communities
from ..method.hierarchy.resume import Steps, identity
from ..method.hierarchy.tree import Hierarchy
from ..method.neighbors import FirstNeighbors
from ..method.neighbors.blocked import BlockedIndex
from ..method.neighbors.effort import exact_columns
from ..method.neighbors.index import Index, build_index
from ..method.neighbors.item_graph import (
    MOST_NODES,
    MOST_ROWS,
    GraphItems,
    ItemGraph,
    find_node_graph,
    find_row_graph,
    with_nearest,
)
from ..method.neighbors.metric import Metric
from ..method.neighbors.shared import Start, share_rows, shares_rows
from ..method.placement import FittedTree, RowTable
from ..method.rows import TrainingRows
from ..method.run import Run
from .settings import FitSettings


def fit_tree(
    rows: TrainingRows, metric: Metric, run: Run, settings: FitSettings | None = None
) -> tuple[FittedTree, ItemGraph | None]:
    """The hierarchy of the rows, what finds a new row's cluster, and the graph behind it."""
    settings = settings or FitSettings()
    X = rows.X
    given = settings.given_neighbors(X.shape[0])
    lists = settings.given_lists(X.shape[0])
    hashes = rows.hashes
    with ExitStack() as stack:
        saved = None
        if settings.work_dir is not None:  # before any long work: it may be that of another fit
            work = WorkDir.open(settings.work_dir, identity(X, hashes, metric, run, given))
            saved = Steps(stack.enter_context(work))
        searches = settings.hierarchy == "graph" and lists is None
        hierarchy, graph = _link_rows(
            rows, metric, run, settings, given, searches=searches, saved=saved
        )
    if settings.hierarchy == "graph":
        hierarchy = add_communities(hierarchy, graph, run, lists)
    run.progress.note(str(hierarchy))
    table = RowTable.of(hashes)
    hierarchy = _with_distinct(hierarchy, table.n_distinct)
    if repeats := hierarchy.reports[0].repeats:
        run.progress.note(repeats)
    is_by_row = settings.new_points == "neighbor"
    index = index_rows(X, metric, hashes, run.n_threads) if is_by_row else None
    tree = FittedTree(hierarchy, table, work_dtype(X.dtype), not isinstance(X, np.ndarray), index)
    return tree, graph


def _with_distinct(hierarchy: Hierarchy, n_distinct: int) -> Hierarchy:
    """Searches that do not ask which rows are equal count all of them."""
    report = replace(hierarchy.reports[0], n_distinct=n_distinct)
    return replace(hierarchy, reports=(report, *hierarchy.reports[1:]))


def _link_rows(
    rows: TrainingRows,
    metric: Metric,
    run: Run,
    settings: FitSettings,
    given: FirstNeighbors | None,
    *,
    searches: bool,
    saved: Steps | None,
) -> tuple[Hierarchy, ItemGraph | None]:
    """Levels by first neighbours, and the neighbour graph that communities are made from.

    `searches`: whether that graph is searched.
    """
    X = rows.X
    graph = None
    start = None
    if searches and has_row_graph(X, metric):
        # exact first neighbours are found from this graph
        joins = given is None and run.plan.n_parts == 1 and saved is None
        graph, start = _graph_and_start(X, metric, rows.hashes, run, joins, saved)
    hierarchy = build_levels(
        X,
        metric,
        run,
        KnownRows(rows.hashes, given, start),
        min_nodes=settings.min_nodes,
        max_nodes=MOST_NODES if settings.hierarchy == "graph" else 1,
        saved=saved,
        join=rows.join,
    )
    if searches and graph is None:
        return hierarchy, node_graph(hierarchy, metric, run, saved=saved)
    if graph is not None:
        shared = None if start is None else start.shared
        points = None if shared is None else shared.points
        graph = with_first_neighbors(graph, hierarchy, X, run.n_threads, points)
    return hierarchy, graph


def index_rows(X: Any, metric: Metric, hashes: Array, n_threads: int) -> Index | BlockedIndex:
    """An index over the training rows, for new_points="neighbor"."""
    if not metric.has_kernels:
        # new rows bring their distances
        return BlockedIndex(None if metric.takes_distances else X, metric, hashes)
    points = make_points(X, metric.name, n_threads=n_threads, keys=hashes)
    return build_index(points, n_threads, fit_reducer(points, most=exact_columns(points.n)))


def has_row_graph(X: Any, metric: Metric) -> bool:
    """Whether the graph of a fit is that of its rows.

    Too many make do with nodes, unless distances are given.
    """
    return X.shape[0] <= MOST_ROWS or metric.takes_distances


def _graph_and_start(
    X: Any, metric: Metric, hashes: Array, run: Run, joins: bool, saved: Steps | None
) -> tuple[ItemGraph | None, Start | None]:
    """The graph of the rows, and what it leaves for their first neighbours.

    `joins`: these are searched after it; `saved`: finished steps of an earlier fit.
    """
    n = X.shape[0]
    shared = None
    if saved is not None and (graph := saved.load_graph(GraphItems.of_rows(hashes))) is not None:
        return graph, Start(graph.nearest(n))
    run.progress.begin(f"neighbours of {n} rows")
    if (
        joins
        and run.plan.search(0).method == "exact"
        and shares_rows(n, X.shape[1], metric, run.plan.columns)
    ):
        shared = share_rows(X, metric, hashes, run.n_threads, part_of(run.progress.share, 0, 0.1))
    graph = find_row_graph(X, metric, hashes, run.n_threads, run.progress.share, shared)
    if graph is None:
        return None, None
    if saved is not None:
        saved.save_graph(graph)
    return graph, Start(graph.nearest(n), shared)


def with_first_neighbors(
    graph: ItemGraph, hierarchy: Hierarchy, X: Any, n_threads: int, points: PointSet | None = None
) -> ItemGraph:
    """The graph of the rows with all first neighbours of the tree, if these were found exactly."""
    if not hierarchy.reports or not hierarchy.reports[0].exact:
        return graph
    return with_nearest(graph, hierarchy.links[0].ids, X, hierarchy.metric, n_threads, points)


def node_graph(
    hierarchy: Hierarchy, metric: Metric, run: Run, whose: str = "", saved: Steps | None = None
) -> ItemGraph | None:
    """The neighbour graph of the nodes of the lowest level that has few enough."""
    k = next(
        (k for k, n in enumerate(hierarchy.level_sizes) if n <= MOST_NODES), hierarchy.n_levels - 1
    )
    level = hierarchy.levels[k]
    n = level.n_nodes
    if saved is not None and (kept := saved.load_graph(GraphItems(n, k, level.sizes))) is not None:
        return kept
    keys = np.arange(n, dtype=np.uint64) if level.keys is None else level.keys
    run.progress.begin(f"{whose}neighbours of {n} nodes of level {k}")
    graph = find_node_graph(
        k, level.centroids, level.sizes, metric, keys, run.n_threads, run.progress.share
    )
    if saved is not None and graph is not None:
        saved.save_graph(graph)
    return graph
