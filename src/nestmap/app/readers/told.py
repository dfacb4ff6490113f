"""Decisions about columns in the words of the command line: a line each, with what changes it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

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
      size  number    scaled by its quartiles, tails squashed (numbers)  --kind size=category
      kind  category  2 categories, as one column (33.3% empty)          --kind kind=drop
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


def _what(decision: Decision) -> str:
    known = f"{decision.n_distinct:,} different texts"  # the action says it, too
    reasons = [] if decision.why == known else [decision.why]
    if decision.kind != "empty" and decision.missing > 0:
        reasons.append(f"{decision.missing:.1%} empty")
    return f"{decision.action} ({'; '.join(reasons)})" if reasons else decision.action


def _change(decision: Decision) -> str:
    """The option that changes it."""
    wish = f"{decision.name}={decision.other_kind}"
    return f"--kind {wish}" if wish.replace("=", "").isidentifier() else f"--kind '{wish}'"


def _fold(decisions: Decisions) -> list[tuple[str, str, str, str]]:
    """Lines for runs of columns about which the same was decided."""
    runs = groupby(decisions, key=lambda each: (each.kind, each.action))
    lines = []
    for (kind, action), run in runs:
        names = [each.name for each in run]
        one = len(names) == 1
        lines.append((shorten(names, 3), kind, action, f"--kind '{names[0]}=…'" if one else ""))
    return lines
