"""Descriptions of clusters: typical rows, distinctive traits, a short name."""

from .clusters import ClusterDescription, LevelDescription, describe_clusters
from .facts import Facts
from .traits import Trait

__all__ = ["ClusterDescription", "Facts", "LevelDescription", "Trait", "describe_clusters"]
