"""Which clusters new items join, and which they found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from ...method.hierarchy.merge import components
from ...method.neighbors import FirstNeighbors


@dataclass(frozen=True, eq=False)
class NewParents:
    """The node of each new item: an old one, or one that is new, numbered after the old ones."""

    parents: Array
    n_new: int
    nearest: Array  # the other new item that decided, or -1: an old node did
    groups: Array  # items that are linked among themselves have the same number


def join_or_found(
    old_nodes: Array, distances: Array, others: FirstNeighbors | None, n_old: int
) -> NewParents:
    """First-neighbour links of new items among themselves and to old nodes.

    Old items and links stay as they are.

    An item whose nearest other new item is nearer than the centroid of its nearest old node is
    linked to it, others to the old node. What is connected to an old node joins it; each other
    component is a new node.

    Parameters
    ----------
    old_nodes, distances : ndarray of shape (n,)
        The nearest old node of each item, and how far it is.
    others : FirstNeighbors or None
        Of the items among themselves; None for a single one.
    n_old : int
        Old nodes.
    """
    n = len(old_nodes)
    if others is None:
        return NewParents(old_nodes, 0, np.full(n, -1), np.arange(n))
    linked = others.distances < distances
    nearest = np.where(linked, others.ids, -1)
    own = np.flatnonzero(linked)
    graph = sparse.csr_matrix(
        (np.ones(len(own), dtype=np.int8), (own, others.ids[own])), shape=(n, n)
    )
    groups = components(graph)
    n_groups = int(groups.max()) + 1
    # each item has one link at most: a group has one item without a link, or a pair of
    # mutual neighbours
    home = np.full(n_groups, -1)
    home[groups[~linked]] = old_nodes[~linked]
    new = home < 0
    home[new] = n_old + np.arange(new.sum())
    return NewParents(home[groups], int(new.sum()), nearest, groups)
