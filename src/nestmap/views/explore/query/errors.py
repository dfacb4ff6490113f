"""What is raised for a question about rows that cannot be answered as it was asked."""

from __future__ import annotations


class RowsError(ValueError):
    """A question about rows that makes no sense; says what of it does not."""
