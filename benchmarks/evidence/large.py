"""Millions of rows on one machine."""

from __future__ import annotations

from benchmarks.evidence import markdown
from benchmarks.evidence.markdown import NONE, gigabytes, number, seconds
from benchmarks.evidence.records import Record


def fits(record: Record) -> str:
    """Maps from a file, from the start of the process."""
    head = ["data", "rows × columns", "metric", "start to map", "memory", "all resident", "recall"]
    lines = [
        [
            row["data"],
            f"{row['rows']:,} × {row['columns']}",
            row["metric"],
            seconds(row["seconds"]),
            gigabytes(row["gigabytes"]),
            gigabytes(row["resident"]),
            number(row["recall"], 3),
        ]
        for row in record["fits"]
    ]
    return markdown.table(head, lines)


def curves(record: Record) -> str:
    """First neighbours beside pynndescent, at its recall."""
    head = ["data", "pynndescent's k", "its recall", "its time", "nestmap's time", "share"]
    lines = []
    for row in record["curves"]:
        ours = row["nestmap"]
        share = NONE if ours is None else f"{ours / row['pynndescent']:.2f}"
        times = [f"{row['pynndescent']:.2f} s", NONE if ours is None else f"{ours:.2f} s"]
        lines.append([row["data"], str(row["k"]), f"{row['recall']:.3f}", *times, share])
    return markdown.table(head, lines)


def maps(record: Record) -> str:
    """What the recall of first neighbours does to the map."""
    head = [
        "data",
        "target",
        "recall found",
        "start to map",
        "trustworthiness",
        "10-NN recall",
        "1-NN accuracy",
    ]
    lines = [
        [
            f"{row['data']}, {row['rows']:,} rows",
            str(row["target"]),
            number(row["found"], 3),
            seconds(row["seconds"]),
            number(row["trustworthiness"], 4),
            number(row["recall"], 4),
            number(row.get("accuracy"), 4),
        ]
        for row in record["maps"]
    ]
    return markdown.table(head, lines)
