"""Files of a store that questions about sets of rows are answered from: whole columns, the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.describe.tables import Column
from .bins import MISSING, count_bins, find_bins
from .colors import Scale, as_known, number_scale
from .writing import Writing

LIST = "columns.json"  # what columns there are
_MOST_MAPPED_CELLS = 100_000_000  # numbers of columns of X that are kept: 1.3 GB


def write_columns(writing: Writing, scales: Sequence[Scale], mapped: Sequence[Column]) -> None:
    """Each column whole, in tree order, and how its rows are sorted; then the tree.

    `mapped`: columns of X, which have no files of colours: the server makes these when it is asked.
    """
    writing.progress.begin("columns to filter by")
    records = [_write_column(writing, scale) for scale in scales]
    for i, column in enumerate(mapped[: _MOST_MAPPED_CELLS // writing.content.n_rows]):
        writing.progress.share(i / len(mapped))
        scale = number_scale(f"f{i}", column, writing.tree.rows)
        records.append({**_write_column(writing, scale), "mapped": True})
    rows = writing.tree.rows.astype(np.uint32)
    writing.sink.put_plain("columns/row/values.bin", rows)
    writing.sink.put_plain("columns/row/order.bin", writing.tree.places.astype(np.uint32))
    for level in range(writing.tree.n_levels):
        starts = writing.tree.starts(level).astype(np.uint32)
        writing.sink.put_plain(f"columns/tree/{level}.bin", starts)
    writing.sink.put_json(LIST, records)


def _write_column(writing: Writing, scale: Scale) -> dict[str, Any]:
    """The files of a column; its entry in columns.json."""
    put = writing.sink.put_plain
    folder = f"columns/{scale.key}"
    column = scale.column
    values = column.values[writing.tree.rows]
    if column.categories is not None:
        put(f"{folder}/order.bin", _sort_codes(values, len(column.categories)))
        put(f"{folder}/bins.bin", scale.values)
        return _entry(scale, scale.values, "u1")
    exact = as_known(values)
    put(f"{folder}/order.bin", np.argsort(exact, kind="stable").astype(np.uint32))
    short = exact.astype(np.float32)
    is_short = bool((np.isnan(exact) | (short == exact)).all())
    put(f"{folder}/values.bin", short if is_short else exact)
    bins = find_bins(exact, scale.record)
    put(f"{folder}/bins.bin", bins)
    return _entry(scale, bins, "f4" if is_short else "f8")


def _entry(scale: Scale, bins: Array, dtype: str) -> dict[str, Any]:
    """As in meta.json, with the type of its values and how many rows are in each bin."""
    counts = np.bincount(bins, minlength=MISSING + 1)
    n_bins = count_bins(scale.record)
    return {
        **scale.record,
        "dtype": dtype,
        "silent": scale.column.silent,  # why it tells nothing of clusters
        "bins": counts[:n_bins].tolist(),
        "missing": int(counts[MISSING]),
    }


def _sort_codes(codes: Array, n: int) -> Array:
    """Places by category, those without one last."""
    own = np.where(codes < 0, n, codes)
    if n < 2**16:
        own = own.astype(np.uint16)  # numbers of two bytes are sorted without comparisons
    return np.argsort(own, kind="stable").astype(np.uint32)
