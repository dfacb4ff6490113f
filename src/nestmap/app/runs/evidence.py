"""What is known of the clusters of a run, kept so that a namer can be asked at any time.

Of levels that a namer is asked about: traits in words, and which rows are typical. Texts and names
of these rows are in the run already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...core.arrays import Array
from ...method.describe import ClusterToName, LevelDescription, LevelToName
from ...method.describe.questions import MAX_TEXTS, questions_of, shorten_each
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.typical import find_typical
from ...model.files.container import read_container, write_container
from ...model.files.values import Part, Reader, Writer
from .record import VERSION

FILE = "evidence.nestmap"
EVIDENCE_FORMAT = "nestmap-evidence"
MAX_ROW_NAMES = 5  # typical rows whose names a namer is told


@dataclass(frozen=True, eq=False)
class LevelEvidence:
    """Of each cluster of a level: traits, the same in a word each, typical rows (-1: none)."""

    evidence: tuple[tuple[str, ...], ...]
    hints: tuple[tuple[str, ...], ...]
    typical: Array


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a namer can be told of the clusters of a run.

    Attributes
    ----------
    levels : dict of int to LevelEvidence
    columns : tuple of str
        That traits tell of.
    has_names : bool
        Whether names of rows say something.
    """

    levels: dict[int, LevelEvidence]
    columns: tuple[str, ...]
    has_names: bool


def gather_evidence(
    hierarchy: Hierarchy,
    told: Mapping[int, LevelDescription],
    levels: Sequence[int],
    *,
    has_texts: bool,
) -> Evidence:
    """From the descriptions of the clusters; of levels that are described.

    Typical rows are looked for where there is something to say of them: texts, or names.
    """
    found = {}
    has_names = any(each.typical_names for own in told.values() for each in own)
    columns: dict[str, None] = {}
    for level in levels:
        if level not in told:
            continue
        asked = questions_of(told[level], None).clusters
        typical = np.full((len(asked), MAX_TEXTS), -1, dtype=np.int64)
        if has_texts or has_names:
            for cluster, own in enumerate(find_typical(hierarchy, level, None, MAX_TEXTS)):
                typical[cluster, : len(own)] = own
        found[level] = LevelEvidence(
            tuple(each.evidence for each in asked), tuple(each.hints for each in asked), typical
        )
        columns |= {trait.column: None for each in told[level] for trait in each.traits}
    return Evidence(found, tuple(name for name in columns if name), has_names)


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Keep it in a file."""
    writer = Writer()
    for level, own in evidence.levels.items():
        writer.put_texts(f"evidence{level}", ["\n".join(each) for each in own.evidence])
        writer.put_texts(f"hints{level}", ["\n".join(each) for each in own.hints])
        writer.put(f"typical{level}", own.typical)
    writer.put_texts("columns", evidence.columns)
    document = {
        "levels": [*evidence.levels],
        "has_names": evidence.has_names,
        "arrays": writer.names,
    }
    write_container(path, EVIDENCE_FORMAT, VERSION, document, writer.arrays)


def read_evidence(path: Path, sizes: Sequence[int], n_rows: int) -> Evidence:
    """What was kept of it; `sizes`: clusters of each level."""
    reader = Reader(read_container(path, EVIDENCE_FORMAT, VERSION))
    known = reader.get(reader.document, "levels", list)
    levels = {k: _read_level(reader, k, n, n_rows) for k, n in enumerate(sizes) if k in known}
    has_names = reader.get(reader.document, "has_names", bool)
    return Evidence(levels, tuple(reader.take_texts("columns", whole=True)), has_names)


def _read_level(reader: Reader, level: int, n: int, n_rows: int) -> LevelEvidence:
    part = Part(("i8",), low=-1, high=n_rows - 1)
    return LevelEvidence(
        tuple(_lines(text) for text in reader.take_texts(f"evidence{level}", n, whole=True)),
        tuple(_lines(text) for text in reader.take_texts(f"hints{level}", n, whole=True)),
        reader.take_numbers(f"typical{level}", part, (n, MAX_TEXTS)),
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n")) if text else ()


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Names of rows and a text of each, as a namer is told of typical ones."""

    names: Array | None
    texts: Array | None


def questions_about(
    hierarchy: Hierarchy,
    evidence: Evidence,
    built_in: Mapping[int, Sequence[str]],
    rows: KnownRows,
    levels: Sequence[int],
) -> list[LevelToName]:
    """The questions about the clusters of some levels, which evidence is kept of."""
    found = []
    for i, level in enumerate(levels):
        own = evidence.levels[level]
        sizes = hierarchy.levels[level].sizes
        clusters = tuple(
            ClusterToName(
                level,
                cluster,
                int(sizes[cluster]),
                built_in[level][cluster],
                own.evidence[cluster],
                own.hints[cluster],
                _told(rows.names if evidence.has_names else None, typical[:MAX_ROW_NAMES]),
                _told(rows.texts, typical),
            )
            for cluster, typical in enumerate(own.typical)
        )
        parents = None
        if i + 1 < len(levels):
            parents = hierarchy.climb(np.arange(len(clusters)), levels[i + 1], level)
        found.append(LevelToName(level, clusters, parents))
    return found


def _told(values: Array | None, rows: Array) -> tuple[str, ...]:
    """What is said of some rows."""
    if values is None:
        return ()
    return shorten_each([values[row] for row in rows if row >= 0])
