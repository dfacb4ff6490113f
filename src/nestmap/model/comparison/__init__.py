"""What happened between two maps that share rows: `nestmap.compare` (docs/use/living.md)."""

from .comparison import Comparison, compare
from .events import Change, LevelChanges

__all__ = ["Change", "Comparison", "LevelChanges", "compare"]
