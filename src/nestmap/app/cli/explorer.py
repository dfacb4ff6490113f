"""`nestmap explore`, and `nestmap export` to a folder of web pages."""

from __future__ import annotations

import shutil
import tempfile
import threading
import webbrowser
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from ...core.progress import Progress
from ...views.explore.bundle import check_site, write_site
from ...views.explore.cover import check_cover, draw_preview
from ...views.explore.map_store import MapStore
from ...views.explore.server import Server
from ..runs.folder import RunFolder
from ..runs.store import open_store, plane
from .talk import Talk

_PORT = 8642


def run_explore(options: Namespace) -> None:
    """`nestmap explore`."""
    talk = Talk(options.quiet, options.json)
    run = RunFolder(options.run)
    store = _open(options, talk, run, options.rebuild)
    try:
        server = _listen(store, options.host, options.port, options.token)
        talk.result(f"{run.path} is at {server.url} (Ctrl-C ends it)", {"url": server.url})
        if not server.local:
            talk.note(
                "whoever has this address can read the run and name its clusters; "
                "the connection is not encrypted"
            )
        if not options.no_browser:
            threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
        try:
            server.serve_forever(0.2)
        except KeyboardInterrupt:
            talk.note("stopped")
        finally:
            server.stop()
    finally:
        forget_store(store.folder)


def export_site(options: Namespace, talk: Talk, run: RunFolder) -> None:
    """`nestmap export RUN -o FOLDER`."""
    target = Path(options.output).expanduser()
    check_site(target, options.force)
    cover = check_cover(options.title, options.description, options.url)
    store = _open(options, talk, run, False)
    try:
        cover = replace(cover, picture=draw_preview(plane(run), store))
        write_site(target, store, Progress(0, talk), cover)
    finally:
        forget_store(store.folder)
    talk.note(
        f"wrote {target / 'index.html'}: open it in a browser, or put the folder on a web server"
    )
    if options.json:
        talk.result("", {"output": str(target), "rows": store.meta["n_rows"]})


def _open(options: Namespace, talk: Talk, run: RunFolder, rebuild: bool) -> MapStore:
    progress = Progress(0, talk)
    return open_store(
        run,
        options.compare,
        cluster_names=options.names,
        progress=progress,
        rebuild=rebuild,
        n_jobs=options.threads,
    )


def _listen(store: MapStore, host: str, port: int | None, token: bool) -> Server:
    """A server on the port that was asked for, or the usual one, or, if that is taken, any."""
    if port is not None and not 0 <= port < 65536:
        raise ValueError(f"--port {port}: must be a number from 0 (any free one) to 65535")
    for each in (_PORT, 0) if port is None else (port,):
        try:
            return Server(store, host, each, token=token)
        except OSError as error:
            problem = error
    raise OSError(
        f"cannot listen on --host {host}{'' if port is None else f' --port {port}'}: {problem}"
    ) from problem


def forget_store(folder: Path) -> None:
    """Delete the store of a run that could not be written to."""
    if folder.parent.name.startswith("nestmap-explorer-") and folder.is_relative_to(
        tempfile.gettempdir()
    ):
        shutil.rmtree(folder.parent, ignore_errors=True)
