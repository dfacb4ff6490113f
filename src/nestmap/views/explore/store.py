"""The store: a folder of small files for the page, from a fitted model (docs/use/explorer.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.arrays import Array
from ...core.input.source import load_rows
from ...core.input.validate import as_rows
from ...core.progress import Progress
from ...core.threads import resolve_n_jobs
from ...core.work.replacing import replaced
from .colors import make_scales
from .column_files import write_columns
from .content import Content, check_content, clean
from .depth import write_depth
from .map_files import write_colors, write_copies, write_outlines, write_pieces, write_tiles
from .maps import StoredMap, check_maps
from .order import ROWS, TreeOrder
from .panels import (
    MAX_CLUSTERS_NAMED,
    ClusterTeller,
    LevelPanels,
    check_names,
    count_some,
    named_levels,
)
from .row_files import write_rows
from .sink import Sink, check_replaced
from .store_format import CHUNK, FORMAT, PANELS_PER_FILE, VERSION
from .tears import write_tears
from .tiles import Tiles
from .writing import Writing

_MAX_CLUSTERS_OUTLINED = 2000  # clusters of a level with outlines


@dataclass(frozen=True, eq=False)
class StoreInput:
    """What is shown of a map beside the map itself.

    Attributes
    ----------
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
        or a `LevelDescription` per level; default: `hierarchy_.describe`.
    cluster_whys : dict, optional
        Beside lists of names per level: what makes each of them true, a text of lines each.
    compare : dict, optional
        Other maps of the same rows by name: models, or arrays of shape (n_rows, 2).
    title : str
    source : str
        What the store was made from: a store of something else is out of date.
    """

    names: Any = None
    metadata: Any = None
    texts: Any = None
    quality: Any = None
    neighbors: Any = None
    images: Any = None
    cluster_names: Any = None
    cluster_whys: Any = None
    compare: Any = None
    title: str = ""
    source: str = ""

    @property
    def told(self) -> tuple[Any, Any]:
        """Names of clusters, and what makes them true."""
        return self.cluster_names, self.cluster_whys

    def check(self, n_rows: int) -> Content:
        """What is known of the rows, checked before any long work."""
        return check_content(
            n_rows,
            names=self.names,
            metadata=self.metadata,
            texts=self.texts,
            quality=self.quality,
            neighbors=self.neighbors,
            images=self.images,
        )


def write_store(
    folder: Any,
    model: Any,
    X: Any = None,
    *,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    **content: Any,
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
    progress : Progress, optional
    n_jobs : int, optional
    **content
        As the attributes of `StoreInput`.
    """
    given = StoreInput(**content)
    hierarchy = model.hierarchy_
    progress = progress or Progress(0)
    target = Path(folder).expanduser()
    check_replaced(target, "meta.json.gz", "no store of the explorer")
    maps = check_maps(model, given.compare)
    known = given.check(hierarchy.n_rows)
    check_names(given.cluster_names, hierarchy, known)
    rows = None if X is None else as_rows(load_rows(X))
    teller = ClusterTeller.of(model, X, rows, known, given.told)
    n_threads = resolve_n_jobs(n_jobs)
    with replaced(target) as part:
        sink = Sink(part, n_threads)
        try:
            progress.begin("sorting the tree")
            tree = TreeOrder.of(hierarchy)
            writing = Writing(sink, model, tree, known, progress, n_threads)
            _write_all(writing, maps, teller, given)
        finally:
            sink.close()
    return target


def _write_all(
    writing: Writing, maps: list[StoredMap], teller: ClusterTeller, given: StoreInput
) -> None:
    """All files, then meta.json."""
    progress = writing.progress
    tree = writing.tree
    scales = make_scales(writing.content, tree.rows, _membership(writing))
    tiles: list[dict[int, Tiles]] = []
    for number, each in enumerate(maps):
        progress.begin(f"cutting the map {each.name!r} into tiles")
        tiles.append(write_tiles(writing, number, each))
    progress.begin("colours")
    for scale in scales:
        write_colors(writing, scale, tiles[0])
    write_columns(writing, scales, teller.features)
    named = _write_named(writing, teller)
    in_space = maps[0].depth is not None  # coasts are of the plane
    outlined = [k for k in named if tree.size(k) <= _MAX_CLUSTERS_OUTLINED and not in_space]
    for number, each in enumerate(maps):
        for level in outlined:
            progress.begin(f"outlines of level {level} in the map {each.name!r}")
            write_outlines(writing, number, each, level)
    shown = [k for k in range(tree.n_levels) if tree.size(k) <= MAX_CLUSTERS_NAMED]
    own = []
    for number, each in enumerate(maps):
        measured = {
            "piece_levels": write_pieces(writing, number, each, shown),
            "tear_levels": write_tears(writing, number, each, named),
            "copies": write_copies(writing, number, each, tiles[number][ROWS]),
            "space": write_depth(writing, number, each, tiles[number]),
        }
        own.append(each.record(tiles[number]) | measured)
    write_rows(writing)
    progress.done()
    levels = {"named_levels": named, "outlined_levels": outlined, "panel_levels": named}
    columns = {"columns": [scale.record for scale in scales]}
    writing.sink.put_json("meta.json", _meta(writing, given) | {"maps": own} | columns | levels)


def _membership(writing: Writing) -> Array | None:
    """How firmly each row belongs to its cluster of the default level, if the tree knows."""
    hierarchy = writing.hierarchy
    if hierarchy.strengths is None:
        return None
    return hierarchy.strengths.of_rows(int(writing.model.label_level_), hierarchy)


def _meta(writing: Writing, given: StoreInput) -> dict[str, Any]:
    """What meta.json says of the store as a whole, with a digest of all files before it."""
    content = writing.content
    images = content.images
    return {
        "format": FORMAT,
        "version": VERSION,
        "source": given.source,
        "title": clean(given.title),
        "n_rows": content.n_rows,
        "label_level": int(writing.model.label_level_),
        "levels": [{"n_nodes": writing.tree.size(k)} for k in range(writing.tree.n_levels)],
        "fields": content.fields,
        "neighbors": 0 if content.neighbors is None else content.neighbors.shape[1],
        "images": images
        if images is None
        else {"width": images.shape[2], "height": images.shape[1]},
        "chunk": CHUNK,
        "searchable": bool(content.searched),
        "can_save": False,
        "content": writing.sink.digest(),
    }


def _write_named(writing: Writing, teller: ClusterTeller) -> list[int]:
    """Names and panels of the levels that get some; these levels."""
    words = count_some(writing.content.texts, writing.progress)
    named = named_levels(writing.hierarchy, len(teller.columns))
    for level in named:
        n_clusters = writing.tree.size(level)
        writing.progress.begin(f"describing level {level}: {n_clusters:,} clusters")
        _write_panels(writing, level, teller.describe(level, words))
    return named


def _write_panels(writing: Writing, level: int, told: LevelPanels) -> None:
    order = writing.tree.clusters[level].tolist()
    places = writing.tree.places
    writing.sink.put_json(f"names/{level}.json", [told.names[i] for i in order])
    panels = [told.panels[i] for i in order]
    for panel in panels:
        for kind in ("typical", "odd"):
            panel[kind] = [(int(places[row]), label) for row, label in panel[kind]]
    for c in range(0, len(panels), PANELS_PER_FILE):
        writing.sink.put_json(
            f"panels/{level}/{c // PANELS_PER_FILE}.json", panels[c : c + PANELS_PER_FILE]
        )
