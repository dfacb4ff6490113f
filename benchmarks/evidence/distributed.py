"""Fits on dask workers beside one machine."""

from __future__ import annotations

from benchmarks.evidence import markdown
from benchmarks.evidence.markdown import NONE, gigabytes, number, seconds
from benchmarks.evidence.records import Record


def fits(record: Record) -> str:
    head = [
        "data",
        "neighbours",
        "one machine",
        "two workers",
        "ratio",
        "largest worker",
        "client",
        "rows shuffled",
        "recall, machine and cluster",
        "same bits",
    ]
    lines = []
    for row in record["fits"]:
        one, two = row["alone"], row["workers"]
        ratio = NONE if one is None or two is None else f"{two / one:.2f} ×"
        lines.append(
            [
                f"{row['data']}, {row['rows']:,} × {row['columns']}",
                row["neighbors"],
                seconds(one),
                seconds(two),
                ratio,
                gigabytes(row["worker_gigabytes"]),
                gigabytes(row["client_gigabytes"]),
                f"{number(row['shuffled'], 2)} ×",
                ", ".join(number(value, 3) for value in row["recall"]),
                "yes" if row["is_same"] else "no",
            ]
        )
    return markdown.table(head, lines)
