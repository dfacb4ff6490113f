"""Hierarchical point translation: top down, members move into a ball around their node.

The ball's radius is a fraction of the distance from the node (the anchor) to the nearest other
anchor of its level. With a fraction of 0.2 no descendant ever leaves the ball of a third of that
distance (Lemma 1), so nothing crosses over to another cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from ...core.arrays import Array
from ...core.habits import refuse_habits
from ...core.input.validate import check_number, check_option
from ...core.progress import Progress
from ..arrangement import ARRANGEMENTS, Arrangement
from ..arrangement.frames import DistinctRows
from ..hierarchy.tree import Hierarchy
from ..preliminary.build import KINDS, Preliminary
from .audit import Audit, audit_balls
from .balls import (
    Anchored,
    Placement,
    PlaceRows,
    lengths,
    make_placement,
    place_rows,
    separate,
    separate_top,
)
from .base import LayoutInput, LayoutSettings
from .frozen import Frozen
from .regions import Regions, circles


class Descent(LayoutSettings):
    """Settings of the descent, the paper's layout: balls around centres, with the firmest promise.

    The paper's own map is `HNNE(hierarchy="first_neighbors",
    layout=Descent(arrangement="global"))`.

    Parameters
    ----------
    radius : float
        A cluster's members move into a ball with this fraction of the distance to the nearest other
        cluster. At most 0.2 guarantees that nothing crosses over (Lemma 1; see `HNNE.audit`).
    arrangement : {'auto', 'local', 'global'}
        How the members of a cluster lie relative to each other: by the cluster's own principal
        components, turned towards its neighbours, or by the preliminary embedding (the paper's
        map). 'auto' is the more faithful one: local up to 8 components, global beyond
        (docs/explain/descent.md).
    preliminary : {'pca_centroids', 'pca', 'random_projection', 'random'} or array
        Where points lie relative to each other before the descent: PCA fitted on about a thousand
        centroids (the paper's), on all rows, a random projection, random coordinates, or given
        coordinates of shape (n_rows, n_components). With a local arrangement it only places the
        clusters of the top level.
    inflate : bool
        Stretch squeezed clusters, as the authors' code does (arrangement='global' in 2-D and 3-D
        only). It fills more of the picture and is a little less faithful (docs/explain/descent.md).
    random_state : int, RandomState or None
        Seed of the random preliminary embeddings; nothing else is random.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE, Descent
    >>> model = HNNE(layout=Descent(radius=0.2)).fit(load_digits().data)
    >>> bool(model.audit())
    True
    >>> model.set_params(layout__radius=0.1).layout
    Descent(radius=0.1)
    """

    kind = "descent"
    is_plane = False
    seconds_per_row = 2e-6

    @refuse_habits
    def __init__(
        self,
        radius: float = 1 / 3,
        *,
        arrangement: str = "auto",
        preliminary: Any = "pca_centroids",
        inflate: bool = False,
        random_state: Any = None,
    ) -> None:
        self.radius = radius
        self.arrangement = arrangement
        self.preliminary = preliminary
        self.inflate = inflate
        self.random_state = random_state

    def check(self, n_components: int, n_rows: int) -> None:
        super().check(n_components, n_rows)
        check_number("radius", self.radius, 1e-6, 0.5)
        check_option("arrangement", self.arrangement, ARRANGEMENTS)
        if not isinstance(self.preliminary, np.ndarray | list):
            check_option("preliminary", self.preliminary, KINDS)
        if not isinstance(self.inflate, bool | np.bool_):
            raise ValueError(f"inflate={self.inflate!r}: use True or False")
        if self.inflate and self.is_local(n_components):
            raise ValueError(
                "inflate=True is for arrangement='global'; local frames need none: use "
                "inflate=False"
            )
        if self.inflate and n_components not in (2, 3):
            raise ValueError(
                f"inflate=True works in 2 or 3 dimensions, not n_components={n_components}; "
                "use inflate=False"
            )
        self.coordinates(n_components, n_rows)

    def draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def of_group(self) -> Descent:
        return Descent(self.radius, arrangement=self.arrangement, inflate=self.inflate)

    def lay(self, given: LayoutInput) -> DescentLayout:
        found = descend(
            given.hierarchy,
            given.arrangement,
            given.preliminary,
            radius=self.radius,
            first_equal=given.first_equal,
            place=given.place,
            n_threads=given.n_threads,
            progress=given.progress,
        )
        return given.origin.onto_old(found)


@dataclass(frozen=True, eq=False)
class DescentLayout(Frozen):
    """The map: positions of all rows, and the placements of all levels (fine to coarse)."""

    positions: Array  # (n_rows, d) float64
    placements: tuple[Placement, ...]
    radius: float
    arrangement: str
    kind: str = "descent"
    has_room: ClassVar[bool] = False  # free places, where new leaves can be founded
    start: ClassVar[Array | None] = None
    short_rows: ClassVar[Array | None] = None
    piece_unit: ClassVar[str] = ""

    def keep(self, rows: Array, nodes: list[Array], hierarchy: Hierarchy) -> DescentLayout:
        """The same without the other rows and nodes (per level); `hierarchy`: what is left."""
        placements = tuple(
            place.take(own) for place, own in zip(self.placements, nodes, strict=True)
        )
        return replace(self, positions=self.positions[rows], placements=placements)

    @property
    def leaf(self) -> Placement:
        """What places new rows."""
        return self.placements[0]

    def moved(self, factor: float, shift: Array) -> DescentLayout:
        """Scale and move the layout."""
        placements = tuple(placement.scaled(factor).shifted(shift) for placement in self.placements)
        return replace(self, positions=self.positions * factor + shift, placements=placements)

    def outlines(self, level: int) -> Regions:
        """The balls of a level as polygons (2-D only).

        Their radius is a third of the distance to the nearest other anchor.
        """
        if self.positions.shape[1] != 2:
            raise ValueError(
                f"outlines are for maps in 2-D; this one has {self.positions.shape[1]} dimensions"
            )
        place = self.placements[level]
        return circles(
            place.anchors, np.where(np.isinf(place.nearest), place.radii, place.nearest / 3)
        )

    def grown(self, positions: Array, leaf: Any, hierarchy: Hierarchy) -> DescentLayout:
        """The same with more rows, which have joined leaves."""
        return replace(self, positions=positions)

    def check_promise(self, hierarchy: Hierarchy, n_threads: int) -> Audit:
        """Lemma 1: members inside their balls."""
        return audit_balls(hierarchy, self.positions, self.placements, self.radius, n_threads)


def _extent_of_top(preliminary: Preliminary, hierarchy: Hierarchy, anchors: Array) -> float:
    """How far members of the top nodes lie from these in the preliminary embedding, at most."""
    top = hierarchy.n_levels - 1
    members = preliminary.nodes[top - 1] if top else preliminary.rows
    return float(lengths(members - anchors[hierarchy.levels[top].members]).max())


def descend(
    hierarchy: Hierarchy,
    arrangement: Arrangement,
    preliminary: Preliminary,
    *,
    radius: float,
    first_equal: Array | None = None,
    place: PlaceRows = place_rows,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> DescentLayout:
    """Section 3.3; O(n log n).

    Parameters
    ----------
    preliminary : Preliminary
        Says where the nodes of the top level lie.
    radius : float
        Of a ball, as a fraction of the distance to the nearest other anchor.
    first_equal : ndarray of shape (n_rows,), optional
        For each row the first row that equals it: they get one place. None if all rows differ.
    place : callable
        Puts rows around their leaves, as `place_rows` does.
    """
    progress = progress or Progress(0)
    distinct = DistinctRows.of(hierarchy.levels[0], first_equal)
    anchors = preliminary.nodes[-1]
    extent = _extent_of_top(preliminary, hierarchy, anchors)
    if len(anchors) > 1:
        anchors = separate_top(anchors, extent)
    placements: list[Placement] = []
    for k in reversed(range(hierarchy.n_levels)):
        level = hierarchy.levels[k]
        progress.begin(f"layout: members of {level.n_nodes} nodes of level {k}")
        if placements:
            anchors = separate(anchors, hierarchy.levels[k + 1].members, placements[0])
        # no neighbour to keep clear of: the map is as large as the preliminary embedding
        size = extent if level.n_nodes == 1 else 0.0
        own = Anchored(
            hierarchy, k, arrangement, anchors, radius, size, None if k else distinct, n_threads
        )
        if k:
            placement, frames = make_placement(own)
            anchors = placement.settle(level.members, frames.offsets, n_threads)
        else:
            placement, anchors = place(own)
        placements.insert(0, placement)
    factor = 1 / preliminary.unit
    positions = (anchors if first_equal is None else anchors[first_equal]) * factor
    return DescentLayout(
        positions, tuple(p.scaled(factor) for p in placements), radius, arrangement.kind
    )
