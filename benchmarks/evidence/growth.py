"""Maps that take in rows, lose them, and follow an older map."""

from __future__ import annotations

from benchmarks.evidence import markdown
from benchmarks.evidence.markdown import NONE, number
from benchmarks.evidence.records import Record

QUALITY = {"trust": "trustworthiness", "recall": "10-NN recall", "accuracy": "1-NN accuracy"}


def extend(record: Record) -> str:
    """80% of the rows, then 20% more."""
    lines = [
        [row["data"], row["method"], *(number(row[key], 4) for key in QUALITY)]
        for row in record["extend"]
    ]
    return markdown.table(["data", "method", *QUALITY.values()], lines)


def new_class(record: Record) -> str:
    """A class that comes later."""
    lines = []
    for row in record["class"]:
        lists = [
            " ".join(number(value, 3) for value in row[key]) or NONE
            for key in ("shares", "purities")
        ]
        lines.append([row["data"], row["method"], number(row["beside"], 3), *lists])
    head = ["data", "method", "beside their own", "in clusters of their own, per level", "purity"]
    return markdown.table(head, lines)


def refit(record: Record) -> str:
    """A tenth of the rows replaced."""
    keys = {"median": "median move", "p95": "95% below", **QUALITY}
    lines = [
        [row["data"], row["method"], *(number(row[key], 4) for key in keys)]
        for row in record["refit"]
    ]
    return markdown.table(["data", "method", *keys.values()], lines)


def draws(record: Record) -> str:
    """Other draws of the rows: moves, and quality less that of a fit without `like`."""
    lines = []
    for row in record["draws"]:
        cells = [f"{mean:.4f} ± {error:.4f}" for mean, error in (row["median"], row["fresh"])]
        cells += [f"{mean:+.4f} ± {error:.4f}" for mean, error in (row[key] for key in QUALITY)]
        lines.append([row["data"], *cells])
    return markdown.table(["data", "median move", "of a fresh fit", *QUALITY.values()], lines)


def speed(record: Record) -> str:
    found = record["speed"]
    share = found["fit"] / found["10000"]
    return (
        f"1,000,000 generated rows of 28 columns: the fit took {found['fit']:.1f} s, 1,000 rows\n"
        f"more {found['1000']:.2f} s, 10,000 rows more {found['10000']:.2f} s: 1/{share:.0f} of "
        "the fit."
    )
