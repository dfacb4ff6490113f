"""Clusters that nothing names are told by the names of their children."""

from __future__ import annotations

from typing import Any

import numpy as np

from nestmap import build_hierarchy
from nestmap.core.arrays import Array
from nestmap.method.describe import LevelDescription, describe_clusters
from nestmap.method.describe.mixtures import name_by_children
from nestmap.method.describe.names import MAX_LETTERS


def describe(labels: Array, metadata: dict[str, Any], level: int) -> LevelDescription:
    n = int(labels.max()) + 1
    return describe_clusters(labels, [np.empty(0, int)] * n, level=level, metadata=metadata)


def parents_named(kinds: list[str], parents: list[int], rows: int = 40) -> LevelDescription:
    """Clusters of these rows each, all of one kind, in these parents."""
    fine = np.repeat(np.arange(len(kinds)), rows)
    table = {"kind": np.repeat(kinds, rows)}
    below = describe(fine, table, 0)
    coarse = describe(np.array(parents)[fine], table, 1)
    return name_by_children(coarse, below, np.array(parents))


def test_a_mixed_parent_tells_the_names_of_its_children() -> None:
    told = parents_named(["perl", "java", "haskell", "ada", "c++"], [0, 0, 0, 1, 1])
    assert told.names == ["perl, java, haskell", "ada / c++"]
    assert told[0].is_mixed and not told[0].is_claim and told[1].is_claim
    assert told[0].why == ("perl 33% (40 rows); java 33% (40 rows); haskell 33% (40 rows)")


def test_what_a_name_has_no_room_for_is_said_to_be_there() -> None:
    kinds = ["ant", "bee", "cat", "dog", "eel", "fox"]
    told = parents_named([*kinds, "gnu"], [0] * 6 + [1])
    assert told.names == ["ant, bee, cat, …", "gnu"]
    long = [f"a kind with a name of letters {k}" for k in kinds]
    told = parents_named([*long, "gnu"], [0] * 6 + [1])
    assert told.names[0].startswith("mixed: ")  # one child alone is no mixture
    assert all(len(name) <= MAX_LETTERS + 3 for name in told.names)


def test_children_that_are_mixed_themselves_name_nothing() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], 100)
    table = {"kind": rng.choice(["ant", "bee", "cat", "dog"], 400)}
    below = describe(labels, table, 0)
    coarse = describe(labels // 2, table, 1)
    told = name_by_children(coarse, below, np.array([0, 0, 1, 1]))
    assert told.names == coarse.names


def test_two_parents_of_the_same_children_are_told_apart() -> None:
    told = parents_named(["ant", "bee", "cat", "ant", "bee", "cat"], [0, 0, 0, 1, 1, 1])
    assert told.names == ["ant, bee, cat", "ant, bee, cat (2)"]


def test_hierarchies_do_it_on_one_level_and_on_several() -> None:
    rng = np.random.default_rng(0)
    angles = 2.1 * np.arange(9)
    centres = np.stack([100 * (np.arange(9) // 3) + 3 * np.cos(angles), 3 * np.sin(angles)], axis=1)
    X = np.repeat(centres, 40, axis=0) + rng.normal(0, 0.3, (360, 2))
    kinds = np.repeat(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibex"], 40)
    tree = build_hierarchy(X)
    told = tree.describe(-1, metadata={"kind": kinds})
    for cluster in told:
        inside = set(kinds[tree.labels(-1) == cluster.number])
        assert set(cluster.name.split(", ")) == inside
    assert any(cluster.is_mixed for cluster in told)


def test_names_of_children_are_of_one_column() -> None:
    """'ant, bee, high size' would say of no row what it is."""
    fine = np.repeat([0, 1, 2, 3], 40)
    kinds = np.array(["ant"] * 40 + ["bee"] * 40 + [*["ant", "bee", "cat", "dog"]] * 20)
    sizes = np.where(fine == 2, 100.5, 1.25) + np.linspace(0, 1, 160)
    table = {"kind": kinds, "size": sizes}
    below = describe(fine, table, 0)
    assert below.names[:3] == ["ant", "bee", "high size"]
    coarse = describe((fine == 3).astype(int), table, 1)
    told = name_by_children(coarse, below, np.array([0, 0, 0, 1]))
    assert told.names[0] == "ant, bee, …"
