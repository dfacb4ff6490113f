"""The explorer as a widget of a notebook: a page that asks the kernel, and says what is chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from secrets import token_hex
from typing import Any

import anywidget
import numpy as np
import traitlets

from ...core.arrays import Array
from .choices import (
    as_address,
    as_conditions,
    as_set,
    check_rows,
    read_address,
    read_conditions,
    read_set,
)
from .inline import write_inline
from .memory import Answer, respond
from .server import Server


class RowNumbers(traitlets.TraitType[Array, Any]):
    """An array of row numbers: changed only if it holds other rows."""

    default_value = np.empty(0, dtype=np.int64)
    info_text = "row numbers, or a mask of all rows"

    def validate(self, obj: Any, value: Any) -> Array:
        return check_rows(value, obj.n_rows)

    def set(self, obj: Any, value: Any) -> None:
        new = self._validate(obj, value)
        old = obj._trait_values.get(self.name, self.default_value)
        if not np.array_equal(new, old):  # traitlets would ask arrays whether they are true
            obj._trait_values[self.name] = new
            obj._notify_trait(self.name, old, new)


class MapWidget(anywidget.AnyWidget):
    """The explorer of one map; any number of views of it show the same choice.

    Attributes
    ----------
    selection : ndarray of int
        The rows that are selected, by number; set it to numbers or a mask of all rows.
    filter : dict
        By name of the column: (low, high) of numbers, a list of categories; None beside them
        lets rows without a value pass.
    view : dict of str to str
        Where the page is and what it shows: x, y, z, level, color, cluster, row.
    """

    _esm = (Path(__file__).parent / "page" / "widget.js").read_text(encoding="utf-8")
    _height = traitlets.Int(640).tag(sync=True)
    _picture = traitlets.Unicode("").tag(sync=True)
    _still = traitlets.Unicode("").tag(sync=True)  # the class of pictures that it stands in for
    _view = traitlets.Unicode("").tag(sync=True)
    _filters = traitlets.List(traitlets.Any()).tag(sync=True)
    _selected = traitlets.Any(None, allow_none=True).tag(sync=True)

    selection = RowNumbers()
    filter = traitlets.Dict()
    view = traitlets.Dict()

    def __init__(self, server: Server, picture: str = "", height: int = 640) -> None:
        self._server = server
        self.n_rows = int(server.store.meta["n_rows"])
        self._queries = server.shown.queries
        self._columns = server.store.meta["columns"]
        self._taking = False  # what comes from a page goes to Python, and not back
        super().__init__(_picture=picture, _height=height, _still=f"nestmap-{token_hex(8)}")
        self.on_msg(self._hear)

    def _hear(self, _: Any, told: Any, buffers: Any) -> None:
        """A page wants itself, or what the server's handler would answer."""
        match told:
            case {"kind": "page", "id": str(id)}:
                page = write_inline(self._server.page, self._server.store.id)
                self.send({"kind": "page", "id": id}, [page.encode()])
            case {"kind": "ask", "asked": {"id": str(id), **asked}}:
                answer = self._answer(asked)
                answered = {"id": id, "status": answer.status, "headers": answer.headers}
                self.send({"kind": "answer", "answered": answered}, [answer.body])

    def _answer(self, asked: dict[Any, Any]) -> Answer:
        method, path, kind, body = (
            str(asked.get(k, "")) for k in ("method", "path", "type", "body")
        )
        try:
            return respond(self._server, method, path, kind, body.encode())
        except ValueError as error:
            return Answer(400, {}, str(error).encode())

    # -- what a page has chosen, and what Python chooses
    # ---------------------------------------------------------------------------------------------

    def _take(self, name: str, read: Callable[[], Any]) -> None:
        if self._taking:
            return
        self._taking = True
        try:
            setattr(self, name, read())
        finally:
            self._taking = False

    @traitlets.observe("_selected")
    def _take_selection(self, change: Any) -> None:
        self._take("selection", lambda: read_set(self._queries, change["new"]))

    @traitlets.observe("selection")
    def _put_selection(self, change: Any) -> None:
        self._take("_selected", lambda: as_set(self._queries, change["new"]))

    @traitlets.observe("_filters")
    def _take_filters(self, change: Any) -> None:
        self._take("filter", lambda: read_conditions(self._columns, change["new"]))

    @traitlets.validate("filter")
    def _check_filter(self, proposal: Any) -> Any:
        as_conditions(self._columns, proposal["value"])
        return proposal["value"]

    @traitlets.observe("filter")
    def _put_filter(self, change: Any) -> None:
        self._take("_filters", lambda: as_conditions(self._columns, change["new"]))

    @traitlets.observe("_view")
    def _take_view(self, change: Any) -> None:
        self._take("view", lambda: read_address(self._columns, change["new"]))

    @traitlets.validate("view")
    def _check_view(self, proposal: Any) -> Any:
        as_address(self._columns, proposal["value"])
        return proposal["value"]

    @traitlets.observe("view")
    def _put_view(self, change: Any) -> None:
        self._take("_view", lambda: as_address(self._columns, change["new"]))
