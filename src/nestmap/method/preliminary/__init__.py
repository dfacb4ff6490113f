"""Section 3.2: the preliminary embedding, one map for rows and centroids."""

from .build import (
    KINDS,
    Preliminary,
    check_coordinates,
    fit_row_map,
    given_coordinates,
    seen_by,
)
from .maps import LinearMap, RandomMap, RowMap

__all__ = [
    "KINDS",
    "LinearMap",
    "Preliminary",
    "RandomMap",
    "RowMap",
    "check_coordinates",
    "fit_row_map",
    "given_coordinates",
    "seen_by",
]
