"""What is special about a set of rows, the clusters that it is in, and rows of it to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.arrays import Array
from ....method.describe.contrast import column_traits
from ....method.describe.tables import Column
from ....method.describe.traits import Trait
from ..map_store import MapStore
from .bits import RowBits

if TYPE_CHECKING:
    from .queries import RowQueries

_MOST_COMPARED = 50_000  # rows of a set, and as many others, whose values are compared
_MOST_TRAITS = 8
_MOST_CLUSTERS = 20
_MOST_ROWS = 6  # typical rows, and as many odd ones


def summarize(queries: RowQueries, bits: RowBits, other: RowBits) -> dict[str, Any]:
    """As `Summary` of the page. Typical rows are those of the clusters that hold most of the set.

    Odd ones are rows of it in clusters that hold the fewest.
    """
    level = int(queries.store.meta["label_level"])
    starts = queries.files.starts(level, 0, queries.files.level_sizes[level]).astype(np.int64)
    counts = np.diff(bits.before(starts).astype(np.int64))
    inside = np.flatnonzero(counts)
    by_count = inside[np.lexsort((inside, -counts[inside]))]
    rare = inside[np.lexsort((inside, counts[inside] / np.diff(starts)[inside], counts[inside]))]
    typical = _typical(queries.store, bits, level, by_count, starts)
    odd = [row for row in _first_rows(bits, rare, starts) if row not in typical]
    return {
        "count": bits.count,
        "traits": [str(trait) for trait in _traits(queries, bits, other)],
        "clusters": [
            {"level": level, "index": index, "count": int(counts[index])}
            for index in by_count[:_MOST_CLUSTERS].tolist()
        ],
        "typical": typical,
        "odd": odd[:_MOST_ROWS],
    }


def _first_rows(bits: RowBits, nodes: Array, starts: Array) -> Iterator[int]:
    """A row of the set from each node."""
    for node in nodes[: 2 * _MOST_ROWS].tolist():
        yield int(bits.take(int(bits.before(starts[[node]])[0]), 1)[0])


def _typical(store: MapStore, bits: RowBits, level: int, nodes: Array, starts: Array) -> list[int]:
    """Rows of the set that are typical of their clusters, the largest of these first, in turns."""
    own = []
    for node in nodes[:_MOST_ROWS].tolist():
        rows = _within(bits, store.panel(level, node).get("typical", []))
        own.append(rows or [*_first_rows(bits, np.array([node]), starts)])
    turns = [rows[turn] for turn in range(_MOST_ROWS) for rows in own if turn < len(rows)]
    return turns[:_MOST_ROWS]


def _within(bits: RowBits, told: Sequence[Any]) -> list[int]:
    """Rows of a panel that are in a set."""
    places = [pair[0] for pair in told if isinstance(pair, list) and type(pair[0]) is int]
    known = np.array([place for place in places if 0 <= place < bits.n_rows], dtype=np.int64)
    return list(known[bits.has(known)].tolist())


@dataclass(frozen=True, eq=False)
class _Compared:
    """Rows of a set and others, by their places, some of each where they are very many."""

    inside: Array
    others: Array
    n_inside: int  # in all
    n_others: int

    @classmethod
    def of(cls, bits: RowBits, other: RowBits) -> _Compared:
        return cls(_some(bits), _some(other), bits.count, other.count)

    @property
    def every(self) -> Array:
        """Some of all rows: of each kind as many as there are, in proportion."""
        share = self.n_inside / (self.n_inside + self.n_others)
        n_first = min(len(self.inside), round(_MOST_COMPARED * share))
        n_last = min(len(self.others), round(_MOST_COMPARED * (1 - share)))
        first = np.linspace(0, len(self.inside) - 1, n_first)
        last = np.linspace(0, len(self.others) - 1, n_last) + len(self.inside)
        return np.concatenate([first, last]).astype(np.intp)


def _some(bits: RowBits) -> Array:
    """Up to 50,000 rows of a set, evenly over its places."""
    if bits.count <= _MOST_COMPARED:
        return bits.take(0, bits.count)
    numbers = np.linspace(0, bits.count - 1, _MOST_COMPARED).astype(np.int64)
    return _rows_at(bits, numbers)


def _rows_at(bits: RowBits, numbers: Array) -> Array:
    """The rows of a set with some numbers of it, sorted."""
    words = np.searchsorted(bits.ranks, numbers, side="right") - 1
    packed = bits.words[words].astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    ones = np.cumsum(np.unpackbits(packed, axis=1, bitorder="little"), axis=1, dtype=np.uint8)
    wanted = (numbers - bits.ranks[words] + 1)[:, None]
    found = 64 * words + np.argmax(ones == wanted, axis=1)
    return np.asarray(found, dtype=np.uint32)


def _traits(queries: RowQueries, bits: RowBits, other: RowBits) -> list[Trait]:
    """What more rows of the set have than others, as for clusters."""
    compared = _Compared.of(bits, other)
    if not len(compared.inside) or not len(compared.others):
        return []
    places = np.concatenate([compared.inside, compared.others])
    labels = np.repeat([0, 1], [len(compared.inside), len(compared.others)])
    found: list[Trait] = []
    for record in queries.columns:
        column = as_column(record, queries.values(record["key"], places))
        own = [trait for trait in column_traits(column, labels, 2)[0] if trait.sure]
        found += [_weighted(trait, column, compared) for trait in own]
    return sorted(found, key=lambda trait: -trait.score)[:_MOST_TRAITS]


def _weighted(trait: Trait, column: Column, compared: _Compared) -> Trait:
    """With shares of a set and of others, which were compared in some rows each, in all rows."""
    n = compared.n_inside + compared.n_others
    is_some = len(compared.inside) + len(compared.others) < n
    count = round(trait.share * compared.n_inside) if is_some else trait.count
    if not is_some:
        return trait
    if trait.kind == "number":
        overall = float(np.nanmedian(column.values[compared.every]))
    else:
        overall = (trait.share * compared.n_inside + trait.others * compared.n_others) / n
    return replace(trait, overall=overall, count=count)


def as_column(record: dict[str, Any], values: Array) -> Column:
    """Values of a stored column as descriptions take them."""
    if record["kind"] == "number":
        return Column(record["name"], values.astype(np.float64), is_time=bool(record["time"]))
    codes = values.astype(np.int64)
    codes[values == 255] = -1
    names = np.array(record["categories"], dtype=str)
    return Column(record["name"], codes, names, silent=str(record.get("silent", "")))
