"""Short names for clusters, no two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .traits import Trait

MAX_LETTERS = 36  # of a name
_MIN_SECOND_SHARE = 0.25  # of a category that a name mentions beside the first


def name_parts(traits: Sequence[Trait], typical: Sequence[str]) -> list[str]:
    """Parts of a name by score: words, categories, typical rows, numbers."""
    words = [t.value for t in traits if t.kind == "word"]
    categories = [t for t in traits if t.kind == "category"]
    numbers = [f"{t.value} {t.column}".strip() for t in traits if t.kind == "number"]
    parts = [" · ".join(words[:3])] if words else []
    columns = dict.fromkeys(t.column for t in categories)
    parts.extend(_mixture([t for t in categories if t.column == column]) for column in columns)
    if not words and not categories and typical:
        parts += [", ".join(typical[:3])]
        typical = typical[3:]
    return parts + words[3:] + list(typical) + numbers


def _mixture(traits: Sequence[Trait]) -> str:
    """The categories of one column that make up a good part of the cluster: 'coat / shirt'."""
    first = max(traits, key=lambda t: t.inside)
    named = [first, *(t for t in traits if t is not first and t.inside >= _MIN_SECOND_SHARE)]
    text = " / ".join(t.value for t in named)
    is_bare = all(_is_bare(t.value) for t in named)
    return f"{first.column} {text}" if is_bare and first.column not in ("", "value") else text


def _is_bare(value: str) -> bool:
    """Whether a value means nothing without the name of its column, such as a number."""
    return value.lower() in ("true", "false", "yes", "no") or not any(c.isalpha() for c in value)


def make_unique(parts: Sequence[Sequence[str]], sizes: Sequence[int]) -> list[str]:
    """A name for each cluster from its parts: as few as tell clusters apart.

    Then numbers for all but the largest.

    Examples
    --------
    >>> make_unique([["coat", "wool"], ["coat", "rain"], ["bag"], ["bag"], []], [9, 5, 3, 8, 1])
    ['coat, wool', 'coat, rain', 'bag (2)', 'bag', 'cluster 4']
    """
    names = [cut(p[0]) if p else f"cluster {i}" for i, p in enumerate(parts)]
    for used in range(1, 3):
        counts = Counter(names)
        names = [
            cut(f"{name}, {p[used]}") if counts[name] > 1 and len(p) > used and p[used] else name
            for name, p in zip(names, parts, strict=True)
        ]
    taken = set(names)
    used_by: set[str] = set()
    for i in sorted(range(len(names)), key=lambda i: -sizes[i]):
        base = names[i]
        number = 1
        while names[i] in used_by:
            number += 1
            if (numbered := f"{base} ({number})") not in taken:
                names[i] = numbered
        taken.add(names[i])
        used_by.add(names[i])
    return names


def cut(text: str) -> str:
    """Cut off at a word, where it is too long."""
    text = " ".join(text.split())
    if len(text) <= MAX_LETTERS:
        return text
    return text[: MAX_LETTERS - 1].rsplit(" ", 1)[0].rstrip(" ,·/") + "…"
