"""The explorer: a map in the browser whose zoom is the hierarchy (docs/use/explorer.md)."""

from .explorer import Explorer, explore, export

__all__ = ["Explorer", "explore", "export"]
