"""The paper's figures from the maps at hand, as images that a page can carry inside itself."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.methods import METHODS
from benchmarks.plan import DIMENSIONS, HIGHER
from benchmarks.runner import Job
from benchmarks.tables import Book, _k

COLOURS = {
    "nestmap": "#c1121f",
    "nestmap-leaves": "#e85d75",
    "nestmap-descent": "#9d0208",
    "nestmap-mosaic": "#ff4d9d",
    "hnne-v1": "#f4845f",
    "hnne-v2": "#f7b267",
    "t-sne": "#1d4e89",
    "fit-sne": "#00a6fb",
    "umap": "#2b9348",
    "pacmap": "#80b918",
    "trimap": "#7b2cbf",
    "pca": "#6c757d",
    "original": "#000000",
}


@dataclass(frozen=True)
class Figure:
    """A picture with its caption."""

    name: str
    caption: str
    data: bytes
    kind: str = "png"

    def to_html(self) -> str:
        mime = "image/svg+xml" if self.kind == "svg" else "image/png"
        code = base64.b64encode(self.data).decode()
        image = f'<img alt="{self.caption}" src="data:{mime};base64,{code}">'
        return f"<figure>{image}<figcaption>{self.caption}</figcaption></figure>"


class Maps:
    """Reads the maps that jobs left, and what their points are coloured by."""

    def __init__(self, book: Book, work: Path, data: dict[str, Any]) -> None:
        self.book, self.work, self.data = book, work, data

    def read(self, job: Job) -> Any:
        row = self.book.run(job)
        path = self.work / "jobs" / job.folder_name / "map.npy"
        return np.load(path) if row and row["status"] == "ok" and path.exists() else None

    def colours(self, name: str, zoom: dict[str, Any] | None = None) -> Any:
        y = self.data[name].y
        if y is None and zoom is not None:
            y = zoom["top"]
        return None if y is None else np.unique(y, return_inverse=True)[1]


def _finish(figure: Any, name: str, caption: str, kind: str = "png", dpi: int = 110) -> Figure:
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=dpi, bbox_inches="tight")
    plt.close(figure)
    return Figure(name, caption, buffer.getvalue() if kind == "svg" else with_palette(buffer), kind)


def with_palette(picture: io.BytesIO) -> bytes:
    """A PNG with 96 colours, a quarter of the bytes: maps have a colour per class and its shades at
    edges.
    """
    from PIL import Image

    buffer = io.BytesIO()
    few = Image.open(picture).convert("RGB").quantize(96, dither=Image.Dither.NONE)
    few.save(buffer, format="png", optimize=True)
    return buffer.getvalue()


def draw_map(axes: Any, Y: Any, colours: Any, limit: int = 70_000) -> None:
    """Points of a map, a sample of them beyond the limit, without axes."""
    rows = np.random.RandomState(0).permutation(len(Y))[:limit]
    size = float(np.clip(4000 / len(rows), 0.12, 3))
    low, high = np.percentile(Y, [0.2, 99.8], axis=0)
    margin = 0.04 * (high - low) + 1e-12
    shade = (
        {"c": "#444444"}
        if colours is None
        else {"c": colours[rows] % 20, "cmap": "tab20", "vmin": 0, "vmax": 19}
    )
    if colours is not None and colours.max() < 10:
        shade |= {"cmap": "tab10", "vmax": 9}
    axes.scatter(Y[rows, 0], Y[rows, 1], s=size, lw=0, rasterized=True, **shade)
    axes.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axes.set_ylim(low[1] - margin[1], high[1] + margin[1])
    axes.set_xticks([])
    axes.set_yticks([])


def grid(maps: Maps, zooms: dict[str, Any]) -> Figure:
    """All methods on all data sets (supplement, visual comparison)."""
    import matplotlib.pyplot as plt

    book = maps.book
    figure, axes = plt.subplots(
        len(book.data),
        len(book.methods),
        figsize=(1.75 * len(book.methods), 1.75 * len(book.data)),
        squeeze=False,
    )
    for r, data in enumerate(book.data):
        colours = maps.colours(data, zooms.get(data))
        for c, method in enumerate(book.methods):
            ax = axes[r, c]
            Y = maps.read(Job(data, method))
            if Y is None or not np.isfinite(Y).all():
                ax.text(
                    0.5,
                    0.5,
                    book.reason(Job(data, method)),
                    ha="center",
                    va="center",
                    fontsize=6,
                    wrap=True,
                )
                ax.set_xticks([])
                ax.set_yticks([])
            else:
                draw_map(ax, Y, colours)
            if r == 0:
                ax.set_title(METHODS[method].label, fontsize=9)
            if c == 0:
                ax.set_ylabel(data, fontsize=9)
    figure.tight_layout(pad=0.3)
    caption = (
        "Every method on every data set, coloured by class (word vectors: by nestmap's top level)."
    )
    return _finish(figure, "grid", caption, dpi=120)


def variants(
    maps: Maps, zooms: dict[str, Any], data: str, jobs: dict[str, Job], name: str, caption: str
) -> Figure:
    """A row of maps of one data set."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(jobs), figsize=(3.4 * len(jobs), 3.4), squeeze=False)
    for ax, (label, job) in zip(axes[0], jobs.items(), strict=True):
        Y = maps.read(job)
        if Y is not None:
            draw_map(ax, Y, maps.colours(data, zooms.get(data)))
        ax.set_title(label, fontsize=10)
    figure.tight_layout(pad=0.4)
    return _finish(figure, name, caption)


