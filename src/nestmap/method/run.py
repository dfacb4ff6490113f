"""What all stages of one fit are handed: the means to work with, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from typing import Any

from ..core.arrays import Array
from ..core.input.scratch import scratch_array
from ..core.progress import Progress
from .neighbors.choice import Search
from .neighbors.effort import all_pairs_rows


@dataclass(frozen=True)
class Decided:
    """What is decided once for a fit, before the work starts; without a plan, nothing is.

    Attributes
    ----------
    method : str
        How the neighbours of the rows are found: 'exact', 'approximate', 'brute force' or 'given';
        'auto': as the search itself decides.
    nodes : Search
        How those of the nodes are found: each upper level decides for its own, within the reduced
        columns and lists that memory allows the whole fit.
    exact_pairs : float
        Pairs of rows that an exact search would have to bound, by prediction; NaN where that was
        not asked.
    disk : int
        Bytes of temporary files (in work_dir, if there is one): centroids that memory has no room
        for.
    """

    method: str = "auto"
    nodes: Search = field(default_factory=Search)
    exact_pairs: float = nan
    disk: int = 0

    @property
    def n_parts(self) -> int:
        """Parts that the rows are searched in: an approximate search finds by them."""
        return 1

    @property
    def columns(self) -> int:
        """Reduced columns kept per row."""
        return self.nodes.columns

    @property
    def n_listed(self) -> int:
        """Rows that an approximate search may list per row."""
        return self.nodes.n_listed

    def search(self, level: int) -> Search:
        """How the first neighbours of the items below a level are found."""
        if level or self.nodes.method != "auto" or self.method not in ("exact", "approximate"):
            return self.nodes
        return replace(self.nodes, method=self.method, exact_pairs=self.exact_pairs)


def _silent() -> Progress:
    return Progress(0)


@dataclass(frozen=True, eq=False)
class Run:
    """The means of one fit, and its plan."""

    n_threads: int = 1
    progress: Progress = field(default_factory=_silent)
    plan: Decided = field(default_factory=Decided)
    folder: Path | None = None  # of temporary files; None: the system's

    def table(self, shape: tuple[int, int], dtype: Any) -> Array:
        """An array for the centroids of a level, in memory or on disk."""
        in_memory = not self.plan.disk or shape[0] <= all_pairs_rows() // 4
        return scratch_array(shape, dtype, in_memory=in_memory, folder=self.folder)
