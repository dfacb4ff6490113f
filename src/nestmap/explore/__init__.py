"""The explorer: a map in the browser whose zoom is the hierarchy (docs/explorer.md)."""

from .store import write_store

__all__ = ["write_store"]
