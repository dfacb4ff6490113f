"""The islands: t-SNE's forces on the hierarchy, coarse to fine.

Up to 20,000 rows, or the lowest level with at most 20,000 nodes, start at the preliminary embedding
and are laid out as t-SNE would; they decide the large picture. Each level below starts around its
parents, nearly right, so that a few steps do.
"""

from .alike import lay_alike
from .coasts import Coasts
from .ground import IslandsInput
from .lay import lay_islands
from .layout import IslandsLayout
from .settings import Islands

__all__ = [
    "Coasts",
    "Islands",
    "IslandsInput",
    "IslandsLayout",
    "lay_alike",
    "lay_islands",
]
