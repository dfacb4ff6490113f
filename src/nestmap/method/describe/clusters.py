"""Descriptions of the clusters of one level, and how they are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from .contrast import column_traits, find_contrasts
from .names import Name, find_name, join, make_unique, phrase
from .tables import Column, by_position, compare_columns, mark_label, read_columns
from .traits import Trait, WordCounts
from .words import find_word_parts, find_word_traits

_MAX_LISTED = 20  # clusters in a repr
_MAX_TRAITS = 8  # of a kind that are kept per cluster
_MAX_CONTRASTS = 2  # things that a name adds to tell clusters apart


@dataclass(frozen=True)
class ClusterDescription:
    """One cluster: its number and name, its rows, and what distinguishes it from the others."""

    number: int
    name: str
    size: int
    typical: tuple[int, ...]  # rows nearest to the centroid, the nearest first
    typical_names: tuple[str, ...]  # as `names` has them, if it was given
    traits: tuple[Trait, ...]  # the most telling first: words, categories, numbers
    evidence: tuple[Trait, ...] = ()  # what the name says, and how true it is
    is_mixed: bool = False  # nothing is true of most of its rows: the name tells parts

    @property
    def is_claim(self) -> bool:
        """Whether the name says something of most of its rows."""
        return bool(self.evidence) and not self.is_mixed

    @property
    def why(self) -> str:
        """What makes the name true: shares of its rows and of the others."""
        return "; ".join(trait.evidence for trait in self.evidence)

    def __str__(self) -> str:
        told = "; ".join(str(trait) for trait in self.traits[:3])
        rows = ", ".join(self.typical_names[:3] or map(str, self.typical[:3]))
        return f"{self.name} ({self.size} rows{': ' + told if told else ''}; typical: {rows})"


@dataclass(frozen=True)
class LevelDescription:
    """The clusters of a level, by number; prints the largest of them."""

    level: int
    clusters: tuple[ClusterDescription, ...]

    @property
    def names(self) -> list[str]:
        """Name of each cluster; no two alike."""
        return [cluster.name for cluster in self.clusters]

    def __iter__(self) -> Iterator[ClusterDescription]:
        return iter(self.clusters)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, number: int) -> ClusterDescription:
        return self.clusters[number]

    def __repr__(self) -> str:
        shown = sorted(self.clusters, key=lambda cluster: -cluster.size)[:_MAX_LISTED]
        lines = [
            f"level {self.level}: {len(self)} clusters",
            *(_shorten(f"  {c.number}: {c}") for c in shown),
        ]
        if len(self) > len(shown):
            lines.append(f"  … and {len(self) - len(shown)} smaller")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """One row per cluster, as a pandas DataFrame."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError("to_frame gives a pandas DataFrame: pip install pandas") from error
        rows = [
            (c.number, c.name, c.size, c.typical, "; ".join(map(str, c.traits)), c.why)
            for c in self.clusters
        ]
        columns = ["cluster", "name", "size", "typical", "traits", "evidence"]
        return DataFrame(rows, columns=columns).set_index("cluster")


def _shorten(line: str, most: int = 110) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"


def describe_clusters(
    labels: Array,
    typical: Sequence[Array],
    *,
    level: int = 0,
    columns: Sequence[Column] = (),
    metadata: Any = None,
    texts: Sequence[str] | WordCounts | None = None,
    names: Sequence[Any] | None = None,
    label: str | None = None,
    finer: Array | None = None,
) -> LevelDescription:
    """Descriptions from labels, the typical rows of each cluster, and metadata of the rows.

    Parameters
    ----------
    label : str, optional
        The column of metadata that names come from first.
    finer : array, optional
        Labels of the next finer level: what the children of a cluster share names it.

    Examples
    --------
    >>> labels = np.repeat([0, 1], 30)
    >>> kinds = {"kind": ["ant"] * 30 + ["bee"] * 30}
    >>> told = describe_clusters(labels, [np.array([3]), np.array([40])], metadata=kinds)
    >>> told.names, str(told[0].traits[0])
    (['ant', 'bee'], 'kind=ant 100% (all 50%)')
    """
    _check_length("texts", texts, len(labels))
    _check_length("names", names, len(labels))
    names = by_position(names)
    if metadata is not None:
        columns = (*columns, *read_columns(metadata, len(labels)))
    words = texts if texts is None or isinstance(texts, WordCounts) else WordCounts.of(texts)
    known = _Known(labels, finer, mark_label(columns, label), words)
    found = known.traits(len(typical))
    told = [tuple(str(names[row]) for row in rows) if names is not None else () for rows in typical]
    named = known.names(found, told)
    sizes = np.bincount(labels, minlength=len(typical)).tolist()
    return LevelDescription(
        level,
        tuple(
            ClusterDescription(
                number=i,
                name=named[i].text,
                size=sizes[i],
                typical=tuple(int(row) for row in rows),
                typical_names=told[i],
                traits=_most_telling(found[i]),
                evidence=named[i].evidence,
                is_mixed=named[i].is_mixed,
            )
            for i, rows in enumerate(typical)
        ),
    )


