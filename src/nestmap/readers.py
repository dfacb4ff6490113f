"""Files of all kinds as rows to map."""

from .app.readers.read import FORMATS, format_of, read_table
from .app.readers.table import Table

__all__ = ["FORMATS", "Table", "format_of", "read_table"]
