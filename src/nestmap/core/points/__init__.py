"""Rows as a metric sees them: point sets, short rows, equal rows.

Shared by neighbours, arrangement and metrics.
"""
