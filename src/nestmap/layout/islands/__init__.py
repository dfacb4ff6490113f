"""The islands: t-SNE's forces on the hierarchy, coarse to fine.

The lowest level with at most 3000 nodes starts at the preliminary embedding and is laid out as t-SNE would; it
decides the large picture. Each level below starts around its parents, nearly right, so that a few steps do.
"""

from .alike import lay_alike
from .coasts import Coasts
from .lay import DETAILS, lay_islands
from .layout import Islands

__all__ = ["DETAILS", "Coasts", "Islands", "lay_alike", "lay_islands"]
