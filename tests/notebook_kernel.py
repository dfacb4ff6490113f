"""A notebook without Jupyter: a page with the widget's module, and a kernel that is this process."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from browser import Tab

from nestmap.views.explore.widget import MapWidget

# As Jupyter's models are: changes are heard by all views, what is set goes to the kernel when it is saved.
_MODEL = """
const listeners = new Map(), values = JSON.parse(document.getElementById("state").textContent), unsaved = {};
const emit = (name, ...told) => [...(listeners.get(name) ?? [])].forEach((listener) => listener(...told));
const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
window.model = {
  listeners,
  get: (name) => values[name],
  set(name, value) { unsaved[name] = values[name] = value; emit("change:" + name); },
  save_changes() { const saved = {...unsaved}; Object.keys(unsaved).forEach((k) => delete unsaved[k]); kernel({saved}); },
  async send(told) { for (const [content, ...buffers] of await kernel({told})) emit("msg:custom", content, buffers.map(bytes)); },
  on: (name, listener) => listeners.set(name, [...(listeners.get(name) ?? []), listener]),
  off: (name, listener) => listeners.set(name, (listeners.get(name) ?? []).filter((each) => each !== listener)),
  arrive(name, value) { values[name] = value; emit("change:" + name); },
};
const {default: widget} = await import("/widget.js");
window.show = (id) => { const el = document.createElement("div"); el.id = id; document.body.append(el); return (window[id] = widget.render({model, el})); };
show("first");
"""


class Kernel:
    """A widget, and what a page sends to it."""

    def __init__(self, widget: MapWidget) -> None:
        self.widget = widget
        self.answers = True
        self._sent: list[list[Any]] = []
        widget.send = self._keep

    def _keep(self, content: Any, buffers: Any = ()) -> None:
        self._sent.append([content, *(b64encode(each).decode() for each in buffers)])

    def hear(self, message: dict[str, Any]) -> list[list[Any]]:
        if not self.answers:
            return []
        if "saved" in message:
            self.widget.set_state(message["saved"])
            return []
        self._sent = []
        self.widget._hear(self.widget, message["told"], [])
        return self._sent


class Notebook(Tab):
    """A page with views of a widget."""

    def __init__(self, browser: Any, widget: MapWidget, answers: bool = True) -> None:
        super().__init__(browser)
        self.kernel = Kernel(widget)
        self.kernel.answers = answers
        self.page.expose_function("kernel", self.kernel.hear)
        state = {name: widget.get_state(name)[name] for name in widget.keys if name[0] == "_"}
        del state["_esm"]
        text = json.dumps(state).replace("<", "\\u003c")
        self.page.route("**/*", lambda route: self._serve(route, text))
        self.page.goto("http://localhost/")

    def _serve(self, route: Any, state: str) -> None:
        if route.request.url.endswith("/widget.js"):
            route.fulfill(content_type="text/javascript", body=MapWidget._esm)
        elif route.request.url == "http://localhost/":
            body = f'<!doctype html><script type="application/json" id="state">{state}</script>'
            body += f'<link rel="icon" href="data:,"><script type="module">{_MODEL}</script>'
            route.fulfill(content_type="text/html", body=body)
        else:
            raise AssertionError(f"the widget asked for {route.request.url}")

    def inside(self, view: str = "first") -> Any:
        """The frame with the page, when nothing moves there."""
        handle = self.page.wait_for_selector(f"#{view} iframe")
        frame = handle.content_frame()
        for _ in range(2):
            self.wait_in(frame, "window.nestmap && nestmap.idle")
        return frame

    def wait_in(self, frame: Any, condition: str) -> None:
        """As `wait`, in a frame."""
        for _ in range(2000):
            if frame.evaluate(f"!!({condition})"):
                return
            self.page.wait_for_timeout(30)
        raise AssertionError(f"never: {condition}; {self.errors}")

    def put(self, name: str) -> None:
        """What Python has changed, as Jupyter brings it to the page."""
        self.page.evaluate(
            "([name, value]) => model.arrive(name, value)",
            [name, getattr(self.kernel.widget, name)],
        )
