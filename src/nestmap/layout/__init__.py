"""Section 3.3: from preliminary coordinates to the map."""

from .audit import Audit, LevelAudit, audit_layout
from .descent import Layout, descend

__all__ = ["Audit", "Layout", "LevelAudit", "audit_layout", "descend"]
