"""Section 3.2: the preliminary embedding, one map for rows and centroids."""

from .build import KINDS, Preliminary, check_coordinates, make_preliminary, pca_source
from .maps import LinearMap, RandomMap
from .pca import fit_pca

__all__ = [
    "KINDS",
    "LinearMap",
    "Preliminary",
    "RandomMap",
    "check_coordinates",
    "fit_pca",
    "make_preliminary",
    "pca_source",
]
