"""Comparison of two fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.hierarchy import Hierarchy
from ...method.layout.similarity import align, spread
from .events import KINDS, LevelChanges, find_changes
from .match import match_rows, partner_level

_MAX_LISTED = 12  # changes in a repr


@dataclass(frozen=True, eq=False)
class Comparison:
    """What happened between two fits; prints the counts per level and the largest changes.

    Attributes
    ----------
    old_rows, new_rows : ndarray of int
        The common rows: row old_rows[i] of the old fit is row new_rows[i] of the new one.
    n_old, n_new : int
        All rows.
    levels : tuple of LevelChanges
        Per level of the old hierarchy, fine to coarse.
    displacement : ndarray or None
        How far each common row has moved, as a share of the spread of the old map (the root mean
        squared distance from its middle); None where one of the two has no map.
    old_places, new_places : ndarray or None
        Positions of the common rows; the new ones turned onto the old ones.
    """

    old_rows: Array
    new_rows: Array
    n_old: int
    n_new: int
    levels: tuple[LevelChanges, ...]
    displacement: Array | None = None
    old_places: Array | None = None
    new_places: Array | None = None

    @property
    def born_level(self) -> int | None:
        """The coarsest new level on which most rows that came are in clusters that were born.

        A class that was never seen may have clusters of its own there and none in `labels_`, which
        are of a coarser level: `new.hierarchy_.labels(level)` shows them. None: what came is among
        what was there.
        """
        n = self.n_new - len(self.new_rows)
        return max(
            (level.new_level for level in self.levels if 2 * level.n_apart > n), default=None
        )

    def to_frame(self) -> Any:
        """One row per change, as a pandas DataFrame."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError("to_frame gives a pandas DataFrame: pip install pandas") from error
        columns = [
            "level",
            "new_level",
            "kind",
            "old",
            "new",
            "rows_before",
            "rows_after",
            "rows_common",
            "moved",
        ]
        rows = [
            (
                level.old_level,
                level.new_level,
                c.kind,
                c.old,
                c.new,
                c.n_old,
                c.n_new,
                c.n_common,
                c.moved,
            )
            for level in self.levels
            for c in level.changes
        ]
        return DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        lines = [
            f"{self.n_old:,} -> {self.n_new:,} rows, {len(self.old_rows):,} of them common, "
            f"{self.n_old - len(self.old_rows):,} gone, {self.n_new - len(self.new_rows):,} new"
        ]
        if not len(self.old_rows):
            lines.append("no common rows: values must be equal; or give ids=(old names, new names)")
        if self.displacement is not None and len(self.displacement):
            middle, most = np.quantile(self.displacement, [0.5, 0.95])
            lines.append(
                f"moves, as a share of the spread: median {middle:.3f}, 95% below {most:.3f}"
            )
        if (born := self.born_level) is not None:
            lines.append(f"most of the new rows are in clusters of their own, up to level {born}")
        lines.append("level  clusters  " + "  ".join(f"{kind:>9}" for kind in KINDS))
        for level in self.levels:
            counts = "  ".join(f"{count:>9}" for count in level.counts().values())
            lines.append(f"{level.old_level:>5}  {f'{level.n_old} -> {level.n_new}':>8}  {counts}")
        shown = (
            [c for c in self.levels[-1].changes if c.kind != "same"][:_MAX_LISTED]
            if self.levels
            else []
        )
        return "\n".join([*lines, *(f"  {change}" for change in shown)])


def compare(old: Any, new: Any, *, ids: Any = None, align_maps: bool = True) -> Comparison:
    """What happened to clusters and rows between two fits of data that share rows.

    Parameters
    ----------
    old, new : HNNE, FINCH or Hierarchy
        Fitted. Displacements are told where both have maps in the same number of dimensions.
    ids : pair of sequences, optional
        Names of the old and of the new rows, each name once on its side. None: rows are matched by
        their values. A `Hierarchy` alone does not know the values and needs ids.
    align_maps : bool
        Turn, mirror, scale and shift the new map onto the old one first, as far as the common rows
        tell.

    Returns
    -------
    Comparison
        Clusters born, gone, split, merged, grown and shrunk on each level, and how far rows have
        moved.

    Examples
    --------
    >>> import nestmap
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> before, after = nestmap.FINCH().fit(X[:1700]), nestmap.FINCH().fit(X[100:])
    >>> found = nestmap.compare(before, after)
    >>> len(found.old_rows), found.n_old, found.n_new
    (1600, 1700, 1697)
    """
    old, new = (_as_fitted(model, name) for model, name in ((old, "old"), (new, "new")))
    rows = match_rows(old, new, ids)
    places, moves = _places(old, new, rows, align_maps)
    unit = 1.0 if places is None else max(spread(places[0]), 1e-300)
    scaled = None if places is None else (places[0] / unit, places[1] / unit)
    levels = []
    for k, n_nodes in enumerate(old.hierarchy_.level_sizes):
        other = partner_level(n_nodes, new.hierarchy_.level_sizes)
        labels = new.hierarchy_.labels(other)
        changes = find_changes(old.hierarchy_.labels(k), labels, rows, scaled)
        born = [number for change in changes if change.kind == "born" for number in change.new]
        n_apart = int(np.isin(np.delete(labels, rows[1]), born).sum())
        levels.append(
            LevelChanges(
                k, other, n_nodes, new.hierarchy_.level_sizes[other], tuple(changes), n_apart
            )
        )
    n_old = old.hierarchy_.n_rows
    n_new = new.hierarchy_.n_rows
    return Comparison(*rows, n_old, n_new, tuple(levels), moves, *(places or (None, None)))


@dataclass(frozen=True)
class _Bare:
    """The attributes of an estimator that `compare` needs, for a bare hierarchy."""

    hierarchy_: Hierarchy


def _as_fitted(model: Any, name: str) -> Any:
    if isinstance(model, Hierarchy):
        return _Bare(model)
    if not isinstance(getattr(model, "hierarchy_", None), Hierarchy):
        raise ValueError(
            f"compare: {name} must be a fitted HNNE or FINCH, or a Hierarchy; got "
            f"{type(model).__name__}"
        )
    return model


def _places(
    old: Any, new: Any, rows: tuple[Array, Array], align_maps: bool
) -> tuple[tuple[Array, Array] | None, Array | None]:
    """Positions of the common rows in both maps, in the old one's unit, and how far they moved."""
    maps = [getattr(model, "embedding_", None) for model in (old, new)]
    if (
        maps[0] is None
        or maps[1] is None
        or maps[0].shape[1] != maps[1].shape[1]
        or len(rows[0]) == 0
    ):
        return None, None
    before = maps[0][rows[0]]
    after = maps[1][rows[1]]
    if align_maps:
        after = align(after, before)(after)
    unit = max(spread(before), 1e-300)
    return (before, after), np.asarray(np.sqrt(((after - before) ** 2).sum(axis=1)) / unit)
