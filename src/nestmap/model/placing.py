"""New rows of a fitted model: read, checked, and placed, each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.input.training import read_new
from ..core.input.validate import cast_rows
from ..method.placement import FittedTree
from ..tables.encoded import EncodedTable
from .fitted import FittedMap


def new_rows(
    estimator: Any, tree: FittedTree, X: Any, n_threads: int, first_row: int = 0
) -> Iterator[Any]:
    """New rows in blocks, as the tree keeps its own; blocks make no difference.

    Those of a model with an encoder are a raw table. `first_row`: the number of the first row in
    messages.
    """
    parts: Iterable[Any]
    if (encoder := getattr(estimator, "encoder_", None)) is None:
        parts = read_new(estimator, X, tree.dtype, n_threads, first_row)
    else:
        rows = EncodedTable.of(X, encoder).rows
        parts = (cast_rows(rows, dtype=tree.dtype, first_row=first_row, n_threads=n_threads),)
    return (tree.stored_alike(rows) for rows in parts)


def place_new(
    estimator: Any, fitted: FittedMap, X: Any, n_threads: int, first_row: int = 0
) -> tuple[Array, Array]:
    """Positions and distances of new rows."""
    blocks = new_rows(estimator, fitted.tree, X, n_threads, first_row)
    placed = [fitted.place(rows, n_threads) for rows in blocks]
    distances = np.concatenate([found.distances for _, found in placed])
    return np.concatenate([positions for positions, _ in placed]), distances


def leaves_of_new(
    estimator: Any, tree: FittedTree, X: Any, n_threads: int, first_row: int = 0
) -> tuple[Array, Array]:
    """Leaves and distances of new rows."""
    blocks = new_rows(estimator, tree, X, n_threads, first_row)
    found = [tree.assign(rows, n_threads) for rows in blocks]
    distances = np.concatenate([each.distances for each in found])
    return np.concatenate([each.leaves for each in found]), distances
