"""The schedule of the islands: how many steps with how much attraction, from which start.

`SCHEDULE` holds all numbers of it; the functions make phases of them. Sources: the published
evidence of docs (Fashion-MNIST, word vectors, MNIST), where nothing else is said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ....core.exact import log
from ....core.numbers import chosen
from ...neighbors.item_graph import FEW_ROWS


@dataclass(frozen=True)
class Phase:
    """A number of steps with attraction times `exaggeration`."""

    n_steps: int
    exaggeration: float = 1.0
    rate: float = 2.0  # length of a step where the forces are of size 1


@dataclass(frozen=True)
class Schedule:
    """The numbers of the schedule, each with its unit, what it counts, and where it comes from."""

    first_nodes: int = chosen(
        20_000,
        "nodes",
        "of the level that decides the large picture, at most",
        "the leaves of up to 100,000 rows",
    )
    smoothing_rounds: int = chosen(
        40, "rounds", "in which nodes are drawn to their neighbours", "clusters are clumps then"
    )
    smoothing_kept: float = chosen(
        0.2, "share", "of its own place that a node keeps in a round", "neighbours decide the rest"
    )
    between: float = chosen(
        0.7,
        "times",
        "the attraction between clusters in the first phases",
        "with .5 maps change more with a few rows less",
    )
    start_extent: float = chosen(
        0.2, "share of the final extent", "of the first level", "clumps that overlap part early"
    )
    ball: float = chosen(
        0.45, "of the distance to the nearest node", "radius in which children start", "< 1/2"
    )
    first_attraction: tuple[float, ...] = chosen(
        (6.0, 4.0, 2.0), "times t-SNE's", "attraction in the first phases", "falls to 1"
    )
    first_steps: tuple[int, ...] = chosen(
        (60, 50, 50), "steps", "of the first phases", "Fashion-MNIST: more change little"
    )
    settle_steps: int = chosen(50, "steps", "at t-SNE's attraction after them", "as node_steps")
    node_steps: int = chosen(50, "steps", "of the nodes of a finer level", "they start near")
    few_row_steps: int = chosen(
        150, "steps", "of up to 20,000 rows, after the first phases", "until they lie still"
    )
    row_steps: int = chosen(100, "steps", "of more rows", "they start near")
    slow_rate: float = chosen(
        1.0, "rate", "of the later first phases", "large steps would undo the clumps"
    )
    fast_rate: float = chosen(
        4.0, "rate", "of many rows, but for the last third of their steps", "few steps have to do"
    )
    closer: float = chosen(
        2.0, "times", "the attraction in the first third of these", "rows cross borders early"
    )
    closer_leaping: float = chosen(
        1.5, "times", "the same for rows that leap", "there is less to draw together"
    )
    loose: float = chosen(0.9, "times", "the attraction in their second third", "as `looser`")
    looser: float = chosen(
        0.8, "times", "the attraction in the last steps", "room between rows of different clusters"
    )
    tight_rows: int = chosen(
        2000, "rows", "up to which the last steps keep the attraction", "they fill the map anyway"
    )
    loose_rows: int = chosen(
        8000, "rows", "from which on it is `looser`; in between, by the logarithm", "the same"
    )
    worth: float = chosen(
        2.0,
        "times",
        "the nodes of the level optimised last: with fewer a level is passed over",
        "its places follow from those",
    )
    equilibrium: float = chosen(
        45.0, "standard deviation", "of t-SNE's own map of 70,000 rows", "measured on MNIST"
    )
    snap: float = chosen(
        1 / 32,
        "t-SNE's unit",
        "to which starts are rounded",
        "rounding errors depend on the order of the rows",
    )
    jitter: float = chosen(
        0.01, "t-SNE's unit", "by which nodes on one spot are parted", "the map is about 100 wide"
    )
    leap_gain: float = chosen(
        1.2,
        "times",
        "the attraction at its place, for which a node leaps",
        "with 1.5 more new rows stay at wrong places",
    )


SCHEDULE = Schedule()


def first_phases() -> tuple[Phase, ...]:
    """Of items that no level above has placed: large steps at first, until clumps have parted."""
    begin, *later = zip(SCHEDULE.first_steps, SCHEDULE.first_attraction, strict=True)
    return (Phase(*begin), *(Phase(*each, rate=SCHEDULE.slow_rate) for each in later))


def settling_phase() -> Phase:
    """What follows the first phases."""
    return Phase(SCHEDULE.settle_steps, rate=SCHEDULE.slow_rate)


def node_phases(k: int, tightness: float) -> tuple[Phase, ...]:
    """Steps of level k; leaves, which no rows will refine then, are given room as rows are."""
    return (Phase(SCHEDULE.node_steps, tightness if k else SCHEDULE.looser * tightness),)


def row_phases(n: int, tightness: float, leap: bool = False) -> tuple[Phase, ...]:
    """Steps for n rows. `leap`: rows leap in the first ones."""
    if n <= FEW_ROWS:
        decades = log(SCHEDULE.loose_rows / SCHEDULE.tight_rows)
        between = log(n / SCHEDULE.tight_rows) / decades
        last = float(np.interp(between, [0, 1], [1.0, SCHEDULE.looser]))
        return (Phase(SCHEDULE.few_row_steps, last * tightness),)
    steps = SCHEDULE.row_steps
    third = steps // 3
    fast = SCHEDULE.fast_rate
    close = Phase(third, SCHEDULE.closer, fast)
    if leap:
        close = Phase(steps // 6, SCHEDULE.closer_leaping, fast)
    loose = Phase(steps - third - close.n_steps, SCHEDULE.loose, fast)
    phases = (close, loose, Phase(third, SCHEDULE.looser))
    return tuple(replace(phase, exaggeration=tightness * phase.exaggeration) for phase in phases)


def count_steps(phases: tuple[Phase, ...]) -> int:
    """All steps of some phases."""
    return sum(phase.n_steps for phase in phases)


def cut(phases: tuple[Phase, ...], ends: tuple[int, ...]) -> list[tuple[Phase, ...]]:
    """The same steps in parts that end after so many steps."""
    parts = []
    for begin, end in pairwise((0, *ends)):
        part = []
        at = 0
        for phase in phases:
            n_steps = min(end, at + phase.n_steps) - max(begin, at)
            at += phase.n_steps
            if n_steps > 0:
                part.append(replace(phase, n_steps=n_steps))
        parts.append(tuple(part))
    return parts
