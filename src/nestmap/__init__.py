"""nestmap: maps of high-dimensional data that people can read, trust and explore."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .core.progress import ProgressEvent
    from .errors import (
        FarRowsWarning,
        FileFormatError,
        MemoryBudgetError,
        ModelFileError,
        NativeMissingWarning,
        RecallWarning,
    )
    from .estimators.clusters import FINCH, Communities
    from .estimators.hnne import HNNE
    from .estimators.load import load
    from .method.hierarchy import Hierarchy, build_hierarchy
    from .method.layout import Descent, Islands, Mosaic
    from .method.neighbors import first_neighbors
    from .model.comparison import compare
    from .views.plots import label_layers, plot, plot_changes, plot_layouts, plot_tree

__all__ = [
    "FINCH",
    "HNNE",
    "Communities",
    "Descent",
    "FarRowsWarning",
    "FileFormatError",
    "Hierarchy",
    "Islands",
    "MemoryBudgetError",
    "ModelFileError",
    "Mosaic",
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
    "FINCH": "estimators.clusters",
    "Communities": "estimators.clusters",
    "Descent": "method.layout",
    "HNNE": "estimators.hnne",
    "FarRowsWarning": "errors",
    "FileFormatError": "errors",
    "Hierarchy": "method.hierarchy",
    "Islands": "method.layout",
    "MemoryBudgetError": "errors",
    "ModelFileError": "errors",
    "Mosaic": "method.layout",
    "NativeMissingWarning": "errors",
    "ProgressEvent": "core.progress",
    "RecallWarning": "errors",
    "build_hierarchy": "method.hierarchy",
    "compare": "model.comparison",
    "first_neighbors": "method.neighbors",
    "label_layers": "views.plots",
    "load": "estimators.load",
    "plot": "views.plots",
    "plot_changes": "views.plots",
    "plot_layouts": "views.plots",
    "plot_tree": "views.plots",
}
_MODULES = ("errors", "metrics", "naming", "neighbors", "readers", "sc", "streamlit", "tables")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'nestmap' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
