"""Words that distinguish clusters of texts: held by many of their texts, and by few others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from .rules import NAMING
from .traits import Trait, WordCounts, is_sure, score_of


@dataclass(frozen=True, eq=False)
class Shares:
    """In how many texts of each cluster a word is.

    Attributes
    ----------
    counts : CSR matrix, a row per cluster
        Texts with the word.
    sizes : array
        Texts of each cluster that count: those with any words, or as many as would be expected.
    """

    counts: Any
    sizes: Array

    @classmethod
    def of(cls, counted: WordCounts, labels: Array, n_clusters: int) -> Shares:
        """Clusters with more empty texts than usual do not hide that."""
        has_word = counted.counts.copy()
        has_word.data = np.ones_like(has_word.data)
        known = (np.diff(has_word.indptr) > 0).astype(np.float64)
        n_known = np.bincount(labels, known, n_clusters)
        expected = np.bincount(labels, minlength=n_clusters) * known.mean() if len(known) else 0
        return cls(sum_rows(has_word, labels, n_clusters), np.maximum(n_known, expected))

    @cached_property
    def totals(self) -> Array:
        """Texts with each word."""
        return np.asarray(self.counts.sum(axis=0)).ravel()

    def of_cluster(self, i: int) -> ClusterShares:
        row = slice(self.counts.indptr[i], self.counts.indptr[i + 1])
        columns = self.counts.indices[row]
        inside = self.counts.data[row]
        n = max(1.0, float(self.sizes[i]))
        rest = max(1.0, float(self.sizes.sum()) - n)
        total = self.totals[columns]
        return ClusterShares(
            columns, inside, inside / n, (total - inside) / rest, total / (n + rest), n
        )


@dataclass(frozen=True, eq=False)
class ClusterShares:
    """The words of one cluster."""

    columns: Array
    inside: Array  # texts
    share: Array
    others: Array
    overall: Array
    n_texts: float

    @property
    def hold(self) -> Array:
        """Which ones are frequent enough, and rare enough elsewhere, for a name."""
        frequent = self.share >= NAMING.word_share
        return np.asarray(frequent & (self.share >= NAMING.word_lift * self.others))

    def trait(self, words: Array, j: int, score: float, spread: float = 1.0) -> Trait:
        """What is known of its j-th word."""
        return Trait(
            "word",
            "",
            str(words[self.columns[j]]),
            float(self.share[j]),
            float(self.overall[j]),
            score,
            share=float(self.share[j]),
            others=float(self.others[j]),
            count=int(self.inside[j]),
            sure=bool(is_sure(self.share[j], self.overall[j], self.n_texts)),
            spread=spread,
        )


def sum_rows(matrix: Any, labels: Array, n_clusters: int) -> Any:
    """The sum of each cluster's rows, as a CSR matrix."""
    belongs = sparse.csr_matrix(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), (n_clusters, len(labels))
    )
    found = (belongs @ matrix).tocsr()
    found.sort_indices()
    return found


def find_word_traits(
    counted: WordCounts, labels: Array, n_clusters: int, most: int = 8, finer: Array | None = None
) -> list[list[Trait]]:
    """Distinctive words of each cluster, by class-based TF-IDF (Grootendorst 2022).

    A word counts by its share of the cluster's words, times log(1 + words per cluster / occurrences
    of the word). Words that may be in a name come first.

    Parameters
    ----------
    finer : array, optional
        Labels of the next finer level: a name needs words that hold for most of its children.
    """
    per_cluster = sum_rows(counted.counts, labels, n_clusters)
    totals = np.asarray(per_cluster.sum(axis=0)).ravel()
    lengths = np.asarray(per_cluster.sum(axis=1)).ravel()
    weights = np.log1p(lengths.mean() / np.maximum(totals, 1))
    shares = Shares.of(counted, labels, n_clusters)
    spread = None if finer is None else _spread(counted, shares, labels, finer)
    found: list[list[Trait]] = []
    for i in range(n_clusters):
        own = shares.of_cluster(i)
        part = per_cluster.data[per_cluster.indptr[i] : per_cluster.indptr[i + 1]]
        part = part / max(1.0, lengths[i])
        score = part * weights[own.columns]
        wide = np.ones(len(score)) if spread is None else _row(spread, i)[own.columns]
        names = own.hold & (wide >= NAMING.word_spread)
        is_more = own.share > own.others
        order = np.lexsort((own.columns, -score, ~names))
        found.append(
            [
                own.trait(counted.words, j, float(score[j]), float(wide[j]))
                for j in order[is_more[order]][:most]
            ]
        )
    return found


def _row(matrix: Any, i: int) -> Array:
    return np.asarray(matrix[i].toarray()).ravel()


def _spread(counted: WordCounts, shares: Shares, labels: Array, finer: Array) -> Any:
    """Share of each cluster's texts in children for which a word holds, as a CSR matrix.

    It holds for a child that has it often enough, and more often than texts outside the cluster.
    """
    n_children = int(finer.max()) + 1
    n_clusters = len(shares.sizes)
    children = Shares.of(counted, finer, n_children)
    parents = np.zeros(n_children, dtype=np.int64)
    parents[finer] = labels
    holds = children.counts.copy()
    elsewhere = np.zeros(len(counted.words))
    order = np.argsort(parents, kind="stable")
    for parent, own in enumerate(np.split(order, np.cumsum(np.bincount(parents))[:-1])):
        whole = shares.of_cluster(parent)
        elsewhere[whole.columns] = whole.others
        for child in own.tolist():
            row = slice(holds.indptr[child], holds.indptr[child + 1])
            share = holds.data[row] / max(1.0, children.sizes[child])
            rare = share >= NAMING.word_lift * elsewhere[holds.indices[row]]
            holds.data[row] = (rare & (share >= NAMING.word_share)) * children.sizes[child]
    texts = np.bincount(parents, children.sizes, n_clusters)
    return sparse.diags(1 / np.maximum(texts, 1e-12)) @ sum_rows(holds, parents, n_clusters)


def find_word_parts(
    counted: WordCounts, labels: Array, n_clusters: int, finer: Array
) -> list[list[Trait]]:
    """What a cluster without a common word is a mixture of: words of its children, best first.

    A word counts by the texts of the children that it names; shares are those in the cluster.
    """
    n_children = int(finer.max()) + 1
    children = Shares.of(counted, finer, n_children)
    shares = Shares.of(counted, labels, n_clusters)
    parents = np.zeros(n_children, dtype=np.int64)
    parents[finer] = labels
    weights: list[dict[int, float]] = [{} for _ in range(n_clusters)]
    for child, parent in enumerate(parents.tolist()):
        own = children.of_cluster(child)
        score = np.where(own.hold, score_of(own.share, own.others), 0.0)
        if len(score) and score.max() > 0:
            j = int(score.argmax())
            word = int(own.columns[j])
            known = weights[parent].get(word, 0.0)
            weights[parent][word] = known + float(score[j] * children.sizes[child])
    found = []
    for i, known_words in enumerate(weights):
        own = shares.of_cluster(i)
        best = sorted(known_words, key=lambda word: (-known_words[word], word))
        places = np.searchsorted(own.columns, best)
        found.append(
            [
                own.trait(counted.words, int(j), known_words[word])
                for j, word in zip(places, best, strict=True)
            ]
        )
    return found
