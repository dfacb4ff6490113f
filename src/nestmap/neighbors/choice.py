"""Exact or approximate: what was asked for, or what the rows themselves suggest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._input.validate import cast_rows, check_number, check_option
from .._native import core
from .._points.point_set import make_points
from .._points.reduce import FEW_COLUMNS, MOST_COLUMNS
from .join import join_points

METHODS = ("auto", "exact", "approximate")
MOST_PAIRS = 30_000_000_000  # about half a minute on two cores
SURE = int(np.sqrt(2 * MOST_PAIRS))  # rows up to which even all pairs are no more than that: 244,948
_FEW = 20_000  # rows up to which the exact join is the faster one; a prediction is made from as many


@dataclass(frozen=True)
class Search:
    """How first neighbours are to be found.

    `columns` limits the reduced columns that are kept per row (a question of memory).
    """

    method: str = "auto"
    target_recall: float = 0.9
    columns: int = MOST_COLUMNS

    def __post_init__(self) -> None:
        check_option("neighbors", self.method, METHODS)
        check_number("target_recall", self.target_recall, 0.01, 1)


def most_columns(n: int) -> int:
    """Reduced columns that n rows are given at most."""
    return MOST_COLUMNS if n <= SURE else FEW_COLUMNS


def is_exact(data: Any, metric: str, search: Search, n: int | None = None) -> bool:
    """Whether the rows, or the n rows that they are a sample of, are to be joined exactly.

    'auto' stays exact as long as the join has to bound at most MOST_PAIRS pairs of rows: always up to
    SURE rows; beyond, as many as `predicted_pairs` says.
    """
    n = n or data.shape[0]
    if search.method == "exact" or core() is None or n <= _FEW:
        return True
    if search.method == "approximate":
        return search.target_recall >= 1
    return n <= SURE or predicted_pairs(data, metric, n) <= MOST_PAIRS


def predicted_pairs(data: Any, metric: str, n: int | None = None) -> float:
    """Pairs that the exact join of n rows (None: these) would bound, from a join of 20,000 random ones of these.

    The share of pairs that bounds leave over falls with the number of rows, so this is rather too high.
    """
    n = n or data.shape[0]
    rows = np.sort(np.random.default_rng(3).choice(data.shape[0], min(data.shape[0], _FEW), replace=False))
    some = cast_rows(data[rows])
    # one thread: the count, and with it the decision, is the same each time
    report = join_points(make_points(some, metric), 1)[0].report
    return report.n_pairs_bounded / len(rows) ** 2 * float(n) ** 2
