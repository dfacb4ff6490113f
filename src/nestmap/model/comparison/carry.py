"""Names of clusters that go over to another fit, where the clusters are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...method.describe import LevelDescription
from .comparison import compare
from .events import Change

_MIN_OLD_SHARE = 0.8  # of the rows of the old cluster that are in the new one
_MIN_NEW_SHARE = 0.5  # of the rows of the new cluster that were in the old one

LevelNames = LevelDescription | Sequence[str] | Mapping[int, str]


def carry_names(
    old: Any, new: Any, names: Mapping[int, LevelNames], *, ids: Any = None
) -> dict[int, dict[int, str]]:
    """Names of an earlier model for clusters of another that are the same, up to growth.

    A cluster is the same if `nestmap.compare` says so (same, or grown), at least 80% of its rows
    are still in it, and they are at least half of what it has now.

    Parameters
    ----------
    old, new : HNNE or Communities
        Fitted, of data that share rows: such as a model and what `extend` or `fit(like=)` made.
    names : dict of int to LevelDescription, sequence or dict
        Of the old clusters, per level: what `old.describe` gives, or names by number.
    ids : pair of sequences, optional
        Names of the old and of the new rows, as for `nestmap.compare`.

    Returns
    -------
    dict of int to dict of int to str
        By level and cluster of the new model, for `new.describe(kept=…)`.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE
    >>> X, digit = load_digits(return_X_y=True)
    >>> old = HNNE().fit(X[:1700])
    >>> told = old.describe([-1], metadata={"digit": digit[:1700]})
    >>> new = old.extend(X[1700:])
    >>> carried = carry_names(old, new, told)
    >>> carried[3][0] == told[3].names[0]
    True
    """
    found: dict[int, dict[int, str]] = {}
    for level in compare(old, new, ids=ids, align_maps=False).levels:
        own = _by_number(names.get(level.old_level, {}))
        for change in level.of_kind("same", "grown"):
            if change.old[0] in own and _is_same(change):
                into = found.setdefault(level.new_level, {})
                into.setdefault(change.new[0], own[change.old[0]])
    return found


def _by_number(names: LevelNames) -> Mapping[int, str]:
    if isinstance(names, Mapping):
        return names
    return dict(enumerate(names.names if isinstance(names, LevelDescription) else names))


def _is_same(change: Change) -> bool:
    return (
        change.n_common >= _MIN_OLD_SHARE * change.n_old
        and change.n_common >= _MIN_NEW_SHARE * change.n_new
    )
