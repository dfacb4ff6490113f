"""Questions about sets of rows, answered from the columns of a store (docs/use/explorer.md)."""

from .errors import RowsError
from .queries import Page, RowQueries

__all__ = ["Page", "RowQueries", "RowsError"]
