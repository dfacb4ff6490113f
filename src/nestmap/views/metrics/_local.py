"""Local structure: are neighbours in the map neighbours in the data, and the other way?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...core.threads import resolve_n_jobs
from ...method.neighbors.scan import nearest_in_map, scan
from ...method.neighbors.spaces import make_space
from ._inputs import Sample, as_answer, check_map, check_n_neighbors, mean_estimate


def trustworthiness(
    X: Any,
    X_embedded: Any,
    *,
    n_neighbors: int = 5,
    metric: Any = "euclidean",
    n_sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    return_estimate: bool = False,
) -> Any:
    """How far the neighbours in the map are from being neighbours in the data; 1 is best.

    Each of a point's `n_neighbors` nearest points in the map costs the amount by which its rank in
    the data exceeds `n_neighbors` (Venna and Kaski, 2006). The value is scikit-learn's, in linear
    memory and exact for the rows that are scored. Rows at equal distance share their mean rank,
    where scikit-learn's order among them depends on the sort.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, n_features)
    X_embedded : array-like of shape (n, n_components)
        The map; by any method.
    n_neighbors : int
        Fewer than half of the rows.
    metric : str or callable
        Distance between rows of X; the map is euclidean. 'euclidean', 'cosine' and 'correlation'
        are matrix products; any other of `sklearn.metrics.pairwise_distances` works too.
    n_sample : int or None
        How many rows to score, against all rows. None: all up to 20,000 rows, else 10,000.
    random_state : int or RandomState
        Which rows make up the sample.
    n_jobs : int or None
        Threads; None means all cores. The value does not depend on it.
    return_estimate : bool
        Return an `Estimate` with the standard error of a sample instead of a float.

    Returns
    -------
    float or Estimate

    Raises
    ------
    ValueError
        For different numbers of rows, NaN or infinity, or n_neighbors beyond half of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nestmap import HNNE
    >>> from nestmap.metrics import trustworthiness
    >>> X = load_iris().data
    >>> trustworthiness(X, HNNE().fit_transform(X)) > 0.95
    True
    """
    sample = Sample(n_sample, random_state)
    return _mean_score(
        "trustworthiness", X, X_embedded, n_neighbors, metric, sample, n_jobs, return_estimate
    )


def continuity(
    X: Any,
    X_embedded: Any,
    *,
    n_neighbors: int = 5,
    metric: Any = "euclidean",
    n_sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    return_estimate: bool = False,
) -> Any:
    """How far the neighbours in the data were torn apart in the map; 1 is best.

    The mirror image of `trustworthiness`: ranks are those in the map, of the neighbours in the
    data. Parameters, return value and errors as there.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.metrics import continuity
    >>> line = np.arange(10.0)[:, None]
    >>> continuity(line, line, n_neighbors=2)
    1.0
    """
    sample = Sample(n_sample, random_state)
    return _mean_score(
        "continuity", X, X_embedded, n_neighbors, metric, sample, n_jobs, return_estimate
    )


def neighborhood_recall(
    X: Any,
    X_embedded: Any,
    *,
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    n_sample: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    return_estimate: bool = False,
) -> Any:
    """Share of each point's nearest neighbours in the data that are among those in the map.

    Parameters, return value and errors as for `trustworthiness`.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.metrics import neighborhood_recall
    >>> X = np.random.RandomState(0).rand(100, 2)
    >>> neighborhood_recall(X, 3 * X + 1)
    1.0
    """
    sample = Sample(n_sample, random_state)
    return _mean_score(
        "recall", X, X_embedded, n_neighbors, metric, sample, n_jobs, return_estimate
    )


def pointwise_trustworthiness(
    X: Any,
    X_embedded: Any,
    *,
    n_neighbors: int = 5,
    metric: Any = "euclidean",
    rows: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Array:
    """Each point's share in `trustworthiness`, to colour a map with: where can it be trusted?

    The mean over all rows is the trustworthiness. `rows`: which rows to score, all by default: a
    matrix product of all rows with all, whose progress verbose=1 shows.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.metrics import pointwise_trustworthiness
    >>> X = np.random.RandomState(0).rand(50, 3)
    >>> pointwise_trustworthiness(X, X[:, :2]).shape
    (50,)
    """
    return _scores("trustworthiness", X, X_embedded, n_neighbors, metric, rows, n_jobs, verbose)


def pointwise_recall(
    X: Any,
    X_embedded: Any,
    *,
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    rows: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Array:
    """Each point's share of true neighbours among its neighbours in the map, to colour a map with.

    Parameters as for `pointwise_trustworthiness`.

    Examples
    --------
    >>> import numpy as np
    >>> from nestmap.metrics import pointwise_recall
    >>> X = np.random.RandomState(0).rand(50, 2)
    >>> pointwise_recall(X, X, rows=[3, 4])
    array([1., 1.])
    """
    return _scores("recall", X, X_embedded, n_neighbors, metric, rows, n_jobs, verbose)


def _scores(
    name: str,
    X: Any,
    X_embedded: Any,
    k: int,
    metric: Any,
    rows: Any,
    n_jobs: int | None,
    verbose: int,
) -> Array:
    """One score of the rows: given ones, those of a Sample, or all (None)."""
    X, Y = check_map(X, X_embedded)
    check_n_neighbors(k, len(Y))
    rows = rows.rows(len(Y)) if isinstance(rows, Sample) else _check_rows(rows, len(Y))
    return np.asarray(
        getattr(score_rows(X, Y, rows, Wanted(**{name: k}), metric, n_jobs, verbose), name)
    )


def _mean_score(
    name: str,
    X: Any,
    X_embedded: Any,
    k: int,
    metric: Any,
    sample: Sample,
    n_jobs: int | None,
    return_estimate: bool,
) -> Any:
    """The mean of one score over a sample, as the caller wants it."""
    scores = _scores(name, X, X_embedded, k, metric, sample, n_jobs, 0)
    return as_answer(mean_estimate(scores, np.shape(X_embedded)[0]), return_estimate)


def _check_rows(rows: Any, n: int) -> Array:
    if rows is None:
        return np.arange(n)
    rows = np.asarray(rows)
    if (
        rows.ndim != 1
        or not np.issubdtype(rows.dtype, np.integer)
        or ((rows < 0) | (rows >= n)).any()
    ):
        raise ValueError(
            f"rows: expected row numbers from 0 to {n - 1} in a 1-D array, got {rows!r}"
        )
    return np.asarray(rows, dtype=np.int64)


@dataclass(frozen=True)
class Wanted:
    """Number of neighbours for each score; 0 leaves it out."""

    trustworthiness: int = 0
    continuity: int = 0
    recall: int = 0


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of single rows (empty where not wanted)."""

    trustworthiness: Array
    continuity: Array
    recall: Array


