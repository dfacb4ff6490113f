"""The explorer as a component of Streamlit: a static page that its server shows in a frame."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ...core.arrays import Array
from ...core.progress import Progress
from .bundle import Page, write_site
from .choices import as_conditions, as_set, check_rows, read_conditions, read_set
from .explorer import with_trust
from .map_store import MapStore
from .query import RowQueries
from .store import write_store

_KEPT = 16  # maps of models that are shown without `prepare`


@dataclass(frozen=True, eq=False)
class Prepared:
    """A map that components show: its folder is deleted with it.

    Attributes
    ----------
    site : Path
        The static page.
    store : MapStore
    """

    site: Path
    store: MapStore
    queries: RowQueries
    component: Any


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen in a component.

    Attributes
    ----------
    selection : ndarray of int
        Row numbers.
    filter : dict
        By name of the column: (low, high), or a list of categories.
    """

    selection: Array
    filter: dict[str, Any]


def prepare(model: Any, X: Any = None, *, trust: bool = False, **content: Any) -> Prepared:
    """Write what components show of a fitted model; keep it with `st.cache_resource`.

    Parameters
    ----------
    model : HNNE
        Fitted, in 2-D.
    X, trust, **content
        As `HNNE.explore` takes them: metadata, names, texts, images, …
    """
    declare = _streamlit().components.v1.declare_component
    check_is_fitted(model)
    rows = model._rows_shown(X)
    content = with_trust(model, rows, trust, content)
    folder = Path(tempfile.mkdtemp(prefix="nestmap-streamlit-"))
    try:
        write_store(folder / "store", model, rows, progress=Progress(0), **content)
        store = MapStore(folder / "store")
        site = write_site(folder / "site", store)
        page = Page.find().index("static", store.id, around="streamlit")
        (site / "index.html").write_bytes(page)
        component = declare(f"nestmap_{folder.name[-8:]}", path=str(site))
        prepared = Prepared(site, store, RowQueries(store), component)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(prepared, shutil.rmtree, folder, ignore_errors=True)
    return prepared


def explorer(
    map: Any,
    *,
    key: str | None = None,
    height: int = 640,
    selection: Any = None,
    filter: Mapping[str, Any] | None = None,
) -> Choice:
    """Show a map in a Streamlit app; the script runs again when something is chosen in it.

    Parameters
    ----------
    map : Prepared or HNNE
        What `prepare` returned; or a fitted model without anything beside its rows.
    key : str, optional
        Of the component, where an app has several.
    height : int
        Pixels.
    selection : row numbers, or a mask of all rows, optional
        Shown as selected from the run on that gives it, until the reader selects something else.
    filter : dict, optional
        By name of the column: (low, high), or a list of categories.
    """
    shown = map if isinstance(map, Prepared) else _prepared(map)
    columns = shown.store.meta["columns"]
    choice: dict[str, Any] = {}
    if selection is not None:
        rows = check_rows(selection, shown.queries.n_rows)
        choice["selected"] = as_set(shown.queries, rows)
    if filter is not None:
        choice["filters"] = as_conditions(columns, filter)
    told = shown.component(choice=choice or None, height=height, key=key, default=None)
    told = told if isinstance(told, dict) else choice
    return Choice(
        read_set(shown.queries, told.get("selected")),
        read_conditions(columns, told.get("filters") or []),
    )


_prepared_models: dict[int, tuple[weakref.ref[Any], Prepared]] = {}
_preparing = threading.Lock()  # scripts of several readers run at the same time


def _prepared(model: Any) -> Prepared:
    """A map per fit, as long as its tree lives; scripts run again and again."""
    check_is_fitted(model)
    tree = model.hierarchy_
    with _preparing:
        known = _prepared_models.get(id(tree))
        if known is not None and known[0]() is tree:
            return known[1]
        for number in [n for n, (one, _) in _prepared_models.items() if one() is None]:
            del _prepared_models[number]
        if len(_prepared_models) >= _KEPT:
            del _prepared_models[next(iter(_prepared_models))]
        found = prepare(model)
        _prepared_models[id(tree)] = (weakref.ref(tree), found)
    return found


def _streamlit() -> Any:
    try:
        import streamlit
        import streamlit.components.v1
    except ImportError as error:
        raise ImportError(
            "nestmap.streamlit needs streamlit: pip install 'nestmap[streamlit]'"
        ) from error
    return streamlit
