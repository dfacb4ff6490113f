"""`GowerEncoder`: tables as rows between which Gower's distance is a sum of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.habits import did_you_mean
from ..errors import ModelFileError
from .cells import Cells, read_cells, read_known
from .profiles import read_levels
from .records import checked

KIND = "gower"  # of its record in model files
_VERSION = 1
_STEP = 2.0**-20  # of values: sums of multiples are exact
_FARTHEST = 8.0  # ranges from the mean, of values in new rows
_MOST_LEVELS = 1000  # categories of a column
_HALF = 0.5  # two different categories are twice this apart


@dataclass(frozen=True)
class GowerColumn:
    """One column: a range, or categories; the means are those of the fit, and stand at 0."""

    name: str
    low: float = 0.0
    scale: float = 0.0  # 1 / range; 0 for a column without one
    mean: tuple[float, ...] = (0.0,)
    levels: tuple[str, ...] | None = None  # None: numbers

    @property
    def width(self) -> int:
        """Numbers that a cell becomes; the last one of categories is for those never seen."""
        return 1 if self.levels is None else len(self.levels) + 1

    def encode(self, cells: Cells) -> Array:
        """Values of (n_rows, width), NaN where missing."""
        if self.levels is None:
            found = (self._numbers(cells)[:, None] - self.low) * self.scale
        else:
            found = self._places(read_levels(cells))
        return np.asarray(np.round(np.clip(found - self.mean, -_FARTHEST, _FARTHEST) / _STEP)) * (
            _STEP
        )

    def _numbers(self, cells: Cells) -> Array:
        if cells.form not in ("text", "vector"):
            return cells.values
        if cells.missing.all():  # nothing shows that these are numbers
            return np.full(len(cells.values), np.nan)
        raise ValueError(
            f"column {self.name!r} holds no numbers, which the fit found there; its cells must be "
            "of the same kind"
        )

    def _places(self, cells: Cells) -> Array:
        assert self.levels is not None
        known = {level: i for i, level in enumerate(self.levels)}
        new = len(self.levels)
        at = np.array([known.get(text, new) for text in cells.texts] + [new], dtype=np.int64)
        found = np.zeros((len(cells.values), self.width))
        found[np.arange(len(found)), at[cells.values]] = _HALF
        found[cells.values < 0] = np.nan
        return found


class GowerEncoder(TransformerMixin, BaseEstimator):
    """Encode a table so that Gower's distance is a sum of differences.

    Numbers and times count in units of their range, and different categories are one unit apart.
    Where no cell is missing, rows are divided by the number of columns, and Gower's distance is
    `manhattan`. Where some are, a presence follows for each value, for `HNNE(metric="gower")`.

    Parameters
    ----------
    categories : sequence of str or int, optional
        Columns of numbers that are categories (codes), by name or number. Text, bool and
        categorical columns always are.

    Attributes
    ----------
    columns_ : tuple of GowerColumn
    has_gaps_ : bool
        Whether cells are missing.
    feature_names_in_ : array of str
    n_features_in_ : int

    Examples
    --------
    >>> from scipy.spatial.distance import cdist
    >>> table = {"size": [1.0, 2.0, 5.0], "kind": ["a", "b", "a"]}
    >>> rows = GowerEncoder().fit_transform(table)
    >>> cdist(rows, rows, "cityblock").round(3).tolist()
    [[0.0, 0.625, 0.5], [0.625, 0.0, 0.875], [0.5, 0.875, 0.0]]
    """

    def __init__(self, categories: Sequence[str | int] | None = None) -> None:
        self.categories = categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find ranges and categories of a table; y is ignored."""
        table = read_cells(X)
        if not table or not len(table[0].values):
            raise ValueError("the table is empty: there is nothing to compare")
        codes = _named(self.categories, [cells.name for cells in table])
        columns = tuple(_fit_column(cells, cells.name in codes) for cells in table)
        self.has_gaps_ = any(bool(cells.missing.any()) for cells in table)
        self.columns_ = columns
        self.feature_names_in_ = np.array([cells.name for cells in table], dtype=object)
        self.n_features_in_ = len(table)
        return self

    def transform(self, X: Any) -> Array:
        """Encode rows as those of the fit were.

        The order of columns makes no difference, and columns that were not in the fit are ignored.

        Raises
        ------
        ValueError
            If a column is absent, or a cell is missing where the fit had none missing.
        """
        check_is_fitted(self)
        table = read_known(X, [each.name for each in self.columns_])
        blocks = [each.encode(table[each.name]) for each in self.columns_]
        gaps = np.column_stack([np.isnan(block[:, 0]) for block in blocks])
        values = np.nan_to_num(np.concatenate(blocks, axis=1), copy=False, nan=0.0)
        if self.has_gaps_:
            return np.concatenate([values, self._presences(gaps)], axis=1).astype(np.float32)
        if gaps.any():
            row, j = np.argwhere(gaps)[0]
            raise ValueError(
                f"row {row} has nothing in the column {self.columns_[j].name!r}, and no cell was "
                "missing in the fit, which then took a metric for whole rows: fill it, or fit with "
                "rows that have gaps"
            )
        return np.asarray(values / len(self.columns_))

    def _presences(self, gaps: Array) -> Array:
        """1 for the first value of a cell, -1 for its others, 0 where it is missing."""
        signs = [np.r_[1.0, -np.ones(each.width - 1)] for each in self.columns_]
        there = np.repeat(~gaps, [each.width for each in self.columns_], axis=1)
        return np.asarray(np.concatenate(signs) * there)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the numbers: 'size', 'kind=a', 'kind=(new)', and 'size there' of presences."""
        check_is_fitted(self)
        names: list[str] = []
        for each in self.columns_:
            levels = [] if each.levels is None else [*each.levels, "(new)"]
            names += [f"{each.name}={level}" for level in levels] or [each.name]
        names += [f"{name} there" for name in names] if self.has_gaps_ else []
        return np.array(names, dtype=object)

    def to_record(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted encoder as plain values, for JSON, and arrays by name: for model files."""
        check_is_fitted(self)
        columns = [
            {
                "name": each.name,
                "low": each.low,
                "scale": each.scale,
                "mean": list(each.mean),
                "levels": None if each.levels is None else list(each.levels),
            }
            for each in self.columns_
        ]
        own = self.categories
        if own is not None:
            own = [each if isinstance(each, str) else int(each) for each in own]
        record = {"kind": KIND, "version": _VERSION, "columns": columns, "categories": own}
        return {**record, "has_gaps": self.has_gaps_}, {}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], arrays: Mapping[str, Array]) -> GowerEncoder:
        """The encoder that `to_record` wrote; `ModelFileError` if it is damaged."""
        if record.get("version") != _VERSION:
            raise ModelFileError(
                f"an encoder of version {record.get('version')!r}; this nestmap reads {_VERSION}"
            )
        columns = checked(lambda: [_read_column(each) for each in record["columns"]], "columns")
        categories = record.get("categories")
        if not columns or not isinstance(record.get("has_gaps"), bool):
            raise ModelFileError("an encoder for Gower's distance without columns, or damaged")
        if not (categories is None or isinstance(categories, list)) or not all(
            type(each) in (str, int) for each in categories or ()
        ):
            raise ModelFileError("names of columns of categories are a list of texts or numbers")
        found = cls(categories)
        found.columns_ = tuple(columns)
        found.has_gaps_ = record["has_gaps"]
        found.feature_names_in_ = np.array([each.name for each in columns], dtype=object)
        found.n_features_in_ = len(columns)
        return found


