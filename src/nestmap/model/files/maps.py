"""Layouts, and the maps from rows to coordinates, as arrays and JSON."""

from __future__ import annotations

import math
from typing import Any

from ...errors import ModelFileError
from ...method.arrangement.local import MetricMap
from ...method.hierarchy.tree import Hierarchy
from ...method.layout import DescentLayout, IslandsLayout, Layout, MosaicLayout, Regions
from ...method.layout.balls import Placement
from ...method.layout.islands.leaves import RowPlacement
from ...method.layout.mosaic import RegionPlacement
from ...method.placement import FittedTree
from ...method.preliminary import LinearMap, RandomMap
from ...method.preliminary.mds import LandmarkMap, Through
from ..fitted import FittedMap
from .values import Part, Reader, Sizes, Spec, Writer, number

_F8 = ("f8",)
# Bounds, far beyond what rows of up to 1e100 give: within them, places of new rows and their
# squares are numbers. Frames are made in a unit in which rows are about 1.
_FAR = 1e150
_STEEP = 1e15
_OFF = 1e35
_FRAMES: Spec = {
    "maps": Part(("f2", "f8"), ("nodes", "rows of a map", "p"), -_STEEP, _STEEP),
    "origins": Part(_F8, ("nodes", "d"), -_OFF, _OFF),
}
_PLACEMENT: Spec = {
    "anchors": Part(_F8, ("nodes", "d"), -_FAR, _FAR),
    "nearest": Part(_F8, ("nodes",), 0, math.inf),  # of a single node it is infinite
    "radii": Part(_F8, ("nodes",), 0, _FAR),
    "scales": Part(_F8, ("nodes",), -_FAR, _FAR),
    **_FRAMES,
}
_ROW_PLACEMENT: Spec = {
    "anchors": Part(_F8, ("nodes", "d"), -_FAR, _FAR),
    "radii": Part(_F8, ("nodes",), 0, _FAR),
    "scales": Part(_F8, ("nodes",), -_FAR, _FAR),
    **_FRAMES,
    "positions": Part(_F8, ("rows", "d"), -_FAR, _FAR),
    "offsets": Part(("f4",), ("rows", "d")),
    "reach": Part(("f4",), ("rows",), 0),
}
_SHORT: Spec = {"short": Part(("f2", "f4"), ("rows", "c"))}
_REGION_PLACEMENT: Spec = {"spreads": Part(_F8, ("nodes", 2, 2), -_FAR, _FAR), **_FRAMES}
_POINTS = Part(_F8, ("places", 2), -_FAR, _FAR)
_MOMENTS: Spec = {
    "areas": Part(_F8, ("nodes",)),
    "centres": Part(_F8, ("nodes", 2), -_FAR, _FAR),
    "covariances": Part(_F8, ("nodes", 2, 2)),
}
_LINEAR: Spec = {"mean": Part(_F8, ("columns",)), "basis": Part(_F8, ("p", "columns"))}
_ARRANGEMENTS = ("local", "global")
_RADIUS = (0, 1)
_TIGHTNESS = (0.1, 100)
_UNIT = (1e-300, 1e150)


def write_map(writer: Writer, fitted: FittedMap) -> dict[str, Any]:
    """Keep the arrays of a map; its JSON."""
    layout = fitted.layout
    writer.put("map/positions", layout.positions)
    record: dict[str, Any] = {"kind": layout.kind, "arrangement": layout.arrangement}
    write: Any = {"descent": _write_descent, "islands": _write_islands, "mosaic": _write_mosaic}
    record |= write[layout.kind](writer, layout)
    return {
        **record,
        "seed": int(fitted.seed),
        "coordinates": _coordinates_record(writer, fitted.coordinates),
    }


def _write_descent(writer: Writer, layout: DescentLayout) -> dict[str, Any]:
    for k, placement in enumerate(layout.placements):
        writer.put_all(f"map/level{k}", placement, _PLACEMENT)
    return {"radius": number(layout.radius)}


def _write_islands(writer: Writer, layout: IslandsLayout) -> dict[str, Any]:
    writer.put("map/first", layout.first)
    spec = _ROW_PLACEMENT if layout.detail == "rows" else _PLACEMENT
    writer.put_all("map/leaf", layout.leaf, spec)
    if layout.short_rows is not None:
        writer.put_all("map/leaf", layout.leaf, _SHORT)
    return {
        "detail": layout.detail,
        "tightness": number(layout.tightness),
        "radius": number(layout.radius),
        "unit": number(layout.unit),
    }


def _write_mosaic(writer: Writer, layout: MosaicLayout) -> dict[str, Any]:
    for k, regions in enumerate(layout.regions):
        _put_regions(writer, f"map/level{k}", regions)
    writer.put_all("map/leaf", layout.leaf, _REGION_PLACEMENT)
    return {}


