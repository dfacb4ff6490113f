"""What a fit makes: a tree, or a tree and its map, frozen; built by one function each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..core.arrays import Array
from ..core.input.source import check_unchanged
from ..core.points.point_set import power_of_two
from ..method.arrangement import (
    Arrangement,
    Coordinates,
    GlobalArrangement,
    OldArrangement,
    OldPlaces,
    make_local,
)
from ..method.layout import Layout, LayoutInput
from ..method.layout.balls import Anchored, Placement
from ..method.layout.similarity import align
from ..method.neighbors.item_graph import (
    ItemGraph,
    find_row_graph,
)
from ..method.neighbors.metric import EUCLIDEAN
from ..method.placement import Assigned, FittedTree
from ..method.preliminary import LinearMap, Preliminary, RandomMap, make_preliminary
from ..method.preliminary.mds import Through, rows_to_lay_out, seen_in
from ..method.run import Run
from .settings import MapSettings
from .tree import has_row_graph, node_graph, with_first_neighbors


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
    graph = _graph_of_forces(X, tree, settings, run, graph)
    given = LayoutInput(
        tree.hierarchy,
        arrangement,
        preliminary,
        tree.table.in_order(),
        run.progress,
        run.n_threads,
        first_equal=tree.table.first_equal(),
        graph=graph,
        start=settings.start,
        places=settings.places,
        scale=settings.scale,
        place=work.place if work else None,
    )
    layout = settings.layout.lay(given)
    run.progress.done()
    return FittedMap(tree, layout, arrangement.transform, settings.seed, X, graph)


def _graph_of_forces(
    X: Any, tree: FittedTree, settings: MapSettings, run: Run, graph: ItemGraph | None
) -> ItemGraph | None:
    """The graph that forces act along: the tree's, unless it is of nodes and rows are wanted.

    Without forces it is kept as it is.
    """
    finest = settings.layout.finest(tree.hierarchy.n_rows)
    if finest is None:
        return graph
    metric = tree.hierarchy.metric
    rows = finest == "rows"
    is_native = metric.has_kernels
    if graph is not None and is_native and (graph.level < 0 or not rows):
        return graph
    metric = metric if is_native else EUCLIDEAN  # rows as they are
    if rows or has_row_graph(X, metric):
        run.progress.begin(f"{settings.layout.kind}: neighbours of {X.shape[0]} rows")
        found = find_row_graph(X, metric, tree.table.in_order(), run.n_threads, run.progress.share)
        if found is None or not is_native:
            return found
        return with_first_neighbors(found, tree.hierarchy, X, run.n_threads)
    return node_graph(tree.hierarchy, metric, run, f"{settings.layout.kind}: ")


def _arrange(
    X: Any, tree: FittedTree, settings: MapSettings, run: Run, work: RowWork | None
) -> tuple[Arrangement, Preliminary]:
    """How members lie around their nodes, and where the layout begins."""
    places = settings.places
    if places is None or not settings.is_local:
        run.progress.begin("preliminary embedding")
        preliminary = make_preliminary(
            X,
            tree.hierarchy,
            settings.n_components,
            settings.layout.coordinates(settings.n_components, tree.hierarchy.n_rows),
            seed=settings.seed,
            n_threads=run.n_threads,
            see=None if work is None else work.see,
        )
    run.progress.begin("arrangement")
    if not settings.is_local:
        if places is not None:
            preliminary = _turned(preliminary, places)
        return GlobalArrangement(preliminary, bool(settings.layout.inflate)), preliminary
    local = make_local(
        X,
        tree.hierarchy,
        settings.n_components,
        tree.table.rows,
        run.n_threads,
        tree.table.first_equal(),
        settings.layout.short_columns(tree.hierarchy.n_rows),
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
