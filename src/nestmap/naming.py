"""Names of clusters by a language model, or by any function of yours (docs/use/names.md)."""

from .app.naming import AnswerCache, ChatNamer
from .method.describe import ClusterToName, NamerError, NoAnswer
from .model.comparison.carry import carry_names

__all__ = ["AnswerCache", "ChatNamer", "ClusterToName", "NamerError", "NoAnswer", "carry_names"]
