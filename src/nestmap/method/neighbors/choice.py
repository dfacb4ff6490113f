"""Exact or approximate: what was asked for, or what the rows themselves suggest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.input.validate import cast_rows, check_number, check_option
from ...core.native import core
from ...core.points.point_set import PointSet, make_points
from ...core.points.reduce import (
    ALL_COLUMNS,
    FEW_COLUMNS,
    MOST_COLUMNS,
    WIDE_COLUMNS,
    fit_directions,
    sample_size,
)
from .join import join_points

METHODS = ("auto", "exact", "approximate")
MOST_PAIRS = 30_000_000_000  # about half a minute on two cores
# rows up to which even all pairs are no more than that: 244,948
SURE = int(np.sqrt(2 * MOST_PAIRS))
# rows up to which the exact join is the faster one; a prediction is made from as many
_FEW = 20_000
_WIDE_FROM = 0.995  # a higher target: more columns find what longer lists do not
_MANY = 2_000_000  # rows from which on columns are counted
# up to so many rows: some 5 GB of short rows
_HARD_COLUMNS = {4_000_000: MOST_COLUMNS, 8_000_000: ALL_COLUMNS}
_TRIAL = 500  # rows that a first guess is made from
# times the cost: by so much is a guess from so few rows, unless bounds are of no use at all
_TOO_HIGH = 2
_HOPELESS = 8  # times the cost: no need to look closer
# a higher target takes the approximate search longer than all pairs, where bounds are of use
_NEARLY_ALL = 0.995
# per column of a pair that bounds leave over, and of one that meets in a matrix product, in bounded
# pairs (on AVX2)
_VERIFY_COST = 0.4
_PRODUCT_COST = 0.03


@dataclass(frozen=True)
class Search:
    """How first neighbours are to be found.

    `columns` limits the reduced columns that are kept per row, and `n_listed` the rows that the
    approximate search lists for each row (questions of memory). `exact_pairs` is what the exact
    join would cost by prediction, where a decision has asked for it; the approximate search never
    takes more.
    """

    method: str = "auto"
    target_recall: float = 0.9
    columns: int = WIDE_COLUMNS
    n_listed: int = 64
    exact_pairs: float = float("nan")
    # of the rows, searched one by one on a cluster: they decide what an approximate search finds
    parts: int = 1

    def __post_init__(self) -> None:
        check_option("neighbors", self.method, METHODS)
        check_number("target_recall", self.target_recall, 0.01, 1)


def most_columns(n: int) -> int:
    """Reduced columns that n rows are given at most."""
    return MOST_COLUMNS if n <= SURE else ALL_COLUMNS if n <= _MANY else FEW_COLUMNS


def hard_columns(target: float, n: int) -> int:
    """Reduced columns for an approximate search of n rows that few directions say little about."""
    if n > _MANY:
        return next((columns for most, columns in _HARD_COLUMNS.items() if n <= most), FEW_COLUMNS)
    return MOST_COLUMNS if target <= _WIDE_FROM else WIDE_COLUMNS


def columns_for(data: Any, metric: str, n: int, target: float) -> int:
    """Reduced columns that an approximate search of n rows like these is given at most."""
    usual = most_columns(n)
    most = hard_columns(target, n)
    if usual >= most or data.shape[1] <= usual:
        return usual
    points = _some(data, metric, sample_size(n, data.shape[1]))
    return most if fit_directions(points, None, usual, most).n_dims > usual else usual


def decide(data: Any, metric: str, search: Search, n: int | None = None) -> Search:
    """The search with its method resolved to "exact" or "approximate".

    For these rows, or for the n rows that they are a sample of.

    'auto' is exact as long as that is predicted to cost no more than MOST_PAIRS bounded pairs of
    rows. Up to SURE rows of few columns it always is, without asking. 'approximate' with a target
    of nearly all is decided likewise.
    """
    n = n or data.shape[0]
    if search.method == "exact" or core() is None or n <= _FEW:
        return replace(search, method="exact")
    if search.method == "approximate":
        if search.target_recall >= 1:
            return replace(search, method="exact")
        if search.target_recall <= _NEARLY_ALL or n > SURE:
            return search
    elif n <= SURE and data.shape[1] <= ALL_COLUMNS:
        return replace(search, method="exact")
    pairs = predicted_pairs(data, metric, n)
    return replace(
        search, method="exact" if pairs <= MOST_PAIRS else "approximate", exact_pairs=pairs
    )


def predicted_pairs(data: Any, metric: str, n: int | None = None) -> float:
    """What the exact join of n rows (None: these) would cost, in bounded pairs.

    Estimated from joins of random ones of these.

    The share of pairs that bounds leave over falls with the number of rows, so this is rather too
    high. A few rows tell whether bounds are of any use; where they are, more rows tell how much.
    """
    n = n or data.shape[0]
    cost, by_products = _trial(data, metric, _TRIAL)
    rough = cost * float(n) ** 2
    if by_products or rough > _HOPELESS * MOST_PAIRS:
        return rough
    return rough / _TOO_HIGH if n <= SURE else _trial(data, metric, _FEW)[0] * float(n) ** 2


def pair_share(data: Any, metric: str, n: int) -> float:
    """The share of pairs of n random rows that an exact join bounds; above 1: matrix products."""
    return 2 * _trial(data, metric, n)[0]


def _trial(data: Any, metric: str, n: int) -> tuple[float, bool]:
    """A join of n random rows: cost per pair in bounded pairs; whether by matrix products."""
    points = _some(data, metric, n)
    # one thread: the count, and with it the decision, is the same each time
    report = join_points(points, 1).report
    cost = report.n_pairs_bounded + _VERIFY_COST * data.shape[1] * report.n_pairs_verified
    if report.n_pairs_multiplied:
        return _PRODUCT_COST * data.shape[1] / 2, True
    return float(cost) / points.n**2, False


def _some(data: Any, metric: str, n: int) -> PointSet:
    """n random rows, or all."""
    rows = np.sort(
        np.random.default_rng(3).choice(data.shape[0], min(data.shape[0], n), replace=False)
    )
    return make_points(cast_rows(data[rows]), metric)
