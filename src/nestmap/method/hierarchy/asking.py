"""Names for the clusters of a hierarchy by a namer, such as a language model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..describe import Facts, LevelDescription
from ..describe.namer import Kept, Manner, Namer, NamerError, Naming, name_levels
from ..describe.questions import MAX_TEXTS, LevelToName, questions_of
from .naming import MOST_CHILDREN, describe_levels
from .typical import find_typical

if TYPE_CHECKING:
    from .tree import Hierarchy

MOST_CLUSTERS = 256  # of a level that a namer is asked about, unless it is that of `labels_`


def levels_to_name(hierarchy: Hierarchy, finest: int | None = None) -> list[int]:
    """The levels that a namer is asked about, fine to coarse.

    From `finest`, or from the finest one of at most 256 clusters, but at least from the level of
    `labels_`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE
    >>> tree = HNNE().fit(load_digits().data).hierarchy_
    >>> tree.level_sizes, levels_to_name(tree)
    ((401, 155, 50, 12), [1, 2, 3])
    """
    if finest is None:
        few = [k for k, n in enumerate(hierarchy.level_sizes) if n <= MOST_CLUSTERS]
        finest = min([*few, hierarchy.default_level()])
    return [*range(hierarchy.check_level(finest), hierarchy.n_levels)]


def ask_hierarchy(
    hierarchy: Hierarchy, told: Mapping[int, LevelDescription], texts: Sequence[Any] | None = None
) -> list[LevelToName]:
    """The questions about the clusters of described levels; `texts`: one per row."""
    questions = []
    for level, own in told.items():
        if texts is not None and not any(each.typical for each in own):
            rows = find_typical(hierarchy, level, None, MAX_TEXTS)
            own = _with_typical(own, rows)
        coarser = min((k for k in told if k > level), default=level + 1)
        parents = None
        if coarser < hierarchy.n_levels:
            parents = hierarchy.climb(np.arange(len(own)), coarser, level)
        questions.append(questions_of(own, parents, texts))
    return questions


def _with_typical(told: LevelDescription, rows: Sequence[Any]) -> LevelDescription:
    clusters = (
        replace(each, typical=tuple(int(row) for row in own))
        for each, own in zip(told.clusters, rows, strict=True)
    )
    return replace(told, clusters=tuple(clusters))


def describe_with(
    hierarchy: Hierarchy,
    told: Mapping[int, LevelDescription],
    namer: Namer,
    texts: Sequence[Any] | None = None,
    kept: Kept | None = None,
    *,
    stacklevel: int = 3,
) -> dict[int, LevelDescription]:
    """Descriptions with the names of a namer; warns where it gave none."""
    if not callable(namer):
        raise TypeError(
            f"namer={namer!r}: must be a function that gets a ClusterToName and returns a name"
        )
    naming = name_levels(ask_hierarchy(hierarchy, told, texts), namer, kept, Manner())
    if naming.error:
        raise NamerError(naming.error)
    if naming.shortfall:
        warnings.warn(f"namer: {naming.shortfall}", stacklevel=stacklevel)
    return {level: _renamed(own, naming) for level, own in told.items()}


def _renamed(told: LevelDescription, naming: Naming) -> LevelDescription:
    names = naming.names[told.level]
    clusters = (replace(each, name=names[each.number]) for each in told.clusters)
    return replace(told, clusters=tuple(clusters))


def describe_level_with(
    hierarchy: Hierarchy, told: LevelDescription, namer: Namer, facts: Facts, texts: Any
) -> LevelDescription:
    """One level with the names of a namer, which is told the built-in names of the children."""
    finer = told.level - 1
    levels = {told.level: told}
    kept = {}
    if finer >= 0 and hierarchy.level_sizes[finer] <= MOST_CHILDREN and facts:
        below = describe_levels(hierarchy, [finer], facts)[finer]
        levels = {finer: below, told.level: told}
        kept = {finer: dict(enumerate(below.names))}
    return describe_with(hierarchy, levels, namer, texts, kept, stacklevel=4)[told.level]
