"""Layouts as arrays and JSON: a form for each kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core.arrays import Array
from ...errors import ModelFileError
from ...method.hierarchy.tree import Hierarchy
from ...method.layout import Layout
from ...method.layout.balls import Placement
from ...method.layout.descent import DescentLayout
from ...method.layout.islands.layout import IslandsLayout
from ...method.layout.islands.leaves import RowPlacement
from ...method.layout.mosaic import MosaicLayout, RegionPlacement
from ...method.layout.regions import Regions
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
POINTS = Part(_F8, ("places", 2), -_FAR, _FAR)
_MOMENTS: Spec = {
    "areas": Part(_F8, ("nodes",)),
    "centres": Part(_F8, ("nodes", 2), -_FAR, _FAR),
    "covariances": Part(_F8, ("nodes", 2, 2)),
}
_ARRANGEMENTS = ("local", "global")
_RADIUS = (0, 1)
_TIGHTNESS = (0.1, 100)
_UNIT = (1e-300, 1e150)


@dataclass(frozen=True, eq=False)
class StoredLayout:
    """What a layout is read from."""

    reader: Reader
    record: Any  # the JSON of the map
    hierarchy: Hierarchy
    positions: Array
    sizes: Sizes  # of axes; reading adds 'p', the columns of coordinates

    @property
    def arrangement(self) -> str:
        return self.reader.option(self.record, "arrangement", _ARRANGEMENTS)


@dataclass(frozen=True)
class LayoutForm:
    """How a layout is kept in a model file, beside its positions and its arrangement."""

    write: Callable[[Writer, Any], dict[str, Any]]  # keeps the arrays; the JSON
    read: Callable[[StoredLayout], Layout]


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


def _read_descent(given: StoredLayout) -> DescentLayout:
    hierarchy = given.hierarchy
    sizes = given.sizes
    placements: list[Placement] = []
    # the last one read, level 0, tells the columns of its centres
    for k in reversed(range(hierarchy.n_levels)):
        own = {"d": sizes["d"], "nodes": hierarchy.level_sizes[k]}
        placements.insert(
            0, Placement(**_take_frames(given.reader, f"map/level{k}", _PLACEMENT, own))
        )
    sizes["p"] = own["p"]
    radius = given.reader.number(given.record, "radius", *_RADIUS)
    return DescentLayout(given.positions, tuple(placements), radius, given.arrangement)


def _read_islands(given: StoredLayout) -> IslandsLayout:
    reader = given.reader
    record = given.record
    hierarchy = given.hierarchy
    sizes = given.sizes
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
    first = reader.take_numbers("map/first", POINTS, (None, 2))
    if len(first) not in (0, *hierarchy.level_sizes):
        raise ModelFileError(f"map/first: {len(first)} places, where no level has so many nodes")
    return IslandsLayout(
        given.positions,
        leaf,
        first,
        tuple(level.members for level in hierarchy.levels),
        detail,
        reader.number(record, "tightness", *_TIGHTNESS),
        reader.number(record, "radius", *_RADIUS),
        given.arrangement,
        unit=reader.number(record, "unit", *_UNIT),
    )


def _read_mosaic(given: StoredLayout) -> MosaicLayout:
    reader = given.reader
    regions = [
        _take_regions(reader, f"map/level{k}", n) for k, n in enumerate(given.hierarchy.level_sizes)
    ]
    frames = _take_frames(reader, "map/leaf", _REGION_PLACEMENT, given.sizes)
    leaf = RegionPlacement(regions[0], **frames)
    return MosaicLayout(given.positions, tuple(regions), leaf, given.arrangement)


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
    points = reader.take_numbers(f"{name}/points", POINTS, (None, 2))
    return Regions.measured(
        reader.take_starts(f"{name}/starts", n, len(points)),
        points,
        **reader.take_all(name, _MOMENTS, {"nodes": n}),
    )


FORMS = {
    "islands": LayoutForm(_write_islands, _read_islands),
    "descent": LayoutForm(_write_descent, _read_descent),
    "mosaic": LayoutForm(_write_mosaic, _read_mosaic),
}
