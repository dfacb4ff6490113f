"""Section 3.3: from an arrangement to the map. How much room does a cluster get?"""

from .audit import Audit, LevelAudit, audit_layout
from .descent import Descent, descend
from .mosaic import Mosaic, lay_mosaic
from .regions import Regions

LAYOUTS = ("descent", "mosaic")
Layout = Descent | Mosaic

__all__ = [
    "LAYOUTS", "Audit", "Descent", "Layout", "LevelAudit", "Mosaic", "Regions", "audit_layout", "descend",
    "lay_mosaic",
]  # fmt: skip
