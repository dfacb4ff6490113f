"""What a fit makes: a tree, or a tree and its map, frozen; built by one function each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.input.source import check_unchanged
from ..core.points.point_set import power_of_two
from ..core.rotations import turned
from ..method.arrangement import Arrangement, Coordinates
from ..method.arrangement.local import make_local
from ..method.arrangement.old import OldArrangement, OldPlaces
from ..method.arrangement.plain import GlobalArrangement
from ..method.hierarchy.tree import Hierarchy
from ..method.layout import Layout, LayoutSettings
from ..method.layout.base import LayoutInput, Origin
from ..method.layout.similarity import align
from ..method.neighbors.item_graph import (
    ItemGraph,
    find_row_graph,
)
from ..method.neighbors.metric import EUCLIDEAN
from ..method.placement import Assigned, FittedTree
from ..method.preliminary.build import Preliminary, fit_row_map, given_coordinates, seen_by
from ..method.preliminary.maps import LinearMap
from ..method.preliminary.mds import Through, rows_to_lay_out, seen_in
from ..method.rows import RowsHere, TrainingRows
from ..method.run import Run
from .settings import FitSettings
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


def fit_map(
    rows: TrainingRows,
    tree: FittedTree,
    settings: FitSettings,
    run: Run,
    origin: Origin,
    graph: ItemGraph | None = None,
) -> FittedMap:
    """Sections 3.2 and 3.3: preliminary embedding, arrangement and layout of rows on a hierarchy.

    `graph`: of the fit, if the caller has it.
    """
    X = rows.X
    assert settings.layout is not None
    check_unchanged(X)
    if (see := rows_to_lay_out(X, tree.hierarchy)) is not None:
        return _fit_map_through(see, rows, tree, settings, run, origin, graph)
    arrangement, preliminary = _arrange(rows, tree, settings, run, origin)
    graph = _graph_of_forces(X, tree, settings.layout, run, graph)
    given = LayoutInput(
        tree.hierarchy,
        arrangement,
        preliminary,
        tree.table.in_order(),
        run.progress,
        run.n_threads,
        first_equal=tree.table.first_equal(),
        graph=graph,
        origin=origin,
        place=rows.place,
    )
    layout = settings.layout.lay(given)
    run.progress.done()
    return FittedMap(tree, layout, arrangement.transform, origin.seed, X, graph)


def _graph_of_forces(
    X: Any, tree: FittedTree, layout: LayoutSettings, run: Run, graph: ItemGraph | None
) -> ItemGraph | None:
    """The graph that forces act along: the tree's, unless it is of nodes and rows are wanted.

    Without forces it is kept as it is.
    """
    finest = layout.finest(tree.hierarchy.n_rows)
    if finest is None:
        return graph
    metric = tree.hierarchy.metric
    rows = finest == "rows"
    is_native = metric.has_kernels
    if graph is not None and is_native and (graph.level < 0 or not rows):
        return graph
    metric = metric if is_native else EUCLIDEAN  # rows as they are
    if rows or has_row_graph(X, metric):
        run.progress.begin(f"{layout.kind}: neighbours of {X.shape[0]} rows")
        found = find_row_graph(X, metric, tree.table.in_order(), run.n_threads, run.progress.share)
        if found is None or not is_native:
            return found
        return with_first_neighbors(found, tree.hierarchy, X, run.n_threads)
    return node_graph(tree.hierarchy, metric, run, f"{layout.kind}: ")


def _arrange(
    rows: TrainingRows, tree: FittedTree, settings: FitSettings, run: Run, origin: Origin
) -> tuple[Arrangement, Preliminary]:
    """How members lie around their nodes, and where the layout begins."""
    assert settings.layout is not None
    places = origin.places
    if places is None or not settings.is_local:
        run.progress.begin("preliminary embedding")
        preliminary = see_rows(rows, tree.hierarchy, settings, run.n_threads, origin.seed)
    run.progress.begin("arrangement")
    if not settings.is_local:
        if places is not None:
            preliminary = _turned(preliminary, places)
        return GlobalArrangement(preliminary, bool(settings.layout.inflate)), preliminary
    local = make_local(
        rows.X,
        tree.hierarchy,
        settings.n_components,
        tree.table.rows,
        run.n_threads,
        tree.table.first_equal(),
        settings.layout.short_columns(tree.hierarchy.n_rows),
        unit=rows.unit,
    )
    return (
        (local, preliminary)
        if places is None
        else (OldArrangement(local, places), _as_preliminary(places))
    )


def see_rows(
    rows: TrainingRows, hierarchy: Hierarchy, settings: FitSettings, n_threads: int, seed: int
) -> Preliminary:
    """Coordinates of all rows and nodes, by one map or given."""
    assert settings.layout is not None
    n_components = settings.n_components
    kind = settings.layout.coordinates(n_components, hierarchy.n_rows)
    if not isinstance(kind, str):
        return given_coordinates(kind, hierarchy, n_threads)
    row_map = fit_row_map(rows.X, hierarchy, n_components, kind, seed, n_threads)
    return seen_by(row_map, kind, rows.project(row_map, n_threads), hierarchy, n_threads)


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
        transform = LinearMap(transform.mean, turned(onto.turn.T[None], transform.basis[None])[0])
    elif transform is not None:
        return preliminary
    nodes = tuple(onto.turned(each) for each in preliminary.nodes)
    return replace(
        preliminary, rows=onto.turned(preliminary.rows), nodes=nodes, transform=transform
    )


def _fit_map_through(
    see: Callable[[Any, int], Any],
    rows: TrainingRows,
    tree: FittedTree,
    settings: FitSettings,
    run: Run,
    origin: Origin,
    graph: ItemGraph | None,
) -> FittedMap:
    """The same for rows laid out as another map sees them: distances alone, or changed rows."""
    changed = RowsHere(see(rows.X, run.n_threads), run)
    seen = replace(tree, hierarchy=seen_in(tree.hierarchy, changed.X, run))
    same = tree.hierarchy.metric.changes_rows  # of distances alone, the rows are others
    fitted = fit_map(changed, seen, settings, run, origin, graph if same else None)
    coordinates = None if fitted.coordinates is None else Through(see, fitted.coordinates)
    return replace(
        fitted, tree=tree, coordinates=coordinates, X=rows.X, graph=fitted.graph if same else None
    )
