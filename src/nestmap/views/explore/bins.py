"""Bins of a column's chart, as a byte per row; explorer/src/data/bins.ts is the page's twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array

MISSING = 255  # of bins, and of codes of categories
_STEPS = 48  # bins of a column of numbers
_FEWEST_WHOLE = 8  # from the 1% to the 99% of a column with a bin for each whole number
_MOST_WHOLE = 60  # likewise, at most


def count_bins(record: Mapping[str, Any]) -> int:
    """Bins of a column, by its entry in meta.json."""
    if record["kind"] == "category":
        return len(record["categories"])
    return int(record["high"] - record["low"]) + 1 if _has_whole_bins(record) else _STEPS


def find_bins(values: Array, record: Mapping[str, Any]) -> Array:
    """The bin of each number, 255 where there is none.

    Bins are equal steps from the 1% to the 99% of the values, or one for each whole number; the
    first and the last take what lies beyond.

    Examples
    --------
    >>> ends = {"kind": "number", "min": 0.0, "low": 0.0, "high": 24.0, "max": 99.0}
    >>> find_bins(np.array([0.0, 3, 99, np.nan]), ends).tolist()
    [0, 3, 24, 255]
    """
    low = record["low"]
    high = record["high"]
    known = ~np.isnan(values)
    step = (high - low) / _STEPS
    with np.errstate(invalid="ignore", over="ignore"):
        if _has_whole_bins(record):
            found = np.floor(values + 0.5) - low
        elif step > 0:
            found = np.floor((values - low) / step)  # rounded as by the page
        else:
            found = np.zeros(len(values))
    last = count_bins(record) - 1
    return np.where(known, np.clip(np.nan_to_num(found), 0, last), MISSING).astype(np.uint8)


def _has_whole_bins(record: Mapping[str, Any]) -> bool:
    ends = [record[name] for name in ("min", "low", "high", "max")]
    span = record["high"] - record["low"]
    return (
        not record.get("quality", False)
        and all(float(end).is_integer() for end in ends)
        and _FEWEST_WHOLE <= span <= _MOST_WHOLE
    )
