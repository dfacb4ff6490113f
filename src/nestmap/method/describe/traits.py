"""What distinguishes a cluster: over-represented categories, shifted numbers, distinctive words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from .tables import Column

_MIN_STANDARD_ERRORS = 3.0  # between a share or mean and what chance would give
_MIN_SHIFT = 0.3  # of a mean, in standard deviations
_WORD = r"(?u)\b(?=\w*[^\W\d])\w\w+\b"  # two characters or more, not all of them digits
_MAX_WORDS = 50_000  # of a vocabulary, the most frequent


@dataclass(frozen=True)
class Trait:
    """One thing that distinguishes a cluster.

    Attributes
    ----------
    kind : 'category', 'number' or 'word'
    column : str
        Empty for words.
    value : str
        The category, 'high' or 'low', or the word.
    inside, overall : float
        Share of the category, or mean of the numbers, in the cluster and in all rows; for a word
        its share of all words.
    score : float
        What traits of a kind are sorted by.
    """

    kind: str
    column: str
    value: str
    inside: float
    overall: float
    score: float
    is_time: bool = False

    def __str__(self) -> str:
        if self.kind == "word":
            return self.value
        if self.kind == "category":
            return f"{self.column}={self.value} {self.inside:.0%} (all {self.overall:.0%})"
        inside, overall = (
            _as_date(v) if self.is_time else f"{v:.3g}" for v in (self.inside, self.overall)
        )
        return f"{self.column} {self.value}: {inside} (all {overall})"


def _as_date(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def find_category_traits(
    column: Column, labels: Array, n_clusters: int, most: int = 3
) -> list[list[Trait]]:
    """Categories that are more frequent in a cluster than elsewhere, the most telling first; O(n).

    Sorted by share x log(share / overall share): what is both frequent and over-represented.
    """
    assert column.categories is not None
    known = column.values >= 0
    counts = sparse.csr_matrix(
        (np.ones(int(known.sum())), (labels[known], column.values[known])),
        shape=(n_clusters, len(column.categories)),
    )
    counts.sum_duplicates()
    total = np.asarray(counts.sum(axis=0)).ravel()
    overall = total / max(1.0, total.sum())
    found: list[list[Trait]] = []
    for i in range(n_clusters):
        row = slice(counts.indptr[i], counts.indptr[i + 1])
        codes = counts.indices[row]
        n = counts.data[row].sum()
        share = counts.data[row] / max(1.0, n)
        expected = overall[codes]
        error = np.sqrt(np.maximum(expected * (1 - expected), 1e-12) / max(1.0, n))
        score = share * np.log(share / expected)
        order = np.argsort(-score, kind="stable")[:most]
        sure = [j for j in order if share[j] - expected[j] > _MIN_STANDARD_ERRORS * error[j]]
        found.append(
            [
                Trait(
                    "category",
                    column.name,
                    str(column.categories[codes[j]]),
                    share[j],
                    expected[j],
                    score[j],
                )
                for j in sure
            ]
        )
    return found


def find_number_traits(column: Column, labels: Array, n_clusters: int) -> list[list[Trait]]:
    """A mean 0.3 standard deviations of all rows away, or more; at most one per cluster; O(n)."""
    known = np.isfinite(column.values)
    values = column.values[known]
    own = labels[known]
    # numbers whose squares are beyond all numbers
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = (float(values.mean()), float(values.std())) if len(values) else (0.0, 0.0)
    if not 0 < deviation < np.inf:
        return [[] for _ in range(n_clusters)]
    counts = np.bincount(own, minlength=n_clusters)
    inside = np.bincount(own, values - mean, n_clusters) / np.maximum(counts, 1)
    shifts = inside / deviation
    return [
        [
            Trait(
                "number",
                column.name,
                "high" if s > 0 else "low",
                m + mean,
                mean,
                abs(float(s)),
                column.is_time,
            )
        ]
        if abs(s) > max(_MIN_SHIFT, _MIN_STANDARD_ERRORS / np.sqrt(max(1, n)))
        else []
        for s, m, n in zip(shifts, inside.tolist(), counts, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class WordCounts:
    """How often each text holds each word, counted once for the descriptions of several levels."""

    words: Array
    counts: Any  # CSR, a row per text

    @classmethod
    def of(cls, texts: Sequence[str], stop_words: Any = "english") -> WordCounts:
        """Count the words of texts; stop words and numbers are left out."""
        from sklearn.feature_extraction.text import CountVectorizer  # heavy, and only texts need it

        try:
            counter = CountVectorizer(
                stop_words=stop_words,
                max_features=_MAX_WORDS,
                dtype=np.float64,
                token_pattern=_WORD,
            )
            counts = counter.fit_transform([str(text) for text in texts])
        except ValueError as error:
            raise ValueError(
                f"texts: {error}; pass metadata= for categories, names= for names of rows"
            ) from error
        return cls(counter.get_feature_names_out(), counts)

    def __len__(self) -> int:
        return int(self.counts.shape[0])


def find_word_traits(
    counted: WordCounts, labels: Array, n_clusters: int, most: int = 8
) -> list[list[Trait]]:
    """Distinctive words of each cluster, by class-based TF-IDF (Grootendorst 2022).

    A word counts by its share of the cluster's words, times log(1 + words per cluster / occurrences
    of the word).
    """
    words = counted.words
    belongs = sparse.csr_matrix(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), (n_clusters, len(labels))
    )
    per_cluster = (belongs @ counted.counts).tocsr()
    totals = np.asarray(per_cluster.sum(axis=0)).ravel()
    lengths = np.asarray(per_cluster.sum(axis=1)).ravel()
    weights = np.log1p(lengths.mean() / np.maximum(totals, 1))
    found: list[list[Trait]] = []
    for i in range(n_clusters):
        row = slice(per_cluster.indptr[i], per_cluster.indptr[i + 1])
        columns = per_cluster.indices[row]
        share = per_cluster.data[row] / max(1.0, lengths[i])
        score = share * weights[columns]
        overall = totals[columns] / max(1.0, totals.sum())
        order = [j for j in np.lexsort((columns, -score)) if share[j] > overall[j]][:most]
        found.append(
            [
                Trait("word", "", str(words[columns[j]]), share[j], overall[j], score[j])
                for j in order
            ]
        )
    return found
