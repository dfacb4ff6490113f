"""Texts as numbers: TF-IDF, and the few directions that hold most of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array, blocks
from .cells import Cells
from .profiles import read_levels

_DIRECTIONS = 32  # of a text column; as many as common categories have
_VOCABULARY = 20_000  # words at most: 2.5 MB of float32 per direction and column of texts


@dataclass(frozen=True, eq=False)
class WordEncoder:
    """TF-IDF of words, reduced to its leading directions.

    Attributes
    ----------
    words : tuple of str
    idf : array of shape (n_words,)
    directions : array of shape (n_words, n_directions), float32
    """

    words: tuple[str, ...]
    idf: Array
    directions: Array
    kind: str = "text"

    @classmethod
    def fit(cls, cells: Cells) -> WordEncoder:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        coded = read_levels(cells)
        least = 2 if len(coded.texts) > 100 else 1  # texts that a word must be in
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, max_features=_VOCABULARY, max_df=0.5, min_df=least
        )
        try:
            weights = vectorizer.fit_transform(coded.texts)
        except ValueError as error:
            raise ValueError(
                f"column {cells.name!r}: no words that tell its texts apart; "
                f"columns={{{cells.name!r}: 'drop'}} leaves it out"
            ) from error
        n = max(1, min(_DIRECTIONS, weights.shape[0] - 1, weights.shape[1] - 1))
        svd = TruncatedSVD(n, random_state=0).fit(weights)
        return cls(
            tuple(str(word) for word in vectorizer.get_feature_names_out()),
            vectorizer.idf_.astype(np.float64),
            np.ascontiguousarray(svd.components_.T, dtype=np.float32),
        )

    def encode(self, cells: Cells) -> Array:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.preprocessing import normalize

        coded = read_levels(cells)
        counts = CountVectorizer(vocabulary=list(self.words), dtype=np.float64)
        table = np.full((len(coded.texts) + 1, self.directions.shape[1]), np.nan)
        for part in blocks(len(coded.texts), len(self.words) // 100 + 1):
            weights = counts.transform(coded.texts[part])
            weights.data = 1 + np.log(weights.data)
            table[part] = normalize(weights.multiply(self.idf).tocsr()) @ self.directions
        return np.asarray(table[coded.values])

    def names(self, column: str) -> list[str]:
        return [f"{column}~{i}" for i in range(self.directions.shape[1])]
