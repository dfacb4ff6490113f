"""What every layout is: settings that users choose, and what they lay rows out as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable

from sklearn.base import BaseEstimator

from ...core.arrays import Array
from ...core.progress import Progress
from ..arrangement import MOST_LOCAL, Arrangement
from ..arrangement.old import OldPlaces
from ..hierarchy.tree import Hierarchy
from ..neighbors.item_graph import ItemGraph
from ..preliminary.build import Preliminary, check_coordinates
from .balls import PlaceRows, place_rows
from .similarity import fit_scale

if TYPE_CHECKING:
    from .audit import Audit


class LeafPlacement(Protocol):
    """What places new rows around their leaves."""

    @property
    def anchors(self) -> Array:
        """(n_leaves, d): where leaves lie."""

    @property
    def maps(self) -> Array:
        """(n_leaves, d, p), or (n_leaves, 1, 1): the identity."""

    @property
    def origins(self) -> Array:
        """(n_leaves, d): where the maps take the centres."""

    def place(self, parents: Array, z: Array | None) -> Array:
        """Positions of rows with coordinates z (None: of centres) in these leaves."""


@runtime_checkable
class Layout(Protocol):
    """A map: positions of all rows, and what else is asked of it. Frozen."""

    @property
    def positions(self) -> Array:
        """(n_rows, d) float64."""

    @property
    def leaf(self) -> LeafPlacement:
        """What places new rows."""

    @property
    def kind(self) -> str:
        """The name of the layout, which is that of its settings."""

    @property
    def arrangement(self) -> str:
        """'local' or 'global'."""

    @property
    def has_room(self) -> bool:
        """Whether there are free places, where new leaves can be founded."""

    @property
    def start(self) -> Array | None:
        """Where another map of the same tree can go on from."""

    @property
    def short_rows(self) -> Array | None:
        """Rows along a few directions, where they are kept."""

    @property
    def piece_unit(self) -> str:
        """What connected pieces of clusters consist of: 'rows', or 'leaves' that have balls.

        '': each cluster has a ball or region of its own, which `outlines` gives.
        """

    def outlines(self, level: int) -> Any:
        """The shapes of the clusters of a level: 0 the finest, -1 the top."""

    def keep(self, rows: Array, nodes: list[Array], hierarchy: Hierarchy) -> Self:
        """The same without the other rows and nodes (per level); `hierarchy`: what is left."""

    def grown(self, positions: Array, leaf: Any, hierarchy: Hierarchy) -> Self:
        """The same with more rows: positions of all, what places rows now, and the new tree."""

    def check_promise(self, hierarchy: Hierarchy, n_threads: int) -> Audit:
        """What the layout promises, checked on every level."""


class MovableLayout(Protocol):
    """A layout that may lie anywhere, in any size."""

    @property
    def positions(self) -> Array: ...

    def moved(self, factor: float, shift: Array) -> Self: ...


LaidOut = TypeVar("LaidOut", bound=MovableLayout)


@dataclass(frozen=True, eq=False)
class Origin:
    """What a map begins with: a seed, and what earlier maps give to it.

    Attributes
    ----------
    seed : int
        Of random preliminary embeddings.
    start : ndarray, optional
        `start` of another layout of the same tree.
    places : OldPlaces, optional
        Where rows lie in an older map that the new one is to lie on.
    scale : float, optional
        Of that map, where the new one can go on from it (`LayoutSettings.scale_from`).
    """

    seed: int = 0
    start: Array | None = None
    places: OldPlaces | None = None
    scale: float | None = None

    def onto_old(self, found: LaidOut) -> LaidOut:
        """Scale and move a layout onto the older map, if there is one."""
        if self.places is None:
            return found
        known = self.places.known
        return found.moved(*fit_scale(found.positions[known], self.places.rows[known]))


@dataclass(frozen=True, eq=False)
class LayoutInput:
    """What a layout is made from.

    Attributes
    ----------
    row_keys : ndarray of shape (n_rows,), uint64
        Hashes of the rows.
    first_equal : ndarray of shape (n_rows,), optional
        For each row the first row that equals it: they get one place. None if all rows differ.
    graph : ItemGraph, optional
        Neighbours that forces act along, for settings with `finest`.
    origin : Origin
        What earlier maps give to this one.
    place : callable
        Puts rows around their leaves, as `place_rows` does.
    """

    hierarchy: Hierarchy
    arrangement: Arrangement
    preliminary: Preliminary
    row_keys: Array
    progress: Progress
    n_threads: int = 1
    first_equal: Array | None = None
    graph: ItemGraph | None = None
    origin: Origin = Origin()
    place: PlaceRows = place_rows


class LayoutSettings(BaseEstimator):
    """Base of the settings; its attributes are what a layout without such a parameter goes by."""

    kind = ""
    is_plane = True  # for maps in 2-D only
    arrangement: str = "auto"
    preliminary: Any = "pca_centroids"
    inflate: bool = False
    random_state: Any = None

    # seconds that one core takes per row, where no forces act
    seconds_per_row = 0.0
    has_forces = False  # along a neighbour graph

    def check(self, n_components: int, n_rows: int) -> None:
        """Raise for values that cannot be."""
        if self.is_plane and n_components != 2:
            raise ValueError(
                f"layout={self.kind!r} is for the plane: it needs n_components=2, not "
                f"{n_components}; use layout='descent' for other dimensions"
            )

    def is_local(self, n_components: int) -> bool:
        """Whether members lie by their own cluster's principal components."""
        if self.arrangement == "auto":
            return n_components <= MOST_LOCAL
        return self.arrangement == "local"

    def finest(self, n_rows: int) -> str | None:
        """The finest that forces act on: 'leaves' or 'rows'; None without forces."""
        return None

    def short_columns(self, n_rows: int) -> int:
        """Columns of short rows that the layout keeps."""
        return 0

    def scale_from(self, old: Layout, n_rows: int) -> float | None:
        """Of an older map to the units of one of n_rows, if that can go on from there."""
        return None

    def of_group(self) -> LayoutSettings:
        """Of a map that a few new rows have for themselves, before they get a place in another."""
        return self

    def lay(self, given: LayoutInput) -> Layout:
        """The map."""
        raise NotImplementedError

    def coordinates(self, n_components: int, n_rows: int) -> Any:
        """The kind of the preliminary embedding, or given coordinates, checked."""
        if isinstance(self.preliminary, str):
            return self.preliminary
        return check_coordinates(self.preliminary, n_rows, n_components)

    def draw_seed(self) -> int:
        """The seed of random preliminary embeddings; 0 where nothing can be random."""
        return 0

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        lines = super().__repr__(N_CHAR_MAX).split("\n")
        # parameters may be arrays
        return "\n".join(lines if len(lines) <= 20 else [*lines[:18], "…", lines[-1]])
