"""The comparison of maps: every method on every data set at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.evidence import markdown
from benchmarks.evidence.markdown import NONE, best_of, bold, number
from benchmarks.evidence.records import Record
from benchmarks.methods import METHODS

README_DATA = "fashion_mnist"  # the largest labelled set


@dataclass(frozen=True)
class Measure:
    """A column of the table."""

    key: str
    head: str
    digits: int
    lowest: bool = False  # the lowest is best
    unit: str = ""
    is_scored: bool = False  # counts in the table of losses


MEASURES = (
    Measure("start_to_map", "start to map", 1, lowest=True, unit=" s", is_scored=True),
    Measure("second_fit", "second fit", 2, lowest=True, unit=" s", is_scored=True),
    Measure("megabytes", "memory", 0, lowest=True, unit=" MB", is_scored=True),
    Measure("trustworthiness", "trustworthiness", 4, is_scored=True),
    Measure("recall", "10-NN recall", 3, is_scored=True),
    Measure("accuracy", "1-NN accuracy", 4, is_scored=True),
    Measure("centroid_triplets", "triplets", 3, is_scored=True),
    Measure("nmi", "NMI", 3, is_scored=True),
    Measure("fill", "fill", 2),
    Measure("moves", "moves", 3, lowest=True),
)
SHORT = ("start_to_map", "megabytes", "trustworthiness", "recall", "accuracy", "centroid_triplets")


def _maps_of(record: Record, data: str) -> list[dict[str, Any]]:
    return [row for row in record["maps"] if row["data"] == data]


def _cells(rows: list[dict[str, Any]], measures: tuple[Measure, ...]) -> list[list[str]]:
    """One line per map, the best of each column in bold."""
    lines = [[METHODS[row["method"]].label] for row in rows]
    for measure in measures:
        values = [row.get(measure.key) for row in rows]
        marks = best_of(values, measure.digits, measure.lowest)
        for line, value, mark in zip(lines, values, marks, strict=True):
            text = number(value, measure.digits)
            line.append(bold(text if text == NONE else text + measure.unit, mark))
    return lines


def table(record: Record) -> str:
    """All maps, one below the other."""
    lines = []
    for data in record["data"]:
        lines += [[data, *cells] for cells in _cells(_maps_of(record, data), MEASURES)]
        original = record["original"].get(data)
        if original is not None:
            known = {"accuracy": original["accuracy"], "nmi": original["nmi"]}
            cells = [number(known.get(m.key), m.digits) for m in MEASURES]
            lines.append([data, "*the data themselves*", *cells])
    return markdown.table(["data", "method", *(m.head for m in MEASURES)], lines)


def short_table(record: Record) -> str:
    """The table of README.md: one data set, the main measures."""
    measures = tuple(measure for measure in MEASURES if measure.key in SHORT)
    lines = _cells(_maps_of(record, README_DATA), measures)
    return markdown.table(["", *(m.head for m in measures)], lines)


def data(record: Record) -> str:
    """What was mapped."""
    said = [
        f"{name} ({known['rows']:,} × {known['columns']}, {known['metric']})"
        for name, known in record["data"].items()
    ]
    return f"Data: {markdown.listed(said)}."


def losses(record: Record) -> str:
    """Where another method is ahead of nestmap's default, the best first.

    Time and memory are compared with other programs only: nestmap's other layouts do less.
    """
    lines = []
    for measure in (measure for measure in MEASURES if measure.is_scored):
        for name in record["data"]:
            ahead = _ahead(_maps_of(record, name), measure)
            if ahead:
                lines.append([measure.head, name, *ahead])
    return markdown.table(["measure", "data", "nestmap", "ahead of it"], lines)


def _ahead(rows: list[dict[str, Any]], measure: Measure) -> list[str]:
    """Cells: our figure, and the methods that are ahead of it with theirs; none where none is."""
    found = {row["method"]: row[measure.key] for row in rows if row.get(measure.key) is not None}
    ours = found.pop("nestmap", None)
    if ours is None:
        return []
    if measure.lowest:
        found = {name: value for name, value in found.items() if METHODS[name].package != "nestmap"}
    sign = -1 if measure.lowest else 1
    better = {name: value for name, value in found.items() if sign * (value - ours) > 0}
    ranked = sorted(better, key=lambda name: -sign * better[name])
    if not ranked:
        return []
    told = [f"{METHODS[name].label} {number(better[name], measure.digits)}" for name in ranked]
    return [number(ours, measure.digits), ", ".join(told)]