def _check_length(what: str, values: Any, n_rows: int) -> None:
    if values is not None and len(values) != n_rows:
        raise ValueError(
            f"{what}: needs one for each of the {n_rows} rows of the fit, got {len(values)}"
        )


@dataclass(frozen=True, eq=False)
class _Known:
    """The clusters of a level, and what is known of their rows."""

    labels: Array
    finer: Array | None
    columns: tuple[Column, ...]
    words: WordCounts | None

    def traits(self, n_clusters: int) -> list[list[Trait]]:
        """What is true of each cluster: words, categories (also unsure ones), numbers."""
        found: list[list[Trait]] = [[] for _ in range(n_clusters)]
        if self.words is not None:
            found = find_word_traits(
                self.words, self.labels, n_clusters, _MAX_TRAITS, finer=self.finer
            )
        for column in self.columns:
            more = column_traits(column, self.labels, n_clusters)
            for traits, own in zip(found, more, strict=True):
                traits.extend(own)
        return found

    def names(self, found: list[list[Trait]], typical: Sequence[Sequence[str]]) -> list[Name]:
        """A name for each cluster, no two alike."""
        label = next((column.name for column in self.columns if column.is_label), None)
        parts = self._parts(found)
        are_alike = compare_columns(self.columns)
        bases = [
            find_name(traits, rows, label, are_alike, inside)
            for traits, rows, inside in zip(found, typical, parts, strict=True)
        ]
        told_apart = self._contrasts(bases)
        each = []
        for i, base in enumerate(bases):
            further = [phrase(trait) for trait in told_apart[i]]
            rows = [] if base.evidence else list(typical[i][3:])
            each.append([base.text, *further, *rows] if base.text else [])
        sizes = np.bincount(self.labels, minlength=len(bases)).tolist()
        named = []
        for i, text in enumerate(make_unique(each, sizes)):
            more = [trait for trait in told_apart[i] if phrase(trait) in text]
            named.append(Name(text, (*bases[i].evidence, *more), bases[i].is_mixed))
        return named

    def _contrasts(self, bases: Sequence[Name]) -> list[list[Trait]]:
        """What tells clusters of one name apart, and then those that are still called the same."""
        found: list[list[Trait]] = [[] for _ in bases]
        names = list(bases)
        for _ in range(_MAX_CONTRASTS):
            for i, trait in find_contrasts(names, self.labels, self.columns, self.words).items():
                found[i].append(trait)
                text = join([names[i].text, phrase(trait)], ", ")
                names[i] = replace(names[i], text=text)
        return found

    def _parts(self, found: list[list[Trait]]) -> list[list[Trait]]:
        """Words of the finer clusters inside each one; where there are none, its own."""
        if self.words is None:
            return [[] for _ in found]
        if self.finer is None:
            return [[t for t in traits if t.kind == "word" and t.sure] for traits in found]
        return find_word_parts(self.words, self.labels, len(found), self.finer)


def _most_telling(traits: Sequence[Trait]) -> tuple[Trait, ...]:
    """What distinguishes a cluster: words, then categories and numbers by score."""
    kept = [t for t in traits if t.kind == "word"]
    for kind in ("category", "number"):
        own = sorted((t for t in traits if t.kind == kind and t.sure), key=lambda t: -t.score)
        kept += own[:_MAX_TRAITS]
    return tuple(kept)
