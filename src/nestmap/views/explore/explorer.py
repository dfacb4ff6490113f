"""`model.explore()`: a store in a temporary folder, a server behind, how a notebook shows it."""

from __future__ import annotations

import atexit
import json
import secrets
import shutil
import tempfile
import webbrowser
from dataclasses import replace
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from ...core.progress import Progress
from ..plots.notebook import draw_small
from .bundle import check_site, write_site
from .cover import check_cover, draw_preview
from .handler import ALIVE
from .map_store import MapStore
from .names import Names, SavedNames
from .server import Server
from .store import write_store
from .tour import SavedTour, check_tour, tour_record
from .trust import known_neighbors, measure_trust

# pixels in a notebook, and the picture that fits
_HEIGHT = 640
_INCHES = 7.9

_UNREACHED = "A picture of the map: the explorer itself is out of reach from here, or was stopped."


class Explorer:
    """A map that is being served.

    Attributes
    ----------
    url : str
        Where it can be opened.
    names : dict of int to dict of int to str
        Names that were given to clusters in the page: level, cluster, name.
    tour : list of dict
        The stops that were made in the page: `explore(path=…, tour=page.tour)` exports them.
    """

    def __init__(self, server: Server, picture: Any = None, folder: Path | None = None) -> None:
        self._server = server
        self._picture = picture
        self._folder = folder
        self._stopped = False
        server.start()
        atexit.register(self.stop)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def names(self) -> Names:
        saved = self._server.store.saved
        return {} if saved is None else saved.read()

    @property
    def tour(self) -> list[dict[str, Any]]:
        return list(tour_record(self._server.store.tour.read())["stops"])

    def open(self) -> None:
        """Open it in a browser."""
        webbrowser.open(self.url)

    def stop(self) -> None:
        """Stop serving, and delete what was written for it."""
        self._stopped = True
        self._server.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return "Explorer (stopped)" if self._stopped else f"Explorer at {self.url} (stop() ends it)"

    def _repr_html_(self) -> str:
        """The page inline, over a picture: that stays without frames, or without the server."""
        still = "" if self._picture is None else draw_small(self._picture, _INCHES)
        if self._stopped:
            return still or "<p>stopped</p>"
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
    content = _with_trust(model, X, trust, content)
    folder = Path(tempfile.mkdtemp(prefix="nestmap-explorer-"))
    try:
        write_store(folder / "store", model, X, progress=Progress(verbose), **content)
        server = Server(
            MapStore(folder / "store", SavedNames(), SavedTour(stops=stops)),
            host,
            port,
            token=True,
            in_notebooks=True,
        )
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Explorer(server, model, folder)


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
    content = _with_trust(model, X, trust, content)
    with tempfile.TemporaryDirectory(prefix="nestmap-explorer-") as folder:
        write_store(Path(folder) / "store", model, X, progress=progress, **content)
        store = MapStore(Path(folder) / "store", tour=SavedTour(stops=stops))
        cover = replace(cover, picture=draw_preview(model, store))
        return write_site(target, store, progress, cover)


def _with_trust(model: Any, X: Any, trust: bool, content: dict[str, Any]) -> dict[str, Any]:
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
