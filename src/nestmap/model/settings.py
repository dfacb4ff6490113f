"""What was asked of a fit, and what follows for its map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.input.validate import check_number, check_option
from ..method.hierarchy.tree import KINDS as HIERARCHIES
from ..method.layout import LayoutSettings
from ..method.neighbors import FirstNeighbors, check_metric, given_neighbors
from ..method.neighbors.choice import METHODS, Search
from ..method.neighbors.given import given_lists
from ..method.placement import RULES


@dataclass(frozen=True, eq=False)
class FitSettings:
    """What was asked of a fit, as users say it; `check` raises for what cannot be."""

    n_components: int = 0  # of the map; 0: a tree alone
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    hierarchy: str = "first_neighbors"
    min_nodes: int = 3  # of a level
    layout: LayoutSettings | None = None  # None: a tree alone
    neighbors: Any = "auto"
    target_recall: float = 0.9
    new_points: str = "centroid"
    max_memory: int | str | None = None
    work_dir: Any = None

    def check(self, n_rows: int) -> None:
        """Raise for parameters that cannot be."""
        if self.layout is not None:
            check_number("n_components", self.n_components, 1, np.inf, integer=True)
        if self.finds_neighbors:
            check_option("neighbors", self.neighbors, METHODS)
        else:
            given_neighbors(self.neighbors, n_rows)
        Search(target_recall=self.target_recall)
        check_option("new_points", self.new_points, RULES)
        check_option("hierarchy", self.hierarchy, HIERARCHIES)
        if self.layout is not None:
            self.layout.check(self.n_components, n_rows)

    @property
    def finds_neighbors(self) -> bool:
        """Whether neighbours are searched, not given."""
        return isinstance(self.neighbors, str)

    @property
    def is_seeded(self) -> bool:
        """Whether the layout has a seed of its own."""
        return self.layout is not None and self.layout.random_state is not None

    @property
    def search(self) -> Search:
        """How first neighbours are to be found, as far as the user says."""
        return Search(self.neighbors if self.finds_neighbors else "auto", self.target_recall)

    def metric_of(self, X: Any) -> Any:
        """The metric, checked against the rows."""
        return check_metric(self.metric, X, self.metric_params)

    def folder(self) -> Path | None:
        """Where temporary files go; it is made."""
        if self.work_dir is None:
            return None
        folder = Path(self.work_dir).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def has_forces(self) -> bool:
        """Whether forces lay the map out, along a neighbour graph."""
        return self.layout is not None and self.layout.has_forces

    @property
    def is_local(self) -> bool:
        """Whether members of a cluster lie by its own principal components."""
        return self.layout is not None and self.layout.is_local(self.n_components)

    def detail(self, n_rows: int) -> str | None:
        """The finest that forces act on; None where there are none."""
        return None if self.layout is None else self.layout.finest(n_rows)

    def given_neighbors(self, n_rows: int) -> FirstNeighbors | None:
        """First neighbours that the user has brought."""
        return None if self.finds_neighbors else given_neighbors(self.neighbors, n_rows)

    def given_lists(self, n_rows: int) -> Array | None:
        """Whole lists of them, where a tree of communities asks for lists."""
        if self.finds_neighbors or self.hierarchy != "graph":
            return None
        return given_lists(self.neighbors, n_rows)
