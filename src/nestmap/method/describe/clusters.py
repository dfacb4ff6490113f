"""Descriptions of the clusters of one level, and how they are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from .names import make_unique, name_parts
from .tables import Column, read_columns
from .traits import Trait, WordCounts, find_category_traits, find_number_traits, find_word_traits

_MAX_LISTED = 20  # clusters in a repr
_MAX_TRAITS = 8  # of a kind that are kept per cluster


@dataclass(frozen=True)
class ClusterDescription:
    """One cluster: its number and name, its rows, and what distinguishes it from the others."""

    number: int
    name: str
    size: int
    typical: tuple[int, ...]  # rows nearest to the centroid, the nearest first
    typical_names: tuple[str, ...]  # as `names` has them, if it was given
    traits: tuple[Trait, ...]  # the most telling first: words, categories, numbers

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
            (c.number, c.name, c.size, c.typical, "; ".join(map(str, c.traits)))
            for c in self.clusters
        ]
        return DataFrame(rows, columns=["cluster", "name", "size", "typical", "traits"]).set_index(
            "cluster"
        )


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
) -> LevelDescription:
    """Descriptions from labels, the typical rows of each cluster, and metadata of the rows.

    Examples
    --------
    >>> labels = np.repeat([0, 1], 30)
    >>> kinds = {"kind": ["ant"] * 30 + ["bee"] * 30}
    >>> told = describe_clusters(labels, [np.array([3]), np.array([40])], metadata=kinds)
    >>> told.names, str(told[0].traits[0])
    (['ant', 'bee'], 'kind=ant 100% (all 50%)')
    """
    n_clusters = len(typical)
    sizes = np.bincount(labels, minlength=len(typical)).tolist()
    _check_length("texts", texts, len(labels))
    _check_length("names", names, len(labels))
    if metadata is not None:
        columns = (*columns, *read_columns(metadata, len(labels)))
    found: list[list[Trait]] = [[] for _ in range(n_clusters)]
    if texts is not None:
        counted = texts if isinstance(texts, WordCounts) else WordCounts.of(texts)
        found = find_word_traits(counted, labels, n_clusters, _MAX_TRAITS)
    for traits, more in zip(found, _column_traits(columns, labels, n_clusters), strict=True):
        traits.extend(more)
    told = [tuple(str(names[row]) for row in rows) if names is not None else () for rows in typical]
    unique = make_unique([name_parts(t, rows) for t, rows in zip(found, told, strict=True)], sizes)
    return LevelDescription(
        level,
        tuple(
            ClusterDescription(
                i,
                unique[i],
                sizes[i],
                tuple(int(row) for row in typical[i]),
                told[i],
                tuple(found[i]),
            )
            for i in range(n_clusters)
        ),
    )


def _check_length(what: str, values: Any, n_rows: int) -> None:
    if values is not None and len(values) != n_rows:
        raise ValueError(
            f"{what}: needs one for each of the {n_rows} rows of the fit, got {len(values)}"
        )


def _column_traits(columns: Sequence[Column], labels: Array, n_clusters: int) -> list[list[Trait]]:
    """Categories by score, then numbers by the shift of their mean."""
    found: list[list[Trait]] = [[] for _ in range(n_clusters)]
    for column in columns:
        if column.is_identifier:
            continue
        find = find_number_traits if column.categories is None else find_category_traits
        for traits, more in zip(found, find(column, labels, n_clusters), strict=True):
            traits.extend(more)
    return [
        sorted((t for t in traits if t.kind == "category"), key=lambda t: -t.score)[:_MAX_TRAITS]
        + sorted((t for t in traits if t.kind == "number"), key=lambda t: -t.score)[:_MAX_TRAITS]
        for traits in found
    ]
