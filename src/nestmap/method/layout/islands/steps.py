"""Items of one level moved by the forces: from a first start, from near, with or without leaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ....core.arrays import Array
from ....core.progress import Progress, Share, part_of
from .forces import EVENLY
from .graph import Attraction, part_clusters, smooth
from .items import Items
from .leaps import Leaps
from .optimise import Homes, optimise
from .schedule import SCHEDULE, Phase, count_steps, cut, first_phases, settling_phase


def find_places(
    items: Items,
    begin: Array,
    clusters: Array | None,
    then: tuple[Phase, ...],
    n_threads: int,
    progress: Progress,
) -> Array:
    """Places of items that no level above has placed, from preliminary coordinates; float64.

    `clusters` of the items: their links with others are weaker at first, so that each comes to lie
    in one piece; `then`: phases that follow the first ones.
    """
    n = len(begin)
    order = items.order
    if n < 3 or items.attraction is None:
        return spread_out(begin, n)
    parted = items.attraction
    if clusters is not None:
        parted = part_clusters(parted, clusters[order])
    clumps = spread_out(smooth(parted, begin[order]), n)
    near = snap(SCHEDULE.start_extent * clumps) + jitter(np.arange(n))
    first = first_phases()
    settled = (settling_phase(), *then)
    share = count_steps(first) / count_steps((*first, *settled))
    told = part_of(progress.share, 0, share)
    found = optimise(near, items.masses, parted, first, n_threads, told)
    told = part_of(progress.share, share, 1)
    found = optimise(found, items.masses, items.attraction, settled, n_threads, told)
    return in_item_order(found - found.mean(axis=0, dtype=np.float64), items)


def improve(
    items: Items,
    positions: Array,
    phases: tuple[Phase, ...],
    n_threads: int,
    progress: Progress,
    rescale: bool = True,
    leap: bool = False,
) -> Array:
    """Positions of one level after gradient descent on its neighbour graph; float64.

    `leap`: items may leap in the first phase.
    """
    n = len(positions)
    if n < 3 or items.attraction is None:
        return spread_out(positions, n)
    begin = snap(spread_out(positions, n) if rescale else positions) + jitter(items.rank)
    go = optimise_leaping if leap else optimise
    found = go(
        begin[items.order], items.masses, items.attraction, phases, n_threads, progress.share
    )
    return in_item_order(found - found.mean(axis=0, dtype=np.float64), items)


def in_item_order(by_rank: Array, items: Items) -> Array:
    """Positions by rank as those of the items; float64."""
    return np.asarray(by_rank, dtype=np.float64)[items.rank]


def optimise_leaping(
    positions: Array,
    masses: Array,
    attraction: Attraction,
    phases: tuple[Phase, ...],
    n_threads: int,
    share: Share | None,
) -> Array:
    """As `optimise`; before the first phase, in the middle of it and after it, nodes leap."""
    leaps = Leaps.of(attraction, jitter(np.arange(len(positions))), n_threads)

    def begin(number: int, here: Array) -> PartStart:
        return PartStart(leaps.leap(here).positions)

    close = phases[0].n_steps
    parts = cut(phases, (close // 2, close, count_steps(phases)))
    return optimise_parts(positions, masses, attraction, parts, begin, n_threads, share)


@dataclass(frozen=True, eq=False)
class PartStart:
    """What a part of the steps begins with."""

    positions: Array
    homes: Homes | None = None


def optimise_parts(
    positions: Array,
    masses: Array,
    attraction: Attraction,
    parts: list[tuple[Phase, ...]],
    begin: Callable[[int, Array], PartStart],
    n_threads: int,
    share: Share | None,
) -> Array:
    """As `optimise`; `begin` gives what each part of the steps starts from."""
    total = sum(count_steps(part) for part in parts)
    done = 0.0
    for number, part in enumerate(parts):
        start = begin(number, positions)
        end = done + count_steps(part) / total
        told = part_of(share, done, end)
        done = end
        positions = optimise(
            start.positions, masses, attraction, part, n_threads, told, start.homes
        )
    return positions


def spread_out(positions: Array, n: int) -> Array:
    """Centred, and as wide as t-SNE's equilibrium for n nodes would be."""
    centred = positions - positions.mean(axis=0)
    size = float(np.sqrt((centred**2).mean()))
    per_root = SCHEDULE.equilibrium / sqrt(70_000)
    return np.asarray(centred * (per_root * sqrt(n) / size) if size > 0 else centred)


def snap(positions: Array) -> Array:
    """Rounded: what differs in the last bits begins at the same place."""
    return np.asarray(np.round(positions / SCHEDULE.snap) * SCHEDULE.snap)


def jitter(rank: Array) -> Array:
    """A small offset for each rank, (n, 2): points that cover a square evenly."""
    return np.asarray(SCHEDULE.jitter * (rank[:, None] * EVENLY % 1 - 0.5))
