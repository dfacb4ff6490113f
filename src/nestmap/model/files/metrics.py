"""Metrics as arrays and JSON, and whether they can compare the rows that they come with."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...core.points.point_set import NATIVE_METRICS
from ...errors import ModelFileError
from ...method.hierarchy.tree import Level
from ...method.neighbors import accepts_sparse
from ...method.neighbors.metric import BoundMetric, pairwise
from ...method.neighbors.row_metric import ROW_METRICS, RowMetric
from .values import Reader, Writer, all_within, number

_LONGEST = 40  # letters of a name
_LARGEST = 1e300  # of what rows are multiplied by
# of rows that a metric has changed, so that squares are numbers; of how many it is seen
_FARTHEST = 1e140
_SOME = 1000


def metric_record(writer: Writer, metric: Any) -> Any:
    """The JSON of a metric; its arrays are kept."""
    if isinstance(metric, str):
        return metric
    if isinstance(metric, RowMetric):
        values = {"mean": metric.mean, "matrix": metric.matrix}
        kept = {name: writer.encode(f"tree/metric/{name}", value) for name, value in values.items()}
        return {"kind": "rows", "name": metric.name, "factor": number(metric.factor), **kept}
    assert isinstance(metric, BoundMetric)  # a function is refused as a parameter
    parameters = writer.encode("tree/metric", metric.parameters)
    return {"kind": "parameters", "name": metric.name, "parameters": parameters}


def read_metric(reader: Reader, record: Any, n_features: int) -> Any:
    """The metric of a tree; whether there is one of that name shows when it compares rows."""
    if isinstance(record, str):
        # of these, what changes the rows is kept
        if len(record) > _LONGEST or record in ROW_METRICS:
            raise ModelFileError(f"there is no metric {record[:_LONGEST]!r} without parameters")
        return record
    if reader.option(record, "kind", ("rows", "parameters")) == "parameters":
        parameters = reader.decode(record.get("parameters"))
        if not isinstance(parameters, dict):
            raise ModelFileError("parameters of the metric are missing")
        return BoundMetric(reader.get(record, "name", str), parameters)
    name = reader.option(record, "name", ROW_METRICS)
    mean = reader.decode(record.get("mean"))
    matrix = reader.decode(record.get("matrix"))
    if any((value is None) != (name == "hellinger") for value in (mean, matrix)):
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
        if not all_within(value, -_LARGEST, _LARGEST):
            raise ModelFileError("the matrix of the metric holds NaN or infinity")
    return RowMetric(name, mean, matrix, reader.number(record, "factor", 1 / _LARGEST, _LARGEST))


def check_centroids(metric: Any, levels: tuple[Level, ...], is_sparse: bool) -> None:
    """Raise unless the metric can compare the centroids of each level."""
    for level in levels:
        if not (isinstance(metric, str) and metric == "precomputed"):
            check_rows(metric, level.centroids, is_sparse)
        elif is_sparse:
            raise ModelFileError("distances are never sparse")


def check_rows(metric: Any, rows: Any, is_sparse: bool) -> None:
    """Raise unless the metric can compare rows: two of them tell, as before a fit."""
    if sparse.issparse(rows) != is_sparse:
        raise ModelFileError(
            f"some rows are {'sparse' if sparse.issparse(rows) else 'dense'}, others are not"
        )
    if is_sparse and not isinstance(metric, BoundMetric) and not accepts_sparse(metric):
        raise ModelFileError(f"the metric {metric!r} does not take sparse rows")
    if isinstance(metric, str) and metric in NATIVE_METRICS:
        return
    if isinstance(metric, RowMetric):
        _check_changed(metric, rows)
    try:
        distances = pairwise(rows[:2], rows[:2], metric)
    except (
        Exception
    ) as error:  # of SciPy or scikit-learn: there is no such metric, or not with such parameters
        told = " ".join(str(error).split())[:200]
        raise ModelFileError(
            f"rows cannot be compared by the metric {repr(metric)[:80]} ({told})"
        ) from error
    if np.isnan(distances).any():
        raise ModelFileError(f"distances by the metric {repr(metric)[:80]} are NaN")


def _check_changed(metric: RowMetric, rows: Any) -> None:
    """Raise unless a metric changes rows to rows that can be laid out."""
    if metric.matrix is None:
        if rows.min() < 0:
            raise ModelFileError(
                f"rows are negative, of which the metric {metric!r} takes square roots"
            )
        return
    changed = metric.rows(rows[:: -(-rows.shape[0] // _SOME)])  # a wrong matrix changes all
    if not all_within(changed, -_FARTHEST, _FARTHEST):
        raise ModelFileError(f"the metric {metric!r} takes rows beyond {_FARTHEST:g}")
