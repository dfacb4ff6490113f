"""Recall against time, from the rows of the results: points, comparison and figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large.plan import CURVE_DATA

Rows = dict[str, dict[str, Any]]
STYLES = {
    "nestmap": ("#1f6f8b", "o-"),
    "pynndescent": ("#c2571a", "s--"),
}


@dataclass(frozen=True)
class Point:
    """One search."""

    label: str
    recall: float
    seconds: float


def points(rows: Rows, data: str, method: str, task: str = "neighbors") -> list[Point]:
    """The searches that came to an end, by recall."""
    chosen = [
        r for r in rows.values() if (r["task"], r["data"], r["method"]) == (task, data, method)
    ]
    found = [Point(r["label"], r["recall"], r["seconds"]) for r in chosen if r["status"] == "ok"]
    return sorted(found, key=lambda p: (p.recall, p.seconds))


def seconds_at(curve: list[Point], recall: float) -> float | None:
    """Seconds for at least this recall; None where no search reaches it.

    Between two neighbouring points the logarithm of the time is interpolated. Below the lowest
    point its time counts: nothing says that less would be faster. A slow point beside a faster one
    of more recall is left out.
    """
    best = [p for p in curve if all(q.seconds >= p.seconds for q in curve if q.recall >= p.recall)]
    if not best or recall > best[-1].recall:
        return None
    return float(
        np.exp(np.interp(recall, [p.recall for p in best], [np.log(p.seconds) for p in best]))
    )


def _apart(curve: list[Point], named: list[Point]) -> list[Point]:
    """Points whose names lie neither on each other nor on those of points that are named already."""
    found: list[Point] = []
    for p in curve:
        others = [*named, *found]
        if all(
            abs(np.log(p.seconds / q.seconds)) > 0.35 or abs(p.recall - q.recall) > 0.06
            for q in others
        ):
            found.append(p)
    return found


def draw(rows: Rows, path: Path) -> None:
    """One panel per data set that was measured."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    measured = [d for d in CURVE_DATA if any(points(rows, d, m) for m in STYLES)]
    figure, axes = plt.subplots(
        1, len(measured), figsize=(4.6 * len(measured), 4), squeeze=False, sharey=True
    )
    for axis, data in zip(axes[0], measured, strict=True):
        named: list[Point] = []
        for method, (color, style) in STYLES.items():
            found = points(rows, data, method)
            if not found:
                continue
            axis.plot(
                [p.seconds for p in found],
                [p.recall for p in found],
                style,
                color=color,
                label=method,
            )
            apart = _apart(found, named)
            named += apart
            for p in apart:
                name = f"k={p.label}" if method == "pynndescent" else p.label
                axis.annotate(
                    name,
                    (p.seconds, p.recall),
                    xytext=(5, -9),
                    textcoords="offset points",
                    fontsize=7,
                )
        axis.set(xscale="log", xlabel="seconds, warm, 2 threads", title=data, ylim=(0, 1.03))
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter(ScalarFormatter())
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("first-neighbour recall")
    axes[0][0].legend(loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)
