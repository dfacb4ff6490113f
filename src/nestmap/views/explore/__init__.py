"""The explorer: a map in the browser whose zoom is the hierarchy (docs/explorer.md)."""

from .bundle import write_site
from .explorer import Explorer, explore, export
from .map_store import MapStore
from .names import SavedNames
from .server import Server
from .store import write_store

__all__ = [
    "Explorer",
    "MapStore",
    "SavedNames",
    "Server",
    "explore",
    "export",
    "write_site",
    "write_store",
]
