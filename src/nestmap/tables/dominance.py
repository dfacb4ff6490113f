"""Plain numbers in which a few columns decide all distances: who they are, and the one-line fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array

DECIDING_SHARE = 0.9  # of the variance, held by those few columns
_FEW = 3  # columns that are few
_FEW_OF = 1 / 3  # and at most this share of all
_SHARE_WITHOUT_FAR = 0.75  # that they still hold without far values
_LEAST_COLUMNS = 3  # that vary: of one or two there is nothing to weigh
_LEAST_ROWS = 50  # fewer tell nothing
_SAMPLE_VALUES = 500_000  # numbers that are looked at
_SAMPLE_ROWS = 200  # rows that are looked at, however many columns they have
_FALLS = 0.9  # rank correlation of a column's place and its size, from which on they fall off
_MANY = 8  # columns whose order is no chance
_ORTHOGONAL = 0.3  # cosine between columns that are components; parts of the rows have some
_COUNTS_ABOVE_ONE = 0.25  # share of the columns that go beyond 1: fewer are categories as 0 and 1


@dataclass(frozen=True)
class Dominance:
    """Columns that decide the distances between rows.

    Attributes
    ----------
    names : tuple of str
        The largest first.
    shares : tuple of float
        Of the variance of all columns, or of their standard deviations.
    n_columns : int
    measure : str
        What the shares are of.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    n_columns: int
    measure: str = "variance"

    @property
    def finding(self) -> str:
        """What was found, in words."""
        told = ", ".join(
            f"{name!r} ({share:.0%})" for name, share in zip(self.names, self.shares, strict=True)
        )
        decide = "decides" if len(self.names) == 1 else "decide"
        return (
            f"{len(self.names)} of {self.n_columns} columns {decide} the distances between rows: "
            f"{told} of the {self.measure}"
        )

    @property
    def message(self) -> str:
        """A warning that names the columns and the one-line fix."""
        return (
            f"{self.finding}; to give each column the same weight: "
            'HNNE(encoder="table"), or make_pipeline(StandardScaler(), HNNE())'
        )


def dominant_columns(
    X: Array, names: Sequence[str] | None = None, *, norm: str = "L2"
) -> Dominance | None:
    """Which few columns decide the distances between rows, if any do.

    The mean squared distance between two rows is twice the sum of the columns' variances. Up to
    three columns, at most a third of all, that hold 90% of it decide nearly all distances.

    None where that is as it should be: of one or two columns that vary, of components that fall off
    by their nature (PCA, SVD: columns in the order of their size), and of counts (sparse rows, or
    whole numbers that are mostly 0). Nor do a few far rows make a column dominant, and fewer than
    fifty rows tell nothing.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    names : sequence of str, optional
        Names of the columns; x0, x1, … without.
    norm : {'L2', 'L1'}
        What distances add up: squared differences, or differences (of the metric 'manhattan'),
        which standard deviations stand for.

    Returns
    -------
    Dominance or None

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine()
    >>> dominant_columns(wine.data, wine.feature_names).names
    ('proline',)
    >>> dominant_columns(wine.data[:, :-1]) is None
    False
    >>> dominant_columns(wine.data / wine.data.std(axis=0)) is None
    True
    """
    if getattr(X, "ndim", 0) != 2 or hasattr(X, "tocsr"):
        return None
    if X.shape[1] < _LEAST_COLUMNS or X.shape[0] < _LEAST_ROWS:
        return None
    some = _sample(X)
    found = _few_columns(some, norm)
    if found is None or _are_components(some) or _are_counts(some):
        return None
    inner = _sizes(_without_far_values(some), norm)
    if inner[found].sum() < _SHARE_WITHOUT_FAR * inner.sum():
        return None
    total = _sizes(some, norm).sum()
    return Dominance(
        tuple(f"x{j}" if names is None else str(names[j]) for j in found),
        tuple(float(size / total) for size in _sizes(some[:, found], norm)),
        int(X.shape[1]),
        "variance" if norm == "L2" else "standard deviations",
    )


def _few_columns(some: Array, norm: str) -> Array | None:
    """The few columns that decide, the largest first; None where there are none."""
    sizes = _sizes(some, norm)
    n_varying = int(np.count_nonzero(sizes))
    total = float(sizes.sum())
    if n_varying < _LEAST_COLUMNS or not total < np.inf:
        return None
    order = np.argsort(-sizes, kind="stable")
    n_few = int(np.searchsorted(np.cumsum(sizes[order]), DECIDING_SHARE * total)) + 1
    return order[:n_few] if n_few <= min(_FEW, max(1, int(_FEW_OF * n_varying))) else None


def _sizes(some: Array, norm: str) -> Array:
    """What a column adds to distances."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(some.var(axis=0) if norm == "L2" else some.std(axis=0))


def _without_far_values(some: Array) -> Array:
    """Each column with its outermost values, 1% at each end and one at least, moved inwards."""
    n_far = max(1, len(some) // 100)
    ordered = np.sort(some, axis=0)
    return np.clip(some, ordered[n_far], ordered[-1 - n_far])


def _sample(X: Array) -> Array:
    """Every so many rows as float64; what is no number counts as the mean of its column."""
    n_rows = max(_SAMPLE_ROWS, _SAMPLE_VALUES // X.shape[1])
    some = np.asarray(X[:: -(-X.shape[0] // n_rows)], dtype=np.float64)
    known = np.isfinite(some)
    if known.all():
        return some
    counts = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, some, 0.0).sum(axis=0) / counts
    return np.where(known, some, means)


def _are_components(some: Array) -> bool:
    """Whether columns come in the order of their size, as PCA and SVD leave them.

    Of many columns that is no chance. Few could stand in that order by chance, but columns of a
    table point the same way as one another, unlike components.
    """
    moments = np.einsum("ij,ij->j", some, some)
    falls = max(_rank_correlation(-some.var(axis=0)), _rank_correlation(-moments))
    if len(moments) >= _MANY:
        return falls >= _FALLS
    lengths = np.sqrt(np.where(moments > 0, moments, 1.0))
    cosines = (some / lengths).T @ (some / lengths)
    np.fill_diagonal(cosines, 0.0)
    return falls == 1 and float(np.abs(cosines).max()) <= _ORTHOGONAL


def _rank_correlation(sizes: Array) -> float:
    """Of the sizes of columns with their places; 1 where they rise."""
    n = len(sizes)
    ranks = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")
    return 1.0 - 6.0 * float(((ranks - np.arange(n)) ** 2).sum()) / (n * (n * n - 1))


def _are_counts(some: Array) -> bool:
    """Whether rows are counts of many things that are mostly absent: all columns of one unit."""
    if some.min() < 0 or np.count_nonzero(some) > some.size / 2 or (some != np.floor(some)).any():
        return False
    return float((some.max(axis=0) > 1).mean()) >= _COUNTS_ABOVE_ONE
