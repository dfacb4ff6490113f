"""The explorer beside embedding-atlas."""

from __future__ import annotations

from benchmarks.evidence import markdown
from benchmarks.evidence.markdown import number
from benchmarks.evidence.records import Record


def visits(record: Record) -> str:
    head = [
        "rows",
        "program",
        "loaded until the page is still",
        "work until then",
        "work per step of a filter",
        "loaded per step",
        "memory of the server",
        "of the browser",
    ]
    lines = [
        [
            f"{row['rows']:,}",
            row["program"],
            f"{number(row['megabytes'], 1)} MB",
            f"{number(row['work'], 1)} s of CPU",
            f"{number(row['step_work'], 2)} s of CPU",
            f"{number(row['step_megabytes'], 2)} MB",
            f"{number(row['server_megabytes'], 0)} MB",
            f"{number(row['browser_megabytes'], 0)} MB",
        ]
        for row in record["visits"]
    ]
    return markdown.table(head, lines)
