"""Names of clusters, and what the page tells of one: typical and odd rows, what sets it apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...method.describe import ClusterDescription, Facts, LevelDescription, describe_clusters
from ...method.describe.names import make_unique
from ...method.describe.tables import Column, named_columns
from ...method.describe.traits import WordCounts
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.naming import finer_labels, name_mixed
from ...method.hierarchy.typical import find_extremes
from .content import MAX_LETTERS, Content, clean

MAX_CLUSTERS_NAMED = 20_000  # clusters of a level that has names
_MAX_CELLS_COMPARED = 600_000  # clusters times columns: about a minute
_MAX_FEATURES = 100  # columns of X that clusters are described by
_MAX_TEXTS_COUNTED = 300_000  # texts whose words are counted: about a minute
_TYPICAL_ROWS = 6  # typical rows, and as many odd ones
_MAX_TRAITS = 8


@dataclass(frozen=True, eq=False)
class LevelPanels:
    """The clusters of a level, by the hierarchy's numbers."""

    names: list[str]
    panels: list[dict[str, Any]]


def named_levels(hierarchy: Hierarchy, n_columns: int) -> list[int]:
    """Levels that get names and panels: those with few enough clusters to take at most minutes."""
    most = min(MAX_CLUSTERS_NAMED, _MAX_CELLS_COMPARED // max(1, n_columns))
    return [k for k, size in enumerate(hierarchy.level_sizes) if size <= most]


def feature_columns(model: Any, X: Any) -> tuple[Column, ...]:
    """The columns of the training rows, if they have names and are not too many."""
    if X is None or len(getattr(X, "shape", ())) != 2 or X.shape[1] > _MAX_FEATURES:
        return ()
    if getattr(model, "encoder_", None) is not None:  # scaled numbers tell nobody anything
        return ()
    known = None if hasattr(X, "columns") else getattr(model, "feature_names_in_", None)
    return named_columns(X, known, model.hierarchy_.n_rows)


def check_names(cluster_names: Any, hierarchy: Hierarchy, content: Content) -> None:
    """Raise early for names that do not fit."""
    if cluster_names is None or callable(cluster_names):
        return
    if isinstance(cluster_names, str):
        columns = [column.name for column in content.columns if column.categories is not None]
        if cluster_names not in columns:
            raise ValueError(
                f"cluster_names={cluster_names!r}: "
                f"no column of metadata with categories; there are {columns}"
            )
        return
    if not isinstance(cluster_names, Mapping):
        raise ValueError(
            "cluster_names: a column of metadata, a function of (level, cluster, rows), "
            f"or a dict of lists of names per level, got {type(cluster_names).__name__}"
        )
    for level, names in cluster_names.items():
        n = hierarchy.levels[hierarchy.check_level(level)].n_nodes
        if len(names) != n:
            raise ValueError(
                f"cluster_names: level {level} has {n} clusters, got {len(names)} names"
            )


def count_some(texts: Sequence[str] | None, progress: Progress) -> WordCounts | None:
    """Words of the texts, 300,000 of them at most: every second, third, …; None without any."""
    if texts is None:
        return None
    progress.begin("words of the texts")
    step = -(-len(texts) // _MAX_TEXTS_COUNTED)
    if step > 1:
        progress.note(f"words are counted in every {step}th of {len(texts):,} texts")
    try:
        return WordCounts.of([text if i % step == 0 else "" for i, text in enumerate(texts)])
    except ValueError:  # nothing but stop words, numbers, markup
        return None


@dataclass(frozen=True, eq=False)
class ClusterTeller:
    """Describes clusters by what is known of their rows.

    Attributes
    ----------
    hierarchy : Hierarchy
    X : array-like or None
        The training rows.
    content : Content
    features : tuple of Column
        Columns of X that have names.
    cluster_names : str, callable, dict or None
        Names that users give.
    cluster_whys : dict or None
        What makes these true, per level: a text of lines for each cluster.
    """

    hierarchy: Hierarchy
    X: Any
    content: Content
    features: tuple[Column, ...]
    cluster_names: Any
    cluster_whys: Mapping[int, Sequence[str]] | None = None

    @classmethod
    def of(
        cls, model: Any, X: Any, rows: Any, content: Content, given: tuple[Any, Any] = (None, None)
    ) -> ClusterTeller:
        """X as it was given, which may know names of columns, and as checked rows.

        `given`: names of clusters, and what makes them true.
        """
        features = feature_columns(model, X)
        return cls(model.hierarchy_, rows, content, features, *given)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All that clusters are compared by."""
        return (*self.content.columns, *self.features)

    def describe(self, level: int, words: WordCounts | None) -> LevelPanels:
        """Names and panels of a level."""
        content = self.content
        labels = self.hierarchy.labels(level)
        typical, odd = find_extremes(self.hierarchy, level, self.X, _TYPICAL_ROWS)
        if level == 0 and self.X is None:
            # the distances of single rows to their leaf are not known
            odd = [rows[:0] for rows in odd]
        told = describe_clusters(
            labels,
            typical,
            level=level,
            columns=self.columns,
            texts=words,
            names=content.names,
            finer=finer_labels(self.hierarchy, level),
        )
        facts = Facts(self.columns, words, content.names)
        told = name_mixed(self.hierarchy, told, facts)
        own = _own_names(self.hierarchy, level, labels, content, self.cluster_names)
        names = own or told.names
        whys = self._whys(level, told, names)
        panels = [
            {
                "name": names[i],
                "why": [clean(line) for line in whys[i]],
                "size": cluster.size,
                "typical": _labelled(typical[i], content),
                "odd": _labelled(odd[i], content),
                "traits": [clean(str(t)) for t in cluster.traits[:_MAX_TRAITS]],
            }
            for i, cluster in enumerate(told)
        ]
        return LevelPanels(names, panels)

    def _whys(self, level: int, told: LevelDescription, names: Sequence[str]) -> list[list[str]]:
        """What makes each name true, by lines; none where nothing is known of it."""
        given = self.cluster_names
        own = given.get(level) if isinstance(given, Mapping) else None
        if isinstance(own, LevelDescription):
            return [_lines_of(each) for each in own]
        if own is not None and self.cluster_whys and level in self.cluster_whys:
            return [text.split("\n") if text else [] for text in self.cluster_whys[level]]
        return [
            _lines_of(each) if each.name == name else []
            for each, name in zip(told, names, strict=True)
        ]


def _labelled(rows: Array, content: Content) -> list[tuple[int, str]]:
    return [(row, content.label(row)) for row in rows.tolist()]


def _own_names(
    hierarchy: Hierarchy, level: int, labels: Array, content: Content, cluster_names: Any
) -> list[str] | None:
    """Names that users give: by a column, a function, or a list; None where they do not."""
    if cluster_names is None:
        return None
    n = hierarchy.levels[level].n_nodes
    if isinstance(cluster_names, str):
        column = next(column for column in content.columns if column.name == cluster_names)
        return _by_column(column, labels, n)
    if callable(cluster_names):
        return [
            clean(cluster_names(level, i, hierarchy.members(level, i)), MAX_LETTERS)
            for i in range(n)
        ]
    by_level = {hierarchy.check_level(key): _listed(own) for key, own in cluster_names.items()}
    return [clean(name, MAX_LETTERS) for name in by_level[level]] if level in by_level else None


def _lines_of(cluster: ClusterDescription) -> list[str]:
    return [trait.evidence for trait in cluster.evidence]


def _listed(own: Any) -> Sequence[Any]:
    """Names per cluster, of a description or as they are."""
    return own.names if isinstance(own, LevelDescription) else own


def _by_column(column: Column, labels: Array, n: int) -> list[str]:
    """The most common category of each cluster, numbered where several have the same."""
    assert column.categories is not None
    n_kinds = len(column.categories)
    known = column.values >= 0
    keys, counts = np.unique(labels[known] * n_kinds + column.values[known], return_counts=True)
    order = np.lexsort((keys, -counts, keys // n_kinds))
    own, first = np.unique(keys[order] // n_kinds, return_index=True)
    parts: list[list[str]] = [[] for _ in range(n)]
    for cluster, key in zip(own.tolist(), keys[order][first].tolist(), strict=True):
        parts[cluster] = [str(column.categories[key % n_kinds])]
    return make_unique(parts, np.bincount(labels, minlength=n).tolist())
