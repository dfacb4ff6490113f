"""The colour of each row: by cluster, category, number or quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.describe.tables import Column, read_column
from ...tables.encoded import EncodedTable
from ..metrics._distortion import Distortion
from ..metrics._local import pointwise_recall, pointwise_trustworthiness
from .backend import load_matplotlib
from .colors import NUMBERS, Theme, base_colors, parse

QUALITIES = {"trustworthiness": pointwise_trustworthiness, "recall": pointwise_recall}
_MAX_CATEGORIES = 16  # categories with a colour of their own; the others are grey
_SCORED = 5000  # rows whose quality is measured; others have that of the nearest one in the map
_COLORS_OF_SCALE = 256  # of a scale of numbers
_CUT_SHARE = 0.01  # of the rows at either end of a scale: outliers do not stretch it


@dataclass(frozen=True, eq=False)
class RowColors:
    """Row i has the colour colors[codes[i]]; `key` says what colours mean."""

    codes: Array
    colors: Array  # (n, 3)
    title: str = ""
    entries: tuple[tuple[str, int], ...] = ()  # of a legend: name and colour
    limits: tuple[float, float] | None = None  # of a colour bar
    column: Column | None = None  # what clusters can be named by


def color_by_column(column: Column, theme: Theme) -> RowColors:
    """Categories by their frequency, numbers on a scale."""
    if column.categories is None:
        return _color_numbers(column.values, column.name, theme)
    names = column.categories
    quiet = parse(theme.quiet)
    counts = np.bincount(column.values[column.values >= 0], minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    shown = order[: _MAX_CATEGORIES if len(order) > _MAX_CATEGORIES else len(order)]
    colors = np.concatenate([base_colors(len(shown), theme), quiet])
    place = np.full(len(names) + 1, len(shown))
    place[shown] = np.arange(len(shown))
    by_name = sorted(range(len(shown)), key=lambda i: _sort_key(names[shown[i]]))
    entries = [(str(names[shown[i]]), i) for i in by_name]
    if len(shown) < len(names) or (column.values < 0).any():
        entries.append(("other" if len(shown) < len(names) else "none", len(shown)))
    return RowColors(place[column.values], colors, column.name, tuple(entries), column=column)


def _sort_key(name: Any) -> tuple[float, str]:
    """Numbers by value, then texts."""
    text = str(name)
    is_number = text.lstrip("-").replace(".", "", 1).isdigit()
    return (float(text) if is_number else np.inf, text)


def _color_numbers(values: Array, title: str, theme: Theme) -> RowColors:
    known = np.isfinite(values)
    low, high = (
        np.quantile(values[known], [_CUT_SHARE, 1 - _CUT_SHARE]) if known.any() else (0.0, 1.0)
    )
    if not high > low:
        low, high = low - 0.5, low + 0.5
    scale = load_matplotlib().colormaps[NUMBERS](np.linspace(*theme.scale, _COLORS_OF_SCALE))[:, :3]
    share = np.where(known, (values - low) / (high - low), 0.0)
    codes = np.where(
        known, (np.clip(share, 0, 1) * (_COLORS_OF_SCALE - 1)).astype(np.int64), _COLORS_OF_SCALE
    )
    return RowColors(
        codes, np.concatenate([scale, parse(theme.quiet)]), title, limits=(float(low), float(high))
    )


def color_by_quality(model: Any, name: str, X: Any, theme: Theme) -> RowColors:
    """How well a row's neighbourhood is kept; of more than 5,000 rows, measured on 5,000."""
    X = _rows_of(model, X)
    if X is None:
        raise ValueError(
            f"color={name!r}: needs the training rows, which this model does not carry: give X="
        )
    Y = np.asarray(model.embedding_)
    metric = model.hierarchy_.metric
    n = len(Y)
    title = name
    if n <= _SCORED:
        return _color_numbers(QUALITIES[name](X, Y, metric=metric), title, theme)
    rows = np.arange(_SCORED) * n // _SCORED
    scores = QUALITIES[name](X, Y, metric=metric, rows=rows)
    from scipy.spatial import cKDTree

    near = cKDTree(Y[rows]).query(Y, k=[1, 2, 3])[1]
    return _color_numbers(
        scores[near].mean(axis=1), f"{name} (measured on {_SCORED:,} rows)", theme
    )


def _rows_of(model: Any, X: Any) -> Any:
    """The training rows as the model compares them; those of a raw table are encoded."""
    if X is None:
        return getattr(getattr(model, "_fitted", None), "X", None)
    if isinstance(X, EncodedTable):
        return X.rows
    encoder = getattr(model, "encoder_", None)
    return X if encoder is None else EncodedTable.of(X, encoder).rows


def find_column(values: Any, metadata: Any, n_rows: int, argument: str = "color") -> Column:
    """The column that a name or an array means."""
    if isinstance(values, Distortion):
        raise ValueError(
            f"{argument}: a Distortion has three scores; "
            "give one: .recall, .trustworthiness or .stretch"
        )
    if not isinstance(values, str):
        return read_column(str(getattr(values, "name", None) or ""), values, n_rows)
    columns = (
        [] if metadata is None else [str(name) for name in getattr(metadata, "columns", metadata)]
    )
    if values not in columns:
        known = (
            f"metadata has {', '.join(map(repr, columns))}"
            if columns
            else "metadata= has the columns"
        )
        raise ValueError(
            f"{argument}={values!r}: give a level, a column of metadata, values, "
            f"{' or '.join(map(repr, QUALITIES))}; {known}"
        )
    return read_column(values, metadata[values], n_rows)
