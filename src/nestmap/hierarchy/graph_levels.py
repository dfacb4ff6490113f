"""A hierarchy whose upper levels are communities of the rows' neighbour graph.

Level 0 is the paper's (components of first neighbours); above it `community_tree` says which nodes belong together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._native import kernels
from .._points.point_set import NATIVE_METRICS, make_points
from .._run import Run
from ..neighbors import centroid_kind, search
from ..neighbors.row_graph import RowGraph
from .build import merge_items
from .community_tree import CommunityLevels, build_communities
from .link_graph import LinkGraph
from .medoids import distances_between, merge_medoids
from .merge import components, link_graph
from .tree import Grouping, Hierarchy, Level

N_NEIGHBORS = 15  # of each row: 10 make no better clusters
_FEWER = 10  # at most one neighbour for so many rows: else all rows of a few would be neighbours
_LEAST = 3
Distances = Callable[[Array, Any], Array]


def add_communities(hierarchy: Hierarchy, graph: RowGraph | None, run: Run, lists: Array | None = None) -> Hierarchy:
    """The hierarchy with communities in place of all levels above the leaves.

    Parameters
    ----------
    hierarchy : Hierarchy
        Of some rows, with its leaves at least.
    graph : RowGraph or None
        Of the same rows; None if all are equal.
    lists : ndarray of shape (n_rows, k), optional
        Neighbours of the rows, nearest first, that the user has brought: they count instead. -1 is none.
    """
    leaf = hierarchy.levels[0]
    if leaf.n_nodes < 2 or graph is None:
        return replace(hierarchy, kind="graph", default=0)
    links = _link_rows(leaf, graph) if lists is None else LinkGraph.between(leaf.members, leaf.n_nodes, lists)
    run.progress.begin(f"communities of {leaf.n_nodes} leaves")
    ranks = _leaf_ranks(hierarchy)
    found = build_communities(_connect(links, hierarchy, ranks, run), ranks, run.n_threads)
    levels = _levels_above(leaf, found, hierarchy.metric, run)
    above = () if found.above is None else (found.above,)
    joined = (hierarchy.links[0], *(partition.links for partition in found.partitions), *above)
    return replace(
        hierarchy, levels=levels, links=joined, reports=(hierarchy.reports[0], graph.report), kind="graph",
        default=found.default,
    )  # fmt: skip


def _leaf_ranks(hierarchy: Hierarchy) -> Array:
    """Places of the leaves in an order that depends on neither the order nor the unit of the rows: the leaf with the
    shortest first-neighbour link comes first.
    """
    leaf = hierarchy.levels[0]
    shortest = np.full(leaf.n_nodes, leaf.members.size + 1)
    np.minimum.at(shortest, leaf.members, hierarchy.links[0].ranks)
    ranks = np.empty(leaf.n_nodes, dtype=np.int64)
    ranks[np.argsort(shortest, kind="stable")] = np.arange(leaf.n_nodes)
    return ranks


def _link_rows(leaf: Level, graph: RowGraph) -> LinkGraph:
    """Links between leaves: those of their rows, of equal rows once with their number."""
    labels = leaf.members if graph.rows is None else leaf.members[graph.rows]
    return LinkGraph.between(labels, leaf.n_nodes, _linked(graph), graph.counts)


def _linked(graph: RowGraph) -> Array:
    """The neighbours that a row has links to."""
    return graph.ids[:, : min(N_NEIGHBORS, max(_LEAST, len(graph.ids) // _FEWER))]


def membership(labels: Array, graph: RowGraph | None, lists: Array | None = None) -> Array:
    """Of each row the share of its links that stay in its cluster, float32: 1 is deep inside.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
    graph, lists
        As for `add_communities`.
    """
    if lists is None and graph is None:
        return np.ones(len(labels), dtype=np.float32)
    rows = None if lists is not None or graph is None else graph.rows
    ids = lists if lists is not None or graph is None else _linked(graph)
    assert ids is not None
    own = labels if rows is None else labels[rows]
    weights = np.arange(ids.shape[1], 0, -1) * (ids >= 0)
    shares = ((own[ids] == own[:, None]) * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
    found = np.asarray(shares, dtype=np.float32)
    return found if rows is None or graph is None else np.asarray(found[graph.of_row()])


def _connect(graph: LinkGraph, hierarchy: Hierarchy, ranks: Array, run: Run) -> LinkGraph:
    """The graph with single links between its parts: each joins the nearest by its centre, round by round.

    Of two parts that join, those of their first parts are linked that are near each other. The largest leaf of a part
    stands for it, of equal ones that with the lowest rank.
    """
    leaf, metric = hierarchy.levels[0], hierarchy.metric
    parts = graph.parts()
    n = int(parts.max()) + 1
    if n == 1:
        return graph
    centres, sizes, part_keys = _merge(leaf, parts, metric, run)
    first = Level(centres, sizes, parts, np.nan, np.nan, part_keys)
    order = np.lexsort((ranks, -leaf.sizes, parts))
    heads = order[np.searchsorted(parts[order], np.arange(n))]
    joined = np.arange(n)  # of each part
    distances = _distances_between(centres, metric, run)
    while (n := int(joined.max()) + 1) > 1:
        middles, _, own_keys = _merge(first, joined, metric, run)
        near = search(middles, metric, run.n_threads, run.nodes, keys=own_keys).neighbors.ids
        pairs = np.unique(np.sort(np.stack([np.arange(n), near], axis=1), axis=1), axis=0)
        ends = np.array([_facing(distances, joined, a, b) for a, b in pairs.tolist()])
        graph = graph.with_links(heads[ends[:, 0]], heads[ends[:, 1]])
        joined = components(link_graph(near))[joined]
    return graph


def _facing(distances: Distances, joined: Array, a: int, b: int) -> tuple[int, int]:
    """A part of a and a part of b that are near each other."""
    ours, theirs = np.flatnonzero(joined == a), np.flatnonzero(joined == b)
    end = theirs[0]
    for _ in range(2):
        begin = ours[np.argmin(distances(ours, end))]
        end = theirs[np.argmin(distances(theirs, begin))]
    return int(begin), int(end)


def _distances_between(centres: Any, metric: Any, run: Run) -> Distances:
    """Distances of some centres to one of them, or what grows with them."""
    if metric not in NATIVE_METRICS:
        return lambda some, one: distances_between(centres, some, np.array([one]), metric)[:, 0]
    points = make_points(centres, metric, n_threads=run.n_threads)
    return lambda some, one: kernels.pair_distances(points, some, np.full(len(some), one))


def _levels_above(leaf: Level, found: CommunityLevels, metric: Any, run: Run) -> tuple[Level, ...]:
    """Centroids, sizes and keys of all levels, and how far their nodes are from each other."""
    levels = [leaf]
    for partition in found.partitions:
        centroids, sizes, keys = _merge(levels[-1], partition.members, metric, run)
        levels.append(Level(centroids, sizes, partition.members, np.nan, np.nan, keys))
    for k in range(1, len(levels)):
        near = search(levels[k].centroids, metric, run.n_threads, run.nodes, keys=levels[k].keys).neighbors
        levels[k] = replace(levels[k], gap=float(np.mean(near.distances)))
        if k > 1:
            levels[k] = replace(levels[k], link=levels[k - 1].gap)
    return tuple(levels)


def _merge(level: Level, members: Array, metric: Any, run: Run) -> tuple[Any, Array, Array | None]:
    """Centroids (or medoids), sizes and keys of groups of the nodes of a level."""
    n_nodes, weights = int(members.max()) + 1, level.sizes.astype(np.float64)
    group = Grouping.of(members, n_nodes)
    if centroid_kind(metric) == "medoid":
        centroids, sizes = merge_medoids(level.centroids, weights, group, metric, level.keys, run.n_threads)
    else:
        centroids, sizes = merge_items(level.centroids, weights, members, n_nodes, level.centroids.dtype, run)
    keys = None if level.keys is None else np.add.reduceat(level.keys[group.order], group.starts[:-1])
    return centroids, sizes.astype(np.int64), keys
