"""What distinguishes a cluster: over-represented categories, and numbers that are high or low."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from ...tables.cells import is_nothing
from ...tables.profiles import name_words
from .rules import NAMING
from .tables import Column

_RAREST = 0.01  # share among other rows that scores count: what is rarer says no more
_MIXED = 2  # most frequent categories that are kept, to say what a cluster is a mixture of
_LENGTHS = frozenset(["length", "duration", "runtime", "running", "long", "elapsed"])
_LAST_SECOND = 2.5e11  # of the year 9999: what is beyond is no date
_WORD = r"(?u)\b(?=\w*[^\W\d])\w\w+\b"  # two characters or more, not all of them digits
# bounded before the @: words may be a million letters long
_ADDRESS = re.compile(
    r"\b(?:https?://|ftp://|www\.)\S+|(?<![\w.+-])[\w.+-]{1,64}@\w[\w-]{0,64}\.\w[\w.-]*"
)
_MAX_WORDS = 50_000  # of a vocabulary, the most frequent


@dataclass(frozen=True)
class Trait:
    """One thing that distinguishes a cluster.

    Attributes
    ----------
    kind : 'category', 'number', 'word' or 'cluster'
    column : str
        Empty for words.
    value : str
        The category; 'high' or 'low', 'long' or 'short', 'late' or 'early'; the word; or the name
        of finer clusters, which others have no part in.
    inside, overall : float
        Share of the rows with the category, share of the texts with the word, or median of the
        numbers: in the cluster, and in all rows.
    score : float
        What traits of a kind are sorted by.
    share, others : float
        Share of the cluster's rows of which it is true, and of all other rows. A number is high in
        rows beyond the highest fifth of all others.
    count : int
        The cluster's rows of which it is true.
    sure : bool
        Whether chance would hardly give such a share.
    spread : float
        Of a word: share of the cluster's texts in finer clusters for which it holds, too.
    within : str
        Where it only tells clusters of one name apart, that name: `others` are their rows then.
    """

    kind: str
    column: str
    value: str
    inside: float
    overall: float
    score: float
    is_time: bool = False
    share: float = 0.0
    others: float = 0.0
    count: int = 0
    sure: bool = True
    spread: float = 1.0
    within: str = ""

    @property
    def lift(self) -> float:
        """How much more frequent it is in the cluster than among the others."""
        if self.others > 0:
            return self.share / self.others
        return np.inf if self.share > 0 else 0.0

    @property
    def evidence(self) -> str:
        """What makes it true: share, rows, and share of the others."""
        what = {"category": f"{self.column}=", "number": f"{self.column} "}.get(self.kind, "")
        others = f"of other {self.within}" if self.within else "of the others"
        rows = "row" if self.count == 1 else "rows"
        if self.kind == "cluster":
            return f"{self.value} {self.share:.0%} ({self.count:,} {rows})"
        inside, overall = self._medians(_compact)
        median = f"; median {inside} against {overall}" if self.kind == "number" else ""
        return (
            f"{what}{self.value} {self.share:.0%} ({self.count:,} {rows}; {self.others:.0%} "
            f"{others}{median})"
        )

    def __str__(self) -> str:
        if self.kind == "word":
            return self.value
        if self.kind == "category":
            return f"{self.column}={self.value} {self.inside:.0%} (all {self.overall:.0%})"
        inside, overall = self._medians("{:.3g}".format)
        end = "bottom" if self.value in ("low", "short", "early") else "top"
        return (
            f"{self.column} {self.value}: {inside} (all {overall}), "
            f"{self.share:.0%} in the {end} fifth"
        )

    def _medians(self, told: Callable[[float], str]) -> tuple[str, str]:
        """Of the cluster and of all rows, as dates or as numbers."""
        write = _as_date if self.is_time else told
        return write(self.inside), write(self.overall)


def _compact(number: float) -> str:
    """A number in three digits: thousands, millions and billions by a letter.

    Examples
    --------
    >>> _compact(40_000_000), _compact(12_345), _compact(0.0421), _compact(-1970.0)
    ('40M', '12.3k', '0.0421', '-1970')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size <= abs(number) < 1e12:
            return f"{number / min(size, 1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{number:.4g}" if abs(number) >= 1000 else f"{number:.3g}"


def _as_date(seconds: float) -> str:
    if not abs(seconds) < _LAST_SECOND:
        return f"{seconds:g}"
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def score_of(share: Any, others: Any) -> Any:
    """What traits are compared by: both frequent and over-represented."""
    return share * np.log(np.maximum(share, 1e-12) / np.maximum(others, _RAREST))


def is_sure(share: Any, overall: Any, n: Any) -> Any:
    """Whether a share of n rows is above what chance would give."""
    error = np.sqrt(np.maximum(overall * (1 - overall), 1e-12) / np.maximum(n, 1))
    return share - overall > NAMING.errors * error


