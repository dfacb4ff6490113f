"""A hierarchy whose upper levels are communities of the rows' neighbour graph.

Level 0 is the paper's (components of first neighbours); above it `community_tree` says which nodes
belong together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.native import kernels
from ...core.points.point_set import make_points
from ..neighbors import KnownItems, search
from ..neighbors.item_graph import ItemGraph
from ..neighbors.metric import Metric
from ..run import Run
from .build import merge_items
from .community_tree import CommunityLevels, build_communities
from .link_graph import LinkGraph
from .medoids import distances_between, merge_medoids
from .merge import components, link_graph
from .strengths import Strengths, measure_shares
from .tree import Grouping, Hierarchy, Level

# nearest neighbours whose links count: of each row, where 10 make no better clusters; of each node
N_NEIGHBORS = 15
_N_NODE_NEIGHBORS = 10
# at most one neighbour for so many items: few items would all be neighbours
_ITEMS_PER_NEIGHBOR = 10
_MIN_NEIGHBORS = 3  # however few items there are
Distances = Callable[[Array, Any], Array]


def add_communities(
    hierarchy: Hierarchy, graph: ItemGraph | None, run: Run, lists: Array | None = None
) -> Hierarchy:
    """The hierarchy with communities above its levels.

    Parameters
    ----------
    hierarchy : Hierarchy
        Of some rows: its leaves, and more levels of first neighbours where these are too many for a
        graph.
    graph : ItemGraph or None
        Of the same rows, or of the nodes of the last of these levels; None if all rows are equal.
    lists : ndarray of shape (n_rows, k), optional
        Neighbours of the rows, nearest first, that the user has brought: they count instead. -1 is
        none.
    """
    found = _with_communities(hierarchy, graph, run, lists)
    return replace(found, strengths=_measure(found, graph, lists, run.n_threads))


def _with_communities(
    hierarchy: Hierarchy, graph: ItemGraph | None, run: Run, lists: Array | None
) -> Hierarchy:
    n_below = hierarchy.n_levels
    last = hierarchy.levels[-1]
    links = _links(hierarchy, graph, lists)
    if last.n_nodes < 2 or links is None:
        return replace(hierarchy, kind="graph", default=n_below - 1)
    run.progress.begin(f"communities of {last.n_nodes} nodes")
    ranks = _ranks(hierarchy)
    found = build_communities(_connect(links, hierarchy, ranks, run), ranks, run.n_threads)
    levels = _levels_above(last, found, hierarchy.metric, run)
    above = () if found.above is None else (found.above,)
    joined = (
        *hierarchy.links[:n_below],
        *(partition.links for partition in found.partitions),
        *above,
    )
    reports = (*hierarchy.reports[:n_below], *(() if graph is None else (graph.report,)))
    return replace(
        hierarchy,
        levels=(*hierarchy.levels[:-1], *levels),
        links=joined,
        reports=reports,
        kind="graph",
        default=n_below - 1 + found.default,
    )


def _measure(
    hierarchy: Hierarchy, graph: ItemGraph | None, lists: Array | None, n_threads: int
) -> Strengths:
    """Memberships: the share of each item's links that stay in its cluster, on all levels."""
    nodes = _of_nodes(graph, lists)
    if nodes is None:
        labels = [hierarchy.labels(k) for k in range(hierarchy.n_levels)]
        return Strengths(*_measure_rows(labels, graph, lists, n_threads))
    level = nodes.level
    items = np.arange(len(nodes.ids))
    labels = [hierarchy.climb(items, k, level) for k in range(level + 1, hierarchy.n_levels)]
    return Strengths(*measure_shares(labels, _linked(nodes), n_threads), level)


def _of_nodes(graph: ItemGraph | None, lists: Array | None) -> ItemGraph | None:
    """The graph whose links count, if it is one of nodes; None: links of rows count."""
    return graph if graph is not None and graph.level >= 0 and lists is None else None


def _measure_rows(
    labels: list[Array], graph: ItemGraph | None, lists: Array | None, n_threads: int
) -> tuple[Array, int]:
    """Memberships of rows, by their links; equal rows have equal ones."""
    if lists is not None:
        return measure_shares(labels, lists, n_threads)
    if graph is None:  # all rows are equal
        return np.ones((len(labels), len(labels[0])), dtype=np.uint8), 1
    if graph.rows is None:
        return measure_shares(labels, _linked(graph), n_threads)
    shares, whole = measure_shares([each[graph.rows] for each in labels], _linked(graph), n_threads)
    return shares[:, graph.of_row()], whole


def _ranks(hierarchy: Hierarchy) -> Array:
    """Ranks of the nodes of the last level: shortest first-neighbour link first.

    It depends on neither the order nor the unit of the rows.
    """
    level = hierarchy.levels[-1]
    shortest = np.full(level.n_nodes, level.members.size + 1)
    np.minimum.at(shortest, level.members, hierarchy.links[hierarchy.n_levels - 1].ranks)
    ranks = np.empty(level.n_nodes, dtype=np.int64)
    ranks[np.argsort(shortest, kind="stable")] = np.arange(level.n_nodes)
    return ranks


def _links(hierarchy: Hierarchy, graph: ItemGraph | None, lists: Array | None) -> LinkGraph | None:
    """Links between nodes of the last level: of their rows, equal ones once with their number."""
    labels = hierarchy.labels(hierarchy.n_levels - 1)
    n_nodes = hierarchy.levels[-1].n_nodes
    if lists is not None:
        return LinkGraph.between(labels, n_nodes, lists)
    if graph is None:
        return None
    if graph.level >= 0:
        labels = np.arange(n_nodes)
    elif graph.rows is not None:
        labels = labels[graph.rows]
    return LinkGraph.between(labels, n_nodes, _linked(graph), graph.counts)


