"""What happened between two maps of data that share rows: `nestmap.compare` (docs/living.md)."""

from .comparison import Comparison, compare
from .events import Change, LevelChanges

__all__ = ["Change", "Comparison", "LevelChanges", "compare"]
