"""Section 3.3: from an arrangement to the map. How much room does a cluster get?"""

from .audit import Audit, LevelAudit, audit_layout
from .descent import DescentLayout, descend
from .islands import DETAILS, Coasts, IslandsInput, IslandsLayout, lay_alike, lay_islands
from .mosaic import MosaicLayout, lay_mosaic
from .pieces import summarize_map
from .regions import Regions
from .settings import LAYOUTS, Descent, Islands, LayoutSettings, Mosaic, layout_settings

Layout = DescentLayout | IslandsLayout | MosaicLayout

__all__ = [
    "DETAILS",
    "LAYOUTS",
    "Audit",
    "Coasts",
    "Descent",
    "DescentLayout",
    "Islands",
    "IslandsInput",
    "IslandsLayout",
    "Layout",
    "LayoutSettings",
    "LevelAudit",
    "Mosaic",
    "MosaicLayout",
    "Regions",
    "audit_layout",
    "descend",
    "lay_alike",
    "lay_islands",
    "lay_mosaic",
    "layout_settings",
    "summarize_map",
]
