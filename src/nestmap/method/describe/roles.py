"""Columns that never name a cluster: identifiers, addresses, constants, other clusterings."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...tables.decide import Decision
from ...tables.profiles import name_words

_SILENT = ("identifier", "counter", "constant", "text", "vector")
_MOST_LOOKED_AT = 1000  # values of a column
_METHODS = ("leiden", "louvain", "kmeans", "dbscan", "hdbscan", "optics", "birch", "finch", "hnne")
_RESULTS = ("cluster", "clusters", "clustering", "community", "communities", "labels", "partition")
_CLUSTERINGS = frozenset([*_METHODS, *_RESULTS, "nestmap", "agglomerative", "spectral"])
_OWN_COLUMNS = re.compile(r"cluster_name|level_\d+(_name)?")  # as `nestmap export` calls them
_NUMBERED = re.compile(r"(cluster|community|topic)[\s_#:-]*-?\d+", re.IGNORECASE)
_LIKE_NUMBERS = re.compile(r"[a-z]{0,2}[\s_#-]*\d+(\.0)?|noise|outliers?|unassigned", re.IGNORECASE)
_ADDRESS = re.compile(r"\s*(\w+://|www\.)\S*\s*", re.IGNORECASE)


def why_silent(decision: Decision, levels: Iterable[str] | None) -> str:
    """Why a column never names a cluster, or nothing.

    Parameters
    ----------
    decision : Decision
        What the column doctor makes of it.
    levels : iterable of str or None
        Its different values, if they are categories.
    """
    known = None if levels is None else [str(level) for level in levels]
    if is_clustering(decision.name, known):
        return "clustering"
    if decision.kind in _SILENT:
        return decision.kind
    if known:
        some = known[:: -(-len(known) // _MOST_LOOKED_AT)]
        if sum(bool(_ADDRESS.fullmatch(each)) for each in some) > len(some) / 2:
            return "address"
    return ""


def is_clustering(name: str, levels: list[str] | None) -> bool:
    """Whether a column is the result of a clustering: by its name and its values, or by these.

    Words as values are not: somebody has named these clusters.

    Examples
    --------
    >>> is_clustering("leiden", ["0", "1"]), is_clustering("cluster", ["T cells", "B cells"])
    (True, False)
    >>> is_clustering("group", ["Cluster 0", "Cluster 1"]), is_clustering("group", ["0", "1"])
    (True, False)
    """
    if _OWN_COLUMNS.fullmatch(name):
        return True
    if levels and all(_NUMBERED.fullmatch(each) for each in levels):
        return True
    is_called_so = bool(_CLUSTERINGS & set(name_words(name)))
    return is_called_so and (
        levels is None or all(_LIKE_NUMBERS.fullmatch(each) for each in levels)
    )
