"""`model.explore()`: a store in a temporary folder, a server behind, how a notebook shows it."""

from __future__ import annotations

import atexit
import importlib.util
import json
import re
import secrets
import shutil
import sys
import tempfile
import webbrowser
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from ...core.arrays import Array
from ...core.progress import Progress
from ..plots.notebook import draw_small
from .bundle import check_site, write_site
from .cover import check_cover, draw_preview
from .handler import ALIVE
from .map_store import MapStore
from .names import Names, SavedNames
from .selections import SavedSelections
from .server import Server
from .store import write_store
from .tour import SavedTour, check_tour, tour_record
from .trust import known_neighbors, measure_trust

# pixels in a notebook, and the picture that fits
_HEIGHT = 640
_INCHES = 7.9

_UNREACHED = "A picture of the map: the explorer itself is out of reach from here, or was stopped."


class Explorer:
    """A map that is being served, or that a notebook shows as a widget.

    Attributes
    ----------
    url : str
        Where it can be opened; in a notebook with anywidget nothing listens before it is asked for.
    widget : MapWidget or None
        In a notebook with anywidget: what shows itself, for layouts and links of ipywidgets.
    selection : ndarray of int
        The rows that are selected, by number. This, `filter` and `view` can be set, and `observe`
        tells of changes; they need the widget.
    filter : dict
        By name of the column: (low, high), or a list of categories.
    view : dict of str to str
        Where the page is and what it shows.
    names : dict of int to dict of int to str
        Names that were given to clusters in the page: level, cluster, name.
    selections : dict of str to ndarray of uint32
        Selections that were kept in the page: row numbers by name.
    tour : list of dict
        The stops that were made in the page: `explore(path=…, tour=page.tour)` exports them.
    """

    def __init__(self, server: Server, picture: Any = None, folder: Path | None = None) -> None:
        self._server = server
        self._picture = picture
        self._folder = folder
        self._stopped = False
        self.widget = _make_widget(server, picture) if shows_widgets() else None
        if self.widget is None:
            server.start()
        atexit.register(self.stop)

    @property
    def url(self) -> str:
        if not self._stopped:
            self._server.start()
        return self._server.url

    @property
    def _shown(self) -> Any:
        if self.widget is None:
            raise RuntimeError(
                "selection, filter and view need a notebook and anywidget: "
                "pip install 'nestmap[notebook]', then run the cell again"
            )
        return self.widget

    @property
    def selection(self) -> Array:
        rows: Array = self._shown.selection
        return rows

    @selection.setter
    def selection(self, rows: Any) -> None:
        self._shown.selection = rows

    @property
    def filter(self) -> dict[str, Any]:
        return dict(self._shown.filter)

    @filter.setter
    def filter(self, conditions: Any) -> None:
        self._shown.filter = conditions

    @property
    def view(self) -> dict[str, str]:
        return dict(self._shown.view)

    @view.setter
    def view(self, view: Any) -> None:
        self._shown.view = view

    def observe(self, told: Callable[[Any], None], name: str = "selection") -> None:
        """Call a function with each change, which has `old` and `new`, of 'selection', 'filter' or
        'view'.
        """
        self._shown.observe(told, name)

    @property
    def names(self) -> Names:
        saved = self._server.store.saved
        return {} if saved is None else saved.read()

    @property
    def selections(self) -> dict[str, Array]:
        kept = self._server.store.selections.read()
        return {name: own.rows for name, own in kept.items()}

    @property
    def tour(self) -> list[dict[str, Any]]:
        return list(tour_record(self._server.store.tour.read())["stops"])

    def open(self) -> None:
        """Open it in a browser."""
        webbrowser.open(self.url)

    def stop(self) -> None:
        """Stop serving, and delete what was written for it."""
        self._stopped = True
        if self.widget is not None:
            self.widget.close()
        self._server.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        if self._stopped:
            return "Explorer (stopped)"
        where = f"at {self.url}" if self._server.listens else "in this notebook"
        return f"Explorer {where} (stop() ends it)"

    def _ipython_display_(self) -> None:
        """The widget, if there is one, after a picture that it hides.

        The picture is an output of its own: where a notebook is opened without its kernel, Jupyter
        takes the widget for lost, and shows nothing else of the same output.
        """
        if self.widget is None or self._stopped:
            raise NotImplementedError  # IPython then asks the other ways
        from IPython.display import publish_display_data

        still = f'<div class="{self.widget._still}">{self._repr_html_()}</div>'
        png = self._repr_png_()
        picture = {} if png is None else {"image/png": b64encode(png).decode()}
        publish_display_data({"text/plain": repr(self), "text/html": still, **picture})
        shown = self.widget._repr_mimebundle_()
        data = shown[0] if isinstance(shown, tuple) else shown
        publish_display_data({**data, "text/plain": ""})

    def _display_(self) -> Any:
        """For marimo."""
        from marimo import Html

        widget = None if self._stopped else self.widget
        return Html(self._repr_html_()) if widget is None else widget

    def _repr_html_(self) -> str:
        """The page inline, over a picture: that stays without frames, or without the server."""
        still = "" if self._picture is None else draw_small(self._picture, _INCHES)
        if self._stopped:
            return still or "<p>stopped</p>"
        if self.widget is not None:
            return still or "<p>map</p>"
        url = escape(self.url, quote=True)
        frame = f"nestmap-{secrets.token_hex(8)}"
        # opened later, or on another machine, the frame would be an error over the picture
        script = (
            f"fetch({json.dumps(self.url + ALIVE)},"
            "{mode:'no-cors',cache:'no-store'}).catch(()=>{"
            f"document.getElementById('{frame}').remove();"
            f"document.getElementById('{frame}-link').replaceWith({json.dumps(_UNREACHED)})}})"
        )
        return (
            f'<div style="position:relative;height:{_HEIGHT}px;overflow:hidden;text-align:center">'
            f"{still}"
            f'<iframe id="{frame}" src="{url}" title="map" '
            'style="position:absolute;inset:0;width:100%;height:100%;border:0"></iframe></div>'
            f'<a id="{frame}-link" href="{url}" target="_blank" rel="noopener">{url}</a>'
            f"<script>{script}</script>"
        )

    def _repr_png_(self) -> bytes | None:
        """For what shows no pages, such as a notebook on paper; needs matplotlib."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            return None
        if self._picture is None:
            return None
        from ..plots.map import plot

        figure = Figure(figsize=(7, 7), dpi=100)
        buffer = BytesIO()
        plot(self._picture, ax=figure.add_axes((0, 0, 1, 1)))
        figure.savefig(buffer, format="png")
        return buffer.getvalue()


def shows_widgets() -> bool:
    """Whether this is a notebook that can show the explorer as a widget."""
    if importlib.util.find_spec("anywidget") is None:
        return False
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return True
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


def _make_widget(server: Server, picture: Any) -> Any:
    from .widget import MapWidget  # anywidget, which is optional

    still = "" if picture is None else draw_small(picture, _INCHES)
    found = re.search(r'src="(data:image/png;base64,[^"]*)"', still)
    return MapWidget(server, found[1] if found else "", _HEIGHT)


def explore(
    model: Any,
    X: Any = None,
    *,
    trust: bool = False,
    tour: Any = (),
    host: str = "127.0.0.1",
    port: int = 0,
    verbose: int = 0,
    **content: Any,
) -> Explorer:
    """Serve a fitted model in the background; `HNNE.explore` says how."""
    stops = check_tour(tour)
    content = with_trust(model, X, trust, content)
    folder = Path(tempfile.mkdtemp(prefix="nestmap-explorer-"))
    try:
        write_store(folder / "store", model, X, progress=Progress(verbose), **content)
        server = Server(
            MapStore(folder / "store", SavedNames(), SavedTour(stops=stops), SavedSelections()),
            host,
            port,
            token=True,
            in_notebooks=True,
            listens=bool(port) or host != "127.0.0.1" or not shows_widgets(),
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Explorer(server, model if model.embedding_.shape[1] == 2 else None, folder)


def export(
    path: Any,
    model: Any,
    X: Any = None,
    *,
    trust: bool = False,
    description: str = "",
    tour: Any = (),
    url: str = "",
    verbose: int = 0,
    **content: Any,
) -> Path:
    """Write a static folder that any web server, or a double-click on its index.html, can show.

    Parameters
    ----------
    path : path
        A new or empty folder, or one that `export` wrote.
    model : HNNE
        Fitted, in 2-D.
    trust : bool
        Measure true neighbours and per-row quality of X.
    description : str
        What the map is of: shown in the page, and where links to it are.
    tour : list of dict, or path of a tour.json
        Views with texts, as `Explorer.tour` has them.
    url : str
        Where the folder will be, for the preview of links to it.
    X, **content
        As `write_store` takes them.
    """
    target = Path(path).expanduser()
    progress = Progress(verbose)
    cover = check_cover(description=description, url=url)
    stops = check_tour(tour)
    check_site(target)
    content = with_trust(model, X, trust, content)
    with tempfile.TemporaryDirectory(prefix="nestmap-explorer-") as folder:
        write_store(Path(folder) / "store", model, X, progress=progress, **content)
        store = MapStore(Path(folder) / "store", tour=SavedTour(stops=stops))
        cover = replace(cover, picture=draw_preview(model, store))
        return write_site(target, store, progress, cover)


def with_trust(model: Any, X: Any, trust: bool, content: dict[str, Any]) -> dict[str, Any]:
    if not trust:
        return content
    if X is None:
        raise ValueError("trust=True compares the map with its data: give X, the rows of the fit")
    ids = known_neighbors(model)
    # rows that the model has encoded are compared as it does
    is_raw = getattr(model, "encoder_", None) is None
    metric = model.metric if is_raw else model.hierarchy_.metric
    params = model.metric_params if is_raw else None
    found = measure_trust(X, model.embedding_, metric, params, model.n_jobs, ids)
    return {"quality": found.scores, "neighbors": found.neighbors, **content}