def score_rows(
    X: Any, Y: Array, rows: Array, want: Wanted, metric: Any, n_jobs: int | None, verbose: int
) -> RowScores:
    """All wanted scores of some rows with one pass over X (and one over the map for continuity)."""
    n = len(Y)
    n_threads = resolve_n_jobs(n_jobs)
    progress = Progress(verbose)
    in_map = nearest_in_map(Y, rows, max(want.trustworthiness, want.recall, 1), n_threads)
    progress.begin(f"distances of {len(rows):,} rows to {n:,}")
    found = scan(
        make_space(X, metric),
        rows,
        in_map[:, : want.trustworthiness],
        max(want.recall, want.continuity),
        n_threads,
        progress.share,
    )
    trusted = _rank_score(found.ranks, n) if want.trustworthiness else np.empty(0)
    shared = np.empty(0)
    if want.recall:
        truth = found.neighbors[:, : want.recall]
        shown = in_map[:, : want.recall]
        shared = (truth[:, :, None] == shown[:, None, :]).any(axis=1).mean(axis=1)
    torn = np.empty(0)
    if want.continuity:
        truth = found.neighbors[:, : want.continuity]
        torn = _rank_score(scan(make_space(Y, "euclidean"), rows, truth, 0, n_threads).ranks, n)
    return RowScores(trusted, torn, shared)


def _rank_score(ranks: Array, n: int) -> Array:
    """1 - 2 / (k (2n - 3k - 1)) · sum of max(0, rank - k), per row."""
    k = ranks.shape[1]
    return np.asarray(1 - 2 / (k * (2 * n - 3 * k - 1)) * np.maximum(0, ranks - k).sum(axis=1))
