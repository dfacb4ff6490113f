"""Tables of mixed columns as rows to map: one decision per column, each with its reason."""

from .decide import Decision, Decisions, decide_columns
from .dominance import Dominance, dominant_columns
from .encoder import TableEncoder
from .gower import GowerEncoder

__all__ = [
    "Decision",
    "Decisions",
    "Dominance",
    "GowerEncoder",
    "TableEncoder",
    "decide_columns",
    "dominant_columns",
]
