"""Section 3.3: from an arrangement to the map. How much room does a cluster get?"""

from .audit import Audit, LevelAudit, audit_layout
from .base import Layout, LayoutInput, LayoutSettings, Origin
from .descent import Descent, DescentLayout, descend
from .islands import Coasts, Islands, IslandsInput, IslandsLayout, lay_alike, lay_islands
from .mosaic import Mosaic, MosaicLayout, lay_mosaic
from .pieces import summarize_map
from .regions import Regions
from .settings import LAYOUTS, SETTINGS, layout_settings

__all__ = [
    "LAYOUTS",
    "SETTINGS",
    "Audit",
    "Coasts",
    "Descent",
    "DescentLayout",
    "Islands",
    "IslandsInput",
    "IslandsLayout",
    "Layout",
    "LayoutInput",
    "LayoutSettings",
    "LevelAudit",
    "Mosaic",
    "MosaicLayout",
    "Origin",
    "Regions",
    "audit_layout",
    "descend",
    "lay_alike",
    "lay_islands",
    "lay_mosaic",
    "layout_settings",
    "summarize_map",
]
