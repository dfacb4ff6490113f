"""Files of all kinds as rows to map."""

from .app.readers import Table, format_of, read_table

__all__ = ["Table", "format_of", "read_table"]
