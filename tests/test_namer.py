"""Names by a function of the user's: order, what it is told, what becomes of bad answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import digits
from sklearn.datasets import load_digits

from nestmap import HNNE, build_hierarchy
from nestmap.method.describe import (
    ClusterToName,
    LevelToName,
    Manner,
    NamerError,
    NoAnswer,
    describe_clusters,
    name_levels,
)
from nestmap.method.describe.answers import BadAnswer, read_answer
from nestmap.method.describe.questions import MAX_TEXT_LETTERS, questions_of
from nestmap.method.hierarchy.asking import ask_hierarchy
from nestmap.model.comparison.carry import carry_names

DIGITS = load_digits().target


def small() -> list[LevelToName]:
    """Two levels: 0, 1 and 2 belong to 0, and 3 and 4 to 1."""
    fine = tuple(
        ClusterToName(0, i, rows, f"built {i}", hints=(f"hint {i}",))
        for i, rows in enumerate([10, 30, 20, 5, 6])
    )
    coarse = tuple(ClusterToName(1, i, rows, f"top {i}") for i, rows in enumerate([60, 11]))
    return [LevelToName(1, coarse), LevelToName(0, fine, np.array([0, 0, 0, 1, 1]))]


def recorded(answer: Callable[[ClusterToName], Any]) -> tuple[list[ClusterToName], Any]:
    asked: list[ClusterToName] = []

    def namer(cluster: ClusterToName) -> Any:
        asked.append(cluster)
        return answer(cluster)

    return asked, namer


def plain(cluster: ClusterToName) -> str:
    return f"name {cluster.level}.{cluster.cluster}"


def test_children_come_before_parents_and_large_siblings_before_small_ones() -> None:
    asked, namer = recorded(plain)
    found = name_levels(small(), namer)
    assert [(c.level, c.cluster) for c in asked] == [
        *((0, i) for i in (1, 2, 0, 4, 3)),
        (1, 0),
        (1, 1),
    ]
    by_place = {(c.level, c.cluster): c for c in asked}
    assert by_place[0, 0].siblings == ("name 0.1", "name 0.2") and by_place[0, 4].siblings == ()
    assert by_place[1, 0].children == ("name 0.1", "name 0.2", "name 0.0")
    assert by_place[1, 1].siblings == ("name 1.0",) and by_place[0, 1].children == ()
    assert found.names == {0: [f"name 0.{i}" for i in range(5)], 1: ["name 1.0", "name 1.1"]}
    assert str(found) == "7 of 7 clusters are named"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "no text but None"),
        (7, "no text but int"),
        (["a"], "no text but list"),
        ("", "empty"),
        (" \n\t ", "empty"),
        ('"…"', "empty"),
        ("<think>a long thought without an end", "empty"),
        ("word " * 500, "longer than"),
        ("x" * 61, "longer than"),
        ("a b c d e f g h i j k l m", "longer than"),
    ],
)
def test_an_answer_that_is_no_name_leaves_the_built_in_one(answer: Any, reason: str) -> None:
    with pytest.raises(BadAnswer, match=reason):
        read_answer(answer)
    found = name_levels(small(), lambda c: answer if c.cluster == 1 else plain(c))
    assert found.names[0][1] == "built 1" and found.names[0][0] == "name 0.0"
    assert found.n_given == 5 and sum(found.refused.values()) == 2
    assert 1 not in found.given[0] and reason in str(found)
    assert "5 of 7 clusters are named; 2 of 7 clusters keep the built-in name" in str(found)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Winter coats\nbecause they are warm", "Winter coats"),
        ("\n\n  **Winter coats.** ", "Winter coats"),
        ('Name: "Winter coats"', "Winter coats"),
        ("Here is a name:\nWinter coats", "Winter coats"),
        ("<think>coats?\nyes</think>\nWinter coats", "Winter coats"),
        ("Winter\x07\x1b[31mcoats", "Winter [31mcoats"),
        ("Winter\ud800coats", "Winter coats"),
        ("U.S. coats.", "U.S. coats."),
        ("C#", "C"),
        ("冬のコート", "冬のコート"),
    ],
)
def test_a_name_is_found_in_an_answer(answer: str, name: str) -> None:
    assert read_answer(answer) == name


def test_a_name_that_a_sibling_has_is_asked_for_again_with_that_said() -> None:
    asked, namer = recorded(lambda c: plain(c) if c.taken or c.level else "Coats")
    found = name_levels(small(), namer)
    assert found.names[0] == ["name 0.0", "Coats", "name 0.2", "name 0.3", "Coats (hint 4)"]
    assert [c.cluster for c in asked if c.taken == "Coats"] == [2, 0, 3]
    again = next(c for c in asked if c.taken)
    assert "You have said 'Coats'" in again.prompt and "- Coats" in again.prompt


def test_a_word_of_evidence_and_then_a_number_tell_stubborn_answers_apart() -> None:
    asked, namer = recorded(lambda c: "COATS" if c.cluster % 2 else "Coats")
    found = name_levels(small(), namer)
    assert found.names[0] == [
        "Coats (hint 0)",
        "COATS",
        "Coats (hint 2)",
        "COATS (hint 3)",
        "Coats (hint 4)",
    ]
    assert found.names[1] == ["Coats", "COATS (2)"]
    assert len(asked) == 7 + 2 + 1 + 1  # once more for each clash among siblings, no more
    bad = name_levels(small(), lambda c: None if c.taken else "Coats")
    assert bad.names[0][2] == "Coats (hint 2)" and not bad.refused


def test_no_two_names_of_a_level_are_alike_whoever_gave_them() -> None:
    clusters = tuple(ClusterToName(0, i, 9 - i, "same") for i in range(4))
    level = LevelToName(0, clusters, np.arange(4))
    found = name_levels([level], lambda c: "Same" if c.cluster == 3 else None, {0: {1: "SAME"}})
    assert found.names[0] == ["same (3)", "SAME", "same (4)", "Same (2)"]


def test_kept_names_are_not_asked_for_and_told_to_the_others() -> None:
    asked, namer = recorded(plain)
    kept = {0: {2: "typed", 99: "of no cluster"}, 5: {0: "of no level"}}
    found = name_levels(small(), namer, kept)
    by_place = {(c.level, c.cluster): c for c in asked}
    assert (0, 2) not in by_place and found.names[0][2] == "typed" and 2 not in found.given[0]
    assert by_place[0, 1].siblings == ("typed",)
    assert "typed" in by_place[1, 0].children and found.n_kept == 1 and found.n_asked == 6
    found = name_levels(small(), lambda c: "TYPED", kept)
    assert found.names[0][2] == "typed" and found.names[0][1] == "TYPED (hint 1)"


def test_a_namer_may_pass_or_give_up() -> None:
    def passes(cluster: ClusterToName) -> str:
        if cluster.cluster == 1:
            raise NoAnswer("nothing said")
        return plain(cluster)

    found = name_levels(small(), passes)
    assert found.refused == {"nothing said": 2} and found.names[1] == ["name 1.0", "top 1"]

    def ends(cluster: ClusterToName) -> str:
        if cluster.cluster == 0:
            raise NamerError("the server is gone")
        return plain(cluster)

    asked, namer = recorded(ends)
    found = name_levels(small(), namer)
    assert found.error == "the server is gone" and len(asked) == 3 and found.n_given == 2
    assert found.names == {
        0: ["built 0", "name 0.1", "name 0.2", "built 3", "built 4"],
        1: ["top 0", "top 1"],
    }
    with pytest.raises(ZeroDivisionError):  # a fault of the user's function is no bad name
        name_levels(small(), lambda c: str(1 // 0))


def test_questions_at_the_same_time_are_the_same_questions() -> None:
    tree = HNNE().fit(digits()).hierarchy_

    def named(n_at_once: int) -> tuple[list[str], Any]:
        asked, namer = recorded(lambda c: f"{c.name} {len(c.siblings)} {len(c.children)}"[:60])
        told = [tree.describe(k, metadata={"digit": DIGITS}) for k in range(1, 4)]
        questions = ask_hierarchy(tree, {each.level: each for each in told})
        counts: list[int] = []
        manner = Manner(n_at_once, lambda done, n: counts.append(done))
        found = name_levels(questions, namer, manner=manner)
        assert counts == list(range(1, found.n_asked + 1)) == list(range(1, 155 + 50 + 12 + 1))
        return sorted(c.prompt for c in asked), found.names

    assert named(1) == named(4)


def test_a_level_is_described_with_a_namer() -> None:
    tree = build_hierarchy(digits())
    texts = [f"a picture\nof the digit {d} " + "and so on " * 50 for d in DIGITS]
    asked, namer = recorded(lambda c: f"called {c.cluster}")
    told = tree.describe(2, digits(), metadata={"digit": DIGITS}, texts=texts, namer=namer)
    plain_told = tree.describe(2, digits(), metadata={"digit": DIGITS}, texts=texts)
    assert told.names == [f"called {i}" for i in range(len(told))]
    assert [c.traits for c in told] == [c.traits for c in plain_told]
    below = tree.describe(1, metadata={"digit": DIGITS}, texts=texts).names
    for question in asked:
        own = plain_told[question.cluster]
        assert question.name == own.name and question.size == own.size
        assert question.evidence[0] == str(own.traits[0])
        assert question.children and set(question.children) <= set(below)
        assert 1 <= len(question.texts) == len({DIGITS[row] for row in own.typical})  # each once
        assert all("\n" not in text for text in question.texts)
        assert all(len(text) == MAX_TEXT_LETTERS for text in question.texts)
        assert question.texts[0].startswith(f"a picture of the digit {DIGITS[own.typical[0]]} ")
        assert f"- {question.texts[0]}\n" in question.prompt


def test_a_namer_is_shown_the_texts_of_typical_rows_and_no_missing_ones() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [np.array([3, 4]), np.array([40, 41])]
    kinds = {"kind": ["ant"] * 30 + ["bee"] * 30}
    told = describe_clusters(np.repeat([0, 1], 30), rows, metadata=kinds)
    texts = [f"text {i}" for i in range(60)]
    texts[4] = pandas.NA
    asked = questions_of(told, None, pandas.Series(texts, index=range(59, -1, -1)))
    assert [each.texts for each in asked.clusters] == [("text 3",), ("text 40", "text 41")]


def test_a_map_is_described_with_a_namer_from_below() -> None:
    model = HNNE().fit(digits())
    asked, namer = recorded(lambda c: f"L{c.level} {c.name}"[:60])
    told = model.describe(metadata={"digit": DIGITS}, namer=namer)
    assert [*told] == [1, 2, 3] and [c.level for c in asked] == sorted(c.level for c in asked)
    top = [c for c in asked if c.level == 3]
    assert all(child.startswith("L2 ") for c in top for child in c.children)
    assert model.describe([3], metadata={"digit": DIGITS})[3].names[0] == "digit 0"
    kept = {3: {0: "zeros"}}
    again = model.describe([3], metadata={"digit": DIGITS}, namer=lambda c: "other", kept=kept)
    assert again[3].names[:2] == ["zeros", "other (1)"]


def test_what_a_namer_left_out_is_told_and_what_stopped_it_is_raised() -> None:
    tree = build_hierarchy(digits())
    with pytest.warns(UserWarning, match="21 of 21 clusters keep the built-in name") as told:
        names = tree.describe(2, metadata={"digit": DIGITS}, namer=lambda c: None).names
    assert told[0].filename == __file__
    assert names == tree.describe(2, metadata={"digit": DIGITS}).names

    def gone(cluster: ClusterToName) -> str:
        raise NamerError("gone")

    with pytest.raises(NamerError, match="gone"):
        tree.describe(2, metadata={"digit": DIGITS}, namer=gone)
    wrong: Any = "http://localhost:11434"
    with pytest.raises(TypeError, match="namer='http://localhost:11434': must be a function"):
        tree.describe(2, metadata={"digit": DIGITS}, namer=wrong)


def test_names_go_over_to_models_that_grew_or_follow() -> None:
    X = digits()
    old = HNNE().fit(X[:1700])
    told = old.describe([2, 3], metadata={"digit": DIGITS[:1700]}, namer=lambda c: f"n{c.cluster}")
    grown = old.extend(X[1700:])
    carried = carry_names(old, grown, told)
    assert carried[3] == {i: told[3].names[i] for i in range(len(told[3]))}
    asked, namer = recorded(plain)
    new = grown.describe([2, 3], metadata={"digit": DIGITS}, namer=namer, kept=carried)
    assert new[3].names[: len(told[3])] == told[3].names and not [c for c in asked if c.level == 3]
    like = HNNE().fit(X[100:], like=old)
    carried = carry_names(old, like, {3: dict(enumerate(told[3].names))})
    labels = like.labels(level=3)
    assert carried[3]
    for cluster, name in carried[3].items():
        before = old.labels(level=3)[100:]
        own = before[labels[:1600] == cluster]
        assert f"n{np.bincount(own).argmax()}" == name


def test_a_cluster_that_is_mostly_new_rows_or_lost_many_is_another_one() -> None:
    X = digits()
    few, all_rows = HNNE().fit(X[:300]), HNNE().fit(X)
    names = {k: [f"n{i}" for i in range(n)] for k, n in enumerate(few.hierarchy_.level_sizes)}
    for level, own in carry_names(few, all_rows, names).items():
        sizes = np.bincount(all_rows.labels(level=level))
        old_rows = np.bincount(all_rows.labels(level=level)[:300], minlength=len(sizes))
        assert all(old_rows[cluster] >= sizes[cluster] / 2 for cluster in own)
