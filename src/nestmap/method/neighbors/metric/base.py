"""What the library asks of a metric, and the names by which users know one.

A new metric is an object of one of the classes of this folder, or of a class in a new file, that
`check.py` registers. `check_metric` gives callers such an object; none of them compares names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ....core.arrays import Array

CentroidKind = Literal["mean", "majority", "medoid"]
Record = Literal["name", "rows", "parameters"]
# share of the largest distance: a negative one of at most this size is a rounding error
_ROUNDING_BELOW_ZERO = 1e-12

_known: dict[str, Metric] = {}


class Metric(ABC):
    """How rows are compared; the defaults hold for a metric of which nothing else is known."""

    name: str

    # --- how neighbours are searched -----------------------------------------------------------

    @property
    def has_kernels(self) -> bool:
        """Whether the compiled search takes the rows, as a `PointSet` of this name."""
        return False

    @property
    def norm(self) -> str:
        """The norm of differences that bounds of distances rely on, 'L1' or 'L2'."""
        return "L2"

    @property
    def changes_rows(self) -> bool:
        """Whether distances are `factor` times the euclidean ones between `rows(X)`."""
        return False

    @property
    def changes_layout(self) -> bool:
        """Whether rows are laid out by the euclidean distances between `rows(X)`."""
        return self.changes_rows

    def seen_columns(self, n_columns: int) -> int:
        """How many columns `rows(X)` has, of that many."""
        return n_columns

    @property
    def factor(self) -> float:
        """See `changes_rows`."""
        return 1.0

    def rows(self, X: Any, n_threads: int = 1) -> Any:
        """The rows between which distances are euclidean (times `factor`), each by itself.

        See `changes_rows` and `changes_layout`.
        """
        return X

    @property
    def takes_distances(self) -> bool:
        """Whether X holds the distances between all rows, not rows (metric="precomputed")."""
        return False

    @property
    def runs_in_threads(self) -> bool:
        """Whether distances may be computed in several threads at once.

        Not by functions of users: they need not be safe in threads, and hold the GIL anyway. Nor
        by scikit-learn: it changes the filters of warnings for a moment, which are those of the
        process.
        """
        return False

    @property
    def is_function(self) -> bool:
        """Whether each distance is a call of a function in Python."""
        return False

    # --- what distances mean -------------------------------------------------------------------

    @property
    def centroid_kind(self) -> CentroidKind:
        """What stands for a cluster on upper levels: 'mean' of its rows, 'majority', or 'medoid'.

        Between sets the mean tells how many of the rows hold an item, and counts as the set of
        those that at least half of them hold (docs/explain/tree.md). Where means
        make no sense (distances without rows, codes of categories, places on a sphere) the member
        with the smallest sum of distances to the others stands for all.
        """
        return "mean"

    @property
    def is_squared(self) -> bool:
        """Whether distances grow as squares of lengths do."""
        return False

    @property
    def normalizes_rows(self) -> bool:
        """Whether each row is scaled to length 1 (and centred) before it is compared."""
        return False

    @property
    def weighs_by_spread(self) -> bool:
        """Whether a column counts by its spread, so that its unit matters.

        Not where rows or columns are scaled before, nor where nothing is known.
        """
        return False

    # --- which rows and parameters it takes ----------------------------------------------------

    @property
    def accepts_sparse(self) -> bool:
        """Whether rows may come as a CSR matrix."""
        return False

    @property
    def needs_nonnegative(self) -> bool:
        """Whether all values of X must be at least 0."""
        return False

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What users may give in `metric_params`."""
        return ()

    def check_parameters(self, params: Mapping[str, Any]) -> None:
        """Raise for a parameter that the metric does not have."""
        takes = self.parameter_names
        unknown = [name for name in params if name not in takes]
        if unknown:
            wanted = f"takes {', '.join(map(repr, takes))}" if takes else "takes no parameters"
            raise ValueError(f"metric_params: {self!r} {wanted}, not {unknown[0]!r}")

    def check_rows(self, X: Any) -> None:
        """Raise for rows that the metric cannot compare."""
        if sparse.issparse(X) and not self.accepts_sparse:
            raise ValueError(self.refuse_sparse())

    def refuse_sparse(self) -> str:
        """What to do instead of passing sparse rows."""
        names = ", ".join(repr(metric.name) for metric in _known.values() if metric.accepts_sparse)
        return f"metric={self!r} does not take sparse rows: use one of {names}, or pass X.toarray()"

    def fit(self, X: Any, params: Mapping[str, Any]) -> Metric:
        """This metric with its parameters, where needed estimated from all rows; checks both."""
        self.check_rows(X)
        return self

    # --- distances -----------------------------------------------------------------------------

    @abstractmethod
    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        """A function for the distances of some rows to each of the others, prepared once."""

    def pairwise(self, rows: Any, others: Any) -> Array:
        """Distances of each row to each of the others; O(n · m) memory."""
        return self.distances_to(others)(rows)

    def between(self, items: Any, a: Any, b: Any) -> Array:
        """Distances of items[a] to each of items[b], where `items` is what the metric takes."""
        return self.pairwise(items[a], items[b])

    def to_own(self, items: Any, others: Any, own: Array) -> Array:
        """Distance of items[i] to others[own[i]]; every one of the others has an item."""
        distances = np.empty(len(own))
        order = np.argsort(own, kind="stable")
        counts = np.bincount(own, minlength=others.shape[0])
        for i, rows in enumerate(np.split(order, np.cumsum(counts)[:-1])):
            distances[rows] = self.pairwise(items[rows], others[i : i + 1]).ravel()
        return distances

    # --- what it is called ---------------------------------------------------------------------

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Numbers and arrays that, with the name, make the metric."""
        return {}

    @property
    def record(self) -> Record:
        """How model files hold it: by its name, or also its parameters, of rows or others."""
        return "name"

    @property
    def key(self) -> str | None:
        """A text that is the same for the same metric and parameters, also in another process."""
        if not self.parameters:
            return self.name
        values = [value for pair in sorted(self.parameters.items()) for value in pair]
        return f"{self.name}, {_hash(values)}"

    @property
    def label(self) -> str:
        """What errors call it."""
        return repr(self)

    def __repr__(self) -> str:
        return repr(self.name)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same metric; one without parameters also equals its name."""
        if isinstance(other, str):
            return self.key == other
        return isinstance(other, Metric) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def register(*metrics: Metric) -> None:
    """Make metrics known by their names."""
    _known.update({metric.name: metric for metric in metrics})


def known_metrics() -> dict[str, Metric]:
    """All that are registered, by their names."""
    return _known


def _hash(values: list[Any]) -> str:
    """A hash of numbers, names and arrays."""
    parts = (
        str(v) if v is None or np.ndim(v) == 0 else np.ascontiguousarray(v).tobytes().hex()
        for v in values
    )
    return blake2b(" ".join(parts).encode(), digest_size=16).hexdigest()


def refuse_bad_distances(distances: Array, rows: Any, others: Any, metric: Metric) -> None:
    """Raise for a distance that is negative or NaN, with the numbers of the two rows.

    Negative ones that are rounding errors become 0.
    """
    least = distances.min(initial=0.0)
    if least >= 0:  # false for NaN
        return
    largest = max(1.0, float(np.nanmax(np.abs(distances), initial=0.0)))
    bad = ~(distances >= -_ROUNDING_BELOW_ZERO * largest)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            f"metric={metric.label} gives {distances[i, j]:g} for rows {rows[int(i)]} and "
            f"{others[int(j)]}; distances must be numbers of at least 0 (Negative values in "
            "data, or NaN)"
        )
    np.maximum(distances, 0, out=distances)
