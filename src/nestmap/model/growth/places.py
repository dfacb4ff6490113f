"""Where new rows lie: beside those that they joined, or in free places of the map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from ...core.arrays import Array
from ...core.exact import gram, product, turn
from ...core.native import kernels
from ...core.points.reduce import with_signs
from ...method.arrangement.frames import Frames, frame_offsets
from ...method.hierarchy import Grouping
from ...method.layout import Layout
from ...method.layout.balls import Placement, lengths
from ...method.layout.base import LeafPlacement, Origin
from ...method.layout.islands.leaves import REACH, RowPlacement, fit_rows
from ...method.placement import RowTable
from ...method.rows import RowsHere
from ...method.run import Run
from ..fitted import FittedMap, fit_map
from ..settings import FitSettings
from ..tree import fit_tree
from .extend import GrownTree, extend_tree
from .rows import NewRows, far_coordinates, meet_rows
from .taken import TakenPlaces

# rows of a new cluster that get a map of their own; fewer lie by their principal components
_OWN_MAP = 30
_AROUND = 50  # rows near a place, whose distances tell how dense the map is there
# radius of a row's disc, in distances to the nearest other row: half of the root of its area
_SPACING = 2 / np.pi**0.5
# candidates around where a cluster would like to be
_STEP = 1.25
_RINGS = 60
_ANGLES = 24
_INSIDE = 12  # rows: smaller groups need no clear water around them


@dataclass(frozen=True, eq=False)
class Group:
    """Rows below a new node whose parent is old, or that has none: they are placed together."""

    rows: Array  # among the new ones
    target: Array  # where the old leaf lies that is most like them


def extend_map(fitted: FittedMap, X: Any, settings: FitSettings, run: Run) -> FittedMap:
    """A fitted map with more rows.

    Islands have free places for new leaves. In the other layouts every row joins its nearest leaf.
    """
    new = meet_rows(fitted, X, run.n_threads)
    layout = fitted.layout
    has_room = layout.has_room and new.z is not None and layout.leaf.maps.shape[1] == 2
    grown = extend_tree(fitted.tree, new, run, may_found=has_room)
    positions = _place_joined(fitted, new, grown, run.n_threads)
    if layout.has_room:
        groups = _find_groups(fitted, grown, new, layout, run.n_threads)
        _place_groups(positions, groups, layout, new, settings, fitted, run)
        positions = _same_for_equal(positions, new.hashes)
    everywhere = np.concatenate([layout.positions, positions])
    leaf = layout.leaf
    if layout.has_room:
        leaf = _grow_leaves(layout, grown, new, everywhere, run.n_threads)
    layout = layout.grown(everywhere, leaf, grown.tree.hierarchy)
    return replace(fitted, tree=grown.tree, layout=layout, X=None, graph=None)


def _place_joined(fitted: FittedMap, new: NewRows, grown: GrownTree, n_threads: int) -> Array:
    """Beside the nearest row of the map, or, without short rows, where `transform` puts them."""
    leaf: Any = fitted.layout.leaf
    if new.beside is None or new.z is None:
        leaves = np.where(grown.leaves < grown.n_before[0], grown.leaves, new.found.leaves)
        return fitted.place(new.data, n_threads, replace(new.found, leaves=leaves), new.z)[0]
    beside = _beside_together(new.beside, new.found.distances, grown.groups)
    parents = fitted.tree.hierarchy.levels[0].members[beside]
    positions: Array = leaf.place_beside(beside, parents, new.z)
    known = new.found.known >= 0
    positions[known] = fitted.layout.positions[new.beside[known]]
    return positions


def _beside_together(rows: Array, distances: Array, groups: Array) -> Array:
    """Rows linked among themselves lie beside one row: the one nearest to any of them."""
    order = np.lexsort((distances, groups))
    leads = order[np.searchsorted(groups[order], np.arange(groups.max() + 1))]
    return np.asarray(rows[leads[groups]])


def _find_groups(
    fitted: FittedMap, grown: GrownTree, new_rows: NewRows, layout: Layout, n_threads: int
) -> list[Group]:
    """The largest nodes that are new, with their rows, by their lowest row.

    A few rows need no place of their own.
    """
    node = grown.leaves
    groups = []
    levels = grown.tree.hierarchy.levels
    for k, n in enumerate(grown.n_before):
        new = node >= n
        if not new.any():
            break
        above = levels[k + 1].members[node] if k + 1 < len(levels) else None
        own = np.flatnonzero(new if above is None else new & (above < grown.n_before[k + 1]))
        tops, number = np.unique(node[own], return_inverse=True)
        if len(tops):
            parts = np.split(
                own[np.argsort(number, kind="stable")], np.cumsum(np.bincount(number))[:-1]
            )
            if new_rows.beside is None:
                alike = fitted.tree.hierarchy.leaf_index(n_threads).query(
                    levels[k].centroids[tops], n_threads
                )[0]
                targets = layout.leaf.anchors[alike]
            else:
                nearest = [rows[np.argmin(new_rows.found.distances[rows])] for rows in parts]
                targets = layout.positions[new_rows.beside[nearest]]
            least = 1 if new_rows.beside is None else _INSIDE + 1
            groups += [
                Group(rows, at)
                for rows, at in zip(parts, targets, strict=True)
                if len(rows) >= least
            ]
        if above is None:
            break
        node = above
    return sorted(groups, key=lambda group: int(group.rows[0]))


def _place_groups(
    positions: Array,
    groups: list[Group],
    layout: Layout,
    new: NewRows,
    settings: FitSettings,
    fitted: FittedMap,
    run: Run,
) -> None:
    """Gives the rows of each group a place, the largest group first."""
    if not groups:
        return
    grouped = np.concatenate([group.rows for group in groups])
    joined = np.setdiff1d(np.arange(len(positions)), grouped)
    taken = np.concatenate([layout.positions, positions[joined]])
    places = TakenPlaces(taken, np.stack([group.target for group in groups]))
    discs = np.empty((0, taken.shape[1] + 1))
    for group in sorted(groups, key=lambda group: (-len(group.rows), int(group.rows[0]))):
        spacing = _spacing(places, group.target)
        shape = _own_map(new.data[group.rows], fitted, settings, run)
        size = spacing * _SPACING * len(group.rows) ** 0.5
        middle = _free_place(places, discs, group.target, size, spacing, len(group.rows) > _INSIDE)
        extent = np.quantile(lengths(shape), 0.9) if len(shape) > 2 else lengths(shape).max()
        positions[group.rows] = middle + shape * (size / extent if extent > 0 else 0.0)
        reach = float(lengths(positions[group.rows] - middle).max())
        discs = np.concatenate([discs, [[*middle, max(size, reach)]]])


def _spacing(places: TakenPlaces, target: Array) -> float:
    """The usual distance to the nearest other row around a place."""
    n = min(_AROUND, places.n)
    rows = places.nearest(target, target[None], n)[1][0]
    near = places.nearest(target, rows, 2)[0][:, 1] if places.n > 1 else np.ones(1)
    near = near[near > 0]
    if len(near):
        return float(np.median(near))
    return places.extent / max(1, places.n) ** 0.5 if places.extent > 0 else 1.0


def _own_map(X: Any, fitted: FittedMap, settings: FitSettings, run: Run) -> Array:
    """How the rows of a group lie relative to each other, around 0."""
    if X.shape[0] >= _OWN_MAP:
        assert settings.layout is not None
        own = replace(settings, layout=settings.layout.of_group())
        rows = RowsHere(X, run)
        tree, _ = fit_tree(rows, fitted.tree.hierarchy.metric, run)
        shape = fit_map(rows, tree, own, run, Origin(fitted.seed)).layout.positions
    else:
        assert fitted.coordinates is not None
        z = far_coordinates(fitted.coordinates, X, run.n_threads)
        z = z - z.mean(axis=0)
        axes = kernels.eigenvectors(gram(z)[None])[1][0, ::-1]
        shape = np.zeros((len(z), settings.n_components))
        n = min(len(axes), settings.n_components)
        shape[:, :n] = product(z, with_signs(axes.T)[:, :n])
    return np.asarray(shape - shape.mean(axis=0))


def _free_place(
    taken: TakenPlaces, discs: Array, target: Array, size: float, spacing: float, clear: bool
) -> Array:
    """The nearest place to the target with room for a disc of this size.

    It is beside all rows and other new groups.
    """
    needed = size + spacing if clear else 0.5 * spacing
    rings = needed * 0.5 * np.cumprod(np.r_[1.0, np.full(_RINGS - 1, _STEP)])
    turns = np.arange(_ANGLES)[None, :] / _ANGLES + 0.618 * np.arange(_RINGS)[:, None]
    ways = np.stack(turn(turns), axis=2) * rings[:, None, None]
    for part in np.concatenate([np.zeros((1, _ANGLES, 2)), ways]):
        places = target + part
        room = taken.nearest(target, places, 1)[0][:, 0] - needed
        if len(discs):
            apart = (
                np.sqrt(((places[:, None] - discs[None, :, :2]) ** 2).sum(axis=2))
                - discs[None, :, 2]
            )
            room = np.minimum(room, apart.min(axis=1) - size)
        if room.max() >= 0:
            return np.asarray(places[int(np.argmax(room >= 0))])
    raise AssertionError("beyond the map there is room")


def _same_for_equal(positions: Array, hashes: Array) -> Array:
    """Equal new rows have the place of the first of them."""
    first = RowTable.of(hashes).first_equal()
    return positions if first is None else positions[first]


def _grow_leaves(
    layout: Layout, grown: GrownTree, new_rows: NewRows, positions: Array, n_threads: int
) -> LeafPlacement:
    """What places later rows: in new leaves, beside rows that joined old ones.

    `positions`: of all.
    """
    leaf = layout.leaf
    n_before = grown.n_before[0]
    z = new_rows.z
    founders = np.flatnonzero(grown.leaves >= n_before)
    if len(founders):
        assert z is not None
        new = _new_leaves(
            grown, founders, z, positions[len(layout.positions) :], leaf.maps, n_threads
        )
        leaf = _more_leaves(leaf, new)
    if not isinstance(leaf, RowPlacement) or not isinstance(layout.leaf, RowPlacement):
        return leaf
    group = grown.tree.hierarchy.levels[0].grouping
    own = positions[len(layout.positions) :]
    reach = REACH * cKDTree(positions).query(own, k=[2], workers=n_threads)[0][:, 0]
    return replace(
        leaf,
        positions=positions,
        order=group.order,
        starts=group.starts,
        offsets=np.concatenate(
            [
                layout.leaf.offsets,
                frame_offsets(leaf.maps, leaf.origins, grown.leaves, z).astype(np.float32),
            ]
        ),
        reach=np.concatenate([layout.leaf.reach, reach.astype(np.float32)]),
        short=None if new_rows.short is None else _with(layout.leaf.short, new_rows.short),
    )


def _with(rows: Any, more: Array) -> Array:
    return np.concatenate([rows, more.astype(rows.dtype)])


def _new_leaves(
    grown: GrownTree, founders: Array, z: Array, positions: Array, maps: Array, n_threads: int
) -> RowPlacement:
    """New leaves by themselves, their frames turned and scaled to where their rows lie."""
    level = grown.tree.hierarchy.levels[0]
    n_before = grown.n_before[0]
    members = grown.leaves[founders] - n_before
    n = level.n_nodes - n_before
    alone = replace(
        level,
        centroids=level.centroids[n_before:],
        members=members,
        sizes=np.bincount(members, minlength=n),
        keys=None,
    )
    return fit_rows(
        _frames(z[founders], members, n, maps), positions[founders], alone, None, n_threads
    )


def _more_leaves(leaf: Any, new: RowPlacement) -> Any:
    more = {
        name: np.concatenate(
            [getattr(leaf, name), getattr(new, name).astype(getattr(leaf, name).dtype)]
        )
        for name in ("anchors", "radii", "scales", "maps", "origins")
    }
    if isinstance(leaf, Placement):
        places = TakenPlaces(more["anchors"], new.anchors)
        nearest = [places.nearest(anchor, anchor[None], 2)[0][0, 1] for anchor in new.anchors]
        more["nearest"] = np.concatenate([leaf.nearest, nearest])
    return replace(leaf, **more)


def _frames(z: Array, members: Array, n: int, maps: Array) -> Frames:
    """Frames of new leaves, of the same kind as those of the fit."""
    group = Grouping.of(members, n)
    centres = kernels.group_means(z, group.order, group.starts, np.ones(len(z)), 1)
    if maps.shape[1:] == (2, z.shape[1]) and z.shape[1] > 2:
        z = z.astype(np.float32)
        offsets, own = kernels.principal_frames(z, group.order, group.starts, np.ones(len(z)), 2, 1)
        return Frames(offsets, own, centres)
    own = np.ones((n, 1, 1)) if maps.shape[1:] == (1, 1) else np.tile(np.eye(2), (n, 1, 1))
    return Frames(z - centres[members], own, centres)
