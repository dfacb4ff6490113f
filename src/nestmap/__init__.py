"""nestmap: maps of high-dimensional data that people can read, trust and explore."""

from ._progress import ProgressEvent
from ._version import __version__
from .cluster import FINCH
from .errors import FileFormatError, MemoryBudgetError, ModelFileError, NativeMissingWarning, RecallWarning
from .estimator import HNNE
from .hierarchy import Hierarchy, build_hierarchy
from .neighbors import first_neighbors
from .saved import load

__all__ = [
    "FINCH",
    "HNNE",
    "FileFormatError",
    "Hierarchy",
    "MemoryBudgetError",
    "ModelFileError",
    "NativeMissingWarning",
    "ProgressEvent",
    "RecallWarning",
    "__version__",
    "build_hierarchy",
    "first_neighbors",
    "load",
]
