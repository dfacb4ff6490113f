"""The rows of a fit: the work that has to read each of them, done here or elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from ..core.arrays import Array
from ..core.points.duplicates import hash_points
from .hierarchy.build import LevelItems, LevelStep, join_items
from .layout.balls import Anchored, Placement, place_rows
from .neighbors.metric import Metric
from .preliminary.maps import RowMap
from .run import Run


class TrainingRows(Protocol):
    """Rows, and what a fit does with all of them.

    Whoever works gives the same bits: this process (`RowsHere`) or the workers of a cluster
    (`RowsOnWorkers` in `distributed/rows.py`).
    """

    @property
    def X(self) -> Any:
        """The rows as this process reads them: an array, a CSR matrix, a mapped file."""

    @property
    def hashes(self) -> Array:
        """As `hash_points` gives them."""

    @property
    def unit(self) -> float | None:
        """Of `power_of_two`, if it is known."""

    def join(self, items: LevelItems, metric: Metric, run: Run) -> LevelStep:
        """First neighbours of the items of a level, and the nodes they make: as `join_items`."""

    def project(self, row_map: RowMap, n_threads: int) -> Array:
        """What a map makes of the rows; the caller may keep and change it."""

    def place(self, leaves: Anchored) -> tuple[Placement, Array]:
        """How leaves place their rows, and where these lie: as `place_rows`."""


@dataclass(frozen=True, eq=False)
class RowsHere:
    """Rows that this process works on."""

    X: Any
    run: Run
    known_hashes: Array | None = None
    unit: float | None = None

    @cached_property
    def hashes(self) -> Array:
        if self.known_hashes is not None:
            return self.known_hashes
        self.run.progress.begin(f"reading {self.X.shape[0]} rows")
        return hash_points(self.X, self.run.n_threads)

    def join(self, items: LevelItems, metric: Metric, run: Run) -> LevelStep:
        return join_items(items, metric, run)

    def project(self, row_map: RowMap, n_threads: int) -> Array:
        return row_map(self.X, n_threads)

    def place(self, leaves: Anchored) -> tuple[Placement, Array]:
        return place_rows(leaves)
