"""Metadata of rows, read once for the descriptions of several levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .tables import Column, mark_label, read_columns
from .traits import WordCounts


@dataclass(frozen=True, eq=False)
class Facts:
    """Columns of metadata, words of texts, names of rows; false where nothing is known."""

    columns: tuple[Column, ...] = ()
    words: WordCounts | None = None
    names: Sequence[Any] | None = None

    @classmethod
    def of(
        cls,
        n_rows: int,
        *,
        metadata: Any = None,
        texts: Any = None,
        names: Any = None,
        label: str | None = None,
    ) -> Facts:
        """From what `Hierarchy.describe` takes."""
        for what, values in (("texts", texts), ("names", names)):
            if values is not None and len(values) != n_rows:
                raise ValueError(
                    f"{what}: needs one for each of the {n_rows} rows of the fit, got {len(values)}"
                )
        columns = () if metadata is None else read_columns(metadata, n_rows)
        words = None if texts is None else WordCounts.of(texts)
        return cls(mark_label(columns, label), words, names)

    def __bool__(self) -> bool:
        return bool(self.columns) or self.words is not None or self.names is not None
