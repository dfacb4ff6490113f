"""The fitted state of `HNNE`: assigned at once, and given to other models of the same rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from ..core.input.source import load_rows
from ..core.input.training import OPTIONS, assign_fitted
from ..core.input.validate import cast_rows
from ..core.points.duplicates import hash_points
from ..method.hierarchy import Hierarchy
from ..method.layout import Layout
from ..model.fitted import FittedMap
from ..tables.encoded import EncodedTable, Encoder
from .encoding import encode_training
from .parameters import MapParameters

_FEATURES = ("n_features_in_", "feature_names_in_", "encoder_")


class FittedState(MapParameters):
    """Parameters, and what a fit has found."""

    hierarchy_: Hierarchy
    layout_: Layout
    label_level_: int
    n_features_in_: int
    encoder_: Encoder | None
    _fitted: FittedMap

    def _assign(
        self,
        fitted: FittedMap,
        features: dict[str, Any],
        level: int | None = None,
        chunks: Any = None,
    ) -> None:
        """All fitted attributes at once.

        `level`: of `labels_`, if it was decided before; `chunks`: of dask rows.
        """
        fitted = _with_encoder(fitted, features.get("encoder_"))
        hierarchy = fitted.tree.hierarchy
        positions = fitted.layout.positions
        level = hierarchy.default_level() if level is None else level
        state = {
            "encoder_": None,
            **features,
            "embedding_": positions if chunks is None else chunks.of(positions, "embedding"),
            "hierarchy_": hierarchy,
            "label_level_": level,
            "labels_": labels_in_chunks(hierarchy, level, chunks),
            "layout_": fitted.layout,
            "neighbor_report_": hierarchy.reports[0],
            "far_distance_": hierarchy.far_distance,
            "_fitted": fitted,
            "_n_features_out": self.n_components,
            "_chunks": chunks,
        }
        assign_fitted(self, state)

    def _features(self) -> dict[str, Any]:
        """The attributes that describe columns."""
        return {name: value for name, value in vars(self).items() if name in _FEATURES}

    def _unfitted(self, changed: dict[str, Any]) -> Self:
        """The same estimator with other parameters; its layout and its encoder are its own."""
        parameters = {**self.get_params(deep=False), **changed}
        for name in ("layout", "encoder"):
            if isinstance(parameters[name], BaseEstimator):
                parameters[name] = clone(parameters[name])
        return type(self)(**parameters)

    def _with(self, fitted: FittedMap) -> Self:
        """The same estimator with another fitted map."""
        other = self._unfitted({})
        other._assign(fitted, self._features(), self.label_level_)
        return other

    def _encoded(self, X: Any, known: Encoder | None = None) -> EncodedTable | None:
        """The rows of a fit, where they are to be encoded; `known`: as an older model did."""
        return encode_training(X, self.encoder, self.metric, known, self.metric_params)

    def _as_numbers(self, X: Any) -> Any:
        """Rows that were given to the fitted model, as it compares them."""
        if self.encoder_ is not None:
            return EncodedTable.of(X, self.encoder_).rows
        return validate_data(self, load_rows(X), reset=False, **OPTIONS)

    def _training_rows(self, X: Any, n_threads: int) -> Any:
        """X, checked to be the rows of the fit."""
        tree = self._fitted.tree
        X = tree.stored_alike(cast_rows(self._as_numbers(X)))
        if not tree.table.is_of(hash_points(cast_rows(X, dtype=tree.dtype), n_threads)):
            raise ValueError(
                f"X is not the data of the fit, {self.hierarchy_.n_rows} x "
                f"{self.n_features_in_}, in the same order; pass the rows that the model was "
                "fitted on (without those it forgot, then those that came by extend), or fit a "
                "new model"
            )
        return X


def _with_encoder(fitted: FittedMap, encoder: Encoder | None) -> FittedMap:
    """The same, whose hierarchy describes raw tables."""
    if encoder is None:
        return fitted
    hierarchy = replace(fitted.tree.hierarchy, encoder=encoder)
    return replace(fitted, tree=replace(fitted.tree, hierarchy=hierarchy))


def labels_in_chunks(hierarchy: Hierarchy, level: int | None, chunks: Any) -> Any:
    """Clusters of the rows on a level, in these chunks if there are any."""
    if chunks is None:
        return hierarchy.labels(level)
    return chunks.labels(hierarchy.labels_of_leaves(level))
