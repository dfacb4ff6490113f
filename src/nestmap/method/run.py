"""What was decided for one fit, handed down to all of its stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.arrays import Array
from ..core.input.scratch import scratch_array
from ..core.progress import Progress
from .neighbors.choice import Search
from .neighbors.effort import all_pairs_rows


def _silent() -> Progress:
    return Progress(0)


@dataclass(frozen=True, eq=False)
class Run:
    """The decisions of one fit: each is made once, before the work starts.

    `rows` says how the first neighbours of the rows are found (the plan has resolved "auto"),
    `nodes` how those of the nodes of upper levels are.
    """

    n_threads: int = 1
    progress: Progress = field(default_factory=_silent)
    rows: Search = field(default_factory=Search)
    nodes: Search = field(default_factory=Search)
    folder: Path | None = None  # of temporary files; None: the system's
    centroids_on_disk: bool = False

    def search(self, level: int) -> Search:
        """How the first neighbours of the items below a level are found."""
        return self.nodes if level else self.rows

    def table(self, shape: tuple[int, int], dtype: Any) -> Array:
        """An array for the centroids of a level, in memory or on disk."""
        in_memory = not self.centroids_on_disk or shape[0] <= all_pairs_rows() // 4
        return scratch_array(shape, dtype, in_memory=in_memory, folder=self.folder)
