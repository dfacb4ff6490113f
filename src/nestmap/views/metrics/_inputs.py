"""What every metric checks first, and the estimate that sampled ones return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ...core.arrays import Array
from ...core.input.source import load_rows
from ...core.input.validate import as_rows, check_number

ALL_ROWS_UP_TO = 20_000  # above, a sample of rows is scored unless the caller wants all
DEFAULT_SAMPLE = 10_000


@dataclass(frozen=True)
class Estimate:
    """A score, what it was measured on, and how far a sample may be off.

    `standard_error` is 0 where every row was scored. `float(estimate)` is the value.
    """

    value: float
    standard_error: float
    n_scored: int
    n_total: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if self.n_scored == self.n_total:
            return f"{self.value:.4f}"
        return (
            f"{self.value:.4f} ± {self.standard_error:.4f} ({self.n_scored:,} of {self.n_total:,})"
        )


def mean_estimate(scores: Array, n_total: int) -> Estimate:
    """The mean of the scores of a sample drawn without replacement."""
    m = len(scores)
    spread = float(scores.std(ddof=1)) if m > 1 else 0.0
    return Estimate(
        float(scores.mean()), spread * np.sqrt(max(0.0, 1 - m / n_total) / m), m, n_total
    )


def as_answer(estimate: Estimate, return_estimate: bool) -> Any:
    return estimate if return_estimate else estimate.value


def check_map(X: Any, X_embedded: Any) -> tuple[Any, Array]:
    """Rows and their places in a map (float64), equally many."""
    X = as_rows(load_rows(X), min_rows=2)
    Y = as_map(X_embedded)
    if X.shape[0] != len(Y):
        raise ValueError(
            f"X has {X.shape[0]} rows and X_embedded has {len(Y)}: they must be the same rows"
        )
    return X, Y


def as_map(X_embedded: Any) -> Array:
    """A dense float64 array of points."""
    Y = as_rows(X_embedded, dtype=np.float64, name="X_embedded", min_rows=2)
    return np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)


def check_labels(y: Any, n: int) -> tuple[Array, Array]:
    """The classes, and each row's class as a number."""
    if len(y) != n:
        raise ValueError(f"y has {len(y)} labels for {n} rows")
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    return classes, codes


def check_n_neighbors(n_neighbors: int, n: int) -> None:
    """Ranks are only scored below half of the rows, as in scikit-learn."""
    check_number("n_neighbors", n_neighbors, 1, np.inf, integer=True)
    if n_neighbors >= n / 2:
        raise ValueError(f"n_neighbors={n_neighbors}: must be less than half of the {n} rows")


@dataclass(frozen=True)
class Sample:
    """Which rows to score: all, or a sample without replacement, in order."""

    n_sample: int | None
    random_state: Any

    def rows(self, n: int) -> Array:
        size = self.n_sample
        if size is None:
            size = n if n <= ALL_ROWS_UP_TO else DEFAULT_SAMPLE
        check_number("n_sample", size, 1, np.inf, integer=True)
        if size >= n:
            return np.arange(n)
        return np.sort(check_random_state(self.random_state).choice(n, int(size), replace=False))
