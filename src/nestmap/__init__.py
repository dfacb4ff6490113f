"""nestmap: maps of high-dimensional data that people can read, trust and explore."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._progress import ProgressEvent
    from .changes import compare
    from .cluster import FINCH, Communities
    from .errors import (
        FarRowsWarning,
        FileFormatError,
        MemoryBudgetError,
        ModelFileError,
        NativeMissingWarning,
        RecallWarning,
    )
    from .estimator import HNNE
    from .hierarchy import Hierarchy, build_hierarchy
    from .neighbors import first_neighbors
    from .plots import label_layers, plot, plot_changes, plot_layouts, plot_tree
    from .saved import load

__all__ = [
    "FINCH",
    "HNNE",
    "Communities",
    "FarRowsWarning",
    "FileFormatError",
    "Hierarchy",
    "MemoryBudgetError",
    "ModelFileError",
    "NativeMissingWarning",
    "ProgressEvent",
    "RecallWarning",
    "__version__",
    "build_hierarchy",
    "compare",
    "first_neighbors",
    "label_layers",
    "load",
    "plot",
    "plot_changes",
    "plot_layouts",
    "plot_tree",
]

# What is asked for is imported then: `nestmap --help` needs no scikit-learn.
_HOMES = {
    "FINCH": "cluster", "Communities": "cluster", "HNNE": "estimator", "FarRowsWarning": "errors",
    "FileFormatError": "errors",
    "Hierarchy": "hierarchy", "MemoryBudgetError": "errors", "ModelFileError": "errors",
    "NativeMissingWarning": "errors", "ProgressEvent": "_progress", "RecallWarning": "errors",
    "build_hierarchy": "hierarchy", "compare": "changes", "first_neighbors": "neighbors", "label_layers": "plots",
    "load": "saved", "plot": "plots", "plot_changes": "plots", "plot_layouts": "plots", "plot_tree": "plots",
}  # fmt: skip
_ROOMS = (
    "arrangement", "cluster", "datasets", "errors", "estimator", "explore", "hierarchy", "layout", "metrics",
    "neighbors", "plots", "preliminary", "readers", "sc",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'nestmap' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
