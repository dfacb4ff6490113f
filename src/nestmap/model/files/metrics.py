"""Metrics as arrays and JSON, and the check that they can compare the rows of the file."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...errors import ModelFileError
from ...method.hierarchy.tree import Level
from ...method.neighbors.metric import Metric, known_metric
from ...method.neighbors.metric.changed_rows import METRICS, ChangedRowsMetric
from ...method.neighbors.metric.library import LibraryMetric
from .values import Reader, Writer, all_within, number

_CHANGE_ROWS = {metric.name: metric for metric in METRICS}
_LETTERS_OF_NAME = 40  # of a metric, at most
_LARGEST_FACTOR = 1e300  # absolute value that rows are multiplied by, at most
_LARGEST_CHANGED = 1e140  # value of a changed row, at most: its square is still a float64
_CHANGED_ROWS = 1000  # rows, about, that are changed to see whether their values are in bounds


def metric_record(writer: Writer, metric: Metric) -> Any:
    """The JSON of a metric; its arrays are kept."""
    if metric.record == "name":
        return metric.name
    record = {"kind": metric.record, "name": metric.name}
    if metric.record == "parameters":
        return {**record, "parameters": writer.encode("tree/metric", metric.parameters)}
    values = {name: metric.parameters.get(name) for name in ("mean", "matrix")}
    kept = {name: writer.encode(f"tree/metric/{name}", value) for name, value in values.items()}
    return {**record, "factor": number(metric.factor), **kept}


def read_metric(reader: Reader, record: Any, n_features: int) -> Metric:
    """The metric of a tree; whether there is one of that name shows when it compares rows."""
    if isinstance(record, str):
        # of these, what changes the rows is kept
        if len(record) > _LETTERS_OF_NAME or record in _CHANGE_ROWS:
            raise ModelFileError(
                f"there is no metric {record[:_LETTERS_OF_NAME]!r} without parameters"
            )
        return known_metric(record)
    if reader.option(record, "kind", ("rows", "parameters")) == "parameters":
        parameters = reader.decode(record.get("parameters"))
        if not isinstance(parameters, dict):
            raise ModelFileError("parameters of the metric are missing")
        return LibraryMetric(reader.get(record, "name", str), parameters)
    return _read_changed_rows(reader, record, n_features)


def _read_changed_rows(reader: Reader, record: Any, n_features: int) -> ChangedRowsMetric:
    """A metric that changes rows, with the numbers that it takes."""
    name = reader.option(record, "name", tuple(_CHANGE_ROWS))
    mean = reader.decode(record.get("mean"))
    matrix = reader.decode(record.get("matrix"))
    if any((value is None) == _CHANGE_ROWS[name].has_matrix for value in (mean, matrix)):
        raise ModelFileError(
            f"the matrix of the metric {name!r} is missing, or there is one too many"
        )
    for value, shapes in (
        (mean, [(n_features,)]),
        (matrix, [(n_features,), (n_features, n_features)]),
    ):
        if value is None:
            continue
        if getattr(value, "shape", None) not in shapes or value.dtype != np.float64:
            raise ModelFileError("the matrix of the metric does not fit the columns of the rows")
        if not all_within(value, -_LARGEST_FACTOR, _LARGEST_FACTOR):
            raise ModelFileError("the matrix of the metric holds NaN or infinity")
    factor = reader.number(record, "factor", 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)
    return type(_CHANGE_ROWS[name])(mean, matrix, factor)


def check_centroids(metric: Metric, levels: tuple[Level, ...], is_sparse: bool) -> None:
    """Raise unless the metric can compare the centroids of each level."""
    for level in levels:
        if not metric.takes_distances:
            check_rows(metric, level.centroids, is_sparse)
        elif is_sparse:
            raise ModelFileError("distances are never sparse")


def check_rows(metric: Metric, rows: Any, is_sparse: bool) -> None:
    """Raise unless the metric can compare rows: two of them tell, as before a fit."""
    if sparse.issparse(rows) != is_sparse:
        raise ModelFileError(
            f"some rows are {'sparse' if sparse.issparse(rows) else 'dense'}, others are not"
        )
    if is_sparse and not metric.accepts_sparse:
        raise ModelFileError(f"the metric {metric!r} does not take sparse rows")
    if metric.has_kernels:
        return
    if metric.changes_rows:
        _check_changed(metric, rows)
    try:
        distances = metric.pairwise(rows[:2], rows[:2])
    except (
        Exception
    ) as error:  # of SciPy or scikit-learn: there is no such metric, or not with such parameters
        told = " ".join(str(error).split())[:200]
        raise ModelFileError(
            f"rows cannot be compared by the metric {repr(metric)[:80]} ({told})"
        ) from error
    if np.isnan(distances).any():
        raise ModelFileError(f"distances by the metric {repr(metric)[:80]} are NaN")


def _check_changed(metric: Metric, rows: Any) -> None:
    """Raise unless a metric changes rows to rows that can be laid out."""
    if metric.needs_nonnegative:
        if rows.min() < 0:
            raise ModelFileError(
                f"rows are negative, of which the metric {metric!r} takes square roots"
            )
        return
    changed = metric.rows(rows[:: -(-rows.shape[0] // _CHANGED_ROWS)])  # a wrong matrix changes all
    if not all_within(changed, -_LARGEST_CHANGED, _LARGEST_CHANGED):
        raise ModelFileError(f"the metric {metric!r} takes rows beyond {_LARGEST_CHANGED:g}")
