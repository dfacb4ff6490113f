"""How much work a search of neighbours does: one table of numbers, one function that reads it.

`TABLE` is printed in docs/explain/search.md (a test compares them). Whatever a
search needs to know beforehand (columns, cells, probes, lists, candidates, sampled rows) is decided
by `decide_effort`; when rounds stop, and how long lists become then, by the numbers of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from ...core.numbers import chosen
from ...core.points.reduce import MOST_COLUMNS

LANES = 8  # lengths of lists are multiples of it: of a vector of float32 (AVX2)
PADDED = 2 * LANES  # short rows are padded to a multiple of it: a cache line of float32


@dataclass(frozen=True)
class SearchNumbers:
    """The numbers of a search, each with its unit, what it counts, and where it comes from."""

    exact_pairs: int = chosen(
        30_000_000_000,
        "pairs of rows",
        'bounded by an exact search, at most, where `neighbors="auto"`',
        "half a minute on two cores with AVX2",
    )
    sure_rows: int = chosen(
        20_000,
        "rows",
        "up to which a search is exact unasked; sampled to predict the cost of 244,949 and more",
        "the exact join is the faster one",
    )
    trial_rows: int = chosen(
        1000,
        "rows",
        "sampled to predict the cost of an exact search of up to 244,948",
        "too high, but not for what it decides, and a seventh of the time of 20,000",
    )
    verify_cost: float = chosen(
        0.4, "pairs per column", "cost of a distance by definition", "measured, AVX2"
    )
    product_cost: float = chosen(
        0.03, "pairs per column", "cost of a pair in a matrix product", "measured, AVX2"
    )
    columns: int = chosen(
        MOST_COLUMNS,
        "columns",
        "of a short row, at most: exact searches, flat spectra",
        "memory: 1.2 kB",
    )
    usual_columns: int = chosen(
        112, "columns", "the same for spectra that are not flat", "more cost more than they find"
    )
    short_values: int = chosen(
        1_024_000_000,
        "values",
        "in all short rows of an approximate search, at most",
        "memory: 4.6 GB; it limits the columns from 4 million rows on",
    )
    leading: int = chosen(
        24,
        "columns",
        "whose share of the variance tells a flat spectrum; of k-means, at least",
        "enough for images",
    )
    flat_share: float = chosen(
        0.6,
        "share of the variance",
        "in the leading columns: below, a spectrum is flat",
        "Fashion-MNIST 0.80, GloVe word vectors 0.42",
    )
    cell_share: float = chosen(
        0.8,
        "share of the variance",
        "of short rows, in the columns of k-means",
        "of embeddings 24 columns tell only the largest groups apart",
    )
    cell_rows: int = chosen(64, "rows", "per cell of an approximate search", "panels stay full")
    most_cells: int = chosen(65_536, "cells", "at most", "each is compared with each other")
    near_cells: int = chosen(
        64,
        "cells",
        "nearest to its own, among which a row chooses; columns it chooses by",
        "those that are probed are among them",
    )
    probes: int = chosen(
        10, "cells", "that each row visits", "with 8, lists of 15 images need a round more"
    )
    spare: int = chosen(
        15,
        "rows",
        "listed beyond k at first; 8 more for a flat spectrum and k = 1",
        "estimates do not rank for sure; longer lists make each round compare more rows",
    )
    longest_list: int = chosen(64, "rows", "per list, at most", "bits of a mask (cpp/graph.hpp)")
    list_entries: int = chosen(
        128_000_000, "entries", "of all lists, at most", "memory: 12 bytes each, 1.5 GB"
    )
    candidates: int = chosen(
        24,
        "rows",
        "in a local join, for k = 1: as many new, old, new reverse and old reverse neighbours",
        "with 16, word vectors need a round more at .9 and end lower at .99",
    )
    candidates_lists: int = chosen(
        16, "rows", "the same for k > 1", "lists are long there; more make rounds slow"
    )
    miss_power: float = chosen(
        1.4,
        "power",
        "rounds miss in proportion to 1 / length to this power",
        "word vectors, embeddings: lists of 8 to 64",
    )
    settled: float = chosen(
        0.25,
        "share of entries",
        "that are new: below, a round brings half as much as the last",
        "images, word vectors",
    )
    least_gain: float = chosen(
        0.005,
        "recall",
        "gained by a round: with less it is the last; so near to 1, a target is hard to reach",
        "below what is noticed",
    )
    list_cost: float = chosen(
        16, "pairs", "per row and squared length of a list: cost of all rounds", "measured, AVX2"
    )
    sampled: int = chosen(
        1000, "rows", "compared with all, for k = 1", "standard error of .013 at a recall of .9"
    )
    sampled_lists: int = chosen(
        256, "rows", "the same for k > 1, and the least", "each has k neighbours"
    )


TABLE = SearchNumbers()


@dataclass(frozen=True)
class Allowance:
    """What memory allows a search: reduced columns per row and rows per list, at most."""

    columns: int = TABLE.columns
    listed: int = TABLE.longest_list


@dataclass(frozen=True)
class Effort:
    """What one approximate search does."""

    columns: int  # of a short row
    probes: int  # cells that each row visits
    listed: int  # rows per list at first
    longest: int  # rows per list at most
    candidates: int  # new ones, and as many old ones, of a local join
    sampled: int  # rows that are compared with all


def decide_effort(
    n: int,
    *,
    k: int = 1,
    is_flat: bool = False,
    allowance: Allowance | None = None,
) -> Effort:
    """The work of an approximate search for the k nearest of n rows.

    `is_flat`: whether the leading directions of the rows hold little of their variance.
    """
    allowance = allowance or Allowance()
    columns = min(allowance.columns, most_columns(n, is_flat=is_flat))
    longest = min(longest_list(n), allowance.listed)
    listed = round_up(k + TABLE.spare, LANES)
    if k > 1:
        # these need a list of k, whatever memory allows
        listed = min(TABLE.longest_list, listed)
        candidates = TABLE.candidates_lists
        return Effort(columns, TABLE.probes, listed, longest, candidates, TABLE.sampled_lists)
    listed = min(longest, listed + LANES * is_flat)
    return Effort(columns, TABLE.probes, listed, longest, TABLE.candidates, TABLE.sampled)


def most_columns(n: int, *, is_flat: bool) -> int:
    """Reduced columns of n rows at most in an approximate search."""
    affordable = max(PADDED, TABLE.short_values // n // PADDED * PADDED)
    return min(affordable, TABLE.columns if is_flat else TABLE.usual_columns)


def exact_columns(n: int) -> int:
    """Reduced columns of n rows at most, where their spectrum plays no part (exact searches)."""
    return TABLE.columns if n <= all_pairs_rows() else TABLE.usual_columns


def all_pairs_rows() -> int:
    """Rows all of whose pairs an exact search may bound: 244,948."""
    return isqrt(2 * TABLE.exact_pairs)


def list_lengths() -> tuple[int, ...]:
    """Lengths of lists that plans choose from: the longest, and halves down to a vector."""
    halves = range((TABLE.longest_list // LANES).bit_length())
    return tuple(max(LANES, TABLE.longest_list >> half) for half in halves)


def longest_list(n: int) -> int:
    """Rows per list at most: lists of very many rows take long and much memory."""
    lengths = list_lengths()
    return next((each for each in lengths if n * each <= TABLE.list_entries), lengths[-1])


def longer_list(length: int, recall: float, target: float) -> int:
    """The length of lists that should reach a target, by the recall of rounds on shorter ones."""
    times = ((1 - recall) / max(1 - target, 1e-9)) ** (1 / TABLE.miss_power)
    return round_up(int(min(length * times, TABLE.longest_list - 1)) + 1, 2 * LANES)


def list_bytes(length: int) -> int:
    """Memory per row of lists and of the descent on them (cpp/graph.hpp)."""
    return 56 + 12 * length + min(length, TABLE.candidates)


def cell_size(n: int) -> int:
    """Rows of a cell of the approximate search."""
    return max(TABLE.cell_rows, -(-n // TABLE.most_cells))


def round_up(n: int, unit: int) -> int:
    """The next multiple of a unit."""
    return -(-n // unit) * unit
