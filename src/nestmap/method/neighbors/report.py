"""What a neighbour search gives back: the neighbours, and an account of how they were found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter

from ...core.arrays import Array

_FEW_DISTINCT = 0.9  # of the rows: below, it is told that many repeat others


@dataclass(frozen=True)
class NeighborReport:
    """How first neighbours were found.

    `exact` says that the result is proved to be the brute-force one. If it is not, `recall` is the
    share of true neighbours, by brute force, that was found for `n_sampled` random rows, which had
    no say in the search; `target` is what was asked for, `n_rounds` the number of rounds of descent
    on the graph of neighbours, and `n_listed` the length of its lists. Nothing is known of
    neighbours that were given: recall and target are NaN. `note` tells what was done differently
    from what was asked for. `n_distinct` is how many rows differ from each other.

    The counters tell how much work the bounds left over: pairs bounded in a few columns, in all
    reduced columns, and verified by definition; `n_pairs_multiplied` pairs met in matrix products,
    where bounds were of no use. They may differ by a little from run to run with several threads;
    the result does not. `n_pairs_predicted` is how many pairs the exact search was predicted to
    bound, where method="auto" had to ask; it was chosen up to 30 billion.
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
    n_pairs_multiplied: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    recall: float = 1.0
    n_sampled: int = 0
    target: float = 1.0
    n_rounds: int = 0
    n_listed: int = 0
    n_pairs_predicted: float = float("nan")
    note: str = ""

    @property
    def repeats(self) -> str:
        """A sentence, where many rows repeat others; '' where few or none do."""
        if self.n_distinct >= _FEW_DISTINCT * self.n_rows:
            return ""
        return f"{self.n_rows:,} rows, {self.n_distinct:,} distinct: the others repeat one of these"

    def __str__(self) -> str:
        rows = f"{self.n_rows} rows" + (f" ({self.n_distinct} distinct)" if self.repeats else "")
        text = f"{self.method} on {self.backend}: {rows} in {sum(self.seconds.values()):.2f} s"
        if self.method == "given":
            text = f"given: {rows}"
        elif self.method == "approximate":
            text += (
                f"; recall {self.recall:.3f} on {self.n_sampled} rows (target {self.target:g}), "
                f"{self.n_rounds} rounds on lists of {self.n_listed}"
            )
        elif self.n_pairs_bounded:
            each = self.n_pairs_verified / max(1, self.n_distinct)
            text += f"; {each:.1f} of {self.n_rows - 1} distances per row computed"
        return f"{text}; {self.note}" if self.note else text


@dataclass(frozen=True, eq=False)
class FirstNeighbors:
    """Each row's nearest other row: `ids`, `distances` (in the metric), and the `report`."""

    ids: Array
    distances: Array
    report: NeighborReport

    def scaled(self, factor: float) -> FirstNeighbors:
        """The same neighbours with distances in other units."""
        return self if factor == 1 else replace(self, distances=self.distances * factor)


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
