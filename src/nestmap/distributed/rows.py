"""Rows in the folder that workers share: searched, projected and placed there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.arrays import Array
from ..method.hierarchy.build import LevelItems, LevelStep
from ..method.layout.balls import Anchored, Placement
from ..method.neighbors.metric import Metric
from ..method.preliminary.maps import RowMap
from ..method.run import Run
from .leaf_places import PlacesOnWorkers
from .search import LevelsOnWorkers


@dataclass(frozen=True, eq=False)
class RowsOnWorkers:
    """`TrainingRows` that the workers of a client work on."""

    X: Any
    hashes: Array
    levels: LevelsOnWorkers
    places: PlacesOnWorkers

    @property
    def unit(self) -> float | None:
        return self.levels.unit

    def join(self, items: LevelItems, metric: Metric, run: Run) -> LevelStep:
        return self.levels.join(items, metric, run)

    def project(self, row_map: RowMap, n_threads: int) -> Array:
        return self.places.project(row_map)

    def place(self, leaves: Anchored) -> tuple[Placement, Array]:
        return self.places.place(leaves)
