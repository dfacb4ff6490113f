"""What a fit makes: a tree, or a tree and its map, frozen; built by one function each."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from ..core.arrays import Array
from ..core.input.source import check_unchanged
from ..core.input.validate import largest_value, work_dtype
from ..core.points.duplicates import hash_points
from ..core.points.point_set import PointSet, make_points, power_of_two
from ..core.points.reduce import fit_reducer
from ..core.progress import part_of
from ..core.work.directory import WorkDir
from ..method.arrangement import (
    Arrangement,
    Coordinates,
    GlobalArrangement,
    OldArrangement,
    OldPlaces,
    make_local,
)
from ..method.hierarchy.build import Finder, KnownRows, build_levels
from ..method.hierarchy.graph_levels import add_communities
from ..method.hierarchy.resume import Steps, identity
from ..method.hierarchy.tree import Hierarchy
from ..method.layout import (
    DescentLayout,
    Layout,
    MosaicLayout,
    descend,
    lay_alike,
    lay_islands,
    lay_mosaic,
)
from ..method.layout.descent import Anchored, Placement
from ..method.layout.islands.leaves import SHORT
from ..method.layout.similarity import align, fit_scale
from ..method.neighbors import FirstNeighbors
from ..method.neighbors.blocked import BlockedIndex
from ..method.neighbors.choice import most_columns
from ..method.neighbors.item_graph import (
    MOST_NODES,
    MOST_ROWS,
    GraphItems,
    ItemGraph,
    find_node_graph,
    find_row_graph,
    with_nearest,
)
from ..method.neighbors.join import Index, build_index
from ..method.neighbors.metric import EUCLIDEAN, Metric
from ..method.neighbors.metric.matrix import MedoidDistances
from ..method.neighbors.shared import Start, share_rows, shares_rows
from ..method.placement import Assigned, FittedTree, RowTable
from ..method.preliminary import LinearMap, Preliminary, RandomMap, make_preliminary
from ..method.preliminary.mds import Through, rows_to_lay_out, seen_in
from ..method.run import Run

# times the largest value of the rows: no centroid is there; rows that were forgotten are not so far
_FARTHER = 1e30


@dataclass(frozen=True, eq=False)
class MapSettings:
    """What a map of a hierarchy depends on, with every "auto" resolved."""

    n_components: int
    layout: str
    radius: float
    local: bool  # arrangement
    inflate: bool
    preliminary: Any  # the name of a kind, or coordinates
    seed: int
    detail: str = "leaves"
    tightness: float = 1.0
    start: Array | None = None  # positions of the islands' first level, if they are known
    places: OldPlaces | None = None  # in an older map that the new one is to lie on
    scale: float | None = None  # of that map to t-SNE's units, where islands can go on from it


@dataclass(frozen=True, eq=False)
class FittedMap:
    """A tree, its map, and what places new rows.

    Complete without the training rows and their neighbour graph, which are neither pickled nor
    saved.
    """

    tree: FittedTree
    layout: Layout
    coordinates: Coordinates
    seed: int
    X: Any = None
    graph: ItemGraph | None = None  # that forces acted along

    def place(
        self, X: Any, n_threads: int, found: Assigned | None = None, z: Array | None = None
    ) -> tuple[Array, Assigned]:
        """Positions of rows inside the balls or regions of their leaves; each row by itself.

        `found`, `z`: their leaves and coordinates, if known.
        """
        found = self.tree.assign(X, n_threads) if found is None else found
        positions = np.empty((len(found.leaves), self.layout.positions.shape[1]))
        old = np.flatnonzero(found.known >= 0)
        new = np.flatnonzero(found.known < 0)
        positions[old] = self.layout.positions[found.known[old]]
        if len(new):
            if z is not None:
                z = z[new]
            elif self.coordinates is not None:
                z = self.coordinates(X if len(old) == 0 else X[new], n_threads)
            positions[new] = self.layout.leaf.place(found.leaves[new], z)
        return positions, found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "X": None, "graph": None}


@dataclass(frozen=True, eq=False)
class TreeSettings:
    """What a tree depends on, beside the rows and their metric."""

    kind: str = "first_neighbors"  # of the levels above the leaves
    min_nodes: int = 3
    new_points: str = "centroid"
    given: FirstNeighbors | None = None  # first neighbours that the user has brought
    lists: Array | None = None  # whole lists of them, for kind="graph"
    work_dir: Any = None  # where finished levels are kept


def fit_tree(
    X: Any,
    metric: Metric,
    run: Run,
    settings: TreeSettings | None = None,
    *,
    hashes: Array | None = None,
    find: Finder | None = None,
) -> tuple[FittedTree, ItemGraph | None]:
    """The hierarchy of validated rows, what finds a new row's cluster, and the graph behind it.

    `hashes`: what `hash_points` gives for the rows; `find`: of `build_levels`.
    """
    settings = settings or TreeSettings()
    given = settings.given
    lists = settings.lists
    kind = settings.kind
    own = start = None
    if hashes is None:
        run.progress.begin(f"reading {X.shape[0]} rows")
        hashes = hash_points(X, run.n_threads)
    with ExitStack() as stack:
        saved = None
        if settings.work_dir is not None:  # before any long work: it may be that of another fit
            work = WorkDir.open(settings.work_dir, identity(X, hashes, metric, run, given))
            saved = Steps(stack.enter_context(work))
        if kind == "graph" and lists is None and _has_row_graph(X, metric):
            # exact first neighbours are found here
            joins = given is None and find is None and saved is None
            own, start = _graph_and_start(X, metric, hashes, run, joins, saved)
        hierarchy = build_levels(
            X,
            metric,
            run,
            KnownRows(hashes, given, start),
            min_nodes=settings.min_nodes,
            max_nodes=MOST_NODES if kind == "graph" else 1,
            saved=saved,
            find=find,
        )
        if kind == "graph" and own is None and lists is None:
            own = node_graph(hierarchy, metric, run, saved=saved)
    if kind == "graph":
        if own is not None:
            points = None if start is None or start.shared is None else start.shared.points
            own = _with_first_neighbors(own, hierarchy, X, run.n_threads, points)
        hierarchy = add_communities(hierarchy, own, run, lists)
    run.progress.note(str(hierarchy))
    is_by_row = settings.new_points == "neighbor"
    index = index_rows(X, metric, hashes, run.n_threads) if is_by_row else None
    tree = FittedTree(
        hierarchy, RowTable.of(hashes), work_dtype(X.dtype), not isinstance(X, np.ndarray), index
    )
    return tree, own


def index_rows(X: Any, metric: Metric, hashes: Array, n_threads: int) -> Index | BlockedIndex:
    """An index over the training rows, for new_points="neighbor"."""
    if not metric.has_kernels:
        # new rows bring their distances
        return BlockedIndex(None if metric.takes_distances else X, metric, hashes)
    points = make_points(X, metric.name, n_threads=n_threads, keys=hashes)
    return build_index(points, n_threads, fit_reducer(points, most=most_columns(points.n)))


def _has_row_graph(X: Any, metric: Metric) -> bool:
    """Whether the graph of a fit is that of its rows.

    Too many make do with nodes, unless distances are given.
    """
    return X.shape[0] <= MOST_ROWS or metric.takes_distances


def _graph_and_start(
    X: Any, metric: Metric, hashes: Array, run: Run, joins: bool, saved: Steps | None
) -> tuple[ItemGraph | None, Start | None]:
    """The graph of the rows, and what it leaves for their first neighbours.

    `joins`: these are searched after it; `saved`: finished steps of an earlier fit.
    """
    n = X.shape[0]
    shared = None
    if saved is not None and (graph := saved.load_graph(GraphItems.of_rows(hashes))) is not None:
        return graph, Start(graph.nearest(n))
    run.progress.begin(f"neighbours of {n} rows")
    if (
        joins
        and run.rows.method == "exact"
        and shares_rows(n, X.shape[1], metric, run.rows.columns)
    ):
        shared = share_rows(X, metric, hashes, run.n_threads, part_of(run.progress.share, 0, 0.1))
    graph = find_row_graph(X, metric, hashes, run.n_threads, run.progress.share, shared)
    if graph is None:
        return None, None
    if saved is not None:
        saved.save_graph(graph)
    return graph, Start(graph.nearest(n), shared)


def _with_first_neighbors(
    graph: ItemGraph, hierarchy: Hierarchy, X: Any, n_threads: int, points: PointSet | None = None
) -> ItemGraph:
    """The graph of the rows with all first neighbours of the tree, if these were found exactly."""
    if not hierarchy.reports or not hierarchy.reports[0].exact:
        return graph
    return with_nearest(graph, hierarchy.links[0].ids, X, hierarchy.metric, n_threads, points)


def node_graph(
    hierarchy: Hierarchy, metric: Metric, run: Run, whose: str = "", saved: Steps | None = None
) -> ItemGraph | None:
    """The neighbour graph of the nodes of the lowest level that has few enough."""
    k = next(
        (k for k, n in enumerate(hierarchy.level_sizes) if n <= MOST_NODES), hierarchy.n_levels - 1
    )
    level = hierarchy.levels[k]
    n = level.n_nodes
    if saved is not None and (kept := saved.load_graph(GraphItems(n, k, level.sizes))) is not None:
        return kept
    keys = np.arange(n, dtype=np.uint64) if level.keys is None else level.keys
    run.progress.begin(f"{whose}neighbours of {n} nodes of level {k}")
    graph = find_node_graph(
        k, level.centroids, level.sizes, metric, keys, run.n_threads, run.progress.share
    )
    if saved is not None and graph is not None:
        saved.save_graph(graph)
    return graph


class RowWork(Protocol):
    """What a map needs of each row, where others than this process see to it.

    The same as they would get here.
    """

    @property
    def unit(self) -> float | None:
        """Of `power_of_two`."""

    def see(self, by: LinearMap | RandomMap) -> Array:
        """What a map makes of the rows; to be kept and changed by the caller."""

    def place(self, own: Anchored) -> tuple[Placement, Array]:
        """As `place_rows`."""


def fit_map(
    X: Any,
    tree: FittedTree,
    settings: MapSettings,
    run: Run,
    work: RowWork | None = None,
    graph: ItemGraph | None = None,
) -> FittedMap:
    """Sections 3.2 and 3.3: preliminary embedding, arrangement and layout of rows on a hierarchy.

    `graph`: of the fit, if the caller has it.
    """
    check_unchanged(X)
    if (see := rows_to_lay_out(X, tree.hierarchy)) is not None:
        return _fit_map_through(see, X, tree, settings, run, graph)
    arrangement, preliminary = _arrange(X, tree, settings, run, work)
    first_equal = tree.table.first_equal()
    places = settings.places
    options: dict[str, Any] = dict(
        first_equal=first_equal, n_threads=run.n_threads, progress=run.progress
    )
    layout: Layout
    if settings.layout == "islands":
        options |= dict(row_keys=tree.table.in_order(), radius=settings.radius)
        options |= dict(detail=settings.detail, tightness=settings.tightness)
        graph = _graph_of_forces(X, tree, settings, run, graph)
        if places is not None and settings.scale is not None:
            layout = lay_alike(
                tree.hierarchy,
                arrangement,
                preliminary,
                graph,
                places,
                scale=settings.scale,
                **options,
            )
        else:
            options |= dict(start=settings.start, places=places, place=work and work.place)
            layout = lay_islands(tree.hierarchy, arrangement, preliminary, graph, **options)
    elif settings.layout == "mosaic":
        layout = _onto(lay_mosaic(tree.hierarchy, arrangement, preliminary, **options), places)
    else:
        options |= dict(place=work and work.place)
        found = descend(tree.hierarchy, arrangement, preliminary, radius=settings.radius, **options)
        layout = _onto(found, places)
    run.progress.done()
    return FittedMap(tree, layout, arrangement.transform, settings.seed, X, graph)


def _graph_of_forces(
    X: Any, tree: FittedTree, settings: MapSettings, run: Run, graph: ItemGraph | None
) -> ItemGraph | None:
    """The graph that forces act along: the tree's, unless it is of nodes and rows are wanted."""
    metric = tree.hierarchy.metric
    rows = settings.detail == "rows"
    is_native = metric.has_kernels
    if graph is not None and is_native and (graph.level < 0 or not rows):
        return graph
    metric = metric if is_native else EUCLIDEAN  # rows as they are
    if rows or _has_row_graph(X, metric):
        run.progress.begin(f"islands: neighbours of {X.shape[0]} rows")
        found = find_row_graph(X, metric, tree.table.in_order(), run.n_threads, run.progress.share)
        if found is None or not is_native:
            return found
        return _with_first_neighbors(found, tree.hierarchy, X, run.n_threads)
    return node_graph(tree.hierarchy, metric, run, "islands: ")


