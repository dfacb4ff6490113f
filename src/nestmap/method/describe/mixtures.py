"""Clusters that nothing names, told by the names of the clusters that they consist of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...core.arrays import Array
from .clusters import ClusterDescription, LevelDescription
from .names import join, make_unique, phrase
from .questions import without_number
from .rules import NAMING
from .traits import Trait

KIND = "cluster"  # of the traits that are names of children
_MOST_NAMED = 3  # children in a name
_ENOUGH = 0.4  # share of the rows in children that a name tells: what is less says little


def name_by_children(
    told: LevelDescription, below: LevelDescription, parents: Array
) -> LevelDescription:
    """Mixed clusters by what their children are called: 'haskell, java, perl'.

    Parameters
    ----------
    told, below : LevelDescription
        Of a level and of the next finer one.
    parents : array of int
        The cluster that each finer one belongs to.
    """
    children: list[list[ClusterDescription]] = [[] for _ in told]
    for child, parent in zip(below, parents.tolist(), strict=True):
        children[parent].append(child)
    clusters = [
        _renamed(each, own) if each.is_mixed else each
        for each, own in zip(told, children, strict=True)
    ]
    names = make_unique([[each.name] for each in clusters], [each.size for each in clusters])
    unique = (replace(each, name=name) for each, name in zip(clusters, names, strict=True))
    return replace(told, clusters=tuple(unique))


def _renamed(
    cluster: ClusterDescription, children: Sequence[ClusterDescription]
) -> ClusterDescription:
    """The cluster by the names of its largest children, where enough of its rows have one."""
    rows: dict[str, int] = {}
    for child in _of_one_column(children):
        name = _without_contrast(child)
        rows[name] = rows.get(name, 0) + child.size
    order = sorted(rows, key=lambda name: -rows[name])[:_MOST_NAMED]
    named = [name for name in order if rows[name] >= NAMING.part * cluster.size]
    between = "; " if any(", " in name for name in named) else ", "
    text = join(named, between) if len(named) > 1 else ""
    fitting = [name for name in named if name in text]
    whole = sum(rows[name] for name in fitting)
    if len(fitting) < 2 or whole < _ENOUGH * cluster.size:
        return cluster
    if whole < NAMING.pair * cluster.size:
        text += f"{between}…"
    traits = tuple(_as_trait(name, rows[name], cluster.size) for name in fitting)
    return replace(cluster, name=text, evidence=traits)


def _of_one_column(children: Sequence[ClusterDescription]) -> list[ClusterDescription]:
    """The children that are named, by the column that names most rows."""
    columns: dict[tuple[str, str], list[ClusterDescription]] = {}
    for child in children:
        if child.is_claim:
            first = child.evidence[0]
            columns.setdefault((first.kind, first.column), []).append(child)
    return max(columns.values(), key=lambda own: sum(each.size for each in own), default=[])


def _without_contrast(cluster: ClusterDescription) -> str:
    """Its name without what only tells it apart from others of the same name."""
    name = cluster.name
    for trait in cluster.evidence:
        if trait.within:
            name = name.replace(f", {phrase(trait)}", "")
    return without_number(name)


def _as_trait(name: str, count: int, size: int) -> Trait:
    share = count / size
    return Trait(KIND, "", name, share, share, 0.0, share=share, count=count)
