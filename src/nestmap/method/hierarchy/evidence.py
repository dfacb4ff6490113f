"""How many clusters there are, in sentences: the evidence for each level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.arrays import Array
from .level import Level

if TYPE_CHECKING:
    from .summary import HierarchySummary, LevelSummary

# `inside` and `agreement` of clusters with clear borders: digits .97 and .95, tumours .76 and .87,
# clouds without clusters .33 to .91 and .59 to .81
_CLEAR = 0.85
_NONE_BELOW_INSIDE = 0.6
_NONE_BELOW_AGREEMENT = 0.75
_STANDS_OUT = 1.2  # separation / cohesion from which on centroids lie clearly apart


def mean_agreement(level: Level) -> float:
    """The stability of the clusters of a level, by rows; nan where nobody voted."""
    if level.agreement is None:
        return float("nan")
    known = ~np.isnan(level.agreement)
    sizes: Array = level.sizes[known]
    if not sizes.sum():
        return float("nan")
    return float(np.average(level.agreement[known].astype(np.float64), weights=sizes))


def explain(summary: HierarchySummary) -> str:
    """A line per level, why `labels_` is one of them, and how to get another number."""
    lines = ["How many clusters there are depends on the scale. The evidence for each level:"]
    for level in summary:
        mark = "  <- labels_" if level.level == summary.default else ""
        lines.append(f"  level {level.level}: {_level_line(level, summary.is_graph)}{mark}")
    lines.append(explain_labels(summary[summary.default], summary.is_graph))
    lines.append("Another number: labels(n_clusters=k), any k; another level: labels(level).")
    return "\n".join(lines)


def explain_labels(level: LevelSummary, is_graph: bool) -> str:
    """Which level is that of `labels_`, why, and how clear its clusters are."""
    if level.n_clusters == 1:
        return f"labels_ is level {level.level}: one cluster; there are too few rows for more."
    why = (
        "the scale on which borders are thinnest for the number of clusters, or a middling one "
        "where none stands out"
        if is_graph
        else "the highest score (separation / cohesion, stability, not too few)"
    )
    return (
        f"labels_ is level {level.level}, with {_count(level.n_clusters)}: {why}. "
        f"{_evidence(level, is_graph)}{_verdict(level, is_graph)}"
    )


def _count(n: int) -> str:
    return "1 cluster" if n == 1 else f"{n:,} clusters"


def _level_line(level: LevelSummary, is_graph: bool) -> str:
    told = f"{_count(level.n_clusters)} of {level.smallest:,} to {level.largest:,} rows"
    figures = []
    if is_graph:
        if not np.isnan(level.inside):
            figures.append(f"{level.inside:.0%} of the links stay inside")
        if not np.isnan(level.agreement):
            figures.append(f"found again to {level.agreement:.0%}")
    else:
        if level.cohesion > 0 and not np.isnan(level.separation):
            figures.append(f"centroids {level.separation / level.cohesion:.2f} links apart")
        if not np.isnan(level.stability):
            figures.append(f"{level.stability:.0%} of the rows nearest to their own")
    return "; ".join([told, *figures])


def _evidence(level: LevelSummary, is_graph: bool) -> str:
    """The figures of the level of `labels_`, as a sentence; '' where there are none."""
    if not is_graph:
        if np.isnan(level.stability):
            return ""
        return f"{level.stability:.0%} of the rows are nearest to their own centroid. "
    if np.isnan(level.inside):
        return ""
    found = f"{level.inside:.0%} of the links between near rows stay inside of a cluster"
    if np.isnan(level.agreement):
        return f"{found}. "
    return f"{found}, and without a few of the links a cluster is found again to " + (
        f"{level.agreement:.0%}. "
    )


def _verdict(level: LevelSummary, is_graph: bool) -> str:
    """What the figures mean."""
    known = (level.inside, level.agreement) if is_graph else (level.stability,)
    if np.isnan(known).all():
        return "How clear they are was not measured."
    if not is_graph:
        apart = level.separation / level.cohesion if level.cohesion > 0 else np.inf
        is_clear = level.stability >= _CLEAR and apart >= _STANDS_OUT
        return "They stand apart." if is_clear else "Their borders are soft."
    worst = float(np.nanmin(known))
    if level.inside < _NONE_BELOW_INSIDE or level.agreement < _NONE_BELOW_AGREEMENT:
        return "There is no sharp number of them: another one may be as good."
    return "They stand apart." if worst >= _CLEAR else "Their borders are soft."
