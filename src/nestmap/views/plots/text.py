"""Names on a map: larger ones for the coarser level, none over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import is_outside
from ...method.describe import Facts, LevelDescription
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.naming import describe_levels, names_for_map
from .backend import limits, unit_of
from .colors import Theme
from .key import Box
from .label_boxes import find_anchors, find_inland, place_boxes

_MOST_ROWS = 200_000  # that anchors are found on
_MOST_NAMES = 60  # of a level, those of the largest clusters
_LINE_LETTERS = 18
# share of the rows on a cluster's largest part: below, its name would be taken for the part's
_SCATTERED = 0.5


@dataclass(frozen=True, eq=False)
class Names:
    """Names of the clusters of one level, and how they are written."""

    level: int
    names: Sequence[str]
    is_coarse: bool = False


def choose_names(
    hierarchy: Hierarchy, labels: Any, levels: tuple[int, int | None], facts: Facts
) -> list[Names]:
    """Names at up to two levels, coarser first: given ones, what is known of the rows, or numbers.

    Parameters
    ----------
    labels : bool, LevelDescription, dict, sequence or array
        Also a sequence of either, or of str (one per cluster); a dict of level to names; an array
        of one value per row.
    levels : the level of the clusters, and the coarser one or None
    """
    fine = levels[0]
    if labels is False or labels is None:
        return []
    found: Mapping[int, Sequence[str]] = {}
    if isinstance(labels, LevelDescription):
        labels = [labels]
    if isinstance(labels, Mapping):
        found = {
            hierarchy.check_level(k): list(v.names if isinstance(v, LevelDescription) else v)
            for k, v in labels.items()
        }
    elif labels is True:
        found = (
            _from_facts(hierarchy, levels, facts) if facts else {fine: _numbers(hierarchy, fine)}
        )
    elif all(isinstance(each, LevelDescription) for each in labels):
        found = {each.level: each.names for each in labels}
    else:
        found = {fine: [str(name) for name in labels]}
    for level, names in found.items():
        if len(names) != hierarchy.level_sizes[level]:
            raise ValueError(
                f"labels: level {level} has {hierarchy.level_sizes[level]} clusters, "
                f"got {len(names)} names"
            )
    order = sorted(found, reverse=True)
    return [Names(k, found[k], is_coarse=len(order) > 1 and k == order[0]) for k in order]


def _numbers(hierarchy: Hierarchy, level: int) -> list[str]:
    return [str(i) for i in range(hierarchy.level_sizes[level])]


def _from_facts(
    hierarchy: Hierarchy, levels: tuple[int, int | None], facts: Facts
) -> dict[int, list[str]]:
    """Names of both levels by the same facts, as on a map."""
    if len(facts.columns) == 1:  # the values of a single column say enough
        only = facts.columns[0]
        facts = replace(facts, columns=(replace(only, name="", is_label=only.may_name),))
    told = describe_levels(hierarchy, [level for level in levels if level is not None], facts)
    return names_for_map(hierarchy, {level: each.names for level, each in told.items()})


def write_names(
    axes: Any,
    model: Any,
    all_names: Sequence[Names],
    theme: Theme,
    taken: Sequence[Box] = (),
    land: Mapping[int, Sequence[Sequence[Array]]] | None = None,
) -> None:
    """Write names near their clusters, those of large clusters first; none over a box of `taken`.

    Clusters are where their rows within the axes are. `land`: per level the outlines of its
    clusters, where they are known. Names stand inland then, and that of a coarser cluster which
    lies scattered over several islands is left out where the finer ones tell what is there.
    """
    hierarchy = model.hierarchy_
    unit = unit_of(axes)
    rows = np.arange(0, len(model.embedding_), -(-len(model.embedding_) // _MOST_ROWS))
    positions = np.asarray(model.embedding_)[rows]
    rows = rows[inside := ~is_outside(positions, limits(axes))]
    positions = positions[inside]
    frame = (*axes.get_xlim(), *axes.get_ylim())
    used = [*taken]
    for names in all_names:
        labels = hierarchy.labels(names.level)[rows]
        outlines = (land or {}).get(names.level)
        if outlines:
            anchors, shares = find_inland(positions, labels, outlines)
            if names.is_coarse:
                anchors[(shares < _SCATTERED) & _told_by(hierarchy, names.level, all_names[-1])] = (
                    np.nan
                )
        else:
            anchors = find_anchors(positions, labels, hierarchy.level_sizes[names.level])
        chosen = np.argsort(-hierarchy.levels[names.level].sizes, kind="stable")
        chosen = np.array(
            [i for i in chosen if np.isfinite(anchors[i, 0]) and names.names[i]][:_MOST_NAMES],
            dtype=np.int64,
        )
        if len(chosen):
            boxes = _Boxes.of(names, chosen, anchors[chosen], unit)
            used += _write(axes, boxes, frame, used, theme)


def _told_by(hierarchy: Hierarchy, level: int, finer: Names) -> Array:
    """Which clusters of a level have finer ones that all bear names."""
    parents = hierarchy.climb(np.arange(hierarchy.level_sizes[finer.level]), level, finer.level)
    told = np.ones(hierarchy.level_sizes[level], dtype=bool)
    told[parents[[not name for name in finer.names]]] = False
    return told


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Names of some clusters of a level, wrapped, and how large they are on the map."""

    texts: list[str]
    anchors: Array
    sizes: Array  # (n, 2), in units of the map
    font_size: float
    is_coarse: bool

    @classmethod
    def of(cls, names: Names, chosen: Array, anchors: Array, unit: float) -> _Boxes:
        """`unit`: of the map, per point of paper."""
        length = np.mean([len(names.names[i]) for i in chosen])
        if names.is_coarse:
            font_size = float(np.clip(17 - 0.25 * length, 11, 15))
        else:
            font_size = float(np.clip(12 - 0.06 * len(chosen), 7.5, 11))
        texts = [wrap(names.names[i]) for i in chosen]
        sizes = np.array([measure_text(text, font_size, names.is_coarse) for text in texts])
        return cls(texts, anchors, sizes * unit, font_size, names.is_coarse)


