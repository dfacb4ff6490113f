"""What programs are told of rows: values, searches, and what is special about some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.habits import did_you_mean
from ...errors import ModelFileError
from .asked import QuestionError
from .choices import as_conditions, as_rows
from .map_store import MapStore
from .nodes import clusters_of
from .query import RowQueries
from .telling import read_id, tell_briefly, tell_cluster, tell_relation
from .values import tell_labelled, tell_values


@contextmanager
def _in_words() -> Iterator[None]:
    """What is wrong with a set of rows is wrong with the question."""
    try:
        yield
    except ModelFileError:
        raise
    except ValueError as error:
        raise QuestionError(str(error)) from error


def _choose(
    queries: RowQueries, cluster: str | None, where: Mapping[str, Any] | None, query: str | None
) -> dict[str, Any]:
    """The rows of a cluster, with some values and with a text, as a set; without any: all rows."""
    chosen: list[dict[str, Any]] = []
    if cluster is not None:
        level, index = read_id(queries.store, cluster)
        chosen.append({"kind": "cluster", "level": level, "index": index})
    if where:
        chosen.append(as_rows(as_conditions(queries.columns, where)))
    if query:
        chosen.append({"kind": "search", "query": query})
    return {"kind": "all", "of": chosen}


def _order(queries: RowQueries, sort: str | None) -> tuple[str | None, bool]:
    """The key of a column to sort by, and whether the largest come first."""
    keys = {"row": "row", **{str(each["name"]): str(each["key"]) for each in queries.columns}}
    if sort is None:
        return None, False
    if sort in keys:
        return keys[sort], False
    if sort.startswith("-") and sort[1:] in keys:
        return keys[sort[1:]], True
    hint = did_you_mean(sort, keys)
    raise QuestionError(f"sort={sort[:50]!r}: no such column{hint}; there are {[*keys]}")


def tell_rows(
    queries: RowQueries,
    numbers: Sequence[int] | None,
    cluster: str | None,
    where: Mapping[str, Any] | None,
    query: str | None,
    sort: str | None,
    offset: int,
    limit: int,
) -> dict[str, Any]:
    """Values of rows: of some numbers, or of those that are in all of cluster, where and query."""
    store = queries.store
    fields = {"fields": store.meta["fields"]}
    if numbers is not None:
        if cluster is not None or where or query:
            raise QuestionError("numbers: without cluster, where and query")
        for row in numbers:
            if not 0 <= row < queries.n_rows:
                raise QuestionError(f"row {row}: there are rows 0 to {queries.n_rows - 1}")
        places = queries.places_of(numbers[offset : offset + limit]).tolist()
        return fields | tell_values(store, places, offset, len(numbers))
    key, descending = _order(queries, sort)
    with _in_words():
        chosen = _choose(queries, cluster, where, query)
        page = queries.page(chosen, key, descending, offset, limit)
    return fields | tell_values(store, page.places.tolist(), offset, page.total)


def tell_summary(
    queries: RowQueries,
    cluster: str | None,
    where: Mapping[str, Any] | None,
    query: str | None,
) -> dict[str, Any]:
    """What sets rows apart from all others, their clusters, typical and odd ones."""
    with _in_words():
        found = queries.summary(_choose(queries, cluster, where, query))
    store = queries.store
    clusters = [
        {
            **tell_briefly(store, at["level"], at["index"], at["index"] + 1)[0],
            "of_these": at["count"],
        }
        for at in found["clusters"]
    ]
    rows = {
        kind: tell_labelled(store, [(place, store.label(place)) for place in found[kind]])
        for kind in ("typical", "odd")
    }
    count = found["count"]
    return {
        "n_rows": count,
        "share": count / queries.n_rows,
        "traits": found["traits"],
        "clusters": clusters,
        **rows,
    }


def tell_search(store: MapStore, query: str, limit: int) -> dict[str, Any]:
    """Rows whose texts hold a query, or with that number; each with its cluster."""
    found = store.search(query, limit)
    level = store.meta["label_level"]
    places = np.array([place for place, _ in found["hits"]], dtype=np.int64)
    own = clusters_of(store, level, places)
    rows = tell_labelled(store, found["hits"])
    if own is not None:
        rows = [
            {**row, "cluster": f"{level}.{index}"}
            for row, index in zip(rows, own.tolist(), strict=True)
        ]
    return {"total": found["total"], "is_complete": not found["more"], "rows": rows}


def tell_compare(queries: RowQueries, a: str, b: str) -> dict[str, Any]:
    """Two clusters side by side, and what each has that the other has not."""
    store = queries.store
    told = {"a": tell_cluster(store, a), "b": tell_cluster(store, b)}
    kept = ("id", "name", "n_rows", "share", "typical")
    with _in_words():
        sets = {"a": _choose(queries, a, None, None), "b": _choose(queries, b, None, None)}
        traits = {
            "a": queries.summary(sets["a"], sets["b"])["traits"],
            "b": queries.summary(sets["b"], sets["a"])["traits"],
        }
    return {
        **{
            key: {name: each[name] for name in kept} | {"traits": traits[key]}
            for key, each in told.items()
        },
        "columns": {
            column["name"]: {key: each["columns"][column["name"]] for key, each in told.items()}
            for column in store.meta["columns"]
        },
        "relation": tell_relation(store, a, b),
    }
