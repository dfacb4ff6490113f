"""Tables of chosen numbers: each with its unit, what it counts, and where it comes from."""

from __future__ import annotations

from dataclasses import field, fields
from typing import Any


def chosen(value: Any, unit: str, counts: str, source: str) -> Any:
    """A field of a dataclass of such numbers.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Numbers:
    ...     rounds: int = chosen(40, "rounds", "of smoothing", "clusters are clumps then")
    >>> Numbers().rounds
    40
    """
    return field(default=value, metadata={"unit": unit, "counts": counts, "source": source})


def as_markdown(table: Any) -> str:
    """A dataclass of such numbers, as docs print it."""
    lines = ["| number | value | unit | what is counted | source |", "|---|---|---|---|---|"]
    for each in fields(table):
        value = getattr(table, each.name)
        told = f"{value:,}" if isinstance(value, int) else f"{value:g}"
        what = each.metadata
        lines.append(
            f"| `{each.name}` | {told} | {what['unit']} | {what['counts']} | {what['source']} |"
        )
    return "\n".join(lines) + "\n"
