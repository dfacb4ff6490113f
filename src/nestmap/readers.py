"""Files of all kinds as rows to map."""

from .app.readers.read import read_table
from .app.readers.table import Table

__all__ = ["Table", "read_table"]
