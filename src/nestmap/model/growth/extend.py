"""New rows in a fitted tree; what was there stays as it is.

Centroids of old nodes stay those of the rows that they were made from: which old leaf a row is
nearest to does not depend on what has joined it since.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from ...method.hierarchy import Grouping, Hierarchy
from ...method.hierarchy.build import merge_items
from ...method.hierarchy.medoids import merge_medoids
from ...method.hierarchy.merge import Links
from ...method.hierarchy.tree import Level
from ...method.neighbors import FirstNeighbors, KnownItems, search
from ...method.neighbors.blocked import BlockedIndex
from ...method.neighbors.grown import grow_index
from ...method.neighbors.index import Index
from ...method.neighbors.metric import EUCLIDEAN, Metric
from ...method.placement import FittedTree, RowTable
from ...method.run import Run
from ..tree import index_rows
from .links import join_or_found
from .rows import NewRows


@dataclass(frozen=True, eq=False)
class NewItems:
    """New rows, or new nodes of a level."""

    data: Any
    weights: Array  # rows below each
    keys: Array


@dataclass(frozen=True, eq=False)
class Step:
    """What the new items of one level join: nodes of the next one, old or new."""

    parents: Array
    links: Array  # the item that each is linked to, old or new
    groups: Array  # new items that are linked among themselves have the same number
    nodes: NewItems | None  # the new nodes


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree with more rows."""

    tree: FittedTree
    leaves: Array  # of the new rows
    groups: Array  # new rows that are linked among themselves have the same number
    n_before: tuple[int, ...]  # nodes of each level that were there


def extend_tree(tree: FittedTree, new: NewRows, run: Run, may_found: bool = True) -> GrownTree:
    """The tree with more rows: they join leaves or, if other new rows are nearer, found new ones.

    `may_found`: False makes every row join its nearest leaf.
    """
    old = tree.hierarchy
    if old.metric.takes_distances:
        raise ValueError(
            "extend: metric='precomputed' knows no distances between new rows; fit a new model"
        )
    steps = _join_levels(old, new, run, may_found)
    levels = _grow_levels(old.levels, steps)
    index = old.found_index
    if levels[0].n_nodes > old.levels[0].n_nodes:
        known = old.leaf_index(run.n_threads)
        index = grow_index(
            known, old.levels[0].n_nodes, levels[0].centroids, old.metric, levels[0].keys
        )
    links = _grow_links(old, steps, run.n_threads)
    n_new = old.n_new + new.data.shape[0]
    grown = replace(old, levels=levels, links=links, found_index=index, n_new=n_new)
    if old.strengths is not None:
        grown = replace(grown, strengths=old.strengths.grown(grown))
    grown = grown.with_default_level(old.default_level())
    table = tree.table.more(new.hashes)
    rows = _grow_rows(tree, new.data, table, run.n_threads)
    wider = replace(tree, hierarchy=grown, table=table, row_index=rows)
    return GrownTree(wider, levels[0].members[old.n_rows :], steps[0].groups, old.level_sizes)


def _join_levels(old: Hierarchy, new: NewRows, run: Run, may_found: bool) -> list[Step]:
    """From the rows up, as long as there are new nodes."""
    steps: list[Step] = []
    items = NewItems(new.data, np.ones(new.data.shape[0]), new.hashes)
    found = new.found
    # equal rows stay together
    nearest = found.leaves
    distances = np.where(found.known >= 0, -1.0, found.distances)
    for k, level in enumerate(old.levels):
        others = None
        if may_found and k == 0 and new.short is not None:
            others = _neighbors(replace(items, data=new.short), EUCLIDEAN, run, 0)
        elif may_found:
            others = _neighbors(items, old.metric, run, k)
        joined = join_or_found(nearest, distances, others, level.n_nodes)
        # an item of each node: what joins it is linked to that
        some = np.empty(level.n_nodes, dtype=np.int64)
        some[level.members] = np.arange(len(level.members))
        links = np.where(joined.nearest >= 0, len(level.members) + joined.nearest, some[nearest])
        nodes = _make_nodes(
            items, joined.parents - level.n_nodes, joined.n_new, level, old.metric, run
        )
        steps.append(Step(joined.parents, links, joined.groups, nodes))
        if nodes is None or k + 1 == old.n_levels:
            break
        items = nodes
        node, distances = _nearest_nodes(old, k, nodes.data, run.n_threads)
        nearest = old.levels[k + 1].members[node]
    return steps


