"""Section 3.2: the preliminary embedding, one map for rows and centroids."""

from .build import KINDS, Preliminary, check_coordinates, make_preliminary
from .maps import LinearMap, RandomMap

__all__ = [
    "KINDS",
    "LinearMap",
    "Preliminary",
    "RandomMap",
    "check_coordinates",
    "make_preliminary",
]
