"""Plain numbers in which a few columns decide all distances: who they are, and the one-line fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.arrays import Array

DECIDING_SHARE = 0.9  # of the variance, held by those few columns
_FEW = 3  # columns that are few
_FEW_OF = 0.25  # and at most this share of all
_SAMPLE = 20_000  # rows


@dataclass(frozen=True)
class Dominance:
    """Columns that decide the distances between rows.

    Attributes
    ----------
    names : tuple of str
        Most variance first.
    shares : tuple of float
        Of the variance of all columns.
    n_columns : int
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    n_columns: int

    @property
    def message(self) -> str:
        """A warning that names the columns and the one-line fix."""
        told = ", ".join(
            f"{name!r} ({share:.0%})" for name, share in zip(self.names, self.shares, strict=True)
        )
        few = "column decides" if len(self.names) == 1 else "columns decide"
        return (
            f"{len(self.names)} of {self.n_columns} {few} the distances between rows: {told} of "
            "the variance; to give each column the same weight: "
            "make_pipeline(nestmap.tables.TableEncoder(), HNNE()).fit(X)"
        )


def dominant_columns(X: Array, names: Sequence[str] | None = None) -> Dominance | None:
    """Which few columns decide the distances between rows, if any do.

    The mean squared distance between two rows is twice the sum of the columns' variances. Up to
    three columns, at most a quarter of all, that hold 90% of it decide nearly all distances.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    names : sequence of str, optional
        Names of the columns; x0, x1, … without.

    Returns
    -------
    Dominance or None

    Examples
    --------
    >>> rows = np.array([[1000.0, 1.0, 0.2, 3], [3000.0, 2.0, 0.1, 2], [2000.0, 1.5, 0.4, 1]])
    >>> dominant_columns(rows, ["price", "size", "mass", "age"]).names
    ('price',)
    >>> dominant_columns(rows[:, 1:]) is None
    True
    """
    if getattr(X, "ndim", 0) != 2 or hasattr(X, "tocsr") or X.shape[1] < 2 or X.shape[0] < 2:
        return None
    some = np.asarray(X[:: max(1, -(-X.shape[0] // _SAMPLE))], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.nanvar(np.where(np.isfinite(some), some, np.nan), axis=0)
    variances = np.where(np.isfinite(variances), variances, 0.0)
    total = float(variances.sum())
    if not 0 < total < np.inf:
        return None
    order = np.argsort(-variances, kind="stable")
    shares = variances[order] / total
    n_few = int(np.searchsorted(np.cumsum(shares), DECIDING_SHARE)) + 1
    if n_few > min(_FEW, max(1, int(_FEW_OF * X.shape[1]))):
        return None
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    return Dominance(
        tuple(str(names[j]) for j in order[:n_few]),
        tuple(float(share) for share in shares[:n_few]),
        int(X.shape[1]),
    )
