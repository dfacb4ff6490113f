"""Descriptions of clusters: typical rows, distinctive traits, a short name."""

from .clusters import ClusterDescription, LevelDescription, describe_clusters
from .facts import Facts
from .namer import Manner, Namer, NamerError, Naming, NoAnswer, name_levels
from .questions import ClusterToName, LevelToName
from .traits import Trait

__all__ = [
    "ClusterDescription",
    "ClusterToName",
    "Facts",
    "LevelDescription",
    "LevelToName",
    "Manner",
    "Namer",
    "NamerError",
    "Naming",
    "NoAnswer",
    "Trait",
    "describe_clusters",
    "name_levels",
]
