"""Section 3.1: the hierarchy of nearest-neighbour graphs; `tree` is the type, `build` makes it."""

from .build import build_hierarchy
from .summary import HierarchySummary
from .tree import Grouping, Hierarchy, Level

__all__ = ["Grouping", "Hierarchy", "HierarchySummary", "Level", "build_hierarchy"]
