"""Names of clusters that earn trust: one test per rule, and odd columns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from nestmap import HNNE
from nestmap.app.readers.table import Table
from nestmap.app.runs.naming import describe_run, facts_of
from nestmap.core.numbers import as_markdown
from nestmap.method.describe import Facts, LevelDescription, describe_clusters
from nestmap.method.describe.names import MAX_LETTERS, cut, join
from nestmap.method.describe.rules import NAMING
from nestmap.method.describe.tables import Column, as_label, read_column, read_columns
from nestmap.method.describe.traits import find_number_traits
from nestmap.views.plots.text import choose_names

RNG = np.random.default_rng(0)
DANGLING = re.compile(r"^[\s/·,.:]|[\s/·,.:]$")


def describe(labels: Any, **known: Any) -> LevelDescription:
    labels = np.asarray(labels)
    return describe_clusters(labels, [np.array([0])] * (int(labels.max()) + 1), **known)


def test_a_name_needs_most_of_its_cluster() -> None:
    """A studio that made 11% of some films, and none of the others, is not their name."""
    makers = np.array(
        ["Studio X"] * 11 + [f"maker {i % 30}" for i in range(89)] + ["Studio Y"] * 100
    )
    told = describe(np.repeat([0, 1], 100), metadata={"maker": makers})
    assert told.names == ["mixed: Studio X 11%", "Studio Y"]
    genres = np.array(["comedy"] * 31 + ["drama"] * 28 + [f"g{i % 10}" for i in range(41)])
    rest = np.array(["war"] * 100)
    told = describe(np.repeat([0, 1], 100), metadata={"genre": np.concatenate([genres, rest])})
    assert told.names == ["mixed: comedy 31%, drama 28%", "war"]


def test_a_name_needs_more_than_the_others_have() -> None:
    spam = np.array(["ham"] * 1900 + ["spam"] * 100)  # nearly the same everywhere
    kind = np.repeat(["a few", "many"], 1000)
    labels = np.repeat([0, 1], 1000)
    told = describe(labels, metadata={"spam": spam})
    assert told.names == ["cluster 0", "cluster 1"]
    assert [t.value for t in told[0].traits] == ["ham"]  # it is a trait, and no name
    assert describe(labels, metadata={"spam": spam, "kind": kind}).names == ["a few", "many"]


def test_a_category_may_be_called_mixed() -> None:
    known = {
        "forest": np.array(["mixed forest"] * 100 + ["pine"] * 100),
        "wet": np.repeat(["dry", "wet", "dry"], [50, 50, 100]),
    }
    told = describe(np.repeat([0, 1, 2], [50, 50, 100]), metadata=known, label="forest")
    assert told.names == ["mixed forest, dry", "mixed forest, wet", "pine"]


def test_empty_cells_count_against_a_name() -> None:
    kind = np.array(["ant"] * 20 + [""] * 80 + ["bee"] * 100)
    told = describe(np.repeat([0, 1], 100), metadata={"kind": kind})
    assert told.names == ["mixed: ant 20%", "bee"]
    assert told[0].evidence[0].share == 0.2 and told[0].evidence[0].count == 20


@pytest.mark.parametrize("nothing", ["", None, np.nan, "n/a", "NA", "-", " ", "?", "null"])
def test_empty_cells_are_no_value(nothing: Any) -> None:
    values = np.array(["R"] * 40 + [nothing] * 160, dtype=object)
    found = read_column("MPAA Rating", values, 200)
    assert found.categories is not None and found.categories.tolist() == ["R"]
    assert (found.values == -1).sum() == 160
    told = describe(np.repeat([0, 1], 100), metadata={"MPAA Rating": values})
    assert all(name == "mixed: MPAA Rating R 40%" or name == "cluster 1" for name in told.names)


def test_numbers_among_objects_are_numbers() -> None:
    values: list[Any] = [None, *np.linspace(1, 9, 58).tolist(), None]
    found = read_column("budget", np.array(values, dtype=object), 60)
    assert found.categories is None and np.isnan(found.values[[0, -1]]).all()
    dates = read_column("released", [f"{1960 + i}-02-03" for i in range(60)], 60)
    assert dates.is_time and dates.categories is None
    prices = read_column("price", [f"${i},000" for i in range(1, 61)], 60)
    assert prices.values[4] == 5000


def test_the_label_comes_first() -> None:
    label = np.array(["cat"] * 70 + ["dog"] * 30 + ["dog"] * 50 + ["cow"] * 30 + ["hen"] * 20)
    known = {
        "place": np.repeat(["north", "south"], 100),
        "animal": label,
        "x": RNG.normal(size=200),
    }
    labels = np.repeat([0, 1], 100)
    assert describe(labels, metadata=known).names == ["north", "south"]
    told = describe(labels, metadata=known, label="animal")
    assert told.names == ["cat / dog", "mixed: dog 50%, cow 30%"] or told.names == [
        "cat / dog",
        "dog / cow",
    ]
    assert told[0].evidence[0].share == 0.7 and told[0].evidence[1].share == 0.3
    with pytest.raises(ValueError, match=r"label='animol'.*did you mean 'animal'"):
        describe(labels, metadata=known, label="animol")


@pytest.mark.parametrize("n_classes", [3, 30])
def test_whole_numbers_of_a_label_are_classes(n_classes: int) -> None:
    labels = np.repeat(np.arange(n_classes), 20)
    known = {"digit": labels.astype(float)}
    known["digit"][0] = np.nan
    named = describe(labels, metadata=known, label="digit").names
    assert named == [f"digit {i}" for i in range(n_classes)]
    share = {"digit": known["digit"] + 0.5}
    assert describe(labels, metadata=share, label="digit").names[-1].startswith("high digit")


def test_no_name_says_high_and_low_of_one_column() -> None:
    labels = np.repeat(np.arange(12), 20)
    size = np.where(labels < 10, 0.0, np.where(labels == 10, 50.0, 90.0)) + RNG.uniform(size=240)
    names = describe(labels, metadata={"size": size}).names
    assert sorted(names[10:]) == ["high size", "high size (2)"]


def test_a_label_may_look_like_a_clustering() -> None:
    labels = np.repeat([0, 1], 50)
    known = {"cluster": np.repeat([7, 4], 50)}
    assert describe(labels, metadata=known).names == ["cluster 0", "cluster 1"]
    assert describe(labels, metadata=known, label="cluster").names == ["cluster 7", "cluster 4"]


@pytest.mark.parametrize(
    "name, values",
    [
        ("cluster", [0, 1, 2]),
        ("leiden", ["0", "1", "2"]),
        ("labels", [0, 1, -1]),
        ("kmeans_3", [0.0, 1.0, 2.0]),
        ("level_2", [5, 6, 7]),
        ("cluster_name", ["high a", "low b", "mixed"]),
        ("found", ["Cluster 1", "Cluster 2", "Cluster 3"]),
        ("hdbscan", ["C1", "C2", "noise"]),
    ],
)
def test_other_clusterings_never_name(name: str, values: list[Any]) -> None:
    labels = np.repeat([0, 1, 2], 40)
    told = describe(labels, metadata={name: np.array(values)[labels]})
    assert told.names == ["cluster 0", "cluster 1", "cluster 2"]
    assert not any(cluster.traits for cluster in told)
    kinds = np.array(["T cells", "B cells", "NK cells"])[labels]  # somebody has named these
    assert describe(labels, metadata={"cluster": kinds}).names == ["T cells", "B cells", "NK cells"]


@pytest.mark.parametrize(
    "values",
    [
        [f"row {i}" for i in range(120)],
        [f"https://example.org/{i // 40}" for i in range(120)],
        ["same"] * 120,
        [f"www.example.org/{i // 40}" for i in range(120)],
        np.repeat([3, 3, 3], 40),
    ],
)
def test_ids_addresses_and_constants_never_name(values: Any) -> None:
    told = describe(np.repeat([0, 1, 2], 40), metadata={"what": values})
    assert told.names == ["cluster 0", "cluster 1", "cluster 2"]


def test_numbers_that_count_or_identify_never_name() -> None:
    known = {"customer_id": np.arange(120) + 5000, "row": np.arange(120)}
    told = describe(np.repeat([0, 1, 2], 40), metadata=known)
    assert told.names == ["cluster 0", "cluster 1", "cluster 2"]


def test_numbers_are_evidence() -> None:
    budget = np.concatenate([RNG.lognormal(3, 1, 100), RNG.lognormal(6, 1, 100)])
    minutes = np.concatenate([RNG.normal(90, 5, 100), RNG.normal(140, 5, 100)])
    known = {"budget": budget, "running_time": minutes}
    told = describe(np.repeat([0, 1], 100), metadata=known)
    assert told.names == ["short running time, low budget", "long running time, high budget"]
    high = next(t for t in told[1].evidence if t.column == "budget")
    bound = np.sort(budget[:100])[79]  # a fifth of the others lies beyond
    assert high.count == (budget[100:] > bound).sum() and high.others == 0.2
    assert "in the top fifth" in str(high) and f"{high.share:.0%}" in high.evidence
    # a few enormous ones change nothing
    spoilt = np.where(np.arange(200) % 25 == 0, np.inf, budget)
    told = describe(np.repeat([0, 1], 100), metadata=known | {"budget": spoilt})
    assert told.names == ["short running time, low budget", "long running time, high budget"]


def test_a_name_tells_one_of_two_numbers_that_say_the_same() -> None:
    worldwide = np.concatenate([RNG.lognormal(3, 1, 100), RNG.lognormal(6, 1, 100)])
    minutes = np.concatenate([RNG.normal(90, 5, 100), RNG.normal(140, 5, 100)])
    at_home = np.where(np.arange(200) % 7 == 0, np.nan, 0.4 * worldwide)
    known = {"world": worldwide, "home": at_home, "loss": -worldwide}
    told = describe(np.repeat([0, 1], 100), metadata=known)
    assert all(", " not in name for name in told.names), told.names
    told = describe(np.repeat([0, 1], 100), metadata=known | {"minutes": minutes})
    assert all(", " in name and "minutes" in name for name in told.names), told.names


def test_a_few_large_numbers_do_not_name() -> None:
    """The mean of the first cluster is far above that of the others, its rows are not."""
    values = np.concatenate([np.full(20, 1e6), RNG.normal(size=80), RNG.normal(size=100)])
    told = describe(np.repeat([0, 1], 100), metadata={"gross": values})
    assert told.names == ["cluster 0", "cluster 1"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4)), min_size=8, max_size=60))
def test_shares_of_numbers_by_definition(rows: list[tuple[int, int]]) -> None:
    labels = np.array([label for label, _ in rows])
    values = np.array([float(value) for _, value in rows])
    values[values == 4] = np.inf
    found = find_number_traits(Column("x", values), labels, 4)
    for i, traits in enumerate(found):
        for trait in traits:
            own = values[labels == i]
            others = np.sort(values[labels != i])
            cut_off = int(len(others) * NAMING.span)
            high = trait.value == "high"
            bound = others[len(others) - 1 - cut_off] if high else others[cut_off]
            beyond = own > bound if high else own < bound
            outside = others > bound if high else others < bound
            assert trait.count == beyond.sum() and trait.share == pytest.approx(beyond.mean())
            assert trait.others == pytest.approx(outside.mean())


def test_clusters_of_one_name_are_told_apart() -> None:
    kind = np.repeat(["ant", "ant", "bee", "bee"], 50)
    sex = np.repeat(["queen", "worker", "queen", "worker"], 50)
    labels = np.repeat([0, 1, 2, 3], 50)
    told = describe(labels, metadata={"kind": kind, "sex": sex}, label="kind")
    assert told.names == ["ant, queen", "ant, worker", "bee, queen", "bee, worker"]
    last = told[1].evidence[-1]
    assert (last.within, last.share, last.others) == ("ant", 1.0, 0.0)
    assert "0% of other ant" in last.evidence
    size = np.concatenate([RNG.normal(0, 1, 50), RNG.normal(9, 1, 50), RNG.normal(size=100)])
    told = describe(labels, metadata={"kind": kind, "size": size}, label="kind")
    assert told.names[:2] == ["ant, low size", "ant, high size"]
    assert told.names[2:] == ["bee", "bee (2)"]  # chance tells nothing apart


def test_clusters_that_are_still_called_the_same_are_told_apart_again() -> None:
    labels = np.repeat(range(5), 50)
    known = {
        "kind": np.array(["ant", "ant", "ant", "ant", "bee"])[labels],
        "nest": np.array(["hill", "hill", "wood", "wood", "hive"])[labels],
        "sex": np.array(["queen", "worker", "queen", "worker", "queen"])[labels],
    }
    told = describe(labels, metadata=known, label="kind")
    assert told.names == [
        "ant, hill, queen",
        "ant, hill, worker",
        "ant, wood, queen",
        "ant, wood, worker",
        "bee",
    ]
    assert [t.within for t in told[3].evidence] == ["", "ant", "ant, wood"]
    assert told[4].why == "kind=bee 100% (50 rows; 0% of the others)"


CAR = ["engine brake wheel", "wheel tyre engine", "brake engine gear", "gear wheel brake"]
BANK = ["account money loan", "loan interest account", "money account bank", "bank loan interest"]
FOOD = ["bread butter salt", "salt butter milk", "milk bread cheese", "cheese butter bread"]


def texts_of(*subjects: list[str]) -> list[str]:
    return [each[i % 4] for each in subjects for i in range(40)]


def test_parents_are_named_by_what_their_children_share() -> None:
    texts = texts_of(CAR, BANK, FOOD)
    finer = np.repeat([0, 1, 2], 40)
    labels = np.repeat([0, 0, 1], 40)
    told = describe(labels, texts=texts, finer=finer)
    assert told.names[0].startswith("mixed: ") and "%" in told.names[0]
    assert set(told.names[1].split(" · ")) <= {"butter", "bread", "salt", "milk", "cheese"}
    shared = [text + " repair" if i < 80 else text for i, text in enumerate(texts)]
    told = describe(labels, texts=shared, finer=finer)
    assert told.names[0] == "repair"
    assert told[0].evidence[0].spread == 1.0 and told[0].evidence[0].count == 80


def test_a_word_needs_many_texts_of_its_cluster() -> None:
    """One long text repeats a word."""
    texts = [f"w{'abcdefgh'[i % 8]}x subject{i % 7}" for i in range(40)] + ["other thing"] * 40
    texts[0] = "spam " * 500
    told = describe(np.repeat([0, 1], 40), texts=texts)
    assert "spam" not in told.names[0].replace("mixed", "") or told.names[0].startswith("mixed")
    assert all(trait.share >= NAMING.word_share for trait in told[1].evidence)


def test_addresses_and_missing_texts_hold_no_words() -> None:
    address = ["see https://example.org/page?x=1", "www.example.org/a", "to mail@example.org"]
    told = describe(np.repeat([0, 1], 30), texts=address * 10 + ["bread butter"] * 30)
    assert not any("example" in t.value or "http" in t.value for c in told for t in c.traits)
    texts: list[Any] = [np.nan] * 15 + [None] * 15 + ["bread butter"] * 30
    assert describe(np.repeat([0, 1], 30), texts=texts).names == ["cluster 0", "bread · butter"]
    endless = ["x" * 1_000_000, "a." * 300_000, "@" * 300_000, "a@" * 300_000] + ["bread"] * 36
    assert len(describe(np.repeat([0, 1], 20), texts=endless)) == 2  # within seconds
    long = ["spoon " * 20_000] * 20 + ["fork " * 20_000] * 20
    assert describe(np.repeat([0, 1], 20), texts=long).names == ["spoon", "fork"]


def test_words_are_shares_of_texts() -> None:
    texts = texts_of(CAR, BANK)
    trait = next(
        t for t in describe(np.repeat([0, 1], 40), texts=texts)[0].traits if t.value == "engine"
    )
    assert (trait.share, trait.others, trait.count) == (0.75, 0.0, 30)
    assert trait.lift == np.inf and trait.overall == 0.375


def test_every_name_has_its_evidence() -> None:
    X, y = load_digits(return_X_y=True)
    model = HNNE().fit(X)
    told = model.hierarchy_.describe(metadata={"digit": y}, label="digit")
    for cluster in told:
        first = cluster.evidence[0]
        own = y[model.labels_ == cluster.number]
        others = y[model.labels_ != cluster.number]
        assert first.value in cluster.name
        assert first.count == (own == int(first.value)).sum()
        assert first.share == pytest.approx(np.mean(own == int(first.value)))
        assert first.others == pytest.approx(np.mean(others == int(first.value)))
        assert first.lift == (pytest.approx(first.share / first.others) if first.others else np.inf)
        assert f"{first.share:.0%}" in cluster.why
    pytest.importorskip("pandas")
    frame = told.to_frame()
    assert list(frame.columns) == ["name", "size", "typical", "traits", "evidence"]
    assert frame.loc[3, "evidence"] == told[3].why


def test_long_parts_leave_no_dangling_separators() -> None:
    long = "a very long name of a category / with separators · and more, of them"
    told = describe(np.repeat([0, 1], 30), metadata={"kind": [long] * 30 + [long[::-1]] * 30})
    for name in told.names:
        assert len(name) <= MAX_LETTERS and not DANGLING.search(name.rstrip("…"))
    assert join(["first", "x" * 60], ", ") == "first"
    assert cut("word / " * 20).endswith("word…")


def test_a_run_names_by_its_label() -> None:
    kinds = load_digits().target
    tree = HNNE().fit(digits()).hierarchy_
    half = np.where(kinds < 5, "low half", "high half")
    table = Table(digits(), None, None, {"digit": kinds, "half": half}, label="half")
    assert [column.is_label for column in facts_of(table).columns] == [False, True]
    names = describe_run(tree, table)[tree.default_level()].names
    assert all(re.match(r"(mixed: )?(low|high) half", name) for name in names)
    others = describe_run(tree, replace(table, label=None))[tree.default_level()].names
    assert all(name.startswith("digit ") for name in others)


def test_a_column_that_is_asked_for_names_a_picture() -> None:
    tree = HNNE().fit(digits()).hierarchy_
    level = tree.default_level()
    own = read_column("leiden", load_digits().target, len(digits()))
    (found,) = choose_names(tree, True, (level, None), Facts((as_label(own),)))
    assert all(re.match(r"(mixed: )?\d", name) for name in found.names)
    (found,) = choose_names(tree, True, (level, None), Facts((own,)))
    assert found.names[0] in ("cluster 0", "")


odd_cells = st.one_of(
    st.none(),
    st.sampled_from(["", "a", "b", "n/a", "x " * 300, "·", "/", ",", "1", "\x00", "é" * 50]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**12), 10**12),
    st.booleans(),
)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_odd_columns_give_names_that_differ(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    labels = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    labels = np.unique(labels, return_inverse=True)[1]
    cells = st.lists(odd_cells, min_size=n, max_size=n)
    numbers = st.lists(st.floats(), min_size=n, max_size=n)
    known = {"odd": data.draw(cells), "number": np.array(data.draw(numbers)), "one": ["x"] * n}
    told = describe(labels, metadata=known, label=data.draw(st.sampled_from([None, *known])))
    assert len(set(told.names)) == len(told) == labels.max() + 1
    for cluster in told:
        assert cluster.name.strip() and len(cluster.name) <= MAX_LETTERS + 5
        assert str(cluster) and cluster.why is not None
        for trait in cluster.evidence:
            assert 0 < trait.share <= 1 and 0 <= trait.others <= 1
            assert 0 < trait.count <= cluster.size


def test_one_row_per_cluster_and_nothing_known() -> None:
    labels = np.arange(30)
    empty = {"text": [""] * 30, "number": np.full(30, np.nan), "none": [None] * 30}
    told = describe(labels, metadata=empty)
    assert told.names == [f"cluster {i}" for i in range(30)]
    one = describe(np.zeros(30, dtype=int), metadata={"a": ["x", "y", "z"] * 10}, label="a")
    assert one.names[0].startswith("mixed: a ")
    same = describe(labels, metadata={"kind": ["ant"] * 30}, label="kind")
    assert same.names[0] == "ant" and len(set(same.names)) == 30


def test_codes_and_order_of_categories() -> None:
    columns = {c.name: c for c in read_columns({"n": ["10", "9", "2"], "t": ["b", "a", "b"]}, 3)}
    assert columns["n"].categories is not None and columns["t"].categories is not None
    assert columns["n"].categories.tolist() == ["2", "9", "10"]
    assert columns["t"].categories.tolist() == ["a", "b"] and columns["t"].values.tolist() == [
        1,
        0,
        1,
    ]


def test_the_page_prints_the_numbers() -> None:
    page = Path(__file__).parent.parent / "docs" / "use" / "names.md"
    assert as_markdown(NAMING) in page.read_text(), "print(as_markdown(NAMING))"


def test_two_whole_numbers_are_categories_also_where_files_read_floats() -> None:
    """Of a trial 'adhere 1' is a name, and 'high adhere' is none."""
    flags = np.repeat([1.0, 0.0], 50)
    told = describe_clusters(
        np.repeat([0, 1], 50), [RNG.integers(0, 9, 0)] * 2, metadata={"adhere": flags}
    )
    assert told.names == ["adhere 1", "adhere 0"]
