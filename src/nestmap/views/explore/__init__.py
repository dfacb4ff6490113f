"""The explorer: a map in the browser whose zoom is the hierarchy (docs/explorer.md)."""

from .bundle import write_site
from .explorer import Explorer, explore, export
from .names import SavedNames
from .reading import Store
from .server import Server
from .store import write_store

__all__ = [
    "Explorer",
    "SavedNames",
    "Server",
    "Store",
    "explore",
    "export",
    "write_site",
    "write_store",
]
