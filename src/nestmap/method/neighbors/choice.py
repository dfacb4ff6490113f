"""Exact or approximate: what was asked for, or what the rows themselves suggest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.input.validate import cast_rows, check_number, check_option
from ...core.native import core
from ...core.points.point_set import PointSet, make_points
from ...core.points.reduce import ALL_COLUMNS, sample_size
from .effort import TABLE, Allowance, all_pairs_rows, most_columns
from .join import join_points
from .prepared import fit_directions

METHODS = ("auto", "exact", "approximate")


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
    columns: int = TABLE.columns
    n_listed: int = TABLE.longest_list
    exact_pairs: float = float("nan")

    @property
    def allowance(self) -> Allowance:
        """What memory allows."""
        return Allowance(self.columns, self.n_listed)

    def __post_init__(self) -> None:
        check_option("neighbors", self.method, METHODS)
        check_number("target_recall", self.target_recall, 0.01, 1)


def columns_for(data: Any, metric: str, n: int) -> int:
    """Reduced columns that an approximate search of n rows like these is given at most."""
    usual = most_columns(n, is_flat=False)
    flat = most_columns(n, is_flat=True)
    if usual >= flat or data.shape[1] <= usual:
        return usual
    points = _some(data, metric, sample_size(n, data.shape[1]))
    return flat if fit_directions(points, None, usual, flat).n_dims > usual else usual


def decide(data: Any, metric: str, search: Search, n: int | None = None) -> Search:
    """The search with its method resolved to "exact" or "approximate".

    For these rows, or for the n rows that they are a sample of.

    'auto' is exact as long as that is predicted to cost no more than `TABLE.exact_pairs` bounded
    pairs of rows. Where there are no more pairs than that, and few columns, it is so unasked.
    'approximate' with a target of nearly all is decided likewise.
    """
    n = n or data.shape[0]
    if search.method == "exact" or core() is None or n <= TABLE.sure_rows:
        return replace(search, method="exact")
    if search.method == "approximate":
        if search.target_recall >= 1:
            return replace(search, method="exact")
        if search.target_recall <= 1 - TABLE.least_gain or n > all_pairs_rows():
            return search
    elif n <= all_pairs_rows() and data.shape[1] <= ALL_COLUMNS:
        return replace(search, method="exact")
    pairs = predicted_pairs(data, metric, n)
    method = "exact" if pairs <= TABLE.exact_pairs else "approximate"
    return replace(search, method=method, exact_pairs=pairs)


def predicted_pairs(data: Any, metric: str, n: int | None = None) -> float:
    """What the exact join of n rows (None: these) would cost, in bounded pairs.

    Estimated from joins of random ones of these.

    The share of pairs that bounds leave over falls with the number of rows, so this is rather too
    high, by more from a smaller sample. Few rows do where that makes little difference.
    """
    n = n or data.shape[0]
    sample = TABLE.trial_rows if n <= all_pairs_rows() else TABLE.sure_rows
    return _trial(data, metric, sample).cost * float(n) ** 2


def pair_share(data: Any, metric: str, n: int) -> float:
    """The share of pairs of n random rows that an exact join bounds; above 1: matrix products."""
    return 2 * _trial(data, metric, n).cost


@dataclass(frozen=True)
class _Trial:
    """The exact join of a few rows: cost per pair, in bounded pairs; whether by matrix products."""

    cost: float
    by_products: bool


def _trial(data: Any, metric: str, n: int) -> _Trial:
    """A join of n random rows."""
    points = _some(data, metric, n)
    # one thread: the count, and with it the decision, is the same each time
    report = join_points(points, 1).report
    if report.n_pairs_multiplied:
        return _Trial(TABLE.product_cost * data.shape[1] / 2, True)
    verified = TABLE.verify_cost * data.shape[1] * report.n_pairs_verified
    return _Trial(float(report.n_pairs_bounded + verified) / points.n**2, False)


def _some(data: Any, metric: str, n: int) -> PointSet:
    """n random rows, or all."""
    rows = np.sort(
        np.random.default_rng(3).choice(data.shape[0], min(data.shape[0], n), replace=False)
    )
    return make_points(cast_rows(data[rows]), metric)
