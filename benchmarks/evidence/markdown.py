"""Markdown tables and numbers as the pages print them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NONE = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s"


def gigabytes(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f} GB"


def best_of(values: Sequence[float | None], digits: int, lowest: bool = False) -> list[bool]:
    """Which of them are printed in bold: those that look the best as printed."""
    known = [round(value, digits) for value in values if value is not None]
    if len(known) < 2:
        return [False] * len(values)
    top = min(known) if lowest else max(known)
    return [value is not None and round(value, digits) == top for value in values]


def bold(text: str, is_bold: bool) -> str:
    return f"**{text}**" if is_bold else text


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
