"""What a tree and a map depend on, with every 'auto' resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.arrays import Array
from ..method.arrangement import OldPlaces
from ..method.neighbors import FirstNeighbors


@dataclass(frozen=True, eq=False)
class TreeSettings:
    """What a tree depends on, beside the rows and their metric."""

    kind: str = "first_neighbors"  # of the levels above the leaves
    min_nodes: int = 3
    new_points: str = "centroid"
    given: FirstNeighbors | None = None  # first neighbours that the user has brought
    lists: Array | None = None  # whole lists of them, for kind="graph"
    work_dir: Any = None  # where finished levels are kept


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
