"""What tells clusters of one name apart: compared with each other only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.arrays import Array
from .names import Name, find_contrast
from .tables import Column
from .traits import Trait, WordCounts, find_category_traits, find_number_traits
from .words import find_word_traits


def find_contrasts(
    names: Sequence[Name], labels: Array, columns: Sequence[Column], words: WordCounts | None
) -> dict[int, Trait]:
    """For clusters whose name others have, too: what most of their rows have, but not the others'.

    O(n) for all groups together.
    """
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        if name.is_claim:
            groups.setdefault(name.text, []).append(i)
    groups = {text: own for text, own in groups.items() if len(own) > 1}
    if not groups:
        return {}
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=len(names)))
    found = {}
    for text, own in groups.items():
        rows = [order[ends[i - 1] if i else 0 : ends[i]] for i in own]
        every = np.concatenate(rows)
        numbers = np.repeat(np.arange(len(own)), [len(each) for each in rows])
        taken = [replace(c, values=c.values[every]) for c in columns]
        counted = None if words is None else words.take(every)
        for i, traits in zip(own, _traits(numbers, len(own), taken, counted), strict=True):
            best = find_contrast(traits, text)
            if best is not None:
                found[i] = replace(best, within=text)
    return found


def _traits(
    labels: Array, n_clusters: int, columns: Sequence[Column], words: WordCounts | None
) -> list[list[Trait]]:
    found: list[list[Trait]] = [[] for _ in range(n_clusters)]
    each = [column_traits(column, labels, n_clusters) for column in columns]
    if words is not None:
        each.append(find_word_traits(words, labels, n_clusters))
    for more in each:
        for traits, own in zip(found, more, strict=True):
            traits.extend(own)
    return found


def column_traits(column: Column, labels: Array, n_clusters: int) -> list[list[Trait]]:
    """What a column says of each cluster; nothing if it never names."""
    if not column.may_name:
        return [[] for _ in range(n_clusters)]
    find = find_number_traits if column.categories is None else find_category_traits
    return find(column, labels, n_clusters)
