"""First neighbours that users pass, in the forms that other libraries return."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from .report import FirstNeighbors, NeighborReport

FORMS = (
    "an array with the index of each row's nearest other row, an (n, k) array of indices with "
    "the nearest first, a pair (indices, distances) of such arrays, or a sparse (n, n) matrix of "
    "distances"
)


def given_neighbors(given: Any, n: int) -> FirstNeighbors:
    """First neighbours of n rows from user input, checked.

    Parameters
    ----------
    given : FirstNeighbors, array (n,) or (n, k), pair of arrays (n, k), or sparse matrix (n, n)
        A row may be listed among its own neighbours, as k-NN searches do; it is passed over.
        Distances of a pair or a matrix only say which neighbour is the nearest.

    Returns
    -------
    FirstNeighbors
        Distances that the user does not bring are NaN: `given_distances` computes them, in the
        metric of the fit.

    Examples
    --------
    >>> given_neighbors([[0, 1], [1, 0], [2, 1]], 3).ids.tolist()
    [1, 0, 1]
    """
    distances = np.full(n, np.nan)
    note = ""
    if isinstance(given, FirstNeighbors):
        ids = _indices(given.ids, n)
        distances = given.distances
    elif sparse.issparse(given):
        ids, note = _from_matrix(given, n)
    elif (
        isinstance(given, tuple | list)
        and len(given) in (2, 3)
        and getattr(given[0], "ndim", 0) == 2
    ):
        # UMAP adds its search index
        ids, note = _from_lists(_indices(given[0], n), _distances(given[1], n))
    else:
        ids = _indices(given, n)
    if ids.ndim == 2:
        ids, note = _from_lists(ids, None)
    _refuse_unknown(ids[:, None], 0, n)
    if len(own := np.flatnonzero(ids == np.arange(n))):
        raise ValueError(f"neighbors: row {own[0]} names itself as its nearest other row")
    nan = float("nan")
    report = NeighborReport("given", False, n, n, "none", recall=nan, target=nan, note=note)
    return FirstNeighbors(ids.astype(np.int64), distances, report)


def brings_lists(given: Any) -> bool:
    """Whether the user passed several neighbours for each row."""
    if isinstance(given, tuple | list):
        return len(given) > 0 and np.ndim(given[0]) > 0
    return getattr(given, "ndim", 1) == 2


def given_lists(given: Any, n: int) -> Array | None:
    """All neighbours that the user passed: (n, k), nearest first, padded with -1.

    Checked by `given_neighbors` before. None if there is a single one for each row.

    Examples
    --------
    >>> given_lists([[0, 1, 2], [1, 0, 2], [2, 1, 0]], 3).tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    if isinstance(given, FirstNeighbors):
        return None
    if sparse.issparse(given):
        graph = sparse.coo_matrix(given)
        rows = graph.row
        ids = graph.col
        order = graph.data.astype(np.float64)
    else:
        is_pair = (
            isinstance(given, tuple | list)
            and len(given) in (2, 3)
            and getattr(given[0], "ndim", 0) == 2
        )
        lists = np.asarray(given[0] if is_pair else given)
        if lists.ndim != 2:
            return None
        rows = np.repeat(np.arange(n), lists.shape[1])
        ids = lists.ravel()
        places = np.broadcast_to(np.arange(lists.shape[1], dtype=np.float64), lists.shape)
        order = np.asarray(given[1] if is_pair else places, dtype=np.float64).ravel()
    kept = (ids != rows) & (ids >= 0) & ~np.isnan(order)
    rows = rows[kept]
    ids = ids[kept]
    order = order[kept]
    sorted_rows = np.lexsort((ids, order, rows))
    rows = rows[sorted_rows]
    ids = ids[sorted_rows]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    found = np.full((n, int(place.max(initial=-1)) + 1), -1, dtype=np.int64)
    found[rows, place] = ids
    return found if found.shape[1] > 1 else None


