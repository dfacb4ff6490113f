"""The explorer: a map in the browser whose zoom is the hierarchy (docs/use/explorer.md)."""

from .explorer import explore, export

__all__ = ["explore", "export"]
