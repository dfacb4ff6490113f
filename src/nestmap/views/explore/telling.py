"""What programs are told of a map: levels and clusters; plain functions over a store.

A cluster is called by its id, "LEVEL.INDEX": the index is its place in tree order, as in the page's
address. Rows are called by the user's own numbers. Answers are JSON, and bounded: lists say in
`next` where the rest begins.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .asked import QuestionError
from .map_store import MapStore
from .nodes import Nodes, count_nodes, read_nodes
from .values import tell_labelled

_MISSING_CATEGORY = 255  # of the colours of a column of categories
_MOST_CHILDREN_TOLD = 20  # clusters below one, the largest first


def tell_levels(store: MapStore) -> dict[str, Any]:
    """The map as a whole: its rows, levels, columns."""
    meta = store.meta
    levels = [
        {"level": k, "n_clusters": level["n_nodes"], "has_names": k in meta["named_levels"]}
        for k, level in enumerate(meta["levels"])
    ]
    return {
        "title": meta["title"],
        "n_rows": meta["n_rows"],
        "label_level": meta["label_level"],
        "levels": levels,
        "columns": [_tell_column(column) for column in meta["columns"]],
        "fields": meta["fields"],
        "can_search": bool(meta["searchable"]),
    }


def _tell_column(column: dict[str, Any]) -> dict[str, Any]:
    if column["kind"] == "category":
        counts = zip(column["categories"], column["counts"], strict=True)
        return {"name": column["name"], "kind": "category", "categories": dict(counts)}
    told = {key: column[key] for key in ("min", "max", "missing")}
    return {"name": column["name"], "kind": "time" if column.get("time") else "number", **told}


# -- clusters
# -------------------------------------------------------------------------------------------------


def check_level(store: MapStore, level: int) -> int:
    """A level from 0, the finest; -1 is the top."""
    n = len(store.meta["levels"])
    if not -n <= level < n:
        raise QuestionError(f"level {level}: there are levels 0 (the finest) to {n - 1} (the top)")
    return level % n


def read_id(store: MapStore, given: str) -> tuple[int, int]:
    """Level and index of a cluster that there is."""
    match = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,10})", given.strip())
    if match is None:
        raise QuestionError(
            f"cluster {given[:50]!r}: an id is LEVEL.INDEX, such as 2.0; `clusters` lists them"
        )
    level = check_level(store, int(match[1]))
    n = count_nodes(store, level)
    if int(match[2]) >= n:
        raise QuestionError(
            f"cluster {given}: level {level} has clusters {level}.0 to {level}.{n - 1}"
        )
    return level, int(match[2])


def tell_clusters(
    store: MapStore, level: int | None, below: str | None, offset: int, limit: int
) -> dict[str, Any]:
    """Clusters of a level, or those that a cluster is made of, in tree order."""
    if level is not None and below is not None:
        raise QuestionError("level and below: give one of them")
    if below is None:
        level = check_level(store, store.meta["label_level"] if level is None else level)
        span = (0, count_nodes(store, level))
    else:
        above, index = read_id(store, below)
        if above == 0:
            raise QuestionError(f"below={below}: level 0 is the finest; `rows` tells what is in it")
        level = above - 1
        span = tuple(read_nodes(store, above, index, index + 1).children.tolist())
    first, last = span
    begin = min(first + offset, last)
    end = min(begin + limit, last)
    return {
        "level": level,
        "total": last - first,
        "clusters": tell_briefly(store, level, begin, end),
        "next": end - first if end < last else None,
    }


def tell_briefly(store: MapStore, level: int, begin: int, end: int) -> list[dict[str, Any]]:
    """Id, number, name and size of some clusters that follow each other."""
    if begin >= end:
        return []
    nodes = read_nodes(store, level, begin, end)
    names = store.names(level)[begin:end] if level in store.meta["named_levels"] else None
    return [
        {
            "id": f"{level}.{begin + i}",
            "cluster": int(nodes.cluster[i]),
            "name": None if names is None else names[i],
            "n_rows": int(nodes.size[i]),
        }
        for i in range(end - begin)
    ]


def tell_cluster(store: MapStore, id: str) -> dict[str, Any]:
    """All that is known of a cluster: its name, what sets it apart, rows to look at, its place."""
    level, index = read_id(store, id)
    nodes = read_nodes(store, level, index, index + 1)
    panel = store.panel(level, index)
    parent = int(nodes.parent[0])
    is_top = level == len(store.meta["levels"]) - 1
    return {
        **tell_briefly(store, level, index, index + 1)[0],
        "level": level,
        "share": float(nodes.size[0]) / store.meta["n_rows"],
        "traits": panel.get("traits", []),
        "columns": _tell_values(store, level, index),
        "typical": tell_labelled(store, panel.get("typical", [])),
        "odd": tell_labelled(store, panel.get("odd", [])),
        "parent": None if is_top else tell_briefly(store, level + 1, parent, parent + 1)[0],
        **_tell_children(store, level, nodes),
    }


def _tell_children(store: MapStore, level: int, nodes: Nodes) -> dict[str, Any]:
    if level == 0:
        return {"n_children": 0, "children": []}
    first, last = nodes.children.tolist()
    most = min(last, first + _MOST_CHILDREN_TOLD)
    return {"n_children": last - first, "children": tell_briefly(store, level - 1, first, most)}


def _tell_values(store: MapStore, level: int, index: int) -> dict[str, Any]:
    """Of each column that colours the map: the mean, or the most common category."""
    tiles = store.meta["maps"][0]["tiles"][str(level)]
    tile = int(np.searchsorted(tiles["begin"], index, side="right")) - 1
    at = index - tiles["begin"][tile]
    told: dict[str, Any] = {}
    for column in store.meta["columns"]:
        data = store.read(f"colors/{column['key']}/{level}/{tile}.bin")
        if column["kind"] == "category":
            code = data[at]
            told[column["name"]] = None if code == _MISSING_CATEGORY else column["categories"][code]
        else:
            value = float(np.frombuffer(data, dtype="<f4")[at])
            told[column["name"]] = value if np.isfinite(value) else None
    return told


def tell_relation(store: MapStore, a: str, b: str) -> str:
    """How two clusters lie in the tree."""
    if a.strip() == b.strip():
        return "the same cluster"
    a0, a1 = _span(store, a)
    b0, b1 = _span(store, b)
    if (a0, a1) == (b0, b1):
        return "the same rows, on two levels"
    if b0 <= a0 and a1 <= b1:
        return "a is inside b"
    if a0 <= b0 and b1 <= a1:
        return "b is inside a"
    return "no row is in both"


def _span(store: MapStore, id: str) -> tuple[int, int]:
    """Where the rows of a cluster begin and end in tree order."""
    level, index = read_id(store, id)
    nodes = read_nodes(store, level, index, index + 1)
    first = int(nodes.first_row[0])
    return first, first + int(nodes.size[0])
