"""What items are coloured by: categories as bytes, numbers as float32; a node by its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array, runs
from ...method.describe.tables import Column
from .bins import MISSING
from .content import Content
from .order import ROWS, TreeOrder

_OTHER = 254
_ROWS_AT_ONCE = 1_000_000
_MOST_COUNTS = 4_000_000


@dataclass(frozen=True, eq=False)
class Scale:
    """One column to colour by: values of the rows in tree order, and its entry in meta.json."""

    values: Array  # uint8 codes or float32
    record: dict[str, Any]
    column: Column  # in the order of the user's rows

    @property
    def key(self) -> str:
        return str(self.record["key"])

    def of(self, tree: TreeOrder, level: int) -> Array:
        """The value of each item of a level: a node has its rows' most common category, or mean."""
        if level == ROWS:
            return self.values
        starts = tree.starts(level)
        return (
            _modes(self.values, starts)
            if self.values.dtype == np.uint8
            else means(self.values, starts)
        )


def make_scales(content: Content, rows: Array, membership: Array | None = None) -> list[Scale]:
    """All columns to be coloured by; `rows` is the tree order. Nearly unique texts are left out.

    `membership`: how firmly each row belongs to its cluster, if that is known.
    """
    found = []
    for i, column in enumerate(content.columns):
        if column.is_identifier:
            continue
        make = number_scale if column.categories is None else _categories
        found.append(make(f"c{i}", column, rows))
    scores = [(f"q{i}", name, own) for i, (name, own) in enumerate(content.quality.items())]
    if membership is not None:
        scores.append(("m0", "membership", membership))
    for key, name, own in scores:
        scale = number_scale(key, Column(name, own), rows)
        found.append(replace(scale, record={**scale.record, "quality": True}))
    return found


def _categories(key: str, column: Column, rows: Array) -> Scale:
    assert column.categories is not None
    n = len(column.categories)
    counts = np.bincount(column.values[column.values >= 0], minlength=n)
    kept = np.arange(n)
    if n > _OTHER:
        kept = np.sort(np.argsort(-counts, kind="stable")[:_OTHER])
    codes = np.full(n + 1, _OTHER, dtype=np.uint8)
    codes[kept] = np.arange(len(kept))
    codes[-1] = MISSING  # column.values has -1 there
    names = [str(column.categories[i]) for i in kept]
    numbers = counts[kept].tolist()
    if len(kept) < n:
        names = [*names, "(other)"]
        numbers = [*numbers, int(counts.sum()) - sum(numbers)]
    record = {
        "key": key,
        "name": column.name,
        "kind": "category",
        "categories": names,
        "counts": numbers,
    }
    return Scale(codes[column.values][rows], record, column)


def number_scale(key: str, column: Column, rows: Array) -> Scale:
    """A column of numbers; `rows` is the tree order."""
    exact = as_known(column.values)
    values = exact.astype(np.float32)[rows]
    known = exact[~np.isnan(exact)]
    ends = _range(known)
    record = {
        "key": key,
        "name": column.name,
        "kind": "number",
        "min": ends.smallest,
        "max": ends.largest,
        "low": ends.low,
        "high": ends.high,
        "missing": len(values) - len(known),
        "time": column.is_time,
    }
    return Scale(values, record, column)


def as_known(values: Array) -> Array:
    """Numbers as float64, NaN where there is none that single precision could hold."""
    found = values.astype(np.float64)
    found[~(np.abs(found) <= np.finfo(np.float32).max)] = np.nan
    return found


@dataclass(frozen=True)
class Range:
    """Smallest and largest value, and between them 1% to 99%, which take the whole scale."""

    smallest: float
    low: float
    high: float
    largest: float


def _range(known: Array) -> Range:
    if not len(known):
        return Range(0.0, 0.0, 1.0, 1.0)
    k = len(known) // 100
    parts = np.partition(known, sorted({0, k, len(known) - 1 - k, len(known) - 1}))
    found = Range(*(float(parts[i]) for i in (0, k, -1 - k, -1)))
    if found.high > found.low:
        return found
    return Range(found.smallest, found.smallest, found.largest, found.largest)


def means(values: Array, starts: Array) -> Array:
    """The mean of each node's numbers, of those that are known."""
    known = ~np.isnan(values)
    sums = np.add.reduceat(np.where(known, values, 0).astype(np.float64), starts[:-1])
    counts = np.add.reduceat(known.astype(np.int64), starts[:-1])
    means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return np.asarray(means, dtype=np.float32)


def _modes(codes: Array, starts: Array) -> Array:
    """The most common code of each node, or the smallest of equals; missing only if all are."""
    found = np.empty(len(starts) - 1, dtype=np.uint8)
    for many in runs(starts, _ROWS_AT_ONCE):
        step = max(1, _MOST_COUNTS // 256)
        for first in range(many.start, many.stop, step):
            last = min(many.stop, first + step)
            own = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))
            keys = own * 256 + codes[starts[first] : starts[last]]
            counts = np.bincount(keys, minlength=256 * (last - first)).reshape(-1, 256)
            best = counts[:, :MISSING].argmax(axis=1)
            known = counts[np.arange(len(best)), best] > 0
            found[first:last] = np.where(known, best, MISSING)
    return found
