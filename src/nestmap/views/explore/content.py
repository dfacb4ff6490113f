"""Metadata, names and texts of the rows of a map, sanitised: bounded texts, JSON numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.describe.tables import Column, free_names, read_column
from ...tables.cells import is_nothing
from .images import check_images

MAX_LETTERS = 300  # letters of a text that the page shows
_MAX_CATEGORY_LETTERS = 100
_LARGEST_EXACT_INTEGER = 2**53  # integers beyond this are no numbers in a browser


@dataclass(frozen=True, eq=False)
class Content:
    """Rows of a map beside their places; all arrays are in the order of the user's rows.

    Attributes
    ----------
    names, texts : list of str or None
    values : dict of str to array
        Metadata as it is shown.
    columns : tuple of Column
        Metadata as it is compared and coloured.
    quality : dict of str to ndarray
        Scores between 0 and 1.
    neighbors : ndarray of shape (n_rows, k) or None
    images : array of shape (n_rows, height, width[, 3]) or None
    """

    n_rows: int
    names: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    values: dict[str, Array] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    quality: dict[str, Array] = field(default_factory=dict)
    neighbors: Array | None = None
    images: Array | None = None

    @property
    def fields(self) -> list[str]:
        """What is shown of a row, by name: its number, then all known of it; no two alike."""
        given = [("name", self.names), ("text", self.texts)]
        own = ["row", *(what for what, values in given if values is not None)]
        return own + free_names(own, self.values)

    @property
    def searched(self) -> list[Sequence[Any]]:
        """What a search looks at: one value per row each."""
        own = [given for given in (self.names, self.texts) if given is not None]
        texts: list[Any] = [each for each in self.values.values() if each.dtype.kind in "OUS"]
        return [*own, *texts]

    def label(self, row: int) -> str:
        """A row in a word."""
        if self.names is not None:
            return self.names[row]
        return f"row {row}" if self.texts is None else self.texts[row][:MAX_LETTERS]


def check_content(
    n_rows: int,
    *,
    names: Any = None,
    metadata: Any = None,
    texts: Any = None,
    quality: Any = None,
    neighbors: Any = None,
    images: Any = None,
) -> Content:
    """Everything checked against the number of rows, before any long work."""
    values = {name: _as_array(name, given, n_rows) for name, given in _apart(_named(metadata))}
    return Content(
        n_rows,
        names=None if names is None else _as_texts("names", names, n_rows, MAX_LETTERS),
        texts=None if texts is None else _as_texts("texts", texts, n_rows, None),
        values=values,
        columns=tuple(read_column(name, _bounded(array), n_rows) for name, array in values.items()),
        quality=_check_quality(quality, n_rows),
        neighbors=None if neighbors is None else check_neighbors(neighbors, n_rows),
        images=None if images is None else check_images(images, n_rows),
    )


def _named(metadata: Any) -> list[tuple[Any, Any]]:
    """Columns of a DataFrame, a dict, a structured array, or one column."""
    if metadata is None:
        return []
    if isinstance(metadata, Mapping):
        return list(metadata.items())
    if hasattr(metadata, "iloc") and hasattr(
        metadata, "columns"
    ):  # pandas: two columns may have the same name
        return [(name, metadata.iloc[:, i]) for i, name in enumerate(metadata.columns)]
    if hasattr(metadata, "columns"):
        return [(name, metadata[name]) for name in metadata.columns]
    array = np.asarray(metadata)
    if array.dtype.names:
        return [(name, array[name]) for name in array.dtype.names]
    return [(getattr(metadata, "name", None) or "value", metadata)]


def _apart(given: Iterable[tuple[Any, Any]]) -> list[tuple[str, Any]]:
    """With names that are shown: short texts, no two alike, though 1 and "1" may have been."""
    pairs = list(given)
    names = free_names([], [clean(name, _MAX_CATEGORY_LETTERS) for name, _ in pairs])
    return [(name, values) for name, (_, values) in zip(names, pairs, strict=True)]


def _as_array(name: str, values: Any, n_rows: int) -> Array:
    array = np.asarray(values)
    if array.shape != (n_rows,):
        raise ValueError(
            f"metadata: column {name!r} needs one value for each of the {n_rows} rows, "
            f"got shape {array.shape}"
        )
    return array


def _bounded(array: Array) -> Array:
    """A column whose texts are short: fixed-width arrays are as wide as their longest text."""
    if array.dtype.kind not in "OUS":
        return array
    found = np.empty(len(array), dtype=object)
    found[:] = [
        value if is_nothing(value) else clean(value, _MAX_CATEGORY_LETTERS)
        for value in array.tolist()
    ]
    return found


def _as_texts(what: str, values: Any, n_rows: int, longest: int | None) -> list[str]:
    if len(values) != n_rows:
        raise ValueError(f"{what}: needs one for each of the {n_rows} rows, got {len(values)}")
    return [
        clean(value, longest)
        for value in (values.tolist() if hasattr(values, "tolist") else values)
    ]


def clean(value: Any, longest: int | None = MAX_LETTERS) -> str:
    """A text of bounded length; what is missing is empty.

    Examples
    --------
    >>> clean(None), clean(3), clean("long " * 100, 9)
    ('', '3', 'long lon…')
    """
    if type(value) is str:  # nearly always: millions of them
        return value if longest is None or len(value) <= longest else value[: longest - 1] + "…"
    if is_nothing(value):
        return ""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"


def as_cell(value: Any) -> Any:
    """A value as JSON: null for NaN, texts of bounded length, large integers as texts."""
    if is_nothing(value):
        return None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_LARGEST_EXACT_INTEGER <= value <= _LARGEST_EXACT_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return clean(value)


def as_cells(array: Array) -> list[Any]:
    """Values as JSON; times as texts."""
    if array.dtype.kind in "mM":
        return [None if text == "NaT" else text for text in array.astype(str).tolist()]
    if array.dtype.kind == "b" or (array.dtype.kind == "f" and np.isfinite(array).all()):
        return list(array.tolist())
    return [
        value if type(value) is str and len(value) <= MAX_LETTERS else as_cell(value)
        for value in array.tolist()
    ]


def _check_quality(quality: Any, n_rows: int) -> dict[str, Array]:
    if quality is None:
        return {}
    given = quality if isinstance(quality, Mapping) else {"quality": quality}
    found = {}
    for name, scores in _apart(given.items()):
        array = np.asarray(scores, dtype=np.float64)
        if array.shape != (n_rows,):
            raise ValueError(
                f"quality: {name!r} needs one score for each of the {n_rows} "
                f"rows, got {array.shape}"
            )
        found[name] = array
    return found


def check_neighbors(neighbors: Any, n_rows: int) -> Array:
    """Row numbers of true neighbours, (n_rows, k)."""
    array = np.asarray(neighbors)
    if (
        array.ndim != 2
        or len(array) != n_rows
        or array.dtype.kind not in "iu"
        or not 1 <= array.shape[1] <= 100
    ):
        raise ValueError(
            f"neighbors: needs row numbers of shape ({n_rows}, k) with k from 1 to 100, "
            f"got {array.dtype} of shape {array.shape}"
        )
    if array.size and (array.min() < 0 or array.max() >= n_rows):
        raise ValueError(
            f"neighbors: rows are 0 to {n_rows - 1}, got {array.min()} to {array.max()}"
        )
    return array
