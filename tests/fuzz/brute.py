"""First neighbours by definition, in the precision that it takes, with tolerances that follow from
rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist

_EPS = 2.0**-52
_MOST = 300  # rows that are compared with all rows


def check_neighbors(
    X: np.ndarray, metric: str, ids: np.ndarray, distances: np.ndarray
) -> Iterator[tuple[str, str]]:
    """Whether these are first neighbours of the rows of X (float64), and their distances."""
    n, rows = len(X), np.arange(min(len(X), _MOST))
    if ((ids < 0) | (ids >= n) | (ids == np.arange(n))).any():
        yield f"first neighbours: no other row, {metric}", ""
        return
    if metric in ("cosine", "correlation"):
        D, slack = _between_directions(X, rows, metric == "correlation")
        if D is None:
            return
        found = np.sqrt(np.maximum(distances[rows], 0))
    else:
        # a power of two keeps squares in range and changes no digit
        power = 0 if metric in ("hamming", "jaccard") else -int(np.frexp(np.abs(X).max())[1])
        rounding = np.ldexp(1e-323, power)  # subnormal distances have few digits
        X, found = np.ldexp(X, power), np.ldexp(distances[rows], power)
        D = _between_rows(X, rows, metric)
        slack = 1e-9 * found + 1e-150 + rounding
    D[rows, rows] = np.inf
    best = D.min(axis=1)
    wrong = ~(np.abs(found - best) <= slack)
    if wrong.any():
        row = int(np.argmax(wrong))
        yield (
            f"first neighbours: wrong distance, {metric}",
            f"row {row}: {found[row]!r} instead of {best[row]!r}",
        )
    wrong = ~(D[rows, ids[rows]] <= best + slack)
    if wrong.any():
        row = int(np.argmax(wrong))
        yield (
            f"first neighbours: not the nearest, {metric}",
            f"row {row}: {D[row, ids[row]]!r}, best {best[row]!r}",
        )


def _between_rows(X: np.ndarray, rows: np.ndarray, metric: str) -> np.ndarray:
    """Distances of some rows to all."""
    X = X >= 0.5 if metric == "jaccard" else X
    return cdist(X[rows], X, {"manhattan": "cityblock"}.get(metric, metric))


def _between_directions(
    X: np.ndarray, rows: np.ndarray, centred: bool
) -> tuple[np.ndarray | None, np.ndarray]:
    """Square roots of the distances 1 - cos, and their slack; None where rounding leaves it open
    what is flat.

    Rows without direction are at distance 1 to all others and 0 to each other.
    """
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0).astype(np.longdouble)
    size = np.abs(X).max(axis=1) * np.sqrt(X.shape[1])
    if centred:
        X = X - X.mean(axis=1, keepdims=True)
    length = np.sqrt((X * X).sum(axis=1))
    doubtful = (length > 0) & (length < 1e-12 * size)
    if doubtful.any():
        return None, np.empty(0)
    flat = length == 0
    unit = np.divide(X, length[:, None], out=np.zeros_like(X), where=~flat[:, None])
    unit = np.column_stack([unit, flat]).astype(np.longdouble)
    squares = np.stack([((unit[row] - unit) ** 2).sum(axis=1) for row in rows])
    slack = 64 * _EPS * np.where(flat, 1, size / np.where(flat, 1, length)).astype(np.float64)
    return np.sqrt(squares / 2).astype(np.float64), slack[rows] + slack.max()
