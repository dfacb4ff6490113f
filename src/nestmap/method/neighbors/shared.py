"""Short rows that two searches of the same rows share: the neighbour graph, then the exact join."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.native import core
from ...core.points.duplicates import Copies
from ...core.points.point_set import PointSet, make_points
from ...core.points.reduce import (
    MOST_COLUMNS,
    Reducer,
    ShortRows,
    fit_reducer,
    reduce_rows,
    sample_size,
)
from ...core.progress import Share
from ...core.threads import single_threaded_blas
from .effort import TABLE
from .metric import Metric

# rows up to which all distances are the faster way to a graph (measured with 784 columns)
ALL_DISTANCES_ROWS = 4096


@dataclass(eq=False)
class Shared:
    """Points and their short rows, made once.

    Not frozen: the join takes the short rows, which it puts into another order, and nobody else
    holds them then.
    """

    points: PointSet
    copies: Copies
    rows: Array  # the distinct ones, by their keys: the order of X makes no difference
    reducer: Reducer
    reduced: ShortRows | None  # of these rows

    def is_flat(self) -> bool:
        """Whether the leading directions hold little of the variance."""
        assert self.reduced is not None
        return self.reduced.is_flat(TABLE.leading, TABLE.flat_share)

    def leading(self, columns: int) -> Reducer:
        """The leading directions, at most so many."""
        return replace(self.reducer, directions=self.reducer.directions[:, :columns])

    def take(self) -> ShortRows:
        """The short rows, once."""
        assert self.reduced is not None
        reduced = self.reduced
        self.reduced = None
        return reduced


@dataclass(frozen=True, eq=False)
class Start:
    """What a graph of the rows leaves for the join: for each row one that is probably nearest."""

    nearest: Array
    shared: Shared | None = None


def shares_rows(n: int, n_features: int, metric: Metric, columns: int) -> bool:
    """Whether the graph of n rows and an exact join by so many reduced columns share short rows.

    With fewer columns than there may be, for want of memory, each makes its own, one after the
    other.
    """
    enough = columns >= min(MOST_COLUMNS, n_features)
    # of the groups of columns that bound the L1 norm, the leading ones tell less
    has_directions = metric.has_kernels and metric.norm == "L2"
    return has_directions and n > ALL_DISTANCES_ROWS and enough and core() is not None


def share_rows(
    X: Any, metric: Metric, hashes: Array, n_threads: int, progress: Share | None = None
) -> Shared | None:
    """Short rows of the distinct rows, None if these are few; `hashes`: `hash_points` of rows."""
    points = make_points(X, metric.name, n_threads=n_threads, keys=hashes)
    with single_threaded_blas():
        copies = Copies(points, hashes)
        rows = distinct_by_key(points, copies)
        if len(rows) <= ALL_DISTANCES_ROWS:
            return None
        reducer = fit_reducer(points, sample_of(points, rows))
        return Shared(
            points, copies, rows, reducer, reduce_rows(points, reducer, n_threads, rows, progress)
        )


def distinct_by_key(points: PointSet, copies: Copies) -> Array:
    """The distinct rows in the order of their keys."""
    assert points.keys is not None
    distinct = np.arange(points.n) if copies.distinct is None else copies.distinct
    return distinct[np.argsort(points.keys[distinct], kind="stable")]


def sample_of(points: PointSet, distinct: Array) -> Array:
    """Rows that directions are fitted on, by their places among the distinct ones."""
    size = sample_size(len(distinct), points.n_cols)
    return distinct[np.sort(np.random.default_rng(0).choice(len(distinct), size, replace=False))]