def refuse_far_centroids(hierarchy: Hierarchy, X: Any, n_threads: int) -> None:
    """Raise where centroids of a file cannot be means of the rows.

    A layout, in units of the rows, would overflow.
    """
    rows = largest_value(X.data if sparse.issparse(X) else X, n_threads)
    for level in hierarchy.levels:
        if isinstance(level.centroids, MedoidDistances):
            return
        own = level.centroids.data if sparse.issparse(level.centroids) else level.centroids
        if (largest := largest_value(own, n_threads)) > _FARTHER * (rows or 1.0):
            raise ValueError(
                f"X: its values are up to {rows:g}, but centroids of the model up to "
                f"{largest:g}: the file of the model was changed; fit a new one"
            )


def _arrange(
    X: Any, tree: FittedTree, settings: MapSettings, run: Run, work: RowWork | None
) -> tuple[Arrangement, Preliminary]:
    """How members lie around their nodes, and where the layout begins."""
    places = settings.places
    if places is None or not settings.local:
        run.progress.begin("preliminary embedding")
        preliminary = make_preliminary(
            X,
            tree.hierarchy,
            settings.n_components,
            settings.preliminary,
            seed=settings.seed,
            n_threads=run.n_threads,
            see=None if work is None else work.see,
        )
    run.progress.begin("arrangement")
    if not settings.local:
        begin = preliminary
        if places is not None:
            preliminary = _turned(preliminary, places)
            begin = _as_preliminary(places) if settings.layout == "islands" else preliminary
        return GlobalArrangement(preliminary, settings.inflate), begin
    n_short = SHORT if settings.layout == "islands" and settings.detail == "rows" else 0
    local = make_local(
        X,
        tree.hierarchy,
        settings.n_components,
        tree.table.rows,
        run.n_threads,
        tree.table.first_equal(),
        n_short,
        unit=None if work is None else work.unit,
    )
    return (
        (local, preliminary)
        if places is None
        else (OldArrangement(local, places), _as_preliminary(places))
    )


