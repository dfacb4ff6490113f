"""Names by a language model behind an address: where it is, how it is asked, what it has said."""

from .cache import AnswerCache
from .chat import ChatNamer
from .endpoint import Endpoint

__all__ = ["AnswerCache", "ChatNamer", "Endpoint"]
