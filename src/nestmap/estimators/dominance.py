"""What a fit of plain numbers says when a few columns decide its distances."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..errors import DominantColumnsWarning
from ..method.neighbors import known_metric
from ..model.settings import FitSettings
from ..tables import dominant_columns


def warn_of_dominant_columns(X: Any, settings: FitSettings, features: Mapping[str, Any]) -> None:
    """Say so, once per fit, if a few columns of validated rows decide the distances.

    Never where distances do not follow from the spread of columns: rows of one unit that are
    scaled one by one (cosine, correlation), columns that the metric scales, distances that are
    given, functions of users.
    """
    metric = known_metric(settings.metric)
    if not metric.weighs_by_spread or "w" in (settings.metric_params or {}):
        return
    found = dominant_columns(X, features.get("feature_names_in_"), norm=metric.norm)
    if found is not None:
        warnings.warn(DominantColumnsWarning(found.message, found.finding), stacklevel=3)
