"""Mixed tables beside what UMAP's users do by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.evidence import markdown
from benchmarks.evidence.markdown import NONE, listed
from benchmarks.evidence.records import Record
from benchmarks.tables_rivals import RIVALS

BEHIND = 0.01  # 5-NN accuracy: as much is allowed below the best
LOST = 0.03  # as much is allowed to a fifth of the cells
HALVES = {
    "reported": "tables that chose nothing",
    "chosen": "tables that chose the defaults",
}


def _half(record: Record, which: str) -> list[dict[str, Any]]:
    return [row for row in record["tables"] if row["chooses"] == (which == "chosen")]


def _pair(value: dict[str, float], sign: bool = False) -> str:
    return f"{value['mean']:{'+' if sign else ''}.3f} ± {value['error']:.3f}"


def _mean(rows: list[dict[str, Any]], *keys: str) -> float:
    values = []
    for row in rows:
        found: Any = row
        for key in keys:
            found = found[key]
        values.append(found["mean"])
    return float(np.mean(values))


def accuracy(record: Record) -> str:
    """5-NN accuracy on the map, of UMAP on each encoding and of nestmap."""
    lines = []
    for which in HALVES:
        rows = _half(record, which)
        for row in rows:
            umap = [
                f"{row['umap'][name]['mean']:.3f}" if name in row["umap"] else NONE
                for name in RIVALS
            ]
            ours = f"{row['nestmap']['mean']:.3f}"
            columns = f"{row['numbers']} + {row['categories']}"
            size = [f"{row['rows']:,}", columns, f"{row['missing']:.1%}"]
            lines.append([row["table"], *size, *umap, ours, _pair(row["ahead"], True)])
        best = np.mean([row["umap"][row["best"]]["mean"] for row in rows])
        means = [f"best: {best:.3f}", "", "", f"{_mean(rows, 'nestmap'):.3f}"]
        gap = f"{_mean(rows, 'ahead'):+.3f}"
        lines.append([f"*mean of {len(rows)} {HALVES[which]}*", "", "", "", *means, gap])
    head = ["table", "rows", "numbers + categories", "empty"]
    head += ["UMAP, raw", "standardised", "one-hot", "nestmap", "to the best"]
    return markdown.table(head, lines)


def removed(record: Record) -> str:
    """What a fifth of the cells costs."""
    lines = []
    for which in HALVES:
        rows = _half(record, which)
        ways = list(rows[0]["removed"])
        lines += [
            [row["table"], *(_pair(row["removed"][way], True) for way in ways)] for row in rows
        ]
        means = [f"{_mean(rows, 'removed', way):+.3f}" for way in ways]
        lines.append([f"*mean of {len(rows)} {HALVES[which]}*", *means])
    return markdown.table(
        ["table", "nestmap", "mean filling", "nearest rows", "random forest"], lines
    )


def losses(record: Record) -> str:
    """Tables on which a bar is missed."""
    behind = [
        f"{row['table']} ({_pair(row['ahead'], True)})"
        for row in record["tables"]
        if row["ahead"]["mean"] < -BEHIND
    ]
    lost = [
        f"{row['table']} ({_pair(row['removed']['expected'], True)})"
        for row in record["tables"]
        if row["removed"]["expected"]["mean"] < -LOST
    ]
    return "\n".join(
        [
            f"- More than {BEHIND} below the best: {listed(behind) if behind else 'none'}.",
            f"- More than {LOST} lost with a fifth of the cells: {listed(lost) if lost else 'none'}.",
        ]
    )


def speed(record: Record) -> str:
    """Seconds of the doctor, the encoding and the fit."""
    found = record["speed"]
    return (
        f"{found['rows']:,} generated rows of {found['columns']} mixed columns, CPU time: decisions\n"
        f"{found['decide']:.1f} s, decisions and encoding ({found['encoded']} numbers a row) "
        f"{found['encode']:.1f} s, the fit {found['fit']:.1f} s."
    )
