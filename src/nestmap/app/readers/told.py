"""Decisions about columns in the words of the command line: a line each, with what changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from shlex import quote

from ...core.arrays import Array
from ...tables.decide import Decision, Decisions
from .choice import shorten

MOST_LINES = 40  # of decisions; more are folded
_WIDEST = 28  # letters of a name in a line
_LONGEST = 70  # letters of a decision, for the options to stand in a column


def tell_decisions(decisions: Decisions, beside: Mapping[str, str]) -> tuple[str, ...]:
    """A line on all, and one for each column; `beside`: columns that nothing was decided on.

    Examples
    --------
    >>> from nestmap.tables import decide_columns
    >>> found = decide_columns({"size": [1.5, 2, 4] * 10, "kind": ["a", "b", "?"] * 10})
    >>> for line in tell_decisions(found, {"who": "the name of each row"}):
    ...     print(line)
    30 rows; 2 of 2 columns mapped
      size  number    scaled by its quartiles, tails squashed    --kind size=category
      kind  category  2 categories, as one column (33.3% empty)  --kind kind=drop
      who             the name of each row
    """
    lines = [(each.name, each.kind, _what(each), _change(each)) for each in decisions]
    if len(lines) > MOST_LINES:
        lines = _fold(decisions)
    lines += [(name, "", task, "") for name, task in beside.items()]
    widths = [min(_WIDEST, max(len(line[j]) for line in lines)) for j in (0, 1)]
    widths.append(min(_LONGEST, max(len(line[2]) for line in lines)))
    told = (
        f"  {name:{widths[0]}}  {kind:{widths[1]}}  {what:{widths[2]}}  {change}".rstrip()
        for name, kind, what, change in lines
    )
    return (decisions.summary, *told)


def tell_vectors(used: Sequence[str], numbers: Mapping[str, Array]) -> str:
    """A line on columns that make a vector, which nobody has asked for.

    Examples
    --------
    >>> import numpy as np
    >>> tell_vectors(["emb"], {"emb": np.zeros((5, 32))})
    'emb holds vectors of 32 numbers: mapped as they are (--kind emb=drop encodes the others)'
    >>> tell_vectors(["p0", "p1"], {})
    'p0 to p1 make a vector of 2 numbers: mapped as it is (--columns NAMES encodes columns)'
    """
    first = used[0]
    if len(used) > 1:
        return (
            f"{first} to {used[-1]} make a vector of {len(used)} numbers: mapped as it is "
            "(--columns NAMES encodes columns)"
        )
    width = numbers[first].shape[1]
    return (
        f"{first} holds vectors of {width} numbers: mapped as they are "
        f"(--kind {_quoted(f'{first}=drop')} encodes the others)"
    )


def _what(decision: Decision) -> str:
    said = (f"{decision.kind}s", f"{decision.n_distinct:,} different texts")  # in other words
    known = decision.why in said or decision.why in decision.action
    reasons = [] if known else [decision.why]
    if decision.kind != "empty" and decision.missing > 0:
        reasons.append(f"{decision.missing:.1%} empty")
    is_idle = decision.kind == "text" and not decision.mapped  # names come of texts when asked
    action = "kept beside the map" if is_idle else decision.action
    return f"{action} ({'; '.join(reasons)})" if reasons else action


def _change(decision: Decision) -> str:
    """The option that changes it."""
    if decision.kind == "text" and not decision.mapped:
        return f"--texts {_quoted(decision.name)}"
    return f"--kind {_quoted(f'{decision.name}={decision.other_kind}')}"


def _quoted(wish: str) -> str:
    """As a shell takes it."""
    return wish if wish.replace("=", "").isidentifier() else quote(wish)


def _fold(decisions: Decisions) -> list[tuple[str, str, str, str]]:
    """Lines for runs of columns about which the same was decided."""
    runs = groupby(decisions, key=lambda each: (each.kind, each.action))
    lines = []
    for (kind, action), run in runs:
        names = [each.name for each in run]
        one = len(names) == 1
        lines.append((shorten(names, 3), kind, action, f"--kind '{names[0]}=…'" if one else ""))
    return lines
