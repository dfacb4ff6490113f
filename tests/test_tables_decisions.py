"""Messy columns, and the decision that an analyst would take for each.

The cases were written down before the code that decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nestmap.tables import Decision, decide_columns

N_ROWS = 400
Draw = Callable[[np.random.Generator], Any]


@dataclass(frozen=True)
class Case:
    """A column as files have it, and what an analyst makes of it."""

    name: str
    draw: Draw  # the cells
    kind: str
    mapped: bool = True
    missing: float | None = None  # share of empty cells, where the case is about that


def texts(rng: np.random.Generator, words: int) -> list[str]:
    vocabulary = np.array(
        [
            "the",
            "film",
            "a",
            "man",
            "of",
            "war",
            "and",
            "love",
            "is",
            "in",
            "city",
            "story",
            "her",
            "his",
            "two",
            "young",
        ]
    )
    return [" ".join(rng.choice(vocabulary, words)) + f" {i}" for i in range(N_ROWS)]


def sprinkle(values: Any, empty: Any, every: int) -> list[Any]:
    """Every so many cells are empty."""
    return [empty if i % every == 0 else value for i, value in enumerate(values)]


def dates(rng: np.random.Generator, form: str, days: int = 3000) -> list[str]:
    start = np.datetime64("2001-03-05")
    found = start + rng.integers(0, days, N_ROWS)
    return [value.item().strftime(form) for value in found]


def choose(rng: np.random.Generator, *levels: Any) -> list[Any]:
    return [levels[i] for i in rng.integers(0, len(levels), N_ROWS)]


CASES = [
    # numbers
    Case("height", lambda rng: rng.normal(170, 10, N_ROWS), "number"),
    Case("income", lambda rng: rng.lognormal(10, 2, N_ROWS), "number"),
    Case("pclass", lambda rng: rng.integers(1, 4, N_ROWS), "number"),  # ordered
    Case("year", lambda rng: rng.integers(1960, 2024, N_ROWS), "number"),
    Case("budget", lambda rng: [f"${v:,}" for v in rng.integers(900, 10**8, N_ROWS)], "number"),
    Case("share", lambda rng: [f"{v:.1f}%" for v in rng.uniform(0, 100, N_ROWS)], "number"),
    Case("preis", lambda rng: [f"{v:.2f}".replace(".", ",") for v in rng.uniform(1, 99, N_ROWS)], "number"),
    Case("mass", lambda rng: [f"{v:.1f} kg" for v in rng.uniform(1, 99, N_ROWS)], "number"),
    Case("loss", lambda rng: [f"({v:,})" if v % 3 else f"{v:,}" for v in rng.integers(1, 9999, N_ROWS)], "number"),
    Case("visits", lambda rng: sprinkle([str(v) for v in rng.poisson(30, N_ROWS)], "?", 10), "number", missing=0.1),
    Case("depth", lambda rng: sprinkle(rng.uniform(1, 90, N_ROWS), -999.0, 8), "number", missing=0.125),
    Case("gain", lambda rng: np.where(rng.random(N_ROWS) < 0.9, 0, rng.lognormal(8, 1, N_ROWS)), "number"),
    Case("age", lambda rng: sprinkle(rng.integers(1, 90, N_ROWS), None, 5), "number", missing=0.2),
    Case("valid", lambda rng: sprinkle([f"{v:.3f}" for v in rng.normal(size=N_ROWS)], "broken", 100), "number", missing=0.01),
    # categories
    Case("species", lambda rng: choose(rng, "Adelie", "Gentoo", "Chinstrap"), "category"),
    Case("rating", lambda rng: sprinkle(choose(rng, "R", "PG", "PG-13", "G"), "", 4), "category", missing=0.25),
    Case("zip", lambda rng: [f"{v:05d}" for v in rng.integers(1000, 1090, N_ROWS)], "category"),
    Case("zip_code", lambda rng: rng.choice(rng.integers(10000, 99999, 60), N_ROWS), "category"),
    Case("station_id", lambda rng: rng.choice([17, 204, 3391, 88], N_ROWS), "category"),
    Case("age_group", lambda rng: choose(rng, "0-17", "18-29", "30-64", "65+"), "category"),
    Case("sex", lambda rng: choose(rng, "male", "female"), "category"),
    Case("studio", lambda rng: [f"Studio {int(v)}" for v in rng.zipf(1.6, N_ROWS) % 90], "category"),
    Case("mixed", lambda rng: choose(rng, 1, "two", 3.5, None), "category"),
    # booleans
    Case("alive", lambda rng: sprinkle(choose(rng, "yes", "no"), "n/a", 10), "boolean", missing=0.1),
    Case("smoker", lambda rng: rng.integers(0, 2, N_ROWS), "boolean"),
    Case("active", lambda rng: sprinkle(choose(rng, True, False), None, 10), "boolean", missing=0.1),
    # dates and times
    Case("released", lambda rng: dates(rng, "%Y-%m-%d"), "date"),
    Case("signed", lambda rng: sprinkle(dates(rng, "%d.%m.%Y"), "-", 8), "date", missing=0.125),
    Case("us_date", lambda rng: dates(rng, "%m/%d/%Y"), "date"),
    Case("premiere", lambda rng: dates(rng, "%b %d %Y"), "date"),
    Case("logged", lambda rng: [f"2024-03-{1 + i % 28:02d}T{i % 24:02d}:10:{i % 60:02d}Z" for i in range(N_ROWS)], "date"),
    Case("created", lambda rng: np.datetime64("2020-01-01T00", "h") + rng.integers(0, 20000, N_ROWS), "date"),
    Case("timestamp", lambda rng: rng.integers(1_500_000_000, 1_700_000_000, N_ROWS), "date"),
    Case("day_key", lambda rng: [int(v) for v in dates(rng, "%Y%m%d")], "date"),
    Case("departure", lambda rng: [f"{h:02d}:{m:02d}" for h, m in rng.integers(0, 24, (N_ROWS, 2))], "date"),
    Case("month", lambda rng: rng.integers(1, 13, N_ROWS), "date"),  # December is next to January
    # kept beside the map
    Case("Unnamed: 0", lambda rng: np.arange(N_ROWS), "counter", False),
    Case("n", lambda rng: np.arange(1, N_ROWS + 1), "counter", False),
    Case("customer_id", lambda rng: rng.permutation(10**6)[:N_ROWS], "identifier", False),
    Case("uuid", lambda rng: [f"{v:08x}-{v % 97:04x}" for v in rng.integers(0, 2**31, N_ROWS)], "identifier", False),
    Case("title", lambda rng: [f"Film {v}" for v in rng.permutation(N_ROWS)], "identifier", False),
    Case("email", lambda rng: [f"u{v}@example.org" for v in rng.permutation(N_ROWS)], "identifier", False),
    # left out
    Case("unit", lambda rng: ["cm"] * N_ROWS, "constant", False),
    Case("version", lambda rng: np.full(N_ROWS, 3), "constant", False),
    Case("version_gaps", lambda rng: sprinkle(["v1"] * N_ROWS, None, 3), "constant", False),
    Case("video_sales", lambda rng: np.where(rng.random(N_ROWS) < 0.82, np.nan, 5.0 + rng.random(N_ROWS)), "empty", False),
    Case("remarks", lambda rng: [None] * N_ROWS, "empty", False),
    Case("blank", lambda rng: choose(rng, "", " ", "NA", "null", "-", "?"), "empty", False),
    # texts and vectors
    Case("plot", lambda rng: texts(rng, 12), "text", False),
    Case("embedding", lambda rng: [row.tolist() for row in rng.normal(size=(N_ROWS, 8))], "vector"),
    Case("matrix", lambda rng: rng.normal(size=(N_ROWS, 5)), "vector"),
]  # fmt: skip


def decide(case: Case) -> Decision:
    rng = np.random.default_rng(abs(hash(len(case.name))) % 1000)
    return decide_columns({case.name: case.draw(rng)})[0]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 20
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decision_is_the_analysts(case: Case) -> None:
    decision = decide(case)
    assert decision.kind == case.kind, decision
    assert decision.mapped == case.mapped, decision
    if case.missing is not None:
        assert decision.missing == pytest.approx(case.missing, abs=0.02)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decision_says_what_why_and_how_to_change_it(case: Case) -> None:
    decision = decide(case)
    assert decision.action and decision.why
    assert repr(case.name) in decision.change
    assert 0 <= decision.missing <= 1
    assert decision.n_distinct >= 0


OVERRIDES = [
    ("year", "category", True),
    ("pclass", "category", True),
    ("zip", "number", True),
    ("title", "category", True),
    ("plot", "identifier", False),
    ("height", "drop", False),
    ("video_sales", "number", True),
    ("customer_id", "number", True),
    ("plot", "text", True),
]


@pytest.mark.parametrize("name, kind, mapped", OVERRIDES)
def test_users_have_the_last_word(name: str, kind: str, mapped: bool) -> None:
    case = next(case for case in CASES if case.name == name)
    table = {name: case.draw(np.random.default_rng(1))}
    decision = decide_columns(table, columns={name: kind})[0]
    assert decision.kind == kind
    assert decision.mapped == mapped
    assert "asked" in decision.why


def test_what_cannot_be_is_an_error() -> None:
    table = {"species": ["a", "b"] * 20}
    with pytest.raises(ValueError, match=r"'specis'.*did you mean 'species'"):
        decide_columns(table, columns={"specis": "category"})
    with pytest.raises(ValueError, match=r"'categroy'.*did you mean 'category'"):
        decide_columns(table, columns={"species": "categroy"})
    with pytest.raises(ValueError, match="'species' cannot be a number"):
        decide_columns(table, columns={"species": "number"})


def test_a_column_without_a_decision_is_no_key() -> None:
    decisions = decide_columns({"size": [1.0, 2.0, 4.0], "kind": ["a", "b", "a"]})
    assert decisions["kind"] is decisions[1]
    with pytest.raises(KeyError, match=r"no decision on a column 'kinds'.*did you mean 'kind'"):
        decisions["kinds"]
