"""What a name must have: one table of numbers, chosen on some data and measured on others."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.numbers import chosen


@dataclass(frozen=True)
class NameNumbers:
    """The numbers that decide whether a cluster gets a name."""

    share: float = chosen(
        0.6,
        "share of the cluster's rows",
        "that have what the name says, at least; empty cells count against it",
        "digits, wine, penguins, pendigits",
    )
    lift: float = chosen(
        1.5,
        "times",
        "the share among all other rows: a cluster's share is at least so large (not for a label)",
        "digits, wine, penguins, pendigits",
    )
    second: float = chosen(
        0.25,
        "share of the cluster's rows",
        "of a second category in a name: coat / shirt",
        "a quarter of the rows would be contradicted",
    )
    pair: float = chosen(
        0.8,
        "share of the cluster's rows",
        "of two categories that only together make a name",
        "digits, wine, penguins, pendigits",
    )
    span: float = chosen(
        0.2,
        "share of all other rows",
        "beyond which a number is high or low",
        "top and bottom fifth",
    )
    plain: float = chosen(
        0.6,
        "times",
        "the score of a number, or of a category that is one, beside words",
        "Adelie before short bill length",
    )
    alike: float = chosen(
        0.9,
        "rank correlation",
        "from which on two columns of numbers say the same, and a name tells one of them",
        "US gross and worldwide gross",
    )
    word_lead: float = chosen(
        0.4, "share of the cluster's texts", "that hold the first word of a name", "docstrings"
    )
    word_share: float = chosen(
        0.2, "share of the cluster's texts", "that hold each further word of a name", "docstrings"
    )
    word_lift: float = chosen(4.0, "times", "the share among all other texts", "docstrings")
    word_spread: float = chosen(
        0.6,
        "share of the cluster's texts",
        "in finer clusters for which the word holds, too",
        "docstrings",
    )
    part: float = chosen(
        0.1, "share of the cluster's rows", "of what a mixed cluster is said to hold", "rounding"
    )
    errors: float = chosen(
        3.0, "standard errors", "between a share and what chance would give", "0.1% by chance"
    )


NAMING = NameNumbers()
