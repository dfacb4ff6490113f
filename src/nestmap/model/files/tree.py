"""A fitted tree as arrays and JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from ...core.input.validate import LARGEST
from ...errors import ModelFileError
from ...method.hierarchy.build import merge_items
from ...method.hierarchy.merge import Links, components, link_graph
from ...method.hierarchy.strengths import Strengths
from ...method.hierarchy.tree import KINDS, Grouping, Hierarchy, Level
from ...method.neighbors import NeighborReport
from ...method.neighbors.blocked import BlockedIndex
from ...method.neighbors.metric import Metric
from ...method.neighbors.metric.matrix import MedoidDistances
from ...method.placement import RULES, FittedTree, RowTable
from ...method.run import Run
from ..tree import index_rows
from .container import same_bytes
from .metrics import check_centroids, check_rows, metric_record, read_metric
from .values import Part, Reader, Writer, check_text, number

_MAX_LEVELS = 64  # each has at most half as many nodes as the one below
_ROWS = Part(("u1", "i1", "f2", "f4", "f8"), (), -LARGEST, LARGEST)  # types that rows are kept in
_DISTANCES = Part(("f4", "f8"), (), 0, LARGEST)  # distances
_AGREEMENT = Part(("f4",), (), -1, 1)  # -1 is unknown


def write_tree(writer: Writer, tree: FittedTree) -> dict[str, Any]:
    """Keep the arrays of a fitted tree; returns its JSON."""
    hierarchy = tree.hierarchy
    writer.put("tree/hashes", tree.table.in_order())
    for k, level in enumerate(hierarchy.levels):
        writer.put(f"tree/level{k}/members", level.members)
        if not _follows(hierarchy, k):
            put_rows(writer, f"tree/level{k}/centroids", level.centroids)
        if level.agreement is not None:
            writer.put(f"tree/level{k}/agreement", np.nan_to_num(level.agreement, nan=-1.0))
    for k, links in enumerate(hierarchy.links):
        writer.put(f"tree/links{k}/ids", links.ids)
        writer.put(f"tree/links{k}/ranks", links.ranks)
    if hierarchy.strengths is not None:
        writer.put("tree/strengths", hierarchy.strengths.shares)
    index = tree.row_index
    rows = (
        None
        if index is None
        else index.data
        if isinstance(index, BlockedIndex)
        else index.points.data
    )
    if rows is not None:
        put_rows(writer, "tree/rows", rows)
    return {
        "metric": metric_record(writer, hierarchy.metric),
        "levels": [
            {"link": number(level.link), "gap": number(level.gap)} for level in hierarchy.levels
        ],
        "n_links": len(hierarchy.links),
        "far_distance": number(hierarchy.far_distance),
        "n_new": hierarchy.n_new,
        "kind": hierarchy.kind,
        "default_level": hierarchy.default_level(),
        "strengths": _strengths_record(hierarchy.strengths),
        "reports": [_report_record(report) for report in hierarchy.reports],
        "dtype": tree.dtype.name,
        "is_sparse": tree.is_sparse,
        "new_points": "centroid" if index is None else "neighbor",
    }


def _follows(hierarchy: Hierarchy, k: int) -> bool:
    """Whether the centroids of a level are, bit for bit, the means of those of the level below."""
    if k == 0 or hierarchy.metric.centroid_kind == "medoid":
        return False
    below, level = hierarchy.levels[k - 1 : k + 1]
    means = _means(below.centroids, below.sizes, level.members, level.n_nodes, 1)
    if sparse.issparse(means):
        return all(
            same_bytes(getattr(means, p), getattr(level.centroids, p))
            for p in ("data", "indices", "indptr")
        )
    return same_bytes(means, level.centroids)


def _means(centroids: Any, sizes: Array, members: Array, n_nodes: int, n_threads: int) -> Any:
    return merge_items(
        centroids, sizes.astype(np.float64), members, n_nodes, centroids.dtype, Run(n_threads)
    )[0]


def read_tree(reader: Reader, record: Any, n_features: int, n_threads: int) -> FittedTree:
    """The fitted tree; the index over the training rows, if it has one, is built again."""
    hashes = reader.take("tree/hashes", ("u8",), (None,))
    metric = read_metric(reader, reader.get(record, "metric", (str, dict)), n_features)
    levels = _read_levels(
        reader, reader.get(record, "levels", list), hashes, metric, n_features, n_threads
    )
    is_sparse = reader.get(record, "is_sparse", bool)
    new_points = reader.option(record, "new_points", RULES)
    check_centroids(metric, levels, is_sparse)
    reports = reader.get(record, "reports", list)
    if not reports:
        raise ModelFileError("'reports' do not tell how neighbours were found")
    hierarchy = Hierarchy(
        levels,
        metric,
        tuple(_read_report(reader, each) for each in reports),
        None,
        reader.number(record, "far_distance"),
        _read_links(reader, record, levels),
        reader.whole(record, "n_new", 0, len(hashes)),
        reader.option(record, "kind", KINDS),
        reader.whole(record, "default_level", 0, len(levels) - 1),
        _read_strengths(reader, record.get("strengths"), levels),
    )
    dtype = np.dtype(reader.option(record, "dtype", ("float32", "float64")))
    index = None
    if new_points == "neighbor":
        index = _index_again(reader, metric, hashes, n_features, is_sparse, n_threads)
    return FittedTree(hierarchy, RowTable.of(hashes), dtype, is_sparse, index)


def _index_again(
    reader: Reader, metric: Metric, hashes: Array, n_features: int, is_sparse: bool, n_threads: int
) -> Any:
    """The index over the training rows."""
    if metric.takes_distances:
        if n_features != len(hashes):
            raise ModelFileError(f"new rows have {n_features} distances to {len(hashes)} rows")
        return index_rows(None, metric, hashes, n_threads)
    rows = take_rows(reader, "tree/rows", len(hashes), n_features)
    check_rows(metric, rows, is_sparse)
    return index_rows(rows, metric, hashes, n_threads)


def _read_levels(
    reader: Reader,
    records: list[Any],
    hashes: Array,
    metric: Metric,
    n_features: int,
    n_threads: int,
) -> tuple[Level, ...]:
    """Levels from fine to coarse; sizes and keys follow from what is below."""
    if not 1 <= len(records) <= _MAX_LEVELS or not len(hashes):
        raise ModelFileError(f"has {len(hashes)} rows and {len(records)} levels")
    levels: list[Level] = []
    keys = hashes
    weights = np.ones(len(hashes))
    for k, record in enumerate(records):
        members = reader.take_ids(f"tree/level{k}/members", len(keys), len(keys))
        n_nodes = int(members.max()) + 1
        sizes = np.bincount(members, weights=weights, minlength=n_nodes).astype(np.int64)
        if not sizes.all():
            raise ModelFileError(f"a node of level {k} has no members")
        group = Grouping.of(members, n_nodes)
        keys = np.add.reduceat(keys[group.order], group.starts[:-1])
        weights = sizes.astype(np.float64)
        name = f"tree/level{k}/centroids"
        if metric.takes_distances:
            # those of rows that were forgotten stay
            rows = reader.take_ids(f"{name}/rows", n_nodes, n_features)
            apart = reader.take_numbers(f"{name}/distances", _DISTANCES, (n_nodes, n_nodes))
            centroids: Any = MedoidDistances(rows, apart)
        elif k and not reader.has(name) and not reader.has(f"{name}/data"):
            centroids = _means(levels[-1].centroids, levels[-1].sizes, members, n_nodes, n_threads)
        else:
            centroids = take_rows(reader, name, n_nodes, n_features)
        link = reader.number(record, "link")
        gap = reader.number(record, "gap")
        levels.append(
            Level(centroids, sizes, members, link, gap, keys, _read_agreement(reader, k, n_nodes))
        )
    return tuple(levels)


def _read_agreement(reader: Reader, k: int, n_nodes: int) -> Array | None:
    """Of the nodes of a level, where it was measured: not on other levels."""
    name = f"tree/level{k}/agreement"
    if not reader.has(name):
        return None
    found = reader.take_numbers(name, _AGREEMENT, (n_nodes,))
    return np.where(found < 0, np.float32(np.nan), found)


def _strengths_record(strengths: Strengths | None) -> dict[str, int] | None:
    return None if strengths is None else {"whole": strengths.whole, "level": strengths.level}


def _read_strengths(reader: Reader, record: Any, levels: tuple[Level, ...]) -> Strengths | None:
    """How sure clusters are; trees of first neighbours do not say it."""
    if record is None:
        return None
    whole = reader.whole(record, "whole", 1, 255)
    level = reader.whole(record, "level", -1, len(levels) - 1)
    shape = (
        len(levels) - 1 - level,
        len(levels[0].members) if level < 0 else levels[level].n_nodes,
    )
    return Strengths(
        reader.take_numbers("tree/strengths", Part(("u1",), (), 0, whole), shape), whole, level
    )


def _read_links(reader: Reader, record: Any, levels: tuple[Level, ...]) -> tuple[Links, ...]:
    """First-neighbour links of the rows and of each level, and on above the top."""
    found: list[Links] = []
    n = len(levels[0].members)
    for k in range(reader.whole(record, "n_links", 0, _MAX_LEVELS)):
        name = f"tree/links{k}"
        ids = reader.take_ids(f"{name}/ids", n, n, ("i4", "i8"))
        ranks = reader.take_ids(f"{name}/ranks", n, n + 1, ("i4", "i8"))
        if (np.bincount(ranks, minlength=n + 1) != np.arange(n + 1).clip(max=1)).any():
            raise ModelFileError(f"the array '{name}/ranks' does not hold each of 1 to {n} once")
        found.append(Links(ids, ranks))
        n = int(components(link_graph(ids)).max()) + 1
        if k < len(levels) and (
            n != levels[k].n_nodes or (levels[k].members[ids] != levels[k].members).any()
        ):
            raise ModelFileError(f"'{name}' do not connect the members of the nodes of level {k}")
    return tuple(found)


# -- rows: dense, CSR, or medoids of a matrix of distances -----------------------------------------


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
        return reader.take_numbers(name, _ROWS, (n, n_features))
    data = reader.take_numbers(f"{name}/data", _ROWS, (None,))
    kind = ("i4", "i8")
    indices = reader.take(f"{name}/indices", kind, data.shape)
    indptr = reader.take(f"{name}/indptr", kind, (n + 1,))
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


# -- reports ---------------------------------------------------------------------------------------


def _report_record(report: NeighborReport) -> dict[str, Any]:
    """The fields of a report, which are numbers and texts."""
    record = {field.name: getattr(report, field.name) for field in fields(NeighborReport)}
    record["seconds"] = {name: float(value) for name, value in report.seconds.items()}
    return {
        name: number(value) if isinstance(value, float) else value for name, value in record.items()
    }


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
                values[field.name] = {
                    check_text(name, "seconds"): reader.number(seconds, name, 0, 1e12)
                    for name in seconds
                }
    return NeighborReport(**values)