def read_map(reader: Reader, record: Any, tree: FittedTree, n_features: int) -> FittedMap:
    """The map of a tree; without the training rows."""
    hierarchy = tree.hierarchy
    sizes: Sizes = {"rows": hierarchy.n_rows, "nodes": hierarchy.level_sizes[0]}
    positions = reader.take_numbers("map/positions", _POINTS, (hierarchy.n_rows, None))
    sizes["d"] = positions.shape[1]
    kind = reader.option(record, "kind", ("descent", "islands", "mosaic"))
    if sizes["d"] < 1 or (kind != "descent" and sizes["d"] != 2):
        raise ModelFileError(f"{kind} in {sizes['d']} dimensions: there is no such map")
    read = {"descent": _read_descent, "islands": _read_islands, "mosaic": _read_mosaic}[kind]
    layout = read(reader, record, hierarchy, positions, sizes)
    coordinates = _read_coordinates(
        reader, record.get("coordinates"), hierarchy, n_features, sizes["p"]
    )
    if coordinates is None and "c" in sizes:
        raise ModelFileError(
            "rows along some directions, where no map goes from rows to coordinates"
        )
    return FittedMap(tree, layout, coordinates, reader.whole(record, "seed", 0, 2**64))


def _read_descent(
    reader: Reader, record: Any, hierarchy: Hierarchy, positions: Any, sizes: Sizes
) -> Layout:
    placements: list[Placement] = []
    # the last one read, level 0, tells the columns of its centres
    for k in reversed(range(hierarchy.n_levels)):
        own = {"d": sizes["d"], "nodes": hierarchy.level_sizes[k]}
        placements.insert(0, Placement(**_take_frames(reader, f"map/level{k}", _PLACEMENT, own)))
    sizes["p"] = own["p"]
    radius = reader.number(record, "radius", *_RADIUS)
    return DescentLayout(
        positions, tuple(placements), radius, reader.option(record, "arrangement", _ARRANGEMENTS)
    )


def _read_islands(
    reader: Reader, record: Any, hierarchy: Hierarchy, positions: Any, sizes: Sizes
) -> Layout:
    detail = reader.option(record, "detail", ("rows", "leaves"))
    if detail == "rows":
        group = hierarchy.levels[0].grouping
        own = _take_frames(reader, "map/leaf", _ROW_PLACEMENT, sizes)
        if reader.has("map/leaf/short"):
            own |= reader.take_all("map/leaf", _SHORT, sizes)
            if sizes["c"] > sizes["p"]:
                raise ModelFileError(
                    f"rows along {sizes['c']} directions, where coordinates have {sizes['p']}"
                )
        leaf: Any = RowPlacement(**own, order=group.order, starts=group.starts)
    else:
        leaf = Placement(**_take_frames(reader, "map/leaf", _PLACEMENT, sizes))
    first = reader.take_numbers("map/first", _POINTS, (None, 2))
    if len(first) not in (0, *hierarchy.level_sizes):
        raise ModelFileError(f"map/first: {len(first)} places, where no level has so many nodes")
    return IslandsLayout(
        positions,
        leaf,
        first,
        tuple(level.members for level in hierarchy.levels),
        detail,
        reader.number(record, "tightness", *_TIGHTNESS),
        reader.number(record, "radius", *_RADIUS),
        reader.option(record, "arrangement", _ARRANGEMENTS),
        unit=reader.number(record, "unit", *_UNIT),
    )


def _read_mosaic(
    reader: Reader, record: Any, hierarchy: Hierarchy, positions: Any, sizes: Sizes
) -> Layout:
    regions = [
        _take_regions(reader, f"map/level{k}", n) for k, n in enumerate(hierarchy.level_sizes)
    ]
    leaf = RegionPlacement(regions[0], **_take_frames(reader, "map/leaf", _REGION_PLACEMENT, sizes))
    return MosaicLayout(
        positions, tuple(regions), leaf, reader.option(record, "arrangement", _ARRANGEMENTS)
    )


def _take_frames(reader: Reader, prefix: str, spec: Spec, sizes: Sizes) -> dict[str, Any]:
    """Arrays of a placement.

    Each map is the identity, or one from p coordinates to the plane; `sizes` learns p.
    """
    found = reader.take_all(prefix, spec, sizes)
    if found["maps"].shape[1:] == (1, 1):
        sizes["p"] = sizes["d"]
    elif found["maps"].shape[1] != sizes["d"]:
        raise ModelFileError(
            f"'{prefix}/maps' has the shape {found['maps'].shape}, which does not fit the map"
        )
    return found


def _put_regions(writer: Writer, name: str, regions: Regions) -> None:
    writer.put(f"{name}/starts", regions.starts)
    writer.put(f"{name}/points", regions.points)
    for part, values in zip(_MOMENTS, regions.moments(), strict=True):
        writer.put(f"{name}/{part}", values)


def _take_regions(reader: Reader, name: str, n: int) -> Regions:
    points = reader.take_numbers(f"{name}/points", _POINTS, (None, 2))
    return Regions.measured(
        reader.take_starts(f"{name}/starts", n, len(points)),
        points,
        **reader.take_all(name, _MOMENTS, {"nodes": n}),
    )


# -- from rows to coordinates ----------------------------------------------------------------------


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
        if not hierarchy.metric.changes_rows:
            raise ModelFileError("coordinates go through a metric that does not change rows")
        first = hierarchy.metric.rows
        n_changed = n_columns
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
