"""Whether what was asked for fits the kind of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .choice import Choice, NoColumn
from .table import Table
from .text import text_kind

_TABLES = ("csv", "tsv", "parquet", "arrow", "json", "jsonl", "xlsx")


def check_kind(source: Path, kind: str, choice: Choice) -> None:
    """Raise where options are for tables, and this file holds an array or texts."""
    if kind in _TABLES or (kind == "txt" and text_kind(source) == "table"):
        if choice.missing in ("error", "drop") and choice.vectors is None:
            raise ValueError(
                f"missing={choice.missing!r} is for numbers as they are (--vectors); columns of a "
                "table are encoded, where 'expected' (the default) and 'mean' stand for empty cells"
            )
        return
    asked = {"--kind": choice.kinds, "--vectors": choice.vectors}
    wrong = [flag for flag, value in asked.items() if value]
    if wrong:
        raise ValueError(
            f"{source}: {wrong[0]} is for tables, and this is read as {kind}; leave it out"
        )
    if choice.missing == "expected":
        raise ValueError(
            f"{source}: missing='expected' is for tables that are encoded, and this is read as "
            f"{kind}; leave it out"
        )


def find_text(table: Table, choice: Choice) -> Table:
    """The table with the column of texts that was named."""
    name = choice.text_column
    if name is None:
        return table
    if name not in table.metadata:
        raise NoColumn(table.source, "text", name, [*table.metadata])
    return replace(table, text=name)
