"""What a neighbour search gives back: the neighbours, and an account of how they were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from .._arrays import Array


@dataclass(frozen=True)
class NeighborReport:
    """How first neighbours were found.

    `exact` says that the result is proved to be the brute-force one. If it is not, `proved` is the
    share of rows for which the bounds prove it all the same, and `recall` the share of `n_sampled`
    random rows whose neighbour is the true one by brute force, `target` what was asked for, and
    `n_probes` the number of cells that each row has looked into.

    The counters tell how much work the bounds left over: pairs bounded in a few columns, in all
    reduced columns, and verified by definition. They may differ by a little from run to run with
    several threads; the result does not.
    """

    method: str
    exact: bool
    n_rows: int
    n_distinct: int
    backend: str
    n_cells: int = 0
    n_reduced_columns: int = 0
    n_pairs_bounded: int = 0
    n_pairs_refined: int = 0
    n_pairs_verified: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    proved: float = 1.0
    recall: float = 1.0
    n_sampled: int = 0
    target: float = 1.0
    n_probes: int = 0

    def __str__(self) -> str:
        total = sum(self.seconds.values())
        told = f"{self.method} on {self.backend}: {self.n_rows} rows in {total:.2f} s"
        if self.method == "approximate":
            return (
                f"{told}; recall {self.recall:.3f} on {self.n_sampled} rows (target {self.target:g}), "
                f"{100 * self.proved:.1f}% proved, {self.n_probes} of {self.n_cells} cells visited per row"
            )
        if not self.n_pairs_bounded:
            return told
        each = self.n_pairs_verified / max(1, self.n_distinct)
        return f"{told}; {each:.1f} of {self.n_rows - 1} distances per row computed"


@dataclass(frozen=True, eq=False)
class FirstNeighbors:
    """Each row's nearest other row: `ids`, `distances` (in the metric), and the `report`."""

    ids: Array
    distances: Array
    report: NeighborReport


class Clock:
    """Seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = perf_counter()

    def stop(self, stage: str) -> dict[str, float]:
        """The time since the last stop went into this stage."""
        now = perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now
        return self.seconds
