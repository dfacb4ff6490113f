"""What the page asks about selections that are kept: which there are, one again, keep, delete."""

from __future__ import annotations

from typing import Any

from ...errors import ModelFileError
from .choices import NO_ROWS, as_set
from .export_rows import has_parquet
from .query import RowQueries
from .selections import SavedSelections, Selection, clean_name


def list_selections(saved: SavedSelections) -> dict[str, Any]:
    """Their names and how many rows each has."""
    kept = saved.read()
    return {
        "can_save": saved.writable,
        "can_parquet": has_parquet(),
        "selections": [{"name": name, "count": len(own.rows)} for name, own in kept.items()],
    }


def show_selection(saved: SavedSelections, queries: RowQueries, name: str) -> dict[str, Any]:
    """One of them as a set of rows: as it was chosen, or if the run was built again by its rows."""
    own = saved.read().get(name)
    if own is None:
        raise ValueError(f"no selection is called {name[:100]!r} (any more)")
    if own.store == queries.store.id:
        return {"set": own.chosen}
    return {"set": as_set(queries, own.rows[own.rows < queries.n_rows]) or NO_ROWS}


def change_selections(saved: SavedSelections, queries: RowQueries, record: Any) -> dict[str, Any]:
    """Keep a set of rows under a name, or delete what has the name."""
    if not saved.writable:
        raise ValueError("selections cannot be saved here")
    match record:
        case {"name": str(name), "set": dict(rows), **rest} if not rest:
            found = Selection(queries.rows_of(rows), rows, queries.store.id)
            if not queries.store.is_current:  # its rows may be of two stores
                raise ModelFileError("the run was built again meanwhile: reload the page")
            saved.keep(clean_name(name), found)
        case {"name": str(name), "set": None, **rest} if not rest:
            saved.keep(name, None)
        case _:
            raise ValueError('expected {"name": text, "set": a set of rows, or null to delete}')
    return list_selections(saved)