def _curves(
    data: list[str],
    draw: Callable[[Any, str], None],
    x_label: str,
    name: str,
    caption: str,
    ticks: Any,
) -> Figure:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(data), figsize=(3.3 * len(data), 2.9), squeeze=False)
    for ax, which in zip(axes[0], data, strict=True):
        draw(ax, which)
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks, [str(t) for t in ticks], fontsize=7)
        ax.minorticks_off()
        ax.tick_params(labelsize=7)
        ax.set_title(which, fontsize=9)
        ax.set_xlabel(x_label, fontsize=8)
        ax.grid(alpha=0.25)
    axes[0, 0].set_ylabel("k-NN accuracy", fontsize=8)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=7, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return _finish(figure, name, caption, "svg")


def accuracy_over_k(book: Book) -> Figure:
    """Supplement: k-NN accuracy over k."""

    def draw(ax: Any, data: str) -> None:
        for m in [*book.methods, "original"]:
            score = book.original(data) if m == "original" else book.score(Job(data, m))
            if found := score.get("knn_accuracy"):
                ks = sorted(int(k) for k in found)
                label = "original space" if m == "original" else METHODS[m].label
                style = (
                    {"ls": ":", "lw": 1.2}
                    if m == "original"
                    else {"lw": 2.4 if m == "nestmap" else 1.2}
                )
                ax.plot(ks, [_k(found, k) for k in ks], color=COLOURS[m], label=label, **style)

    labelled = list(filter(book.labelled, book.data))
    caption = "k-NN accuracy over k (supplement). Dotted: in the original space."
    return _curves(labelled, draw, "k", "accuracy_over_k", caption, (1, 2, 5, 10, 20, 50, 100, 200))


def accuracy_over_dimensions(book: Book) -> Figure:
    """The paper's figure on target dimensions."""

    def draw(ax: Any, data: str) -> None:
        for m in (m for m in HIGHER if m in book.methods):
            found = {
                d: book.value(Job(data, m, n_components=d), lambda s: _k(s["knn_accuracy"], 1))
                for d in DIMENSIONS
            }
            found = {d: v for d, v in found.items() if isinstance(v, float)}
            width = 2.4 if m == "nestmap" else 1.2
            ax.plot(
                list(found),
                list(found.values()),
                "o-",
                ms=3,
                lw=width,
                color=COLOURS[m],
                label=METHODS[m].label,
            )

    labelled = list(filter(book.labelled, book.data))
    caption = "1-NN accuracy of maps in 2, 4, 8, 32 and 64 dimensions (paper, figure); t-SNE stops at three."
    return _curves(labelled, draw, "dimensions", "accuracy_over_dimensions", caption, DIMENSIONS)


def quality_over_time(book: Book) -> Figure:
    """What a second of waiting buys."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(book.data), figsize=(3.3 * len(book.data), 3.1), squeeze=False
    )
    for ax, data in zip(axes[0], book.data, strict=True):
        for m in book.methods:
            run = book.run(Job(data, m)) or {}
            trust = book.value(Job(data, m), lambda s: s["trustworthiness"]["value"])
            if run.get("status") == "ok" and isinstance(trust, float):
                ax.scatter(
                    run["import"] + run["first_fit"],
                    trust,
                    color=COLOURS[m],
                    s=38,
                    label=METHODS[m].label,
                )
        ax.set_xscale("log")
        ax.set_title(data, fontsize=9)
        ax.set_xlabel("seconds, process start to map", fontsize=8)
        ax.tick_params(labelsize=7)
        ax.grid(alpha=0.25)
    axes[0, 0].set_ylabel("trustworthiness", fontsize=8)
    handles = {
        label: h for ax in axes[0] for h, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles, loc="lower center", ncols=len(handles), fontsize=7, frameon=False
    )
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return _finish(
        figure,
        "quality_over_time",
        "Trustworthiness against time from process start to map.",
        "svg",
    )
