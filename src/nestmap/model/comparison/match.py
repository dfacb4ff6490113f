"""Rows that two fits share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array


def match_rows(old: Any, new: Any, ids: Any = None) -> tuple[Array, Array]:
    """Numbers of the common rows in the old and in the new fit, in the order of the old one.

    `ids`: names of the rows, (old, new), each name once on its side; None: rows are matched by
    their values, equal ones in their order.
    """
    if ids is not None:
        return match_names(ids, old.hierarchy_.n_rows, new.hierarchy_.n_rows)
    return match_hashes(_hashes(old), _hashes(new))


def match_names(ids: Any, n_old: int, n_new: int) -> tuple[Array, Array]:
    """The same by names of the rows, (old, new)."""
    if not isinstance(ids, tuple | list) or len(ids) != 2:
        raise ValueError("ids: give a pair, names of the old rows and names of the new rows")
    sides = [_check_ids("old", ids[0], n_old), _check_ids("new", ids[1], n_new)]
    keys = np.unique(np.concatenate(sides), return_inverse=True)[1]
    return _match(keys[:n_old], keys[n_old:])


def match_hashes(old: Array, new: Array) -> tuple[Array, Array]:
    """The same by the hashes of the rows."""
    keys = np.unique(np.concatenate([_counted(old), _counted(new)]), return_inverse=True)[1]
    return _match(keys[: len(old)], keys[len(old) :])


def _check_ids(which: str, names: Any, n: int) -> Array:
    found = np.asarray(names)
    if found.shape != (n,):
        raise ValueError(f"ids: {which} has shape {found.shape}, the {which} fit has {n} rows")
    if found.dtype.kind not in "iu":
        found = found.astype(str)
    values, counts = np.unique(found, return_counts=True)
    if len(values) < n:
        raise ValueError(
            f"ids: {values[counts.argmax()].item()!r} occurs {counts.max()} times among the "
            f"{which} rows"
        )
    return found


def _hashes(model: Any) -> Array:
    """The hash of each row of a fitted estimator."""
    fitted = getattr(model, "_fitted", None)
    tree = fitted if hasattr(fitted, "table") else getattr(fitted, "tree", None)
    if tree is None:
        raise ValueError(
            "compare: a Hierarchy alone does not know the values of its rows; give ids=(old "
            "names, new names)"
        )
    return np.asarray(tree.table.in_order())


def _counted(hashes: Array) -> Array:
    """Pairs of a hash and its number among equal ones, as one value each.

    So equal rows are matched one by one.
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    number = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    pairs = np.empty(len(order), dtype=[("hash", hashes.dtype), ("number", np.int64)])
    pairs["hash"] = hashes
    pairs["number"][order] = number
    return pairs


def _match(old: Array, new: Array) -> tuple[Array, Array]:
    where = np.full(int(max(old.max(), new.max())) + 1, -1, dtype=np.int64)
    where[new] = np.arange(len(new))
    rows = np.flatnonzero(where[old] >= 0)
    return rows, where[old[rows]]


def partner_level(n_nodes: int, sizes: tuple[int, ...]) -> int:
    """The level with about as many clusters."""
    return int(np.argmin(np.abs(np.log(np.array(sizes) / n_nodes))))
