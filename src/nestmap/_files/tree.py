"""The hierarchy and what finds the cluster of a row, as arrays and JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Array
from ..errors import ModelFileError
from ..fitted import index_rows
from ..hierarchy.merge import Links, components, link_graph
from ..hierarchy.tree import Grouping, Hierarchy, Level
from ..neighbors import NeighborReport
from ..neighbors.blocked import BlockedIndex, MedoidDistances
from ..neighbors.metric import BoundMetric
from ..neighbors.row_metric import ROW_METRICS, RowMetric
from ..placement import FittedTree, RowTable
from .values import Reader, Writer, number

_MOST_LEVELS = 64  # each has at most half as many nodes as the one below
_FLOAT = ("f4", "f8")
_ROWS = ("u1", "i1", "f2", "f4", "f8")  # types that rows are kept in


def write_tree(writer: Writer, tree: FittedTree) -> dict[str, Any]:
    """Keep the arrays of a fitted tree; its JSON."""
    hierarchy = tree.hierarchy
    writer.put("tree/hashes", tree.table.in_order())
    for k, level in enumerate(hierarchy.levels):
        writer.put(f"tree/level{k}/members", level.members)
        put_rows(writer, f"tree/level{k}/centroids", level.centroids)
    for k, links in enumerate(hierarchy.links):
        writer.put(f"tree/links{k}/ids", links.ids)
        writer.put(f"tree/links{k}/ranks", links.ranks)
    index = tree.row_index
    rows = None if index is None else index.data if isinstance(index, BlockedIndex) else index.points.data
    if rows is not None:
        put_rows(writer, "tree/rows", rows)
    return {
        "metric": _metric_record(writer, hierarchy.metric),
        "levels": [{"link": number(level.link), "gap": number(level.gap)} for level in hierarchy.levels],
        "n_links": len(hierarchy.links),
        "far_distance": number(hierarchy.far_distance),
        "reports": [_report_record(report) for report in hierarchy.reports],
        "dtype": tree.dtype.name,
        "is_sparse": tree.is_sparse,
        "new_points": "centroid" if index is None else "neighbor",
    }


def read_tree(reader: Reader, record: Any, n_features: int, n_threads: int) -> FittedTree:
    """The fitted tree; the index over the training rows, if it has one, is built again."""
    hashes = reader.take("tree/hashes", ("u8",), (None,))
    metric = _read_metric(reader, reader.get(record, "metric", (str, dict)), n_features)
    levels = _read_levels(reader, reader.get(record, "levels", list), hashes, metric, n_features)
    hierarchy = Hierarchy(
        levels, metric, tuple(_read_report(reader, each) for each in reader.get(record, "reports", list)), None,
        reader.number(record, "far_distance"), _read_links(reader, record, levels),
    )  # fmt: skip
    dtype = np.dtype(reader.option(record, "dtype", ("float32", "float64")))
    index = None
    if reader.option(record, "new_points", ("centroid", "neighbor")) == "neighbor":
        rows = None if metric == "precomputed" else take_rows(reader, "tree/rows", len(hashes), n_features)
        index = index_rows(rows, metric, hashes, n_threads)
    return FittedTree(hierarchy, RowTable.of(hashes), dtype, reader.get(record, "is_sparse", bool), index)


def _read_levels(
    reader: Reader, records: list[Any], hashes: Array, metric: Any, n_features: int
) -> tuple[Level, ...]:
    """Levels from fine to coarse; sizes and keys follow from what is below."""
    if not 1 <= len(records) <= _MOST_LEVELS or not len(hashes):
        raise ModelFileError(f"has {len(hashes)} rows and {len(records)} levels")
    levels: list[Level] = []
    keys, weights = hashes, np.ones(len(hashes))
    for k, record in enumerate(records):
        members = reader.take_ids(f"tree/level{k}/members", len(keys), len(keys))
        n_nodes = int(members.max()) + 1
        sizes = np.bincount(members, weights=weights, minlength=n_nodes).astype(np.int64)
        if not sizes.all():
            raise ModelFileError(f"a node of level {k} has no members")
        group = Grouping.of(members, n_nodes)
        keys, weights = np.add.reduceat(keys[group.order], group.starts[:-1]), sizes.astype(np.float64)
        name = f"tree/level{k}/centroids"
        if isinstance(metric, str) and metric == "precomputed":
            rows = reader.take_ids(f"{name}/rows", n_nodes, len(hashes))
            centroids: Any = MedoidDistances(rows, reader.take(f"{name}/distances", _FLOAT, (n_nodes, n_nodes)))
        else:
            centroids = take_rows(reader, name, n_nodes, n_features)
        link, gap = reader.number(record, "link"), reader.number(record, "gap")
        levels.append(Level(centroids, sizes, members, link, gap, keys))
    return tuple(levels)


def _read_links(reader: Reader, record: Any, levels: tuple[Level, ...]) -> tuple[Links, ...]:
    """First-neighbour links of the rows and of each level, and on above the top."""
    found: list[Links] = []
    for k in range(reader.whole(record, "n_links", 0, _MOST_LEVELS)):
        if k <= len(levels):
            n = len(levels[k].members) if k < len(levels) else levels[-1].n_nodes
        else:
            n = int(components(link_graph(found[-1].ids)).max()) + 1
        ids = reader.take_ids(f"tree/links{k}/ids", n, n, ("i4", "i8"))
        found.append(Links(ids, reader.take(f"tree/links{k}/ranks", ("i4", "i8"), (n,))))
    return tuple(found)


# -- rows: dense, CSR, or medoids of a matrix of distances ---------------------------------------------


def put_rows(writer: Writer, name: str, rows: Any) -> None:
    if isinstance(rows, MedoidDistances):
        writer.put(f"{name}/rows", rows.rows)
        writer.put(f"{name}/distances", rows.distances)
    elif sparse.issparse(rows):
        for part in ("data", "indices", "indptr"):
            writer.put(f"{name}/{part}", getattr(rows, part))
    else:
        writer.put(name, rows)


def take_rows(reader: Reader, name: str, n: int, n_features: int) -> Any:
    if reader.has(name):
        return reader.take(name, _ROWS, (n, n_features))
    data = reader.take(f"{name}/data", _ROWS, (None,))
    kind = ("i4", "i8")
    indices, indptr = reader.take(f"{name}/indices", kind, data.shape), reader.take(f"{name}/indptr", kind, (n + 1,))
    try:
        found = sparse.csr_matrix((data, indices, indptr), shape=(n, n_features))
        found.check_format(full_check=True)  # kernels trust the indices
    except ValueError as error:
        raise ModelFileError(f"{name!r} is no CSR matrix: {error}") from error
    found.has_canonical_format = found.has_sorted_indices = bool(_ascend(indices, indptr))
    if not found.has_canonical_format:
        raise ModelFileError(f"{name!r} has columns that are not in order")
    return found


def _ascend(indices: Array, indptr: Array) -> bool:
    """Whether the columns of each row go up."""
    up = np.diff(indices.astype(np.int64)) > 0
    first = indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(indices))]
    up[first - 1] = True  # from the end of a row to the beginning of another
    return bool(up.all())


# -- metrics and reports -------------------------------------------------------------------------------


def _metric_record(writer: Writer, metric: Any) -> Any:
    if isinstance(metric, str):
        return metric
    if isinstance(metric, RowMetric):
        values = {"mean": metric.mean, "matrix": metric.matrix}
        kept = {name: writer.encode(f"tree/metric/{name}", value) for name, value in values.items()}
        return {"kind": "rows", "name": metric.name, "factor": number(metric.factor), **kept}
    if isinstance(metric, BoundMetric):
        return {
            "kind": "parameters", "name": metric.name,
            "parameters": writer.encode("tree/metric", metric.parameters),
        }  # fmt: skip
    raise ValueError(
        f"metric={metric!r}: a function cannot be saved in a model file; use a metric with a name, or pickle the model"
    )


def _read_metric(reader: Reader, record: Any, n_features: int) -> Any:
    if isinstance(record, str):
        if len(record) > 40:
            raise ModelFileError(f"there is no metric {record[:40]!r}…")
        return record
    if reader.option(record, "kind", ("rows", "parameters")) == "parameters":
        parameters = reader.decode(record.get("parameters"))
        if not isinstance(parameters, dict):
            raise ModelFileError("parameters of the metric are missing")
        return BoundMetric(reader.get(record, "name", str), parameters)
    mean, matrix = reader.decode(record.get("mean")), reader.decode(record.get("matrix"))
    for value, shapes in ((mean, [(n_features,)]), (matrix, [(n_features,), (n_features, n_features)])):
        if value is not None and (getattr(value, "shape", None) not in shapes or value.dtype != np.float64):
            raise ModelFileError("the matrix of the metric does not fit the columns of the rows")
    return RowMetric(reader.option(record, "name", ROW_METRICS), mean, matrix, reader.number(record, "factor"))


def _report_record(report: NeighborReport) -> dict[str, Any]:
    """The fields of a report, which are numbers and texts."""
    record = {field.name: getattr(report, field.name) for field in fields(NeighborReport)}
    record["seconds"] = {name: float(value) for name, value in report.seconds.items()}
    return {name: number(value) if isinstance(value, float) else value for name, value in record.items()}


def _read_report(reader: Reader, record: Any) -> NeighborReport:
    values: dict[str, Any] = {}
    for field in fields(NeighborReport):
        match field.type:
            case "float":
                values[field.name] = reader.number(record, field.name)
            case "int":
                values[field.name] = reader.get(record, field.name, int)
            case "bool":
                values[field.name] = reader.get(record, field.name, bool)
            case "str":
                values[field.name] = reader.get(record, field.name, str)
            case _:
                seconds = reader.get(record, field.name, dict)
                values[field.name] = {name: reader.number(seconds, name) for name in seconds}
    return NeighborReport(**values)
