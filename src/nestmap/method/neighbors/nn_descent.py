"""NN-descent on lists of promising rows: visits to near cells, then rounds of local joins.

The kernels are cpp/probe.cpp (visits) and cpp/graph.cpp (rounds).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.native import core
from ...core.progress import Share, part_of
from .effort import TABLE, longer_list
from .prepared import GraphJob, NeighborLists, PreparedRows
from .report import Clock
from .sampled import MeasuredRecall, SampledRows

# of the progress of a search: the ends of its stages
_NEAR_CELLS_END = 0.2
_VISITS_END = 0.35
_ROUNDS_END = 0.95


class CheaperExact(Exception):
    """Longer lists would cost more than all pairs."""


class NNDescent:
    """Lists of neighbours, improved until sampled rows say that the target is reached."""

    def __init__(self, rows: PreparedRows, job: GraphJob, clock: Clock) -> None:
        self.rows = rows
        self.job = job
        self.clock = clock
        self.lists = NeighborLists.empty(rows.n, rows.effort.listed)
        self.n_pairs = 0
        self.n_rounds = 0
        self._visit()
        self.sampled = SampledRows.choose(rows, self.lists, job.k, job.target, rows.effort.sampled)

    def recall(self) -> MeasuredRecall:
        """By the sampled rows that had no say in the search."""
        return self.sampled.measured(self.lists, steered=self.n_rounds > 0)

    def reach_target(self) -> None:
        """Rounds until the target is reached, or as near as rounds come to it."""
        target = self.job.target
        recall = self._steering_recall()
        graph = self._graph()
        is_filled = True
        # so high a target that the sample may miss none: until rounds bring nothing
        is_unsure = (1 - target) * self.sampled.n_steering < 1
        while recall < target or (is_unsure and self._share_new(graph) > TABLE.least_gain):
            self._improve(graph)
            before = recall
            recall = self._steering_recall()
            gain = recall - before
            if recall >= target or not is_filled or self._share_new(graph) > TABLE.settled:
                is_filled = True  # the first round after lists were made longer fills them
                continue
            if recall + gain < target and self.lists.length < self.rows.effort.longest:
                del graph  # before a larger one takes its place
                self._lengthen(recall + gain)
                graph = self._graph()
                is_filled = False
            elif gain < min(TABLE.least_gain, (1 - target) / 2):
                break

    def rank(self, share: Share | None) -> tuple[Array, Array]:
        """Distances and numbers of the k nearest listed rows of all rows, by definition."""
        return self.rows.rank(self.lists, self.job.k, share=share)

    def _visit(self) -> None:
        """Lists from the row's own cell and those nearest to it."""
        cells = self.rows.cells
        n_threads = self.rows.n_threads
        n_cells = len(self.rows.partition.starts) - 1
        near = np.empty((n_cells, min(TABLE.near_cells, n_cells)), dtype=np.int32)
        share = part_of(self.job.progress, 0.15, _NEAR_CELLS_END)
        core().near_cells(cells, near, n_threads, share)
        self.clock.stop("near cells")
        last = min(self.rows.effort.probes, near.shape[1])
        share = part_of(self.job.progress, _NEAR_CELLS_END, _VISITS_END)
        ids = self.lists.ids
        estimates = self.lists.estimates
        self.n_pairs += core().probe(cells, near, 0, last, ids, estimates, n_threads, share)
        self.clock.stop("visits")

    def _steering_recall(self) -> float:
        recall = self.sampled.steering_recall(self.lists)
        self.clock.stop("sample")
        return recall

    def _graph(self) -> Any:
        candidates = min(self.rows.effort.candidates, self.lists.length)
        return core().Graph(self.rows.cells, self.lists.ids, self.lists.estimates, candidates)

    def _share_new(self, graph: Any) -> float:
        """Share of the entries that no round has joined."""
        return float(graph.n_new() / self.lists.ids.size)

    def _improve(self, graph: Any) -> None:
        """One round. How many it will take is not known: each has half of what is left."""
        left = (_ROUNDS_END - _VISITS_END) * 0.5**self.n_rounds
        share = part_of(self.job.progress, _ROUNDS_END - left, _ROUNDS_END - left / 2)
        self.n_pairs += graph.improve(self.rows.n_threads, share)
        self.n_rounds += 1
        self.clock.stop("descent")

    def _lengthen(self, recall: float) -> None:
        """Make room for more entries per row, if rounds on such lists cost less than all pairs."""
        target = self.job.target
        longer = longer_list(self.lists.length, recall, target)
        length = min(longer, self.rows.effort.longest)
        if self.rows.n * TABLE.list_cost * length**2 > self.job.exact_pairs():
            raise CheaperExact(f"target_recall={target:g} would have taken longer than all pairs")
        # first one, then the other: not all four at a time
        ids = self.lists.ids
        estimates = self.lists.estimates
        self.lists = NeighborLists.empty(0, length)
        ids = _wider(ids, length, -1)
        self.lists = NeighborLists(ids, _wider(estimates, length, np.inf))


def _wider(values: Array, width: int, filling: float) -> Array:
    """The same with more columns."""
    out = np.full((len(values), width), filling, dtype=values.dtype)
    out[:, : values.shape[1]] = values
    return out
