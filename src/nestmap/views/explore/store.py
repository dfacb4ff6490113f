"""The store: a folder of small files for the page, from a fitted model (docs/explorer.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks
from ...core.input.source import load_rows
from ...core.input.validate import as_rows
from ...core.progress import Progress
from ...core.threads import resolve_n_jobs
from ...core.work.replacing import replaced
from ...method.describe.tables import Column
from ...method.hierarchy import Hierarchy
from ...method.layout.pieces import find_pieces, piece_unit
from ..plots.outlines import get_outlines
from .colors import Scale, make_scales
from .content import Content, as_cells, check_content, clean
from .images import make_sheet, pixel_range
from .order import ROWS, TreeOrder
from .panels import (
    LevelPanels,
    check_names,
    count_some,
    describe_level,
    feature_columns,
    named_levels,
)
from .places import Tiles, centres, find_split, make_tiles, radii
from .sink import Sink, check_replaced

FORMAT = "nestmap-explorer"
VERSION = 2
CHUNK = 1024  # rows of a chunk of rows/, neighbors/ and images/
WIDE_CHUNK = 8192  # rows of a chunk of places/ and search/
_PANELS = 256  # clusters of a chunk of panels/
_MOST_OUTLINED = 2000  # clusters of a level with outlines
_LONGEST_SEARCHED = 1000  # letters of a row that are searched
_TOP = 0xFFFFFFFF


def write_store(
    folder: Any,
    model: Any,
    X: Any = None,
    *,
    names: Any = None,
    metadata: Any = None,
    texts: Any = None,
    quality: Any = None,
    neighbors: Any = None,
    images: Any = None,
    cluster_names: Any = None,
    compare: Any = None,
    title: str = "",
    source: str = "",
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> Path:
    """Write what the explorer shows of a fitted model.

    Parameters
    ----------
    folder : path
        A store that is there is replaced when the new one is complete.
    model : HNNE
        Fitted, in 2-D.
    X : the training rows, optional
        Typical and odd rows of clusters are then the nearest and farthest; without, those of the
        nearest and farthest leaves. Columns with names are described, too.
    names, texts : sequence of str, optional
        One per row.
    metadata : DataFrame or dict of columns, optional
    quality : array or dict of arrays, optional
        A score between 0 and 1 per row, such as `pointwise_trustworthiness`.
    neighbors : ndarray of shape (n_rows, k), optional
        True neighbours of each row, nearest first.
    images : array of shape (n_rows, height, width) or (n_rows, height, width, 3), optional
        A thumbnail per row.
    cluster_names : str, callable or dict, optional
        A column of metadata, a function of (level, cluster, rows), or a list of names per level;
        default: `hierarchy_.describe`.
    compare : dict, optional
        Other maps of the same rows by name: models, or arrays of shape (n_rows, 2).
    title : str
    source : str
        What the store was made from: a store of something else is out of date.
    """
    hierarchy = model.hierarchy_
    progress = progress or Progress(0)
    target = Path(folder).expanduser()
    check_replaced(target, "meta.json.gz", "no store of the explorer")
    maps = _check_maps(model, compare)
    content = check_content(
        hierarchy.n_rows,
        names=names,
        metadata=metadata,
        texts=texts,
        quality=quality,
        neighbors=neighbors,
        images=images,
    )
    check_names(cluster_names, hierarchy, content)
    columns = feature_columns(model, X)
    rows = None if X is None else as_rows(load_rows(X))
    n_threads = resolve_n_jobs(n_jobs)
    with replaced(target) as part:
        sink = Sink(part, n_threads)
        try:
            _Writing(sink, model, content, progress, n_threads).run(
                maps, rows, columns, cluster_names, title, source
            )
        finally:
            sink.close()
    return target


@dataclass(frozen=True, eq=False)
class _Map:
    """One map of the rows: name, layout, where the rows lie, and what clusters are outlined by.

    `unit`: what pieces of clusters are made of.
    """

    name: str
    layout: str
    positions: Array
    outlined: Any
    unit: str

    @property
    def middle(self) -> Array:
        """The centre of its bounds."""
        low, high = np.array(self.bounds).reshape(2, 2)
        return np.asarray((low + high) / 2)

    @property
    def bounds(self) -> list[float]:
        return [*self.positions.min(axis=0).tolist(), *self.positions.max(axis=0).tolist()]

    def record(self, tiles: Mapping[int, Tiles], piece_levels: list[int]) -> dict[str, Any]:
        """Its entry in meta.json."""
        return {
            "name": self.name,
            "layout": self.layout,
            "bounds": self.bounds,
            "tiles": {_word(level): own.record() for level, own in tiles.items()},
            "piece_levels": piece_levels,
        }


def _check_maps(model: Any, compare: Any) -> list[_Map]:
    """The model's own map, then those to compare it with."""
    if compare is not None and not isinstance(compare, Mapping):
        raise ValueError(
            f"compare: a dict of models or positions by name, got {type(compare).__name__}"
        )
    given = [(None, model), *((clean(name, 100), other) for name, other in (compare or {}).items())]
    found: list[_Map] = []
    n_rows = model.hierarchy_.n_rows
    for own_name, each in given:
        layout = getattr(getattr(each, "layout_", None), "kind", "points")
        name = own_name or layout
        positions = np.asarray(getattr(each, "embedding_", each), dtype=np.float64)
        if positions.shape != (n_rows, 2):
            raise ValueError(
                f"map {name!r}: the explorer shows {n_rows} rows in 2-D, "
                f"this map has the shape {positions.shape}; "
                "use HNNE(n_components=2), or relayout(n_components=2) of a fitted model"
            )
        if not np.isfinite(positions).all():
            raise ValueError(f"map {name!r}: has positions that are NaN or infinite")
        # regions and balls of another tree are not our clusters': coasts go around their rows
        is_ours = _same_tree(getattr(each, "hierarchy_", None), model.hierarchy_)
        outlined = (
            each if is_ours else SimpleNamespace(hierarchy_=model.hierarchy_, embedding_=positions)
        )
        unit = piece_unit(n_rows, getattr(each, "layout_", None))
        found.append(_Map(name, layout, positions, outlined, unit))
    return found


