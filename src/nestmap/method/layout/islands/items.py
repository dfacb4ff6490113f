"""The rows, or the nodes of a level, as the optimisation sees them.

They are in an order of their own, with what attracts them.

One neighbour graph serves all levels: nodes attract each other by the sum of what their members do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....core.arrays import Array
from ...arrangement.frames import DistinctRows
from ...hierarchy.tree import Hierarchy
from ...neighbors.item_graph import FEW_ROWS, ItemGraph
from ...preliminary.build import Preliminary
from .graph import Attraction, contract, weigh_neighbors

# of nodes, of a few rows, of many
PERPLEXITY = 10.0
FEW_ROWS_PERPLEXITY = 15.0
ROWS_PERPLEXITY = 10.0


@dataclass(frozen=True, eq=False)
class Items:
    """Rows (of equal ones the first), or nodes of a level."""

    level: int  # -1: rows
    # of each item: by its ancestors first, so that what is near in the tree is near in memory
    rank: Array
    masses: Array  # rows that each of them stands for; this and the next in the order of the ranks
    parents: Array  # nodes of the level above that they belong to
    attraction: Attraction | None  # None: of a single one

    @property
    def order(self) -> Array:
        """The items by their rank."""
        return np.argsort(self.rank)


def base_items(
    hierarchy: Hierarchy,
    graph: ItemGraph | None,
    coordinates: Array,
    ranks: list[Array],
    row_keys: Array,
    distinct: DistinctRows | None,
    n_threads: int,
) -> Items:
    """The items of the graph, weighed; `coordinates` of the rows, `ranks` of all levels' nodes."""
    if graph is not None and graph.level >= 0:
        plain = _node_items(hierarchy, graph.level, ranks)
        return _weighed(plain, graph.ids, graph.distances, PERPLEXITY, n_threads)
    parents = hierarchy.levels[0].members
    masses = np.ones(len(row_keys))
    if distinct is not None:
        some = distinct.rows
        masses = distinct.counts
        row_keys = row_keys[some]
        coordinates = coordinates[some]
        parents = parents[some]
    rank = _rank(row_keys, coordinates, ranks[0][parents])
    order = np.argsort(rank)
    plain = Items(-1, rank, masses[order], parents[order], None)
    if graph is None:
        return plain
    perplexity = FEW_ROWS_PERPLEXITY if len(rank) <= FEW_ROWS else ROWS_PERPLEXITY
    return _weighed(plain, *_lists(graph, distinct), perplexity, n_threads)


def _lists(graph: ItemGraph, distinct: DistinctRows | None) -> tuple[Array, Array]:
    """Neighbours of the distinct rows, and their distances.

    First neighbours that were given may part equal rows: each part has the neighbours of all.
    """
    if distinct is None or graph.rows is None or len(graph.rows) == len(distinct.rows):
        return graph.ids, graph.distances
    own = graph.of_row()[distinct.rows]
    first = distinct.of_row[graph.rows]
    return first[graph.ids[own]], graph.distances[own]


def _weighed(
    items: Items, ids: Array, distances: Array, perplexity: float, n_threads: int
) -> Items:
    """With what attracts them, from their neighbours."""
    order = items.order
    ids = items.rank[ids[order]]
    distances = distances[order]
    return replace(
        items, attraction=weigh_neighbors(ids, distances, items.masses, perplexity, n_threads)
    )


def node_items(hierarchy: Hierarchy, k: int, ranks: list[Array], base: Items) -> Items:
    """The nodes of level k, from items that are below them, or the same."""
    if k == base.level:
        return base
    plain = _node_items(hierarchy, k, ranks)
    if base.attraction is None:
        return plain
    labels = ranks[k][_labels(hierarchy, k, base)]
    return replace(
        plain, attraction=contract(base.attraction, base.masses, labels, len(plain.rank))
    )


def _node_items(hierarchy: Hierarchy, k: int, ranks: list[Array]) -> Items:
    """The nodes of level k without what attracts them."""
    level = hierarchy.levels[k]
    order = np.argsort(ranks[k])
    is_top = k + 1 == hierarchy.n_levels
    parents = np.zeros(level.n_nodes, dtype=np.int64) if is_top else hierarchy.levels[k + 1].members
    return Items(k, ranks[k], level.sizes[order].astype(np.float64), parents[order], None)


def _labels(hierarchy: Hierarchy, k: int, base: Items) -> Array:
    """The nodes of level k that the items belong to, in the order of their ranks."""
    labels = base.parents
    for level in hierarchy.levels[base.level + 2 : k + 1]:
        labels = level.members[labels]
    return labels


def node_ranks(hierarchy: Hierarchy, preliminary: Preliminary) -> list[Array]:
    """Each node's place per level in an order that depends on neither order nor unit of rows."""
    ranks: list[Array] = []
    for k in reversed(range(hierarchy.n_levels)):
        keys = _keys(hierarchy, k)
        above = ranks[-1][hierarchy.levels[k + 1].members] if ranks else np.zeros_like(keys)
        ranks.append(_rank(keys, preliminary.nodes[k], above))
    return ranks[::-1]


def _rank(keys: Array, coordinates: Array, above: Array) -> Array:
    """By the rank of the parent, then from left to right; of the same place, by key."""
    rank = np.empty(len(keys), dtype=np.int32)
    rank[np.lexsort((keys, coordinates[:, 0], above))] = np.arange(len(keys), dtype=np.int32)
    return rank


def _keys(hierarchy: Hierarchy, k: int) -> Array:
    keys = hierarchy.levels[k].keys
    return np.arange(hierarchy.levels[k].n_nodes, dtype=np.uint64) if keys is None else keys