def _read_column(record: Mapping[str, Any]) -> GowerColumn:
    levels = record["levels"]
    if levels is not None:
        levels = tuple(str(level) for level in levels)
    mean = tuple(float(value) for value in record["mean"])
    found = GowerColumn(
        str(record["name"]), float(record["low"]), float(record["scale"]), mean, levels
    )
    numbers = (found.low, found.scale, *mean)
    if len(mean) != found.width or not np.isfinite(numbers).all() or found.scale < 0:
        raise ValueError(f"column {found.name!r} is damaged")
    return found


def _named(categories: Sequence[str | int] | None, names: list[str]) -> set[str]:
    """Names of the columns of codes."""
    if isinstance(categories, str):
        raise ValueError(f"categories={categories!r}: takes a list of columns, [{categories!r}]")
    found = set()
    for each in categories or ():
        is_number = isinstance(each, int | np.integer) and not isinstance(each, bool)
        if is_number and -len(names) <= int(each) < len(names):
            found.add(names[int(each)])
        elif each in names:
            found.add(str(each))
        else:
            hint = did_you_mean(str(each), names)
            raise ValueError(f"categories: there is no column {each!r}{hint}")
    return found


def _fit_column(cells: Cells, is_code: bool) -> GowerColumn:
    if cells.form == "vector":
        raise ValueError(
            f"column {cells.name!r} holds vectors, which Gower's distance does not know; leave it "
            "out, or fit HNNE(encoder='table')"
        )
    if is_code or cells.form in ("text", "boolean"):
        return _fit_categories(read_levels(cells))
    known = cells.values[~np.isnan(cells.values)]
    if np.isinf(known).any():
        raise ValueError(f"column {cells.name!r} holds infinity, which has no range")
    if not len(known) or known.max() == known.min():
        return GowerColumn(cells.name, float(known[0]) if len(known) else 0.0)
    low = float(known.min())
    with np.errstate(over="ignore", divide="ignore"):
        scale = float(1 / (known.max() - known.min()))
    if not 0 < scale < np.inf:
        raise ValueError(
            f"column {cells.name!r} goes from {low:g} to {known.max():g}, too far or too "
            "little for double precision: write its numbers in another unit"
        )
    return GowerColumn(cells.name, low, scale, (float(((known - low) * scale).mean()),))


def _fit_categories(cells: Cells) -> GowerColumn:
    levels = tuple(str(level) for level in cells.texts)
    if len(levels) > _MOST_LEVELS:
        raise ValueError(
            f"column {cells.name!r} has {len(levels):,} categories, more than {_MOST_LEVELS:,}: "
            "leave it out if it names rows, or fit HNNE(encoder='table'), which shares rare ones"
        )
    known = cells.values[cells.values >= 0]
    shares = np.bincount(known, minlength=len(levels)) / max(1, len(known))
    return GowerColumn(cells.name, mean=(*(_HALF * shares).tolist(), 0.0), levels=levels)
