"""The page as one text, for a frame that has no address of its own."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode

from ...errors import ModelFileError
from .bundle import CONFIG, Page

_STYLES = '<link rel="stylesheet" href="app.css">'
_SCRIPT = '<script defer src="app.js"></script>'


def write_inline(page: Page, store_id: str) -> str:
    """The page with its scripts and styles inside, and a policy that lets it load nothing at all.

    What it fetches, it asks of the window around it.
    """
    index = (page.folder / "index.html").read_text(encoding="utf-8")
    script = (page.folder / "app.js").read_text(encoding="utf-8")
    styles = (page.folder / "app.css").read_text(encoding="utf-8")
    for part in (_STYLES, _SCRIPT, CONFIG.decode(), "</body>"):
        if index.count(part) != 1:
            raise ModelFileError(f"{page.folder / 'index.html'} has no {part}: run `make page`")
    if "</script" in script.lower() or "</style" in styles.lower():
        raise ModelFileError(f"{page.folder}: a file would end its own element: run `make page`")
    config = {"transport": "server", "around": "notebook", "store": store_id}
    setting = f"window.NESTMAP = {json.dumps(config)}"
    policy = (
        f"default-src 'none'; script-src {_sum(setting)} {_sum(script)}; style-src {_sum(styles)}; "
        "img-src blob: data:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    index = index.replace("<head>", f"<head>\n{meta}", 1).replace(_SCRIPT, "")
    index = index.replace(CONFIG.decode(), f"<script>{setting}</script>")
    index = index.replace(_STYLES, f"<style>{styles}</style>")
    return index.replace("</body>", f"<script>{script}</script>\n</body>")


def _sum(text: str) -> str:
    """As a policy names a script or a style sheet: line ends as a parser of HTML has them."""
    text = re.sub(r"\r\n?", "\n", text)
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