def find_category_traits(
    column: Column, labels: Array, n_clusters: int, most: int = 3
) -> list[list[Trait]]:
    """Categories of each cluster: the most telling ones, and the two most frequent; O(n).

    Sorted by share x log(share / share of the others). Those that are not `sure` do not distinguish
    the cluster, and are there to say what it is a mixture of. Rows whose cell is empty count as
    rows of the cluster, but not among the others.
    """
    assert column.categories is not None
    known = column.values >= 0
    counts = sparse.csr_matrix(
        (np.ones(int(known.sum())), (labels[known], column.values[known])),
        shape=(n_clusters, len(column.categories)),
    )
    counts.sum_duplicates()
    sizes = np.bincount(labels, minlength=n_clusters)
    total = np.asarray(counts.sum(axis=0)).ravel()
    n_known = total.sum()
    found: list[list[Trait]] = []
    for i in range(n_clusters):
        row = slice(counts.indptr[i], counts.indptr[i + 1])
        codes = counts.indices[row]
        inside = counts.data[row]
        share = inside / max(1, sizes[i])
        others = (total[codes] - inside) / max(1.0, n_known - inside.sum())
        overall = total[codes] / max(1.0, n_known)
        score = score_of(share, others)
        sure = is_sure(share, overall, sizes[i]) & (share > others)
        frequent = np.lexsort((codes, -share))[:_MIXED]
        telling = [j for j in np.argsort(-score, kind="stable") if sure[j]][:most]
        own = []
        for j in dict.fromkeys([*telling, *frequent]):
            value = str(column.categories[codes[j]])
            trait = Trait("category", column.name, value, share[j], overall[j], score[j])
            known_of = {"share": share[j], "others": others[j], "count": int(inside[j])}
            own.append(replace(trait, **known_of, sure=bool(sure[j])))
        found.append(own)
    return found


def find_number_traits(column: Column, labels: Array, n_clusters: int) -> list[list[Trait]]:
    """Numbers beyond the top or bottom fifth of all others, more often than theirs; O(n log n).

    At most one per cluster. By ranks: infinite numbers and long tails change nothing.
    """
    found: list[list[Trait]] = [[] for _ in range(n_clusters)]
    ranked = column.values[column.order]
    if not len(ranked) or ranked[0] == ranked[-1]:
        return found
    # numbers of two bytes are sorted without comparisons
    own = labels[column.order].astype(np.uint16 if n_clusters <= 2**16 else np.int64)
    by_cluster = np.argsort(own, kind="stable")
    ends = np.cumsum(np.bincount(own, minlength=n_clusters))
    sizes = np.bincount(labels, minlength=n_clusters)
    middle = float(ranked[(len(ranked) - 1) // 2])
    for i, stop in enumerate(ends.tolist()):
        places = by_cluster[ends[i - 1] if i else 0 : stop]
        if not 0 < len(places) < len(ranked):
            continue
        tail = max((_tail(ranked, places, high) for high in (True, False)), key=lambda t: t.inside)
        share = tail.inside / sizes[i]
        others = tail.outside / (len(ranked) - len(places))
        overall = (tail.inside + tail.outside) / len(ranked)
        if is_sure(share, overall, sizes[i]) and share >= NAMING.lift * others:
            found[i].append(
                Trait(
                    "number",
                    column.name,
                    _word_for(column, tail.is_high),
                    float(ranked[places[(len(places) - 1) // 2]]),
                    middle,
                    float(score_of(share, others)),
                    column.is_time,
                    share=share,
                    others=others,
                    count=tail.inside,
                )
            )
    return found


@dataclass(frozen=True)
class _Tail:
    """How many numbers lie beyond the top or bottom fifth of those outside a cluster."""

    is_high: bool
    inside: int
    outside: int


def _tail(ranked: Array, places: Array, high: bool) -> _Tail:
    """`ranked`: all numbers in order; `places`: where those of the cluster stand."""
    n_others = len(ranked) - len(places)
    cut = int(n_others * NAMING.span)
    at = n_others - 1 - cut if high else cut  # which one of the others
    own_before = np.searchsorted(places - np.arange(len(places)), at, side="right")
    bound = ranked[at + own_before]
    if high:
        beyond = len(ranked) - int(np.searchsorted(ranked, bound, side="right"))
        inside = len(places) - int(np.searchsorted(ranked[places], bound, side="right"))
    else:
        beyond = int(np.searchsorted(ranked, bound, side="left"))
        inside = int(np.searchsorted(ranked[places], bound, side="left"))
    return _Tail(high, inside, beyond - inside)


def _word_for(column: Column, high: bool) -> str:
    """How one says that such a number is large or small."""
    if column.is_time:
        return "late" if high else "early"
    if _LENGTHS & set(name_words(column.name)):
        return "long" if high else "short"
    return "high" if high else "low"


def _prose_of(text: Any) -> str:
    """A text without addresses of pages and letters; nothing where it is missing."""
    return "" if is_nothing(text) else _ADDRESS.sub(" ", str(text))


@dataclass(frozen=True, eq=False)
class WordCounts:
    """How often each text holds each word, counted once for the descriptions of several levels."""

    words: Array
    counts: Any  # CSR, a row per text

    @classmethod
    def of(cls, texts: Sequence[str], stop_words: Any = "english") -> WordCounts:
        """Count the words of texts; stop words, numbers and addresses are left out."""
        from sklearn.feature_extraction.text import CountVectorizer  # heavy, and only texts need it

        try:
            counter = CountVectorizer(
                stop_words=stop_words,
                max_features=_MAX_WORDS,
                dtype=np.float64,
                token_pattern=_WORD,
            )
            counts = counter.fit_transform([_prose_of(text) for text in texts])
        except ValueError as error:
            raise ValueError(
                f"texts: {error}; pass metadata= for categories, names= for names of rows"
            ) from error
        return cls(counter.get_feature_names_out(), counts)

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    def take(self, rows: Array) -> WordCounts:
        """The words of some texts."""
        return WordCounts(self.words, self.counts[rows])
