"""Pictures of maps, trees and layouts, by matplotlib, which is imported when a picture is drawn."""

from .changes import plot_changes
from .layers import label_layers
from .layouts import plot_layouts
from .map import plot
from .tree import plot_tree

__all__ = ["label_layers", "plot", "plot_changes", "plot_layouts", "plot_tree"]
