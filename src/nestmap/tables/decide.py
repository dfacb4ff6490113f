"""One decision per column, from its profile: what an analyst would do, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.habits import did_you_mean
from .cells import Cells, read_cells
from .profiles import Profile, name_words, profile_column

MOSTLY_EMPTY = 0.7  # share of empty cells above which a column says more of itself than of rows
FEW_LEVELS = 32  # categories with directions of their own; the rest share some
FEW_CODES = 40  # whole numbers named like codes: so many are categories, more are identifiers
_PROSE = 4.0  # words of a cell that make a text, as in nestmap.readers
_OWN = 0.5  # distinct values per filled cell: on average, two rows or fewer share one
_MIN_ROWS = 20  # below, distinct values mean nothing
LONG_TAIL = 10.0  # interquartile ranges from the median to the farthest value
_ID_WORDS = frozenset(["id", "ids", "uuid", "guid", "key", "index", "idx", "rowid", "pk"])
_CODE_WORDS = frozenset(["zip", "zipcode", "postcode", "postal", "plz", "fips", "code"])
_PHONE_WORDS = frozenset(["phone", "tel", "telephone", "mobile", "fax"])
KINDS = ("number", "category", "boolean", "date", "text", "vector", "identifier", "drop")
_BESIDE = ("identifier", "counter")

_ACTIONS = {
    "number": "scaled by its quartiles, tails squashed",
    "boolean": "two values, as one column",
    "identifier": "kept beside the map",
    "counter": "kept beside the map",
    "constant": "left out",
    "empty": "left out",
    "drop": "left out",
    "vector": "a block of its own",
}


@dataclass(frozen=True)
class Decision:
    """What is done with one column, and why.

    Attributes
    ----------
    name, kind, action, why, change : str
        `change` is the option that changes the decision.
    mapped : bool
        Whether distances on the map depend on it.
    missing : float
        Share of the cells that are empty, or that cannot be read.
    n_distinct : int
    profile : Profile
        What the decision rests on.
    """

    name: str
    kind: str
    action: str
    why: str
    change: str
    mapped: bool
    missing: float
    n_distinct: int
    profile: Profile

    @property
    def other_kind(self) -> str:
        """What someone who disagrees would most likely ask for."""
        return _other_kind(self.kind, self.profile)

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}, {self.action} ({self.why})"


@dataclass(frozen=True)
class Decisions:
    """All decisions for a table; `print` shows them as one.

    Attributes
    ----------
    decisions : tuple of Decision
    n_table_rows : int
    n_distinct_rows : int or None
        Different rows among what is mapped; known after `TableEncoder.fit`.
    """

    decisions: tuple[Decision, ...]
    n_table_rows: int
    n_distinct_rows: int | None = None

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, key: int | str) -> Decision:
        if isinstance(key, int):
            return self.decisions[key]
        found = {each.name: each for each in self.decisions}
        if key not in found:
            raise KeyError(f"no decision on a column {key!r}{did_you_mean(str(key), found)}")
        return found[key]

    @property
    def mapped(self) -> tuple[Decision, ...]:
        """Those that the map depends on."""
        return tuple(each for each in self.decisions if each.mapped)

    def __str__(self) -> str:
        head = ("column", "kind", "what is done", "why", "missing", "distinct", "to change it")
        rows = [
            (each.name, each.kind, each.action, each.why, f"{each.missing:.0%}",
             f"{each.n_distinct:,}", each.change)
            for each in self.decisions
        ]  # fmt: skip
        widths = [max(len(row[j]) for row in (head, *rows)) for j in range(len(head))]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in (head, *rows)
        ]
        return "\n".join([self.summary, *lines])

    @property
    def summary(self) -> str:
        """Rows, duplicates and how many columns are mapped, in one line."""
        rows = f"{self.n_table_rows:,} rows"
        if self.n_distinct_rows is not None:
            rows += f", {self.n_distinct_rows:,} distinct"
        return f"{rows}; {len(self.mapped)} of {len(self)} columns mapped"


def decide_columns(
    table: Any, columns: Mapping[str, str] | None = None, texts: str = "names"
) -> Decisions:
    """What the column doctor would do with a table, without doing it.

    Parameters
    ----------
    table : DataFrame, pyarrow table, dict of columns or 2-D array
    columns : dict of str to str, optional
        Kinds for columns by name: 'number', 'category', 'boolean', 'date', 'text', 'vector',
        'identifier' (kept beside the map) or 'drop'.
    texts : {'names', 'tfidf'}
        Whether texts are only for names of clusters, or mapped by their words.

    Returns
    -------
    Decisions

    Raises
    ------
    ValueError
        If a column or a kind is unknown, or a column cannot be of the kind asked for.

    Examples
    --------
    >>> table = {"id": range(30), "size": [1.5, 2, 4] * 10, "kind": ["a", "b", "?"] * 10}
    >>> for decision in decide_columns(table):
    ...     print(decision)
    id: counter, kept beside the map (counts the rows)
    size: number, scaled by its quartiles, tails squashed (numbers)
    kind: category, 2 categories, as one column (2 different texts)
    """
    return decide_cells(read_cells(table), columns, texts)


def decide_cells(
    table: tuple[Cells, ...], columns: Mapping[str, str] | None, texts: str
) -> Decisions:
    """Decisions for columns that were read."""
    asked = dict(columns or {})
    check_asked(asked, [cells.name for cells in table])
    found = []
    for cells in table:
        wish = asked.get(cells.name)
        profile = profile_column(cells, None if wish == "drop" else wish)
        found.append(decide_column(profile, wish, texts))
    return Decisions(tuple(found), len(table[0].values) if table else 0)


def check_asked(asked: Mapping[str, str], names: list[str]) -> None:
    """Raise for columns that are not there, and for kinds that do not exist."""
    for name, kind in asked.items():
        if name not in names:
            raise ValueError(f"columns={{{name!r}: …}}: no such column{did_you_mean(name, names)}")
        if kind not in KINDS:
            raise ValueError(
                f"columns={{{name!r}: {kind!r}}}: takes {', '.join(map(repr, KINDS))}"
                f"{did_you_mean(str(kind), KINDS)}"
            )


def decide_column(profile: Profile, asked: str | None = None, texts: str = "names") -> Decision:
    """The decision for one column."""
    if asked is not None:
        kind = asked
        why = "asked for"
        _check_kind(profile, asked)
    else:
        kind, why = _decide(profile)
    mapped = kind in ("number", "category", "boolean", "date", "vector")
    if kind == "text":
        mapped = texts == "tfidf" or asked == "text"
    if profile.n_unread:
        why += f"; {profile.n_unread:,} cells cannot be read"
    return Decision(
        name=profile.name,
        kind=kind,
        action=_action(kind, profile, mapped),
        why=why,
        change=f"columns={{{profile.name!r}: {_other_kind(kind, profile)!r}}}",
        mapped=mapped,
        missing=profile.missing,
        n_distinct=profile.n_distinct,
        profile=profile,
    )


def _check_kind(profile: Profile, asked: str) -> None:
    """Raise where cells cannot be what was asked for."""
    fits = {
        "number": ("numbers", "cycle"),
        "date": ("times", "clock", "cycle"),
        "vector": ("vectors",),
    }.get(asked)
    is_vector = profile.reading.kind == "vectors" and asked in ("category", "text", "boolean")
    too_many = asked == "boolean" and profile.n_distinct > 2
    if (fits and profile.reading.kind not in fits) or is_vector or too_many:
        seen = ", ".join(profile.examples) or "nothing"
        raise ValueError(f"column {profile.name!r} cannot be a {asked}: it holds {seen}, …")


def _decide(profile: Profile) -> tuple[str, str]:
    """Kind and reason."""
    if profile.missing > MOSTLY_EMPTY:
        return "empty", f"{profile.missing:.0%} of the cells are empty"
    if profile.reading.kind == "vectors":
        return "vector", f"lists of {profile.width} numbers"
    if profile.n_distinct <= 1:
        return "constant", "one value in all rows"
    if profile.reading.kind == "levels":
        return _decide_levels(profile)
    if profile.reading.kind == "numbers":
        return _decide_numbers(profile)
    return "date", _date_reason(profile)


def _date_reason(profile: Profile) -> str:
    kind = profile.reading.kind
    form = profile.reading.form
    if kind == "cycle":
        return f"goes round after {form}"
    if kind == "clock":
        return "times of day"
    return "dates" if form == "iso" else f"dates in the form {form}"


def _decide_levels(profile: Profile) -> tuple[str, str]:
    own = profile.n_distinct / max(1, profile.n_filled)
    many_rows = profile.n_filled >= _MIN_ROWS
    if profile.words >= _PROSE and own >= _OWN and many_rows:
        return "text", f"{profile.words:.0f} words in a cell"
    if own >= _OWN and many_rows and profile.reading.kind == "levels":
        return "identifier", f"{own:.0%} of the rows have a value of their own"
    words = set(name_words(profile.name))
    if words & (_ID_WORDS | _PHONE_WORDS) and profile.n_distinct > FEW_CODES:
        return "identifier", "named like an identifier"
    return "category", f"{profile.n_distinct:,} different texts"


def _decide_numbers(profile: Profile) -> tuple[str, str]:
    words = set(name_words(profile.name))
    many_rows = profile.n_rows >= _MIN_ROWS
    if profile.is_boolean:
        return "boolean", "two values"
    if profile.counts_rows and many_rows:
        return "counter", "counts the rows"
    if profile.is_whole and many_rows:
        own = profile.n_distinct == profile.n_filled
        if words & (_ID_WORDS | _PHONE_WORDS) or (own and profile.name.lower().endswith("id")):
            few = profile.n_distinct <= FEW_CODES and not own
            return ("category" if few else "identifier"), "named like an identifier"
        if words & _CODE_WORDS:
            return "category", "codes: their size means nothing"
    if profile.tail > LONG_TAIL:
        return "number", "numbers with a long tail"
    return "number", "numbers"


def _action(kind: str, profile: Profile, mapped: bool) -> str:
    if kind == "category":
        n = profile.n_distinct
        some = f", the rarer ones by {FEW_LEVELS // 4} shared directions" if n > FEW_LEVELS else ""
        return f"{n:,} categories, as one column{some}"
    if kind == "text":
        return "mapped by its words (TF-IDF), as one column" if mapped else "for names only"
    if kind == "date":
        if profile.reading.kind == "times":
            return "year as a number, month, weekday and hour as circles where they vary"
        return "a circle"
    return _ACTIONS[kind]


def _other_kind(kind: str, profile: Profile) -> str:
    """What someone who disagrees would most likely want."""
    if kind in _BESIDE or kind in ("constant", "empty", "drop"):
        numbers = profile.reading.kind in ("numbers", "cycle")
        return (
            "number" if numbers else "vector" if profile.reading.kind == "vectors" else "category"
        )
    if kind == "text":
        return "text"
    if kind == "number" and profile.n_distinct <= FEW_CODES:
        return "category"
    return "drop"
