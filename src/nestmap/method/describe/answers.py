"""What becomes of an answer of a namer: a name, or a reason why it is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

MAX_LETTERS = 60  # of a name from a namer
_MAX_WORDS = 12
_MAX_READ = 20_000  # letters of an answer that are looked at
_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL | re.IGNORECASE)
_PREFIX = re.compile(r"^(the )?name( of the (group|cluster))?( is)?\s*:\s*", re.IGNORECASE)
_WRAPPING = " \t\"'`*_#“”„«»‘’"


class BadAnswer(ValueError):
    """An answer that is no name; says why."""


def read_answer(answer: object) -> str:
    """The name in an answer: its first line, without quotation marks and marks of Markdown.

    Raises
    ------
    BadAnswer
        For what is no text, says nothing, or is longer than 60 letters or 12 words.

    Examples
    --------
    >>> read_answer('<think>Hm, coats?</think>\\n**Name: "Winter coats."**\\nI chose it because …')
    'Winter coats'
    """
    if not isinstance(answer, str):
        raise BadAnswer(f"no text but {'None' if answer is None else type(answer).__name__}")
    text = _THOUGHT.sub("", answer[:_MAX_READ])
    lines = [tidied for line in text.splitlines() if (tidied := _tidy(line))]
    if not lines:
        raise BadAnswer("empty")
    name = lines[0]
    if len(lines) > 1 and name.endswith(":"):  # "Here is a name for this group:"
        name = lines[1]
    if len(name) > MAX_LETTERS or len(name.split()) > _MAX_WORDS:
        raise BadAnswer(f"longer than {MAX_LETTERS} letters or {_MAX_WORDS} words")
    return name


def _tidy(line: str) -> str:
    """Empty if no letter and no digit is left."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    plain = _PREFIX.sub("", plain.strip(_WRAPPING)).strip(_WRAPPING)
    if plain.endswith(".") and plain.count(".") == 1:
        plain = plain[:-1].rstrip(_WRAPPING)
    return plain if any(c.isalnum() for c in plain) else ""


def is_taken(name: str, others: Collection[str]) -> bool:
    """Whether another has the same name; capitals do not tell names apart."""
    return name.casefold() in {other.casefold() for other in others}


def set_apart(name: str, hints: Sequence[str], taken: Collection[str]) -> str:
    """A name that no other has: with a word of evidence, or else with a number.

    Parameters
    ----------
    name : str
    hints : sequence of str
        Words of evidence, the most telling first.
    taken : collection of str
        Names of others.

    Examples
    --------
    >>> set_apart("Coats", ["coats", "wool"], ["coats"]), set_apart("Coats", [], ["Coats"])
    ('Coats (wool)', 'Coats (2)')
    """
    if not is_taken(name, taken):
        return name
    words = [hint for hint in hints if hint.casefold() not in name.casefold()]
    for hint in words:
        if not is_taken(found := f"{name} ({hint})", taken):
            return found
    number = 2
    while is_taken(found := f"{name} ({number})", taken):
        number += 1
    return found
