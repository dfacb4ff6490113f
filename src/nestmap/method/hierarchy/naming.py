"""Names for the clusters of several levels, from the same metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise as adjacent
from typing import Any

import numpy as np

from ...core.arrays import Array
from ..describe import Facts, LevelDescription, describe_clusters
from ..describe.mixtures import name_by_children
from ..describe.questions import without_number
from .tree import Hierarchy
from .typical import find_typical

MOST_CHILDREN = 2000  # clusters of a level that is described for the names of the next one
_MAX_TYPICAL_ROWS = 5  # by which a cluster may be named


def describe_levels(
    hierarchy: Hierarchy, levels: Sequence[int], facts: Facts, rows: Any = None
) -> dict[int, LevelDescription]:
    """What `Hierarchy.describe` says of each of some levels; `rows`: as they were mapped."""
    found = {}
    for level in levels:
        if facts.names is None and rows is None:  # nobody asks who is typical
            typical = [np.empty(0, dtype=np.int64)] * hierarchy.level_sizes[level]
        else:
            typical = find_typical(hierarchy, level, rows, _MAX_TYPICAL_ROWS)
        found[level] = describe_clusters(
            hierarchy.labels(level),
            typical,
            level=level,
            columns=facts.columns,
            texts=facts.words,
            names=facts.names,
            finer=finer_labels(hierarchy, level),
        )
    return {
        level: name_mixed(hierarchy, told, facts, found.get(level - 1))
        for level, told in found.items()
    }


def name_mixed(
    hierarchy: Hierarchy,
    told: LevelDescription,
    facts: Facts,
    below: LevelDescription | None = None,
) -> LevelDescription:
    """Mixed clusters by the names of their children; `below`: the next finer level, if known."""
    level = told.level - 1
    if level < 0 or not any(each.is_mixed for each in told):
        return told
    n_nodes = hierarchy.level_sizes[level]
    if below is None and n_nodes > MOST_CHILDREN:
        return told
    below = below or describe_clusters(
        hierarchy.labels(level),
        [np.empty(0, dtype=np.int64)] * n_nodes,
        level=level,
        columns=facts.columns,
        texts=facts.words,
        finer=finer_labels(hierarchy, level),
    )
    return name_by_children(told, below, hierarchy.climb(np.arange(n_nodes), told.level, level))


def finer_labels(hierarchy: Hierarchy, level: int) -> Array | None:
    """Labels of the next finer level: its clusters are the children of those of a level."""
    return hierarchy.labels(level - 1) if level else None


def names_for_map(hierarchy: Hierarchy, names: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    """Names as a map shows them.

    No numbers that tell equal ones apart, none for a cluster named like its parent.

    Parameters
    ----------
    names : dict of level to one name per cluster
    """
    bare = {level: [without_number(name) for name in names[level]] for level in sorted(names)}
    shown = dict(bare)
    for fine, coarse in adjacent(bare):
        parent = hierarchy.climb(np.arange(hierarchy.level_sizes[fine]), coarse, fine)
        own = zip(bare[fine], parent, strict=True)
        shown[fine] = [name if name != bare[coarse][p] else "" for name, p in own]
    return shown
