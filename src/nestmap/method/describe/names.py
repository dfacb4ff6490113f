"""Short names for clusters, each with its evidence, no two alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .rules import NAMING
from .traits import Trait

MAX_LETTERS = 44  # of a name
_MAX_VALUE = 20  # letters of one of several categories in a name
_MAX_COLUMN = 12  # letters of the name of its column, in a mixture
_MAX_WORDS = 3  # in a name
_ENOUGH_OF_A_MIXTURE = 0.4  # share of the rows: what is less says little of the cluster
MIXED = "mixed"


@dataclass(frozen=True)
class Name:
    """A name and what makes it true; without evidence where rows or numbers stand for one."""

    text: str
    evidence: tuple[Trait, ...] = ()
    is_mixed: bool = False

    @property
    def is_claim(self) -> bool:
        """Whether it says something of most rows."""
        return bool(self.evidence) and not self.is_mixed


def find_name(
    traits: Sequence[Trait],
    typical: Sequence[str],
    label: str | None,
    are_alike: Callable[[str, str], bool],
    parts: Sequence[Trait] = (),
) -> Name:
    """A name for a cluster: by the label, by what holds for most of its rows, or what it mixes.

    Parameters
    ----------
    traits : sequence of Trait
        Also categories that are not `sure`.
    typical : sequence of str
        Names of typical rows: they stand for a cluster that nothing else names.
    label : str or None
        The column that names come from first.
    are_alike : callable
        Whether two columns of numbers say the same: a name tells one of them.
    parts : sequence of Trait
        Words of the finer clusters inside.
    """
    own = [t for t in traits if t.column == label and t.kind == "category"]
    if label is not None and own:
        return _by_category(own, is_label=True) or _mixture(own)
    words = _by_words(traits)
    if words is not None:
        return words
    columns = dict.fromkeys(t.column for t in traits if t.kind == "category")
    found = [
        _by_category([t for t in traits if t.kind == "category" and t.column == column])
        for column in columns
    ]
    found.append(_by_numbers(traits, are_alike))
    claims = [name for name in found if name is not None]
    if claims:
        return max(claims, key=lambda name: weight(name.evidence[0]))
    if typical:
        return Name(join([cut(each) for each in typical[:3]], ", "))
    mixed = _mixture([t for t in traits if t.kind == "category"])
    return mixed if mixed.text else _mix_words(parts)


def _is_word_name(trait: Trait) -> bool:
    return (
        trait.share >= NAMING.word_share
        and trait.lift >= NAMING.word_lift
        and trait.spread >= NAMING.word_spread
        and trait.sure
    )


def _is_claim(trait: Trait) -> bool:
    """Whether enough rows have it, more than the others and more than by chance."""
    if trait.kind == "word":
        return _is_word_name(trait) and trait.share >= NAMING.word_lead
    return trait.sure and trait.share >= NAMING.share and trait.lift >= NAMING.lift


def find_contrast(traits: Sequence[Trait], base: str) -> Trait | None:
    """What tells a cluster from others of the same name: the most telling thing, or nothing."""
    claims = [t for t in traits if _is_claim(t) and phrase(t) not in base]
    return max((t for t in claims if not _contradicts(t, base)), key=weight, default=None)


def _contradicts(trait: Trait, base: str) -> bool:
    """Whether a number is said already: what is low among high ones reads as 'high x, low x'."""
    column = phrase(trait).removeprefix(trait.value)
    return trait.kind == "number" and any(part.endswith(column) for part in base.split(", "))


def weight(trait: Trait) -> float:
    """Its score; numbers, and categories that need the name of their column, count less."""
    is_plain = trait.kind == "number" or (trait.kind == "category" and _needs_column(trait))
    return trait.score * NAMING.plain if is_plain else trait.score


def phrase(trait: Trait) -> str:
    """A trait as a name says it: 'comedy', 'digit 3', 'high budget'."""
    if trait.kind == "word":
        return trait.value
    column = " ".join(trait.column.replace("_", " ").split())
    if trait.kind == "number":
        return f"{trait.value} {column}".strip()
    return f"{column} {trait.value}" if _needs_column(trait) else trait.value


def _by_category(traits: Sequence[Trait], is_label: bool = False) -> Name | None:
    """One category, or two that make up a good part of the cluster: 'coat / shirt'."""
    if not is_label:
        traits = [t for t in traits if t.lift >= NAMING.lift and (t.sure or _is_whole(t))]
    traits = sorted(traits, key=lambda t: -t.share)
    if not traits:
        return None
    first = traits[0]
    second = next((t for t in traits[1:] if t.share >= NAMING.second), None)
    if second is not None and first.share + second.share >= NAMING.pair:
        values = [cut(t.value, _MAX_VALUE) for t in (first, second)]
        text = f"{phrase(first).removesuffix(first.value)}{' / '.join(values)}"
        return Name(cut(text), (first, second))
    return Name(cut(phrase(first)), (first,)) if first.share >= NAMING.share else None


def _is_whole(trait: Trait) -> bool:
    """Whether a cluster too small for anything to be sure is of one kind all the same."""
    return trait.count > 1 and trait.share >= NAMING.pair


def _by_numbers(traits: Sequence[Trait], are_alike: Callable[[str, str], bool]) -> Name | None:
    """'high budget, long running time'."""
    claims = sorted(
        (t for t in traits if t.kind == "number" and _is_claim(t)), key=lambda t: -t.score
    )
    if not claims:
        return None
    first = claims[0]
    others = [t for t in claims[1:] if not are_alike(first.column, t.column)]
    named = [first, *others[:1]]
    return Name(join([phrase(t) for t in named], ", "), tuple(named))


def _by_words(traits: Sequence[Trait]) -> Name | None:
    """'image · pixel': a word that many of the texts hold, then others that come with it."""
    words = [t for t in traits if t.kind == "word" and _is_word_name(t)]
    first = next((t for t in words if _is_claim(t)), None)
    if first is None:
        return None
    named = [first, *(t for t in words if t is not first)][:_MAX_WORDS]
    return Name(join([t.value for t in named], " · "), tuple(named))


def _mixture(categories: Sequence[Trait]) -> Name:
    """'mixed: comedy 31%, drama 28%', of the column that says most of the cluster.

    A column that is nearly the same everywhere mixes nothing: the cluster has no name then.
    """
    columns: dict[str, list[Trait]] = {}
    for trait in categories:
        columns.setdefault(trait.column, []).append(trait)
    mixed = [own for own in columns.values() if max(t.share for t in own) < NAMING.pair]
    if not mixed:
        return Name("")
    best = max(mixed, key=_telling)
    largest = sorted(best, key=lambda t: -t.share)[:2]
    largest = [t for t in largest if t.share >= NAMING.part]
    if not largest:
        return Name(MIXED, is_mixed=True)
    column = phrase(largest[0]).removesuffix(largest[0].value)
    return _list_parts(largest, cut(column, _MAX_COLUMN))


def _telling(traits: Sequence[Trait]) -> tuple[bool, float]:
    """How much the categories of a column say of a cluster that none of them names."""
    whole = sum(sorted((t.share for t in traits), reverse=True)[:2])
    score = max((weight(t) for t in traits if t.sure), default=0.0)
    return whole >= _ENOUGH_OF_A_MIXTURE, score if score > 0 else whole - 1


def _mix_words(parts: Sequence[Trait]) -> Name:
    """'mixed: car 12%, bank 9%': nothing that most of the finer clusters share."""
    largest = sorted(parts[:2], key=lambda t: -t.share)
    return _list_parts(largest, "") if largest else Name("")


def _list_parts(traits: Sequence[Trait], column: str) -> Name:
    told = [f"{cut(t.value, _MAX_VALUE)} {t.share:.0%}" for t in traits]
    before = f"{MIXED}: {column.strip()} " if column else f"{MIXED}: "
    return Name(join([before + told[0], *told[1:]], ", "), tuple(traits), is_mixed=True)


def _needs_column(trait: Trait) -> bool:
    """Whether a value means nothing without the name of its column, such as a number."""
    value = trait.value
    is_bare = value.lower() in ("true", "false", "yes", "no") or not any(
        letter.isalpha() for letter in value
    )
    is_letter = len(value) == 1
    return (is_bare or is_letter) and trait.column not in ("", "value")


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
            join([name, p[used]], ", ") if counts[name] > 1 and len(p) > used and p[used] else name
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


def join(parts: Sequence[str], between: str) -> str:
    """As many whole parts as there is room for; the first one is cut off if it is too long.

    Examples
    --------
    >>> join(["budget", "high running time in minutes", "a rather long remark"], ", ")
    'budget, high running time in minutes'
    """
    text = cut(parts[0])
    for part in parts[1:]:
        if len(text) + len(between) + len(part) <= MAX_LETTERS:
            text += between + part
    return text


def cut(text: str, most: int = MAX_LETTERS) -> str:
    """Cut off at a word, where it is too long."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,·/:;.-") + "…"