def _indices(given: Any, n: int) -> Array:
    try:
        ids = np.asarray(given)
    except ValueError:  # lists of several lengths
        ids = np.empty(0, dtype=object)
    fits = ids.shape == (n,) or (ids.ndim == 2 and len(ids) == n and ids.shape[1] > 0)
    if not fits or not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(
            f"neighbors: expected {n} integers, the index of each row's nearest other row (or "
            f"{FORMS}); got an array of shape {ids.shape} and type {ids.dtype}"
        )
    return ids


def _distances(given: Any, n: int) -> Array:
    found = np.asarray(given)
    if found.ndim != 2 or len(found) != n or found.dtype.kind not in "fiu":
        raise ValueError(
            f"neighbors: the second of a pair is an ({n}, k) array of distances, got shape "
            f"{found.shape} and type {found.dtype}"
        )
    return found.astype(np.float64)


def _from_lists(ids: Array, distances: Array | None) -> tuple[Array, str]:
    """The nearest of each row's list without the row itself; without distances the first."""
    if distances is not None and distances.shape != ids.shape:
        raise ValueError(
            f"neighbors: indices have shape {ids.shape}, distances {distances.shape}; they must "
            "be the same"
        )
    n, k = ids.shape
    _refuse_unknown(ids, -1, n)
    usable = (ids != np.arange(n)[:, None]) & (ids != -1)  # -1: UMAP found none
    if distances is None:
        order = np.broadcast_to(np.arange(k, dtype=np.float64), ids.shape)
    else:
        _refuse(distances[usable & (distances < 0)], "negative")
        usable &= ~np.isnan(distances)
        order = distances
    _refuse_lonely(usable.any(axis=1))
    best = np.where(usable, order, np.inf).argmin(axis=1)
    # all that are left are infinitely far
    best = np.where(usable[np.arange(n), best], best, usable.argmax(axis=1))
    return ids[np.arange(n), best], f"the nearest of {k} listed for each row"


def _from_matrix(graph: Any, n: int) -> tuple[Array, str]:
    """The column of the smallest stored value of each row of a sparse matrix."""
    if graph.shape != (n, n):
        raise ValueError(f"neighbors: a graph of {n} rows has shape ({n}, {n}), got {graph.shape}")
    graph = sparse.csr_matrix(graph)
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    other = (graph.indices != rows) & ~np.isnan(graph.data)
    rows = rows[other]
    columns = graph.indices[other]
    values = graph.data[other]
    _refuse(values[values < 0], "negative")
    _refuse_lonely(np.bincount(rows, minlength=n) > 0)
    most = np.zeros(n)
    np.maximum.at(most, rows, values)
    if (
        np.abs(most - 1) < 1e-6
    ).all():  # so are the weights of UMAP and of scanpy, and those of unweighted graphs
        raise ValueError(
            "neighbors: the largest value of every row is 1, as in a graph of weights, where the "
            "nearest have the largest; give distances: kneighbors_graph(mode='distance'), "
            "adata.obsp['distances']"
        )
    order = np.lexsort((columns, values, rows))
    first = np.searchsorted(rows[order], np.arange(n))
    count = np.diff(graph.indptr)
    return columns[order][
        first
    ], f"the nearest of {count.min()} to {count.max()} of a graph for each row"


def _refuse(wrong: Array, what: str) -> None:
    if len(wrong):
        raise ValueError(
            f"neighbors: {len(wrong)} distances are {what}, such as {wrong[0]:g}; they must be at "
            "least 0"
        )


def _refuse_unknown(ids: Array, least: int, n: int) -> None:
    """Raise for indices out of range."""
    rows, places = np.nonzero((ids < least) | (ids >= n))
    if len(rows):
        raise ValueError(
            f"neighbors: row {rows[0]} names row {ids[rows[0], places[0]]}, which does not exist"
        )


def _refuse_lonely(has_one: Array) -> None:
    if not has_one.all():
        row = int(np.argmin(has_one))
        raise ValueError(
            f"neighbors: no other row is listed for row {row} ({int((~has_one).sum())} such rows "
            "in all); search for more neighbours, or use neighbors='auto'"
        )
