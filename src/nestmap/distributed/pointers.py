"""Connected components that exceed the memory of one process, by pointer jumping in rounds.

Every item points to its first neighbour. In a round each pointer jumps to where that of its target
points, and the lowest item on the way is taken along: soon all pointers are on the cycle that their
component ends in, and its lowest item, the root, names the component. (Exact neighbours end in
pairs, since keys decide ties; approximate ones may end in longer cycles.) Items are places in the
order of parts, where most neighbours belong to the same part. A task reads one file and writes to
another one, so it may run again. Centroids are those of one machine, of the components whose root
is in the part: their rows in the order of X.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, blocks
from ..method.hierarchy.build import merge_items
from ..method.run import Run
from .division import Division, load_division
from .pages import keeps_pages
from .store import RowFile, Store

_JUMPS_INSIDE = (
    6  # jumps of a part's pointers before the first round, each twice as far as the one before
)


@dataclass(frozen=True, eq=False)
class Roots:
    """Components that have items in a part."""

    roots: Array  # ascending
    lowest: Array  # their lowest rows in the part
    # by part, which ones of the part's strays belong there: items whose root is in another part
    cuts: Array


@dataclass(frozen=True)
class Nodes:
    """The files that centroids and sizes are written to, part by part."""

    centroids: RowFile
    sizes: RowFile


def follow_inside(links: Array, first: int) -> Array:
    """Pointers of items first, first + 1, …, followed while they stay there, or for some jumps.

    Examples
    --------
    >>> follow_inside(np.array([11, 12, 7, 12]), 10).tolist()
    [[7, 10, -1], [7, 11, -1], [7, 12, -1], [7, 12, -1]]
    """
    to = links.copy()
    lowest = np.arange(first, first + len(links))
    for _ in range(_JUMPS_INSIDE):
        inside = np.flatnonzero((to >= first) & (to < first + len(to)))
        next_ = to[inside] - first
        lowest[inside] = np.minimum(lowest[inside], lowest[next_])
        to[inside] = to[next_]
    return np.stack([to, lowest, np.full(len(to), -1)], axis=1)


@keeps_pages
def link_part(store: Store, version: str, p: int) -> None:
    """The pointers of a part before the first round."""
    first, last = _own(load_division(store, version), p)
    store.pointers[0].write(
        first, follow_inside(store.numbers("links").read(first, last)[:, 0], first)
    )


@keeps_pages
def jump_part(store: Store, version: str, p: int, n_rounds: int) -> bool:
    """One round more for a part; whether any item has another root now.

    If none in any part has, roots are right: what an item takes for its root is the lowest item on
    the way of the pointer that it points to. With those of n pointers in a row a(1), a(2), …,
    nothing changed means that a(i) is the lower one of a(i + 1) and a(i + 2), all the way, which
    ends in a cycle: so all are the lowest item of that.
    """
    first, last = _own(load_division(store, version), p)
    before = store.pointers[n_rounds % 2]
    after = store.pointers[(n_rounds + 1) % 2]
    to, lowest, root = before.read(first, last).T
    next_, roots, _ = before.take(to).T
    after.write(first, np.stack([next_, np.minimum(lowest, roots), roots], axis=1))
    return bool((roots != root).any())


@keeps_pages
def root_part(store: Store, version: str, p: int, n_rounds: int) -> Roots:
    """What roots the items of a part have. Strays are written, sorted by root, to its places."""
    division = load_division(store, version)
    first, last = _own(division, p)
    found = store.pointers[n_rounds % 2].read(first, last)[:, 2]
    # items of a part come in the order of their rows
    roots, lowest = np.unique(found, return_index=True)
    away = np.flatnonzero((found < first) | (found >= last))
    away = away[np.argsort(found[away], kind="stable")]
    store.numbers("strays").write(first, away + first)
    rows = store.numbers("order").read(first, last)[lowest, 0]
    return Roots(roots, rows, np.searchsorted(found[away], division.starts))


@keeps_pages
def mean_part(
    store: Store,
    version: str,
    p: int,
    n_rounds: int,
    nodes: Nodes,
    begin: int,
    strays: list[tuple[int, int]],
) -> None:
    """Write components of the items of a part, and centroids and sizes of those rooted in it.

    These come from `begin` on in the files of nodes, in the order of their numbers. `strays`: first
    and last ones, in their file, of those in each other part that belong here.
    """
    division = load_division(store, version)
    first, last = _own(division, p)
    names = store.numbers("names")
    pointers = store.pointers[n_rounds % 2]
    found = pointers.read(first, last)[:, 2]
    members = names.take(found)
    store.numbers("members").write(first, members)
    inside = np.flatnonzero((found >= first) & (found < last))
    if len(inside) == 0:
        return
    guests = np.concatenate(
        [store.numbers("strays").read(a, b)[:, 0] for a, b in strays] or [inside[:0]]
    )
    items = np.concatenate([inside + first, guests])
    labels = np.concatenate([members[inside, 0], names.take(pointers.take(guests)[:, 2])[:, 0]])
    by_row = np.argsort(store.numbers("order").take(items)[:, 0])
    items, weights = items[by_row], store.weights.take(items[by_row])[:, 0]
    numbers, labels = np.unique(labels[by_row], return_inverse=True)
    rows = _rows(store, division, items)
    dtype = nodes.centroids.dtype
    centroids, sizes = merge_items(rows, weights, labels, len(numbers), dtype, Run())
    nodes.centroids.write(begin, centroids)
    nodes.sizes.write(begin, sizes)


def _own(division: Division, p: int) -> tuple[int, int]:
    """The places of a part."""
    return int(division.starts[p]), int(division.starts[p + 1])


def _rows(store: Store, division: Division, places: Array) -> Array:
    """The rows at some places, from the file where guests lie behind the own rows of each part."""
    part = np.searchsorted(division.starts, places, side="right") - 1
    at = places + (division.begins[:-1] - division.starts[:-1])[part]
    out = np.empty((len(at), store.width), dtype=store.dtype)
    along = np.argsort(at)  # as they lie in the file: rows of other parts are read once, together
    for some in blocks(len(at), store.width):
        out[along[some]] = store.parted.take(at[along[some]])
    return out
