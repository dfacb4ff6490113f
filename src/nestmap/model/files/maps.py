"""Maps, and what takes rows to their coordinates, as arrays and JSON."""

from __future__ import annotations

from typing import Any

from ...errors import ModelFileError
from ...method.arrangement.local import MetricMap
from ...method.hierarchy.tree import Hierarchy
from ...method.layout.settings import SETTINGS
from ...method.placement import FittedTree
from ...method.preliminary.maps import LinearMap, RandomMap
from ...method.preliminary.mds import LandmarkMap, Through
from ..fitted import FittedMap
from .layouts import FORMS, POINTS, StoredLayout
from .values import Part, Reader, Sizes, Spec, Writer

_LINEAR: Spec = {"mean": Part(("f8",), ("columns",)), "basis": Part(("f8",), ("p", "columns"))}


def write_map(writer: Writer, fitted: FittedMap) -> dict[str, Any]:
    """Keep the arrays of a map; its JSON."""
    layout = fitted.layout
    writer.put("map/positions", layout.positions)
    record: dict[str, Any] = {"kind": layout.kind, "arrangement": layout.arrangement}
    record |= FORMS[layout.kind].write(writer, layout)
    return {
        **record,
        "seed": int(fitted.seed),
        "coordinates": _coordinates_record(writer, fitted.coordinates),
    }


def read_map(reader: Reader, record: Any, tree: FittedTree, n_features: int) -> FittedMap:
    """The map of a tree; without the training rows."""
    hierarchy = tree.hierarchy
    sizes: Sizes = {"rows": hierarchy.n_rows, "nodes": hierarchy.level_sizes[0]}
    positions = reader.take_numbers("map/positions", POINTS, (hierarchy.n_rows, None))
    sizes["d"] = positions.shape[1]
    kind = reader.option(record, "kind", tuple(FORMS))
    if sizes["d"] < 1 or (SETTINGS[kind].is_plane and sizes["d"] != 2):
        raise ModelFileError(f"{kind} in {sizes['d']} dimensions: there is no such map")
    layout = FORMS[kind].read(StoredLayout(reader, record, hierarchy, positions, sizes))
    coordinates = _read_coordinates(
        reader, record.get("coordinates"), hierarchy, n_features, sizes["p"]
    )
    if coordinates is None and "c" in sizes:
        raise ModelFileError(
            "rows along some directions, where no map goes from rows to coordinates"
        )
    return FittedMap(tree, layout, coordinates, reader.whole(record, "seed", 0, 2**64))


def _coordinates_record(writer: Writer, coordinates: Any, name: str = "coordinates") -> Any:
    match coordinates:
        case None:
            return None
        case RandomMap():
            return {
                "kind": "random",
                "seed": int(coordinates.seed),
                "n_components": int(coordinates.n_components),
            }
        case LinearMap():
            writer.put_all(name, coordinates, _LINEAR)
            return {"kind": "linear"}
        case MetricMap():
            writer.put_all(name, coordinates.linear, _LINEAR)
            return {"kind": "metric", "metric": coordinates.metric}
        case Through():
            return {
                "kind": "through",
                "then": _coordinates_record(writer, coordinates.then),
                **_first(writer, coordinates),
            }
    raise TypeError(f"{type(coordinates).__name__} has no form in a model file")


def _first(writer: Writer, through: Through) -> dict[str, str]:
    if isinstance(through.first, LandmarkMap):
        writer.put("landmarks/rows", through.first.landmarks)
        writer.put_all("landmarks", through.first.linear, _LINEAR)
        return {"first": "landmarks"}
    return {"first": "metric"}


def _read_coordinates(
    reader: Reader, record: Any, hierarchy: Hierarchy, n_columns: int, p: int
) -> Any:
    """The map of new rows of so many columns to p coordinates."""
    if record is None:
        return None
    match reader.option(record, "kind", ("random", "linear", "metric", "through")):
        case "random":
            return RandomMap(
                reader.whole(record, "seed", 0, 2**64), reader.whole(record, "n_components", p, p)
            )
        case "linear":
            return _read_linear(reader, "coordinates", {"columns": n_columns, "p": p})
        case "metric":
            metric = reader.option(record, "metric", ("euclidean", "cosine", "correlation"))
            return MetricMap(
                metric, _read_linear(reader, "coordinates", {"columns": n_columns, "p": p})
            )
    first: Any
    if reader.option(record, "first", ("landmarks", "metric")) == "metric":
        if not hierarchy.metric.changes_layout:
            raise ModelFileError("coordinates go through a metric that does not change rows")
        first = hierarchy.metric.rows
        n_changed = hierarchy.metric.seen_columns(n_columns)
    else:
        # those of rows that were forgotten stay
        rows = reader.take_ids("landmarks/rows", None, n_columns)
        linear = _read_linear(reader, "landmarks", {"columns": len(rows)})
        first = LandmarkMap(rows, linear)
        n_changed = len(linear.basis)
    then = record.get("then")
    if (
        then is None
        or reader.option(then, "kind", ("random", "linear", "metric", "through")) == "through"
    ):
        raise ModelFileError("coordinates go through nothing, or through more than one map")
    return Through(first, _read_coordinates(reader, then, hierarchy, n_changed, p))


def _read_linear(reader: Reader, name: str, sizes: Sizes) -> LinearMap:
    return LinearMap(**reader.take_all(name, _LINEAR, sizes))