def _write(axes: Any, boxes: _Boxes, frame: Box, taken: Sequence[Box], theme: Theme) -> list[Box]:
    """Write names where they find room; the boxes that they take."""
    placed = place_boxes(boxes.anchors, boxes.sizes, frame, taken)
    for i in np.flatnonzero(placed.shown).tolist():
        if placed.moved[i] > 0.9 * boxes.sizes[i, 1] and not boxes.is_coarse:
            ends = zip(boxes.anchors[i], placed.centres[i], strict=True)
            axes.plot(*ends, color=theme.line, lw=0.6, alpha=0.6, zorder=7)
        write_text(
            axes,
            boxes.texts[i],
            placed.centres[i],
            theme,
            fontsize=boxes.font_size,
            zorder=9 if boxes.is_coarse else 8,
            weight="bold" if boxes.is_coarse else "normal",
        )
    kept = placed.shown
    low = placed.centres[kept] - boxes.sizes[kept] / 2
    high = placed.centres[kept] + boxes.sizes[kept] / 2
    return list(zip(low[:, 0], high[:, 0], low[:, 1], high[:, 1], strict=True))


def write_text(axes: Any, text: str, centre: Array, theme: Theme, **style: Any) -> None:
    """A text over the map, with a halo."""
    from matplotlib.patheffects import withStroke

    axes.text(
        *centre,
        text,
        ha="center",
        va="center",
        color=theme.text,
        linespacing=1.05,
        parse_math=False,
        path_effects=[withStroke(linewidth=3.0, foreground=theme.background, alpha=0.85)],
        **style,
    )


def wrap(name: str) -> str:
    """Two lines or more for a long name."""
    from textwrap import wrap as lines

    found = lines(name, _LINE_LETTERS, break_long_words=False)
    return "\n".join(line.strip(" ·") for line in found) or name


def measure_text(text: str, size: float, bold: bool = False) -> tuple[float, float]:
    """Width and height of a text in points, with a little room around it; for every backend."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(weight="bold" if bold else "normal")
    lines = text.replace("$", "S").split("\n")  # about as wide, and no formula
    width = max(
        float(TextPath((0, 0), line or " ", size=size, prop=font).get_extents().width)
        for line in lines
    )
    return width + 0.5 * size, (1.2 * len(lines) + 0.15) * size