def _linked(graph: ItemGraph) -> Array:
    """The neighbours that an item has links to."""
    most = N_NEIGHBORS if graph.level < 0 else _N_NODE_NEIGHBORS
    return graph.ids[:, : min(most, max(_MIN_NEIGHBORS, len(graph.ids) // _ITEMS_PER_NEIGHBOR))]


def membership(
    labels: Array,
    hierarchy: Hierarchy,
    graph: ItemGraph | None,
    lists: Array | None = None,
    n_threads: int = 1,
) -> Array:
    """How sure the cluster of each row is, float32.

    As `Hierarchy.membership`, for clusters between two levels.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Of `hierarchy.labels(n_clusters=…)`.
    graph, lists
        As for `add_communities`.
    """
    nodes = _of_nodes(graph, lists)
    if nodes is None:
        return Strengths(*_measure_rows([labels], graph, lists, n_threads)).of_rows(0, hierarchy)
    own = hierarchy.labels(nodes.level)
    if labels.max() > own.max():  # nodes are split: nothing is measured
        return np.ones(len(labels), dtype=np.float32)
    of_node = np.empty(len(nodes.ids), dtype=labels.dtype)
    of_node[own] = labels
    return Strengths(*measure_shares([of_node], _linked(nodes), n_threads), nodes.level).of_rows(
        nodes.level + 1, hierarchy
    )


def _connect(graph: LinkGraph, hierarchy: Hierarchy, ranks: Array, run: Run) -> LinkGraph:
    """Connect the components of a graph by single links (Borůvka on centroids).

    In each round, each component is linked to the one with the nearest centroid.

    Of two parts that join, those of their first parts are linked that are near each other. The
    largest leaf of a part stands for it, of equal ones that with the lowest rank.
    """
    leaf = hierarchy.levels[-1]
    metric = hierarchy.metric
    parts = graph.parts()
    n = int(parts.max()) + 1
    if n == 1:
        return graph
    lowest = np.full(n, leaf.n_nodes)
    np.minimum.at(lowest, parts, ranks)
    # numbered by ranks: the order of the rows decides nothing
    parts = np.argsort(np.argsort(lowest))[parts]
    first = _merge(leaf, parts, metric, run)
    order = np.lexsort((ranks, -leaf.sizes, parts))
    heads = order[np.searchsorted(parts[order], np.arange(n))]
    joined = np.arange(n)  # of each part
    distances = _distances_between(first.centroids, metric, run)
    while (n := int(joined.max()) + 1) > 1:
        level = _merge(first, joined, metric, run)
        known = KnownItems(keys=level.keys)
        found = search(level.centroids, metric, run.n_threads, run.plan.nodes, known)
        near = found.neighbors.ids
        pairs = np.unique(np.sort(np.stack([np.arange(n), near], axis=1), axis=1), axis=0)
        ends = np.array([_facing(distances, joined, a, b) for a, b in pairs.tolist()])
        graph = graph.with_links(heads[ends[:, 0]], heads[ends[:, 1]])
        joined = components(link_graph(near))[joined]
    return graph


def _facing(distances: Distances, joined: Array, a: int, b: int) -> tuple[int, int]:
    """A nearby pair of components, one of a and one of b, by alternating searches."""
    ours = np.flatnonzero(joined == a)
    theirs = np.flatnonzero(joined == b)
    end = theirs[0]
    for _ in range(2):
        begin = ours[np.argmin(distances(ours, end))]
        end = theirs[np.argmin(distances(theirs, begin))]
    return int(begin), int(end)


def _distances_between(centres: Any, metric: Metric, run: Run) -> Distances:
    """A function for the distances of some centroids to one of them, or monotone in them."""
    if not metric.has_kernels:
        return lambda some, one: distances_between(centres, some, np.array([one]), metric)[:, 0]
    points = make_points(centres, metric.name, n_threads=run.n_threads)
    return lambda some, one: kernels.pair_distances(points, some, np.full(len(some), one))


def _levels_above(
    leaf: Level, found: CommunityLevels, metric: Metric, run: Run
) -> tuple[Level, ...]:
    """The level and those above it: centroids, sizes and keys.

    How far apart nodes are is measured when asked for.
    """
    levels = [leaf]
    for partition in found.partitions:
        level = _merge(levels[-1], partition.members, metric, run)
        levels.append(replace(level, agreement=partition.agreement))
    return tuple(levels)


def _merge(level: Level, members: Array, metric: Metric, run: Run) -> Level:
    """The level above, of groups of the nodes of a level; distances are measured later."""
    n_nodes = int(members.max()) + 1
    weights = level.sizes.astype(np.float64)
    group = Grouping.of(members, n_nodes)
    if metric.centroid_kind == "medoid":
        centroids, sizes = merge_medoids(
            level.centroids, weights, group, metric, level.keys, run.n_threads
        )
    else:
        centroids, sizes = merge_items(
            level.centroids, weights, members, n_nodes, level.centroids.dtype, run
        )
    keys = None
    if level.keys is not None:
        keys = np.add.reduceat(level.keys[group.order], group.starts[:-1])
    return Level(centroids, sizes.astype(np.int64), members, np.nan, np.nan, keys)
