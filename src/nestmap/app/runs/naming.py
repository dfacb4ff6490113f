"""Names of the clusters of a run: what they are made from, and the file that keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...core.arrays import Array
from ...method.describe import Facts, LevelDescription
from ...method.describe.tables import named_columns
from ...method.describe.traits import WordCounts
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.naming import describe_levels
from ...model.files.container import read_container, write_container
from ...model.files.values import Reader, Writer
from ..readers.table import Table
from .record import VERSION

_LOOKED_AT = 1000  # names of rows
NAMES_FORMAT = "nestmap-names"
FILE = "names.nestmap"
MOST_CLUSTERS = 2000  # of a level that gets names
# of the mapped numbers that names may tell of
_MOST_COLUMNS = 32
_MOST_VALUES = 50_000_000


def describe_run(hierarchy: Hierarchy, table: Table) -> dict[int, LevelDescription]:
    """Clusters of levels that have at most 2,000; none where nothing is known of rows."""
    facts = facts_of(table)
    levels = [k for k, n in enumerate(hierarchy.level_sizes) if n <= MOST_CLUSTERS]
    return describe_levels(hierarchy, levels, facts) if facts else {}


def facts_of(table: Table) -> Facts:
    """What a table says of its rows: texts, metadata, names, and few named columns of numbers."""
    others = {name: values for name, values in table.metadata.items() if name != table.text}
    names = None if table.names is None or _are_codes(table.names) else table.names
    label = table.label if table.label in others else None
    facts = Facts.of(table.n_rows, metadata=others or None, names=names, label=label)
    if table.text:
        with suppress(ValueError):  # texts of nothing but stop words and numbers
            facts = replace(facts, words=WordCounts.of(table.metadata[table.text].tolist()))
    X = table.X
    is_small = isinstance(X, np.ndarray) and X.shape[1] <= _MOST_COLUMNS and X.size <= _MOST_VALUES
    if table.columns is None or not is_small:
        return facts
    numbers = named_columns(X, table.columns, table.n_rows)
    unlike = (column for column in numbers if column.name not in others)
    return replace(facts, columns=(*facts.columns, *unlike))


def _are_codes(names: Array) -> bool:
    """Whether most names of rows hold digits, as barcodes do: they describe no cluster."""
    some = names[:: -(-len(names) // _LOOKED_AT)]
    return sum(any(letter.isdigit() for letter in str(name)) for name in some) > len(some) / 2


def write_names(
    path: Path, names: Mapping[int, Sequence[str]], whys: Mapping[int, Sequence[str]]
) -> None:
    """Keep the names of some levels in a file, and why they are so."""
    writer = Writer()
    for level, each in names.items():
        writer.put_texts(f"level{level}", each)
    for level, each in whys.items():
        writer.put_texts(f"why{level}", each)
    document = {"levels": [*names], "whys": [*whys], "arrays": writer.names}
    write_container(path, NAMES_FORMAT, VERSION, document, writer.arrays)


def read_names(path: Path, sizes: Sequence[int]) -> dict[int, list[str]]:
    """The names that are kept, by level; `sizes`: clusters of each level."""
    reader = Reader(read_container(path, NAMES_FORMAT, VERSION))
    known = reader.get(reader.document, "levels", list)
    return {
        k: reader.take_texts(f"level{k}", sizes[k], whole=True)
        for k in range(len(sizes))
        if k in known
    }


def read_whys(path: Path, sizes: Sequence[int]) -> dict[int, list[str]]:
    """Why the names that are kept are so, by level; none in runs of older versions."""
    reader = Reader(read_container(path, NAMES_FORMAT, VERSION))
    known = reader.document.get("whys")
    return {
        k: reader.take_texts(f"why{k}", sizes[k], whole=True)
        for k in range(len(sizes))
        if isinstance(known, list) and k in known
    }
