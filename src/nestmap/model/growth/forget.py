"""Rows that are taken out of a fitted map; what is left stays where it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from ...method.hierarchy.merge import Links, components, link_graph
from ...method.hierarchy.tree import Hierarchy, Level
from ...method.placement import FittedTree, RowTable
from ..fitted import FittedMap


def forget_rows(fitted: FittedMap, kept: Array) -> FittedMap:
    """The map of the rows that are kept (ascending numbers).

    Nodes without rows go, the others keep their order.
    """
    old = fitted.tree.hierarchy
    levels, chosen = _thin_levels(old.levels, kept)
    n_new = int(np.count_nonzero(kept >= old.n_rows - old.n_new))
    strengths = old.strengths
    if strengths is not None:
        strengths = strengths.take(kept if strengths.level < 0 else chosen[strengths.level])
    links = _thin_links(old, kept)
    hierarchy = replace(
        old, levels=levels, links=links, found_index=None, n_new=n_new, strengths=strengths
    )
    hierarchy = hierarchy.with_default_level(old.default_level())
    table = RowTable.of(fitted.tree.table.in_order()[kept])
    tree = FittedTree(hierarchy, table, fitted.tree.dtype, fitted.tree.is_sparse)
    layout = fitted.layout.keep(kept, chosen, hierarchy)
    return replace(fitted, tree=tree, layout=layout, X=None, graph=None)


def _thin_levels(levels: tuple[Level, ...], kept: Array) -> tuple[tuple[Level, ...], list[Array]]:
    """Levels without the nodes that have no rows left, and the nodes that stay, ascending."""
    out: list[Level] = []
    chosen: list[Array] = []
    items: Array = kept
    sizes: Array = np.ones(len(kept))
    for level in levels:
        own = np.unique(level.members[items])
        members = np.searchsorted(own, level.members[items])
        sizes = np.bincount(members, sizes)
        out.append(level.take(own, members, sizes.astype(np.int64)))
        chosen.append(own)
        items = own
    return tuple(out), chosen


def _thin_links(old: Hierarchy, kept: Array) -> tuple[Links, ...]:
    """Links among what is left: they connect what belongs together on the next level, no more."""
    out: list[Links] = []
    for k, links in enumerate(old.links):
        in_tree = k < old.n_levels
        members = old.levels[k].members if in_tree else components(link_graph(links.ids))
        out.append(_thin(links, kept, members[kept]))
        # nodes keep their order; what is above the top is numbered by its lowest item
        first = np.sort(np.unique(members[kept], return_index=True)[1])
        kept = np.unique(members[kept]) if in_tree else members[kept][first]
    return tuple(out)


def _thin(links: Links, kept: Array, groups: Array) -> Links:
    """Links of the items that are kept.

    One whose neighbour is gone is linked to another item of its group, last.
    """
    n = len(kept)
    place = np.full(len(links.ids), -1, dtype=np.int64)
    place[kept] = np.arange(n)
    ids = place[links.ids[kept]]
    own = np.arange(n)
    lost = ids < 0
    parts = components(link_graph(np.where(lost, own, ids)))
    whole = np.ones(int(parts.max()) + 1, dtype=bool)
    whole[parts[lost]] = False
    number = np.unique(groups, return_inverse=True)[1]
    # the item that the others of its group are linked to: one that is connected to the pair at the
    # end of all links
    centre = np.full(int(number.max()) + 1, 2 * n)
    np.minimum.at(centre, number, np.where(whole[parts], own, own + n))
    centre %= n
    another = np.full(len(centre), n)  # a second item, for the centre itself
    np.minimum.at(another, number, np.where(own == centre[number], n, own))
    another = np.where(another == n, centre, another)
    ids = np.where(lost, np.where(own == centre[number], another[number], centre[number]), ids)
    ranks = np.empty(n, dtype=links.ranks.dtype)
    ranks[np.lexsort((own, links.ranks[kept], lost))] = np.arange(1, n + 1)
    return Links(ids.astype(links.ids.dtype), ranks)
