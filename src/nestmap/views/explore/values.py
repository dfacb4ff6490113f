"""Values of rows as programs are told them: by the user's numbers, and not too many letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .map_store import MapStore
from .store_format import CHUNK

_MAX_LETTERS_TOLD = 60_000  # letters of the values of rows in one answer


class _Values:
    """Values of rows by place; each chunk is read once."""

    def __init__(self, store: MapStore) -> None:
        self._store = store
        self._chunks: dict[int, Any] = {}

    def of(self, place: int) -> list[Any]:
        c = place // CHUNK
        if c not in self._chunks:
            self._chunks[c] = self._store.read_json(f"rows/{c}.json")
        return list(self._chunks[c][place % CHUNK])


def tell_labelled(store: MapStore, labelled: Iterable[tuple[int, str]]) -> list[dict[str, Any]]:
    """Rows at some places by their numbers, each with its label."""
    values = _Values(store)
    return [{"row": values.of(place)[0], "label": label} for place, label in labelled]


def tell_values(store: MapStore, places: Sequence[int], offset: int, total: int) -> dict[str, Any]:
    """As many of the rows as an answer may hold, and at which offset the rest begins."""
    values = _Values(store)
    rows: list[list[Any]] = []
    letters = 0
    for place in places:
        row = values.of(place)
        letters += sum(len(value) if isinstance(value, str) else 8 for value in row)
        if rows and letters > _MAX_LETTERS_TOLD:
            break
        rows.append(row)
    end = offset + len(rows)
    return {"total": total, "rows": rows, "next": end if end < total else None}
