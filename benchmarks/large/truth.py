"""True neighbours of a sample of rows, by brute force, and how many of some found ones are true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]

CHUNK = 8192
SLACK = 1e-5  # of the squared norms: more than float32 products lose
TOLERANCE = 1e-6  # relative: as near as this is as good as the true one (ties, duplicates)
SEED = 12345


def sample_rows(n: int, size: int) -> Array:
    """The rows that are checked; the same for every method."""
    return np.sort(np.random.default_rng(SEED).choice(n, min(size, n), replace=False))


def true_distances(X: Array, rows: Array, metric: str, k: int = 1) -> Array:
    """Distances of each of these rows to its k nearest other rows, nearest first, (len(rows), k).

    Float32 products pick the candidates, with slack for their rounding; float64 differences decide.
    """
    queries = _points(X[rows], metric, np.float32)
    centre = queries.mean(axis=0)  # shorter rows, smaller rounding
    queries -= centre
    lengths = np.einsum("ij,ij->i", queries, queries)
    lowest = np.full((len(rows), k), np.inf, dtype=np.float32)
    best = np.full((len(rows), k), np.inf)
    for start in range(0, len(X), CHUNK):
        chunk = _points(X[start : start + CHUNK], metric, np.float32) - centre
        squares = np.einsum("ij,ij->i", chunk, chunk)
        scores = queries @ chunk.T
        scores *= -2
        scores += squares
        own = np.flatnonzero((rows >= start) & (rows < start + len(chunk)))
        scores[own, rows[own] - start] = np.inf
        better = np.flatnonzero(
            scores.min(axis=1) < lowest.max(axis=1)
        )  # few, after the first chunks
        lowest[better] = np.partition(np.hstack([lowest[better], scores[better]]), k - 1, axis=1)[
            :, :k
        ]
        enough = lowest.max(axis=1) + SLACK * (lengths + squares.max())
        query, near = np.nonzero(scores <= enough[:, None])
        best = _k_lowest(best, query, pair_distances(X, rows[query], near + start, metric))
    return best


def _k_lowest(best: Array, query: Array, distances: Array) -> Array:
    """The lowest of each row of `best` and of the distances that belong to it, in order."""
    n, k = best.shape
    query = np.concatenate([np.repeat(np.arange(n), k), query])
    distances = np.concatenate([best.ravel(), distances])
    order = np.lexsort((distances, query))
    begins = np.searchsorted(query[order], np.arange(n))
    return distances[order[begins[:, None] + np.arange(k)]]


def pair_distances(X: Array, a: Array, b: Array, metric: str) -> Array:
    """Euclidean distances of pairs of rows by definition; for the cosine, of the rows scaled to
    length 1.

    That orders neighbours as the cosine distance does, without its loss of digits for near rows.
    """
    differences = (
        _points(X[a[i : i + CHUNK]], metric) - _points(X[b[i : i + CHUNK]], metric)
        for i in range(0, len(a), CHUNK)
    )
    return np.concatenate(
        [np.zeros(0), *(np.sqrt(np.einsum("ij,ij->i", d, d)) for d in differences)]
    )


def _points(X: Array, metric: str, dtype: DTypeLike = np.float64) -> Array:
    points = np.asarray(X, dtype=dtype)
    if metric == "cosine":
        return points / np.maximum(
            np.linalg.norm(points, axis=1, keepdims=True), np.finfo(dtype).tiny
        )
    return points


def recall(X: Array, rows: Array, ids: Array, distances: Array, metric: str) -> float:
    """Share of the true neighbours of `rows` that were found.

    Row i of `distances` has the true distances of rows[i], row i of `ids` as many found neighbours.
    What counts is another row, as near as the last of the true ones, once. Negative ids stand for
    none.
    """
    k = distances.shape[1]
    ids = np.sort(ids.reshape(len(rows), k), axis=1)
    found = pair_distances(X, np.repeat(rows, k), ids.ravel(), metric).reshape(ids.shape)
    other = (ids != rows[:, None]) & (ids >= 0)
    other[:, 1:] &= ids[:, 1:] != ids[:, :-1]
    return float(np.mean(other & (found <= distances[:, -1:] * (1 + TOLERANCE))))


def cached_truth(path: Path, X: Array, size: int, metric: str, k: int = 1) -> tuple[Array, Array]:
    """Sampled rows and the true distances of their k nearest; found once per file."""
    rows = sample_rows(len(X), size)
    if path.exists():
        known = np.load(path)
        if np.array_equal(known["rows"], rows) and int(known["n"]) == len(X):
            return rows, known["distances"].reshape(len(rows), k)
    distances = true_distances(X, rows, metric, k)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, rows=rows, distances=distances, n=len(X))
    return rows, distances
