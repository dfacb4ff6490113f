"""Section 3.3: from an arrangement to the map. How much room does a cluster get?"""

from .audit import Audit, LevelAudit
from .base import Layout, LayoutSettings
from .descent import Descent
from .islands.settings import Islands
from .mosaic import Mosaic

__all__ = ["Audit", "Descent", "Islands", "Layout", "LayoutSettings", "LevelAudit", "Mosaic"]