def _neighbors(items: NewItems, metric: Metric, run: Run, k: int) -> FirstNeighbors | None:
    if items.data.shape[0] < 2:
        return None
    known = KnownItems(hashes=items.keys if k == 0 else None, keys=items.keys)
    return search(items.data, metric, run.n_threads, run.plan.search(k), known).neighbors


def _nearest_nodes(old: Hierarchy, k: int, centroids: Any, n_threads: int) -> tuple[Array, Array]:
    """The nearest old node of level k, and how far it is."""
    if k == 0:
        return old.leaf_index(n_threads).query(centroids, n_threads)
    return BlockedIndex(old.levels[k].centroids, old.metric, old.levels[k].keys).query(
        centroids, n_threads
    )


def _make_nodes(
    items: NewItems, numbers: Array, n: int, level: Level, metric: Metric, run: Run
) -> NewItems | None:
    """Centroids, sizes and keys of new nodes; `numbers` are negative for what joined an old one."""
    if n == 0:
        return None
    own = np.flatnonzero(numbers >= 0)
    data = items.data[own]
    weights = items.weights[own]
    members = numbers[own]
    group = Grouping.of(members, n)
    if metric.centroid_kind == "medoid":
        centroids, sizes = merge_medoids(
            data, weights, group, metric, items.keys[own], run.n_threads
        )
    else:
        centroids, sizes = merge_items(data, weights, members, n, level.centroids.dtype, run)
    return NewItems(
        centroids, sizes, np.add.reduceat(items.keys[own][group.order], group.starts[:-1])
    )


def _grow_levels(levels: tuple[Level, ...], steps: list[Step]) -> tuple[Level, ...]:
    """Levels with the new items and nodes; sizes are counted anew."""
    out: list[Level] = []
    sizes: Array | None = None
    for k, level in enumerate(levels):
        step = steps[k] if k < len(steps) else None
        members = level.members
        centroids = level.centroids
        keys = level.keys
        n = level.n_nodes
        agreement = level.agreement
        if step is not None:
            members = np.concatenate([members, step.parents])
            if step.nodes is not None:
                centroids = _stack(centroids, step.nodes.data)
                n = n + step.nodes.data.shape[0]
                keys = None if keys is None else np.concatenate([keys, step.nodes.keys])
                if agreement is not None:
                    agreement = np.concatenate(
                        [agreement, np.full(n - len(agreement), np.nan, agreement.dtype)]
                    )
        sizes = np.bincount(members, sizes, n).astype(np.int64)
        own = dict(
            centroids=centroids, sizes=sizes, members=members, keys=keys, agreement=agreement
        )
        out.append(replace(level, **own))
    return tuple(out)


def _stack(rows: Any, more: Any) -> Any:
    return (
        sparse.vstack([rows, more]).tocsr()
        if sparse.issparse(rows)
        else np.concatenate([rows, more])
    )


def _grow_links(old: Hierarchy, steps: list[Step], n_threads: int) -> tuple[Links, ...]:
    """New items are linked to what they joined, or to their first neighbour.

    These links count as the longest.
    """
    more = [step.links for step in steps]
    top = steps[-1].nodes
    # new nodes of the top level: their first neighbours are old ones, or there was a level more
    if top is not None:
        more.append(_nearest_nodes(old, old.n_levels - 1, top.data, n_threads)[0])
    out = list(old.links)
    for k, ids in enumerate(more[: len(out)]):
        n = len(out[k].ids)
        kind = out[k].ids.dtype
        ranks = np.arange(n + 1, n + len(ids) + 1, dtype=kind)
        out[k] = Links(
            np.concatenate([out[k].ids, ids.astype(kind)]), np.concatenate([out[k].ranks, ranks])
        )
    return tuple(out)


def _grow_rows(
    tree: FittedTree, X: Any, table: RowTable, n_threads: int
) -> Index | BlockedIndex | None:
    """The index over all rows, for new_points="neighbor"."""
    index = tree.row_index
    if index is None:
        return None
    rows = index.data if isinstance(index, BlockedIndex) else index.points.data
    return index_rows(_stack(rows, X), tree.hierarchy.metric, table.in_order(), n_threads)
