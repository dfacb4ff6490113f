"""Where does the map lie? Scores of single rows, ready to colour a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ...core.arrays import Array
from ._local import pointwise_recall, pointwise_trustworthiness

# that are scored without being asked for: scores take time in proportion to their number
MOST_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Distortion:
    """Scores of some rows of a map; arrays have one value per row, NaN where it was not scored.

    Attributes
    ----------
    rows : ndarray of int
        The rows that were scored.
    trustworthiness : ndarray
        1: the nearest rows in the map are the nearest in the data.
    recall : ndarray
        Share of the ten nearest rows that are among the ten nearest in the map.
    stretch : ndarray
        Distance in the map to the row's first neighbour in the data, in distances to the nearest
        row of the map; 1 is the best.
    """

    rows: Array
    trustworthiness: Array
    recall: Array
    stretch: Array

    def __repr__(self) -> str:
        told = [
            f"Distortion of {len(self.rows):,} of {len(self.recall):,} rows; "
            "median, and the worst of 20:"
        ]
        for name, worst in (("trustworthiness", 0.05), ("recall", 0.05), ("stretch", 0.95)):
            middle, low = np.quantile(getattr(self, name)[self.rows], [0.5, worst])
            told.append(f"  {name:16} {middle:.3f}  {low:.3f}")
        return "\n".join(told)


def row_distortion(
    X: Any, Y: Array, first: Array, metric: Any, rows: Any = None, n_jobs: int | None = None
) -> Distortion:
    """Scores of rows (None: all, or 10,000 spread evenly); `first`: neighbours in the data."""
    n = len(Y)
    if rows is None:
        rows = np.arange(n) if n <= MOST_ROWS else np.arange(MOST_ROWS) * n // MOST_ROWS
    rows = np.asarray(rows)
    nearest = cKDTree(Y).query(Y[rows], k=[2])[0][:, 0]
    away = np.sqrt(((Y[rows] - Y[first[rows]]) ** 2).sum(axis=1))
    stretch = np.divide(away, nearest, out=np.where(away > 0, np.inf, 1.0), where=nearest > 0)
    scores = [
        pointwise_trustworthiness(X, Y, metric=metric, rows=rows, n_jobs=n_jobs),
        pointwise_recall(X, Y, metric=metric, rows=rows, n_jobs=n_jobs),
        stretch,
    ]
    full = np.full((3, n), np.nan)
    full[:, rows] = scores
    return Distortion(rows, *full)
