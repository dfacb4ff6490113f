"""What fitted maps can do with rows that come and go."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.progress import Progress
from ..core.threads import resolve_n_jobs
from ..method.neighbors import search
from ..method.run import Run
from ..model.growth.drift import Drift, measure_drift
from ..model.growth.forget import forget_rows
from ..model.growth.places import extend_map
from ..model.placing import new_rows
from ..views.metrics._distortion import Distortion, row_distortion
from .shown import ShownMap


class LivingMap(ShownMap):
    """Methods of estimators with a fitted map (`_fitted`)."""

    def extend(self, X: Any) -> Self:
        """A model with more rows. No position and no label of an old row changes, to the bit.

        A new row joins the leaf of its nearest row and lies beside that row, unless another new row
        is nearer: rows that are linked among themselves found new leaves and, where these are
        linked among themselves, new clusters on upper levels, in free places of the map near what
        they resemble. New rows are numbered after the old ones, new clusters after the old ones.
        Only islands have free places: in the other layouts every row joins its nearest leaf.
        `transform` puts rows that are not in the model beside a row of their nearest leaf, so a row
        may lie elsewhere once it is in the model; from then on `transform` gives that place.

        Parameters
        ----------
        X : array-like of shape (n, n_features)

        Returns
        -------
        a model of the same class; this one is not changed

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import HNNE
        >>> X = load_digits().data
        >>> model = HNNE().fit(X[:1500])
        >>> more = model.extend(X[1500:])
        >>> bool((more.embedding_[:1500] == model.embedding_).all()), len(more.labels_)
        (True, 1797)
        """
        check_is_fitted(self)
        n_threads = resolve_n_jobs(self.n_jobs)
        parts = [*new_rows(self, self._fitted.tree, X, n_threads)]
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        run = Run(n_threads, Progress(0))
        return self._with(extend_map(self._fitted, rows, self._asked(), run))

    def forget(self, rows: Any) -> Self:
        """A model without some rows. No position of the others changes.

        Clusters without rows go, and those that are left are numbered without gaps, in the same
        order.

        Parameters
        ----------
        rows : array-like of int, or a mask
            Numbers of the rows to forget, or True for each of them.

        Returns
        -------
        a model of the same class; this one is not changed

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import HNNE
        >>> model = HNNE().fit(load_digits().data)
        >>> model.forget(range(100)).embedding_.shape
        (1697, 2)
        """
        check_is_fitted(self)
        kept = _rows_left(rows, self._fitted.tree.hierarchy.n_rows)
        if self._fitted.tree.row_index is not None:
            raise ValueError(
                "forget: a model with new_points='neighbor' keeps its training rows; fit a new "
                "model"
            )
        return self._with(forget_rows(self._fitted, kept))

    def drift(self, X: Any = None, *, n_sample: int = 1000) -> Drift:
        """How far the model is from a fresh fit of all its rows; truthy if a refit is worth it.

        Parameters
        ----------
        X : all rows of the model, in their order
            Those of the fit, without what was forgotten, then those that came; None: the rows of
            the fit, if the model still has them.
        n_sample : int
            Random rows that are compared with all others.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import HNNE
        >>> X = load_digits().data
        >>> HNNE().fit(X).drift().worth_a_refit
        False
        """
        check_is_fitted(self)
        if not isinstance(n_sample, int | np.integer) or n_sample < 1:
            raise ValueError(f"n_sample={n_sample!r}: must be a number of rows, 1 or more")
        n_threads = resolve_n_jobs(self.n_jobs)
        return measure_drift(
            self._fitted.tree.hierarchy, self._all_rows(X, "drift", n_threads), n_sample, n_threads
        )

    def distortion(self, X: Any = None, *, rows: Any = None) -> Distortion:
        """Where the map lies: per row trustworthiness, recall, and how far its first neighbour is.

        Parameters
        ----------
        X : the rows of the model, optional
            For a model that does not have them: one that was loaded, or that has grown.
        rows : array-like of int, or a mask, optional
            Rows to score; default: all, or 10,000 of them spread evenly.

        Returns
        -------
        Distortion
            Arrays to colour a plot with: `nestmap.plot(model, color=model.distortion().recall)`.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import HNNE
        >>> HNNE().fit(load_digits().data).distortion().recall.shape
        (1797,)
        """
        check_is_fitted(self)
        n_threads = resolve_n_jobs(self.n_jobs)
        if rows is not None:
            rows = _row_numbers(rows, self._fitted.tree.hierarchy.n_rows)
            if len(rows) == 0:
                raise ValueError("rows: give at least one row to score, or None for all")
        X = self._all_rows(X, "distortion", n_threads)
        metric = self._fitted.tree.hierarchy.metric
        first = search(X, metric, n_threads).neighbors.ids
        return row_distortion(X, self._fitted.layout.positions, first, metric, rows, n_threads)

    def _all_rows(self, X: Any, name: str, n_threads: int) -> Any:
        if X is None and self._fitted.X is None:
            n = self._fitted.tree.hierarchy.n_rows
            raise ValueError(
                f"{name}: this model does not have its rows: give X, all {n} of them in their "
                "order: those of the fit that are left, then those that came"
            )
        return self._fitted.X if X is None else self._training_rows(X, n_threads)


def _row_numbers(rows: Any, n: int) -> Array:
    """Numbers of rows that users give as numbers or as a mask."""
    chosen = np.asarray(rows)
    if chosen.dtype == bool:
        if chosen.shape != (n,):
            raise ValueError(
                f"rows: a mask has one value for each of the {n} rows, got shape {chosen.shape}"
            )
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise ValueError(
            f"rows: give a list of row numbers, whole numbers from 0 to {n - 1}, or a mask; got "
            f"{str(rows)[:60]}"
        )
    if wrong := [int(row) for row in chosen[(chosen < 0) | (chosen >= n)][:1]]:
        raise ValueError(
            f"rows: {wrong[0]} is not a row of the model; numbers go from 0 to {n - 1}"
        )
    return chosen.astype(np.int64)


def _rows_left(rows: Any, n: int) -> Array:
    """Numbers of the rows that stay, ascending."""
    left = np.ones(n, dtype=bool)
    left[_row_numbers(rows, n)] = False
    if not left.any():
        raise ValueError(f"rows: all {n} rows would go; at least one must be left")
    return np.flatnonzero(left)
