"""Files of all kinds as rows to map."""

from .app.readers.kinds import FORMATS, format_of
from .app.readers.read import read_table
from .app.readers.table import Table

__all__ = ["FORMATS", "Table", "format_of", "read_table"]
