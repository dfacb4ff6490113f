"""nestmap: maps of high-dimensional data that people can read, trust and explore."""

from typing import TYPE_CHECKING, Any

from ._progress import ProgressEvent
from .cluster import FINCH
from .errors import MemoryBudgetError, NativeMissingWarning, RecallWarning
from .estimator import HNNE
from .hierarchy import Hierarchy, build_hierarchy
from .neighbors import first_neighbors

if TYPE_CHECKING:
    from .plots import plot, plot_layouts, plot_tree

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
    "plot",
    "plot_layouts",
    "plot_tree",
]


def __getattr__(name: str) -> Any:
    """Plots are imported when they are asked for: `import nestmap` stays lean."""
    if name in ("plot", "plot_layouts", "plot_tree"):
        from . import plots

        return getattr(plots, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
