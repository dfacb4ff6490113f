"""What a shared map says of itself: title, description, the picture that links to it show."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from ..plots.colors import get_theme
from ..plots.map import plot
from .content import clean
from .map_store import MapStore

PICTURE = "preview.png"
_INCHES = (12.0, 6.3)  # the shape in which links are shown: 1.91 to 1
_DPI = 100
_LONGEST = 1000  # characters of a description


@dataclass(frozen=True)
class Cover:
    """Title, description and picture of a static folder.

    Attributes
    ----------
    title, description : str
        As text; '' for a title: that of the store.
    url : str
        Where the folder will be: pages that show links ask for the whole address of a picture.
    picture : bytes, optional
        A PNG.
    """

    title: str = ""
    description: str = ""
    url: str = ""
    picture: bytes | None = None

    def tags(self, title: str) -> str:
        """Elements for the head of index.html."""
        shown = self.title or title
        told = {"og:type": "website", "og:title": shown, "og:description": self.description}
        if self.picture is not None:
            told["og:image"] = f"{self.url}{PICTURE}"
            told["og:image:width"] = str(round(_INCHES[0] * _DPI))
            told["og:image:height"] = str(round(_INCHES[1] * _DPI))
            told["og:image:alt"] = f"Map: {shown}"
        if self.url:
            told["og:url"] = self.url
        tags = [
            f'<meta property="{key}" content="{escape(value)}">'
            for key, value in told.items()
            if value
        ]
        if self.description:
            tags.insert(0, f'<meta name="description" content="{escape(self.description)}">')
        if self.picture is not None:
            tags.append('<meta name="twitter:card" content="summary_large_image">')
        return "\n".join(tags)


def check_cover(title: Any = "", description: Any = "", url: Any = "") -> Cover:
    """What was asked for, before any long work."""
    return Cover(clean(title), clean(description, _LONGEST), check_url(clean(url)))


def check_url(url: str) -> str:
    """An address with / at its end; raises for one that no other page could follow."""
    if not url:
        return ""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise ValueError(f"url: the whole address of the folder, such as https://…, got {url!r}")
    return url if url.endswith("/") else f"{url}/"


def draw_preview(model: Any, store: MapStore) -> bytes | None:
    """The map with names of clusters, as wide as links are shown; None without matplotlib."""
    if model.embedding_.shape[1] != 2:
        return None  # plots are of the plane
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    figure = Figure(figsize=_INCHES, dpi=_DPI)
    figure.set_facecolor(get_theme("light").background)
    plot(model, labels=_names(store), legend=False, ax=figure.add_axes((0, 0, 1, 1)))
    buffer = BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _names(store: MapStore) -> Any:
    """Names of the level of `labels_` by the hierarchy's numbers, as readers gave them."""
    level = store.meta["label_level"]
    if level not in store.meta["named_levels"]:
        return True
    names = zip(store.clusters(level).tolist(), store.names(level), strict=True)
    return {level: [name for _, name in sorted(names)]}
