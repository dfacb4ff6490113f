"""What the user wants of a file: which columns are mapped, and how, and what the others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...tables.encoder import TableEncoder

_NAMES_SHOWN = 8  # names of columns in a line
_FLAGS = {"id": "id", "label": "label", "text": "texts"}


@dataclass(frozen=True)
class Choice:
    """What the user wants of a file.

    Attributes
    ----------
    columns : tuple of str or None
        To map: names, or numbers from 0.
    id, label, text, format, key
        As in `read_table`.
    missing : str or None
        As in `read_table`, for numbers that are mapped as they are; of a table that is encoded
        'expected' or 'mean'. None: 'error', or 'expected'.
    encodes : bool
        Tables are encoded unless they hold vectors, and texts that are named serve for names
        unless there is nothing else to map: as the command line does it.
    pictures : tuple of int or None
        Of an earlier table: pictures of a folder become rows of this shape.
    vectors : tuple of str or None
        Columns to map as they are; (): all that hold numbers.
    kinds : dict of str to str
        Kinds of columns, as `TableEncoder` takes them.
    encoder : TableEncoder or None
        Of an earlier table, by which this one is encoded.
    like : tuple of str or None
        Columns of an earlier table, taken by name where this one has names.
    words : Words or None
        Of an earlier table: texts are weighed by these.
    """

    columns: tuple[str, ...] | None = None
    id: str | None = None
    label: str | None = None
    text: str | bool = False
    missing: str | None = None
    like: tuple[str, ...] | None = None
    words: Any = None
    format: str | None = None
    key: str | None = None
    pictures: tuple[int, ...] | None = None
    encodes: bool = False
    vectors: tuple[str, ...] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    encoder: TableEncoder | None = None

    def __post_init__(self) -> None:
        known = (None, "error", "drop", "mean", *(("expected",) if self.encodes else ()))
        if self.missing not in known:
            raise ValueError(
                f"missing={self.missing!r} is not an option; use 'error', 'drop' or 'mean'"
            )
        if self.encodes:
            self._check_encoding()

    def _check_encoding(self) -> None:
        """Raise for wishes that contradict each other."""
        if self.vectors is not None and (self.columns is not None or self.kinds):
            raise ValueError(
                "--vectors takes columns as they are; --columns and --kind are for columns that "
                "are encoded: leave one of them out"
            )
        if self.vectors is None and self.missing in ("error", "drop") and self.asks_to_encode:
            raise ValueError(
                f"missing={self.missing!r} is for numbers as they are (--vectors); columns that "
                "are encoded know 'expected' and 'mean'"
            )
        if self.vectors is not None and self.missing == "expected":
            raise ValueError(
                "missing='expected' is for columns that are encoded, and --vectors takes them as "
                "they are: use 'error', 'drop' or 'mean'"
            )
        both = [name for name in self.special if name in {*self.kinds, *(self.vectors or ())}]
        if both:
            flag = "--kind" if both[0] in self.kinds else "--vectors"
            raise ValueError(
                f"column {both[0]!r} has two tasks: --{_FLAGS[self.special[both[0]]]} keeps it "
                f"beside the map, and {flag} maps it; leave one of them out"
            )

    @property
    def text_column(self) -> str | None:
        """The column of texts that was named."""
        return self.text if isinstance(self.text, str) else None

    @property
    def has_codes(self) -> bool:
        """Whether columns are encoded: they may hold codes such as 01234, and late texts."""
        return self.encodes and self.vectors is None

    @property
    def named(self) -> set[str]:
        """Columns whose task is known: nothing is to be found out about them."""
        return {*self.special, *self.kinds}

    @property
    def asks_to_encode(self) -> bool:
        """Whether columns were named that are to be encoded."""
        return self.columns is not None or any(
            kind not in ("drop", "identifier") for kind in self.kinds.values()
        )

    @property
    def special(self) -> dict[str, str]:
        """Columns that are named for something else than X, and what that is."""
        named = {
            "id": self.id,
            "label": self.label,
            "text": self.text_column,
        }
        return {name: what for what, name in named.items() if name is not None}


def check_names(source: str, choice: Choice, names: Sequence[str]) -> None:
    """Raise for columns that were asked for and are not there: before a long reading begins."""
    for name, what in choice.special.items():
        if name not in names:
            raise NoColumn(source, what, name, names)
    for name in choice.kinds:
        if name not in names:
            raise NoColumn(source, "kinds", name, names)
    every = dict.fromkeys(names)
    if choice.columns is not None:
        used = chosen_columns(source, choice.columns, names, every)
        idle = [name for name in choice.kinds if name not in used]
        if idle:
            raise ValueError(
                f"{source}: --kind {idle[0]}: the column is not among --columns; add it, or leave "
                "--kind out"
            )
    if choice.vectors:
        chosen_columns(source, choice.vectors, names, every, "vectors")


def wanted_like(choice: Choice, names: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of an earlier table in one with these names; None if they are only numbers."""
    has_names = any(name != str(i) for i, name in enumerate(names))
    return choice.like if has_names else None


class NoColumn(ValueError):
    """A column that is not there."""

    def __init__(self, source: str, what: str, name: str, names: Sequence[str]) -> None:
        from difflib import get_close_matches

        near = get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {shorten(names)}"
        super().__init__(f"{source}: {what}={name!r} is no column{hint}")


def chosen_columns(
    source: str,
    wanted: Sequence[str],
    names: Sequence[str],
    numbers: Mapping[str, Any],
    what: str = "columns",
) -> list[str]:
    """Columns by name, by number, or as a range of numbers such as 3-10; `what` asks for them."""
    used: list[str] = []
    for item in wanted:
        first, dash, last = item.partition("-")
        if item in names:
            found = [item]
        elif first.isdigit() and (last.isdigit() if dash else True):
            start = int(first)
            stop = int(last) if dash else int(first)
            if not start <= stop < len(names):
                raise ValueError(
                    f"{source}: {what}={item!r}: there are columns 0 to {len(names) - 1}"
                )
            found = list(names[start : stop + 1])
        else:
            raise NoColumn(source, what, item, names)
        bad = [name for name in found if name not in numbers]
        if bad:
            raise ValueError(
                f"{source}: column {bad[0]!r} holds texts, not numbers; use it as text= (--texts)"
            )
        used += [name for name in found if name not in used]
    return used


def shorten(names: Sequence[str], most: int = _NAMES_SHOWN) -> str:
    """A few of many names."""
    shown = ", ".join(map(str, names[:most]))
    return shown if len(names) <= most else f"{shown} … and {len(names) - most} more"