def _as_preliminary(places: OldPlaces) -> Preliminary:
    """The old map as where the new one begins."""
    unit = power_of_two(places.rows)
    return Preliminary(
        "like", places.rows * unit, tuple(nodes * unit for nodes in places.nodes), None, unit
    )


def _turned(preliminary: Preliminary, places: OldPlaces) -> Preliminary:
    """The preliminary embedding turned towards an older map, unless it knows no directions."""
    onto = align(preliminary.rows[places.known], places.rows[places.known])
    transform = preliminary.transform
    if isinstance(transform, LinearMap):
        transform = LinearMap(transform.mean, np.einsum("ed,ef->df", onto.turn, transform.basis))
    elif transform is not None:
        return preliminary
    nodes = tuple(onto.turned(each) for each in preliminary.nodes)
    return replace(
        preliminary, rows=onto.turned(preliminary.rows), nodes=nodes, transform=transform
    )


def _onto(
    layout: DescentLayout | MosaicLayout, places: OldPlaces | None
) -> DescentLayout | MosaicLayout:
    """The map as large as an older one, and where it lies."""
    if places is None:
        return layout
    return layout.moved(*fit_scale(layout.positions[places.known], places.rows[places.known]))


def _fit_map_through(
    see: Any, X: Any, tree: FittedTree, settings: MapSettings, run: Run, graph: ItemGraph | None
) -> FittedMap:
    """The same for rows laid out as another map sees them: distances alone, or changed rows."""
    rows = see(X, run.n_threads)
    seen = replace(tree, hierarchy=seen_in(tree.hierarchy, rows, run))
    same = tree.hierarchy.metric.changes_rows  # of distances alone, the rows are others
    fitted = fit_map(rows, seen, settings, run, graph=graph if same else None)
    coordinates = None if fitted.coordinates is None else Through(see, fitted.coordinates)
    return replace(
        fitted, tree=tree, coordinates=coordinates, X=X, graph=fitted.graph if same else None
    )
