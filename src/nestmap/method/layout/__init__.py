"""Section 3.3: from an arrangement to the map. How much room does a cluster get?"""

from .audit import Audit, LevelAudit, audit_layout
from .descent import Descent, descend
from .islands import DETAILS, Coasts, Islands, IslandsInput, lay_alike, lay_islands
from .mosaic import Mosaic, lay_mosaic
from .pieces import summarize_map
from .regions import Regions

LAYOUTS = ("auto", "islands", "descent", "mosaic")
Layout = Descent | Islands | Mosaic

__all__ = [
    "DETAILS",
    "LAYOUTS",
    "Audit",
    "Coasts",
    "Descent",
    "Islands",
    "IslandsInput",
    "Layout",
    "LevelAudit",
    "Mosaic",
    "Regions",
    "audit_layout",
    "descend",
    "lay_alike",
    "lay_islands",
    "lay_mosaic",
    "summarize_map",
]
