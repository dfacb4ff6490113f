"""nestmap: maps of high-dimensional data that people can read, trust and explore."""

from ._progress import ProgressEvent
from .cluster import FINCH
from .errors import MemoryBudgetError, NativeMissingWarning, RecallWarning
from .estimator import HNNE
from .hierarchy import Hierarchy, build_hierarchy
from .neighbors import first_neighbors

__version__ = "0.1.0"
__all__ = [
    "FINCH",
    "HNNE",
    "Hierarchy",
    "MemoryBudgetError",
    "NativeMissingWarning",
    "ProgressEvent",
    "RecallWarning",
    "__version__",
    "build_hierarchy",
    "first_neighbors",
]