def _same_tree(one: Hierarchy | None, other: Hierarchy) -> bool:
    if one is None or one is other:
        return one is other
    return one.level_sizes == other.level_sizes and all(
        np.array_equal(a.members, b.members) for a, b in zip(one.levels, other.levels, strict=True)
    )


class _Writing:
    """One store while it is written: the tree order, and what was found so far."""

    def __init__(
        self, sink: Sink, model: Any, content: Content, progress: Progress, n_threads: int
    ) -> None:
        self.sink = sink
        self.model = model
        self.content = content
        self.progress = progress
        self.n_threads = n_threads
        self.hierarchy: Hierarchy = model.hierarchy_
        progress.begin("sorting the tree")
        self.tree = TreeOrder.of(self.hierarchy)
        self.levels = [ROWS, *range(self.hierarchy.n_levels)]

    def run(
        self,
        maps: list[_Map],
        X: Any,
        columns: tuple[Column, ...],
        cluster_names: Any,
        title: str,
        source: str,
    ) -> None:
        """All files, then meta.json."""
        scales = make_scales(self.content, self.tree.rows)
        tiles: list[dict[int, Tiles]] = []
        for number, each in enumerate(maps):
            self.progress.begin(f"cutting the map {each.name!r} into tiles")
            tiles.append(self._write_map(number, each.positions[self.tree.rows]))
        self.progress.begin("colours")
        for scale in scales:
            self._write_colors(scale, tiles[0])
        words = count_some(self.content.texts, self.progress)
        named = named_levels(self.hierarchy, len(columns) + len(self.content.columns))
        for level in named:
            self.progress.begin(f"describing level {level}: {self.tree.size(level):,} clusters")
            told = describe_level(
                self.hierarchy, level, self.content, words, X, columns, cluster_names
            )
            self._write_panels(level, told)
        outlined = [k for k in named if self.tree.size(k) <= _MOST_OUTLINED]
        for number, each in enumerate(maps):
            for level in outlined:
                self.progress.begin(f"outlines of level {level} in the map {each.name!r}")
                self._write_outlines(number, each, level)
        pieced = [self._write_pieces(number, each, named) for number, each in enumerate(maps)]
        self._write_rows()
        self.progress.done()
        self.sink.put_json(
            "meta.json",
            {
                "format": FORMAT,
                "version": VERSION,
                "source": source,
                "title": clean(title),
                "n_rows": self.content.n_rows,
                "label_level": int(self.model.label_level_),
                "levels": [{"n_nodes": self.tree.size(k)} for k in range(self.hierarchy.n_levels)],
                "maps": [
                    each.record(*own)
                    for each, own in zip(maps, zip(tiles, pieced, strict=True), strict=True)
                ],
                "columns": [scale.record for scale in scales],
                "fields": self.content.fields,
                "named_levels": named,
                "outlined_levels": outlined,
                "panel_levels": named,
                **self._extras(),
                "chunk": CHUNK,
                "searchable": bool(self.content.searched),
                "can_save": False,
                "content": self.sink.digest(),
            },
        )

    def _extras(self) -> dict[str, Any]:
        images = self.content.images
        neighbors = self.content.neighbors
        return {
            "neighbors": 0 if neighbors is None else neighbors.shape[1],
            "images": None
            if images is None
            else {"width": images.shape[2], "height": images.shape[1]},
        }

    def _write_map(self, number: int, positions: Array) -> dict[int, Tiles]:
        """Tiles of one map; `positions` in tree order."""
        tree = self.tree
        found = {}
        for level in self.levels:
            self.progress.share((level + 1) / len(self.levels))
            found[level] = tiles = make_tiles(tree, level, positions)
            starts = tree.starts(level)
            places = positions if level == ROWS else centres(starts, positions)
            counts = np.diff(tiles.cuts)
            x, y = (places - np.repeat(tiles.origins, counts, axis=0)).T.astype(np.float32)
            others = self._items(level, radii(starts, positions, places) if level != ROWS else None)
            for t, (begin, end) in enumerate(
                zip(tiles.cuts[:-1].tolist(), tiles.cuts[1:].tolist(), strict=True)
            ):
                arrays = [
                    each[begin : end + 1] if len(each) > len(places) else each[begin:end]
                    for each in (x, y, *others)
                ]
                self.sink.put_arrays(f"m{number}/{_word(level)}/{t}.bin", *arrays)
        return found

    def _items(self, level: int, radius: Array | None) -> list[Array]:
        """What a tile says of items beside places; `children` has one number more than items."""
        tree = self.tree
        is_top = level == tree.n_levels - 1
        parents = (np.full(tree.size(level), _TOP) if is_top else tree.parents(level)).astype(
            np.uint32
        )
        if radius is None:
            return [tree.rows.astype(np.uint32), parents]
        starts = tree.starts(level)
        return [
            radius,
            np.diff(starts).astype(np.uint32),
            starts[:-1].astype(np.uint32),
            tree.children[level].astype(np.uint32),
            parents,
            tree.clusters[level].astype(np.uint32),
        ]

    def _write_colors(self, scale: Scale, tiles: Mapping[int, Tiles]) -> None:
        for level in self.levels:
            values = scale.of(self.tree, level)
            cuts = tiles[level].cuts.tolist()
            for t in range(len(cuts) - 1):
                self.sink.put_arrays(
                    f"colors/{scale.key}/{_word(level)}/{t}.bin", values[cuts[t] : cuts[t + 1]]
                )

    def _write_panels(self, level: int, told: LevelPanels) -> None:
        order = self.tree.clusters[level].tolist()
        places = self.tree.places
        self.sink.put_json(f"names/{level}.json", [told.names[i] for i in order])
        panels = [told.panels[i] for i in order]
        for panel in panels:
            for kind in ("typical", "odd"):
                panel[kind] = [(int(places[row]), label) for row, label in panel[kind]]
        for c in range(0, len(panels), _PANELS):
            self.sink.put_json(f"panels/{level}/{c // _PANELS}.json", panels[c : c + _PANELS])

    def _write_outlines(self, number: int, of: _Map, level: int) -> None:
        outlines = get_outlines(of.outlined, level)
        rings = [outlines[i] for i in self.tree.clusters[level].tolist()]
        middle = of.middle
        points = [ring - middle for own in rings for ring in own]
        self.sink.put_arrays(
            f"m{number}/outlines/{level}.bin",
            np.array(
                [len(rings), *(len(own) for own in rings), *(len(ring) for ring in points)],
                dtype=np.uint32,
            ),
            np.concatenate([np.empty((0, 2)), *points]).astype(np.float32),
        )

    def _write_pieces(self, number: int, of: _Map, levels: list[int]) -> list[int]:
        """Clusters that do not lie in one place of a map; the levels known to have some."""
        if not of.unit:
            return []
        self.progress.begin(f"pieces of clusters in the map {of.name!r}")
        order = self.tree.rows
        leaves = self.hierarchy.levels[0].members
        positions = of.positions[order]
        found = []
        points = order if of.unit == "rows" else leaves[order]
        for pieces in find_pieces(self.hierarchy, of.positions, self.n_threads, unit=of.unit):
            if pieces.level not in levels or not pieces.n_split:
                continue
            split = find_split(self.tree, pieces, pieces.of_point[points], positions)
            self.sink.put_arrays(
                f"m{number}/pieces/{pieces.level}.bin",
                np.array([len(split.nodes), *split.nodes, *split.places], dtype=np.uint32),
                *(split.centres - of.middle).T.astype(np.float32),
                split.radii.astype(np.float32),
            )
            found.append(pieces.level)
        return found

    def _write_rows(self) -> None:
        """What is known of the rows, in chunks of tree order."""
        content = self.content
        order = self.tree.rows
        places = self.tree.places
        self.progress.begin("values of the rows")
        for c, part in enumerate(blocks(len(order), 1, values=CHUNK)):
            self.progress.share(part.start / len(order))
            self.sink.put_json(
                f"rows/{c}.json", list(zip(*_cells(content, order[part]), strict=True))
            )
        self._write_search()
        if content.neighbors is not None:
            self.progress.begin("true neighbours")
            for c, part in enumerate(blocks(len(order), 1, values=CHUNK)):
                self.sink.put_arrays(
                    f"neighbors/{c}.bin", places[content.neighbors[order[part]]].astype(np.uint32)
                )
        if content.images is not None:
            self.progress.begin("thumbnails")
            black, white = pixel_range(content.images)
            for c, part in enumerate(blocks(len(order), 1, values=CHUNK)):
                self.progress.share(part.start / len(order))
                self.sink.put(
                    f"images/{c}.png", make_sheet(content.images[order[part]], black, white)
                )
        for c, part in enumerate(blocks(len(places), 1, values=WIDE_CHUNK)):
            self.sink.put_arrays(f"places/{c}.bin", places[part].astype(np.uint32))

    def _write_search(self) -> None:
        """Lower-case texts of the rows, in wide chunks."""
        order = self.tree.rows
        texts = self.content.searched
        self.progress.begin("texts to search")
        for c, part in enumerate(blocks(len(order) if texts else 0, 1, values=WIDE_CHUNK)):
            self.progress.share(part.start / len(order))
            rows = order[part].tolist()
            found = [[clean(each[row], _LONGEST_SEARCHED) for row in rows] for each in texts]
            self.sink.put_json(
                f"search/{c}.json",
                [text.lower() for text in map(" ".join, zip(*found, strict=True))],
            )


def _cells(content: Content, rows: Array) -> list[list[Any]]:
    """Values of the fields, for some rows."""
    found: list[list[Any]] = [rows.tolist()]
    found += [
        [clean(given[row]) for row in found[0]]
        for given in (content.names, content.texts)
        if given is not None
    ]
    return found + [as_cells(values[rows]) for values in content.values.values()]


def _word(level: int) -> str:
    return "rows" if level == ROWS else str(level)


def store_id(folder: Path) -> str:
    """A short name for what a store holds, to tell one from another in caches."""
    return hashlib.sha256((folder / "meta.json.gz").read_bytes()).hexdigest()[:16]
