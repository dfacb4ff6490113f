"""Which of several rows is the nearest: by distance, then the lowest key, then the lowest number.

Keys come from the values of rows (`hash_points`), so the order of the rows decides only between
equal ones.
"""

from __future__ import annotations

import numpy as np

from .arrays import Array


def nearest_of_each(groups: Array, distances: Array, rows: Array, keys: Array | None) -> Array:
    """Where the nearest candidate of each group is, groups ascending; `keys`: of the candidates.

    Examples
    --------
    >>> groups = np.array([7, 4, 4])
    >>> distances = np.array([1.0, 3.0, 3.0])
    >>> nearest_of_each(groups, distances, np.arange(3), np.array([5, 9, 8])).tolist()
    [2, 0]
    """
    columns = (rows, distances, groups) if keys is None else (rows, keys, distances, groups)
    order = np.lexsort(columns)
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = groups[order[1:]] != groups[order[:-1]]
    return np.asarray(order[is_first])


def is_nearer(
    distances: Array, keys: Array, rows: Array, other: Array, other_keys: Array, other_rows: Array
) -> Array:
    """Whether each candidate is nearer than the other one at the same place.

    Another row below 0 is none: its distance is a bound, and what reaches it is nearer.
    """
    lower = (keys < other_keys) | ((keys == other_keys) & (rows < other_rows))
    is_tie = distances == other
    return np.asarray((distances < other) | (is_tie & (lower | (other_rows < 0))))
