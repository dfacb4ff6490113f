"""A store while it is written: where files go, the tree in its order, what is known of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.progress import Progress
from ...method.hierarchy import Hierarchy
from .content import Content
from .order import ROWS, TreeOrder
from .sink import Sink


@dataclass(frozen=True, eq=False)
class Writing:
    """What all files of a store are made from."""

    sink: Sink
    model: Any
    tree: TreeOrder
    content: Content
    progress: Progress
    n_threads: int

    @property
    def hierarchy(self) -> Hierarchy:
        found: Hierarchy = self.model.hierarchy_
        return found

    @property
    def levels(self) -> list[int]:
        """Rows, then all levels, the finest first."""
        return [ROWS, *range(self.hierarchy.n_levels)]
