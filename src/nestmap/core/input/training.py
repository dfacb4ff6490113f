"""Rows of `fit` and `transform`, checked as scikit-learn does, in blocks where large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..arrays import blocks
from .scratch import row_blocks
from .source import RowSource, load_source, open_rows
from .validate import cast_rows

_VALUES_PER_READ = 8_000_000  # numbers of new rows that are read at a time: 64 MB of float64
OPTIONS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": "numeric",
    "ensure_all_finite": False,
    "copy": False,
}


def read_training(
    estimator: Any,
    X: Any,
    budget: int,
    folder: Path | None,
    progress: Callable[[float], None],
    n_threads: int,
) -> tuple[Any, dict[str, Any]]:
    """Training rows as the stages take them, and the attributes that describe their columns.

    The estimator is not changed: a fit that fails leaves it as it was.
    """
    X = open_rows(X)
    if isinstance(X, RowSource):
        X = load_source(X, budget, folder, progress=progress)
    blank: Any = object.__new__(type(estimator))
    blank.__dict__.update(estimator.get_params(deep=False))
    before = {*blank.__dict__}
    X = cast_rows(validate_data(blank, X, reset=True, **OPTIONS), n_threads=n_threads)
    return X, {name: value for name, value in blank.__dict__.items() if name not in before}


def assign_fitted(estimator: Any, state: dict[str, Any]) -> None:
    """Give an estimator all fitted attributes at once: Ctrl-C comes before or after that."""
    gone = {"feature_names_in_"} - {*state}  # of an earlier fit on a frame
    estimator.__dict__ = {
        name: value for name, value in estimator.__dict__.items() if name not in gone
    } | state


def read_new(
    estimator: Any, X: Any, dtype: Any, n_threads: int, first_row: int = 0
) -> Iterator[Any]:
    """New rows of a fitted estimator, in blocks; `first_row`: number of the first in messages."""
    X = open_rows(X)
    if isinstance(X, RowSource):
        parts: Any = ((part.start, X.block(part)) for part in row_blocks(X))
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.size > _VALUES_PER_READ:
        parts = (
            (part.start, X[part]) for part in blocks(len(X), X.shape[1], values=_VALUES_PER_READ)
        )
    else:
        parts = ((0, X),)
    for start, part in parts:
        rows = validate_data(estimator, part, reset=False, **OPTIONS)
        yield cast_rows(rows, dtype=dtype, first_row=first_row + start, n_threads=n_threads)
