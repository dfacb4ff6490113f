"""The paper's tables from the results at hand, each cell a figure or the reason why there is none."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import paper
from benchmarks.methods import METHODS
from benchmarks.plan import DIMENSIONS, DRAWS, HIGHER, PRELIMINARY, SEEDS, STABLE
from benchmarks.runner import Job

Cell = str | float | None


@dataclass(frozen=True)
class Table:
    """A table for both outputs; the best figure of a row may be set in bold."""

    title: str
    lead: str
    columns: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def to_markdown(self) -> str:
        lines = [
            f"### {self.title}",
            "",
            self.lead,
            "",
            _line(self.columns),
            _line(["---"] * len(self.columns)),
        ]
        lines += [_line(row) for row in self.rows]
        return "\n".join([*lines, "", *[f"{note}\n" for note in self.notes]])

    def to_html(self) -> str:
        head = "".join(f"<th>{_rich(c)}</th>" for c in self.columns)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{_rich(c)}</td>" for c in row) + "</tr>" for row in self.rows
        )
        notes = "".join(f"<p class='note'>{_rich(note)}</p>" for note in self.notes)
        return (
            f"<h3>{_rich(self.title)}</h3><p>{_rich(self.lead)}</p>"
            f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{notes}"
        )


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rich(text: str) -> str:
    """Markdown's **bold** and `code`, in HTML."""
    out = html.escape(text)
    for mark, tag in (("**", "b"), ("`", "code")):
        while out.count(mark) >= 2:
            out = out.replace(mark, f"<{tag}>", 1).replace(mark, f"</{tag}>", 1)
    return out


class Book:
    """Looks results up."""

    def __init__(
        self, rows: dict[str, dict[str, Any]], data: list[str], methods: list[str]
    ) -> None:
        self.rows, self.data, self.methods = rows, data, methods

    def run(self, job: Job) -> dict[str, Any] | None:
        return self.rows.get(job.key)

    def score(self, job: Job) -> dict[str, Any]:
        return self.rows.get(f"score {job.key}", {})

    def original(self, data: str) -> dict[str, Any]:
        return self.rows.get(f"score original {data}", {})

    def labelled(self, data: str) -> bool:
        return bool(self.original(data).get("knn_accuracy"))

    def value(self, job: Job, read: Callable[[dict[str, Any]], Any]) -> Cell:
        """A figure of a job's score, or why there is none."""
        try:
            return float(read(self.score(job)))
        except (KeyError, TypeError):
            return self.reason(job)

    def reason(self, job: Job) -> str:
        row = self.run(job)
        if row is None:
            return "not run"
        if row["status"] != "ok":
            return f"{row['status']}: {row.get('why', '')}".rstrip(": ")
        return str(self.score(job).get("why", "–"))


def _format(
    values: list[Cell], digits: int = 4, best: Callable[[list[float]], float] | None = max
) -> list[str]:
    numbers = [round(v, digits) for v in values if isinstance(v, float)]
    top = best(numbers) if best and len(numbers) > 1 else None
    out = []
    for v in values:
        if isinstance(v, float):
            text = f"{v:.{digits}f}"
            out.append(f"**{text}**" if top is not None and round(v, digits) == top else text)
        else:
            out.append("–" if v is None else v)
    return out


def _labels(methods: list[str]) -> list[str]:
    return [METHODS[m].label for m in methods]


def score_table(
    book: Book,
    title: str,
    lead: str,
    read: Callable[[dict[str, Any]], Any],
    printed: dict[str, tuple[float | None, ...]] | None = None,
    digits: int = 4,
    only: Callable[[str], bool] = lambda data: True,
) -> Table:
    """One figure of the maps in 2-D: data sets by methods, the paper's row under ours."""
    rows = []
    for data in filter(only, book.data):
        values = [book.value(Job(data, m), read) for m in book.methods]
        rows.append([data, *_format(values, digits)])
        if theirs := paper.printed(printed or {}, data):
            theirs["hnne-v1"] = theirs.pop("nestmap")
            rows.append(
                [f"{data}, printed", *_format([theirs.get(m) for m in book.methods], 3, None)]
            )
    return Table(title, lead, ["data", *_labels(book.methods)], rows)


def trustworthiness(book: Book) -> Table:
    errors = [
        book.value(Job(d, m), lambda s: s["trustworthiness"]["standard_error"])
        for d in book.data
        for m in book.methods
    ]
    worst = max((e for e in errors if isinstance(e, float)), default=0.0)
    return score_table(
        book,
        "Trustworthiness (paper, Table 2)",
        "k = 5; every row up to 20,000 rows, else 10,000 against all of them (standard error at "
        f"most {worst:.4f}).",
        lambda s: s["trustworthiness"]["value"],
        paper.TRUSTWORTHINESS,
    )


def more_local(book: Book) -> list[Table]:
    return [
        score_table(
            book,
            "10-NN recall",
            "Share of the ten nearest neighbours in the data that are among those in the map.",
            lambda s: s["neighborhood_recall"]["value"],
        ),
        score_table(
            book,
            "Continuity",
            "k = 5: the mirror image of trustworthiness.",
            lambda s: s["continuity"]["value"],
        ),
        score_table(
            book,
            "Random triplets",
            "Distances between any rows that keep their order; chance is 0.5.",
            lambda s: s["random_triplets"]["value"],
        ),
        score_table(
            book,
            "Fill",
            "`map_fill`: share of a 64 × 64 raster in use, relative to uniform points.",
            lambda s: s["fill"],
            digits=2,
        ),
    ]


def accuracy(book: Book) -> Table:
    table = score_table(
        book,
        "1-NN accuracy",
        "Stratified 10-fold cross-validation.",
        lambda s: _k(s["knn_accuracy"], 1),
        only=book.labelled,
    )
    known = {d: book.original(d)["knn_accuracy"] for d in filter(book.labelled, book.data)}
    text = ", ".join(f"{d} {_k(v, 1):.4f}" for d, v in known.items())
    return Table(
        table.title, table.lead, table.columns, table.rows, [f"In the original space: {text}."]
    )


def _k(accuracies: dict[Any, float], k: int) -> float:
    """JSON turns the numbers of neighbours into strings."""
    return accuracies[str(k)] if str(k) in accuracies else accuracies[k]


def triplets(book: Book) -> Table:
    return score_table(
        book,
        "Centroid triplet accuracy (paper, Table 3)",
        "All triplets of class centroids; chance is 0.5.",
        lambda s: s["centroid_triplets"]["value"],
        paper.TRIPLETS,
        only=book.labelled,
    )


def run_time(book: Book) -> Table:
    """Table 4: from the start of the process to the map; then the second fit; then memory."""
    rows = []
    for data in book.data:
        found = [(book.run(Job(data, m)), book.reason(Job(data, m))) for m in book.methods]

        def each(
            read: Callable[[dict[str, Any]], float],
            found: list[tuple[dict[str, Any] | None, str]] = found,
        ) -> list[Cell]:
            out: list[Cell] = []
            for row, reason in found:
                try:
                    out.append(float(read(row)) if row and row["status"] == "ok" else reason)
                except KeyError:
                    out.append("as first" if row and "second fit" in row.get("why", "") else "–")
            return out

        rows.append([data, "import", *_format(each(lambda r: r["import"]), 2, None)])
        rows.append(["", "first fit", *_format(each(lambda r: r["first_fit"]), 2, None)])
        rows.append(
            ["", "**start to map**", *_format(each(lambda r: r["import"] + r["first_fit"]), 2, min)]
        )
        rows.append(["", "second fit", *_format(each(lambda r: r["second_fit"]), 2, min)])
        rows.append(["", "CPU s, first fit", *_format(each(lambda r: r["first_fit_cpu"]), 1, min)])
        rows.append(["", "peak memory, MB", *_format(each(lambda r: r["megabytes"]), 0, min)])
        if theirs := paper.printed(paper.RUN_TIME, data):
            theirs["hnne-v1"] = theirs.pop("nestmap")
            values: list[Cell] = [
                None if theirs.get(m) is None else float(theirs[m] or 0) for m in book.methods
            ]
            rows.append(["", "printed, 32 cores", *_format(values, 0, None)])
    return Table(
        "Run time and memory (paper, Table 4)",
        "Seconds of wall clock on this machine, each method in its own fresh process and "
        "environment, package files "
        "in the page cache. The first fit includes whatever is compiled just in time.",
        ["data", "", *_labels(book.methods)],
        rows,
        [f"Printed figures: {paper.MACHINE}. Long first fits are not repeated ('as first')."],
    )


def new_points(book: Book) -> Table:
    methods = [m for m in book.methods if METHODS[m].transforms]
    rows = []
    for data in filter(book.labelled, book.data):
        for m in methods:
            job = Job(data, m, task="new")
            run = book.run(job) or {}
            values = [
                book.value(job, lambda s: s["accuracy"]),
                book.value(job, lambda s: s["trustworthiness"]["value"]),
                book.value(job, lambda s: s["centroid_triplets"]),
            ]
            cells = _format(values, 4, None)
            times = [
                f"{run[k]:.2f} s" if k in run else "–" for k in ("transform", "transform_again")
            ]
            one = f"{1000 * run['transform_one']:.1f} ms" if "transform_one" in run else "–"
            rows.append([data, METHODS[m].label, *cells, *times, one])
    for name, (acc, trust, cta, seconds) in paper.NEW_POINTS.items():
        rows.append(
            [
                "imagenet, printed",
                name,
                f"{acc:.3f}",
                f"{trust:.3f}",
                f"{cta:.3f}",
                f"{seconds} s",
                "–",
                "–",
            ]
        )
    return Table(
        "New points (supplement, Table 1)",
        "Fitted on the training rows; the test rows are placed afterwards. Accuracy against the "
        "training rows, "
        "trustworthiness and triplets among the new rows.",
        ["data", "method", "1-NN acc.", "trustworthiness", "triplets", "time", "again", "one row"],
        rows,
    )


def preliminary(book: Book) -> Table:
    rows = []
    for data in filter(book.labelled, book.data):
        for kind in PRELIMINARY:
            seeds = SEEDS if kind.startswith("random") else (0,)
            jobs = [
                Job(
                    data,
                    "nestmap",
                    options={
                        "layout": "descent",
                        "arrangement": "global",
                        "preliminary": kind,
                        "random_state": s,
                    },
                )
                for s in seeds
            ]
            cells = []
            for read in (
                lambda s: _k(s["knn_accuracy"], 1),
                lambda s: s["trustworthiness"]["value"],
                lambda s: s["centroid_triplets"]["value"],
            ):
                values = [book.value(job, read) for job in jobs]
                good = [v for v in values if isinstance(v, float)]
                cells.append(float(np.mean(good)) if good else values[0])
            printed = paper.PRELIMINARY.get(data, {}).get(kind)
            theirs = " / ".join(f"{v:.3f}" for v in printed) if printed else "–"
            rows.append([data, kind, *_format(cells, 4, None), theirs])
    return Table(
        "Preliminary embeddings (supplement, Table 2)",
        "nestmap with the paper's global arrangement; random starts are means of five seeds. "
        "Trustworthiness of 3,000 rows against all.",
        [
            "data",
            "preliminary",
            "1-NN acc.",
            "trustworthiness",
            "triplets",
            "printed (acc. / trust. / triplets)",
        ],
        rows,
    )


INSIDE: dict[str, dict[str, Any]] = {
    "local": {"layout": "descent"},
    "global, inflated (paper)": {"layout": "descent", "arrangement": "global", "inflate": True},
    "global, not inflated": {"layout": "descent", "arrangement": "global", "inflate": False},
}


def inflation(book: Book) -> Table:
    rows = []
    for data in filter(book.labelled, book.data):
        for label, options in INSIDE.items():
            job = Job(data, "nestmap", options=options)
            cells = [
                book.value(job, lambda s: s["trustworthiness"]["value"]),
                book.value(job, lambda s: s["neighborhood_recall"]["value"]),
                book.value(job, lambda s: _k(s["knn_accuracy"], 1)),
                book.value(job, lambda s: s["centroid_triplets"]["value"]),
                book.value(job, lambda s: s["fill"]),
            ]
            rows.append([data, label, *_format(cells, 4, None)])
    return Table(
        "Arrangement, and inflation on and off",
        "nestmap's local arrangement beside the paper's global one, in the descent, with and "
        "without inflation.",
        ["data", "arrangement", "trustworthiness", "10-NN recall", "1-NN acc.", "triplets", "fill"],
        rows,
    )


def nmi(book: Book) -> Table:
    rows = []
    for data in filter(book.labelled, book.data):
        original = book.original(data)
        values = [book.value(Job(data, m), lambda s: 100 * s["nmi"]) for m in book.methods]
        rows.append([data, f"{100 * original['nmi']:.1f}", *_format(values, 1)])
    return Table(
        "NMI of k-means (supplement, Table 3)",
        "k-means with as many clusters as classes, before and after the projection; in percent. "
        "The paper prints "
        "figures for BBT, Buffy, ImageNet and MNIST-8M only, which are not at hand here.",
        ["data", "original", *_labels(book.methods)],
        rows,
    )


def dimensions(book: Book) -> Table:
    rows = []
    for data in filter(book.labelled, book.data):
        for m in (m for m in HIGHER if m in book.methods):
            values = [
                book.value(Job(data, m, n_components=d), lambda s: _k(s["knn_accuracy"], 1))
                for d in DIMENSIONS
            ]
            cells = ["more than its columns" if v == "not run" else v for v in values]
            rows.append([data, METHODS[m].label, *_format(cells, 4, None)])
    return Table(
        "Target dimensions (paper, figure)",
        "1-NN accuracy for maps in 2 to 64 dimensions.",
        ["data", "method", *[f"{d}-D" for d in DIMENSIONS]],
        rows,
    )


def stability(book: Book) -> Table:
    rows = []
    for data in book.data:
        for m in (m for m in STABLE if m in book.methods):
            jobs = [
                job for i in DRAWS if book.run(job := Job(data, m, task="part", draw=i)) is not None
            ]
            if jobs:
                moved = [book.value(job, lambda s: s["median_moved"]) for job in jobs]
                known = [value for value in moved if isinstance(value, float)]
                values: list[Cell] = (
                    [sum(known) / len(known), max(known)] if known else [moved[0], None]
                )
                rows.append([data, METHODS[m].label, *_format(values, 3, None), str(len(known))])
    return Table(
        "Stability",
        "1% of the rows left out: how far do the others move? The median distance, after "
        "Procrustes, in units of the "
        "map's spread: mean and highest of some draws. Data sets of up to 20,000 rows.",
        ["data", "method", "median moved", "highest", "draws"],
        rows,
    )


def versus_hnne(book: Book) -> Table:
    """Ratios of nestmap to the authors' v1, from the same run."""
    rows = []
    for data in book.data:
        ours, theirs = book.run(Job(data, "nestmap")) or {}, book.run(Job(data, "hnne-v1")) or {}
        try:
            values = [
                (ours["import"] + ours["first_fit"]) / (theirs["import"] + theirs["first_fit"]),
                ours["second_fit"] / theirs["second_fit"],
                ours["megabytes"] / theirs["megabytes"],
            ]
        except KeyError:
            continue
        rows.append([data, *[f"{v:.2f}" for v in values]])
    return Table(
        "nestmap as a share of the authors' hnne v1",
        "Below 1: nestmap is faster or smaller.",
        ["data", "start to map", "second fit", "peak memory"],
        rows,
    )


def losses(book: Book) -> Table:
    """Every row of the main measures where another method is ahead of nestmap."""
    measures: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
        ("trustworthiness", lambda s: s["trustworthiness"]["value"]),
        ("10-NN recall", lambda s: s["neighborhood_recall"]["value"]),
        ("1-NN accuracy", lambda s: _k(s["knn_accuracy"], 1)),
        ("centroid triplets", lambda s: s["centroid_triplets"]["value"]),
        ("fill", lambda s: s["fill"]),
    ]
    rows = []
    for name, read in measures:
        for data in book.data:
            found = {m: book.value(Job(data, m), read) for m in book.methods}
            ours = found.pop("nestmap", None)
            better = {
                m: v
                for m, v in found.items()
                if isinstance(v, float) and isinstance(ours, float) and v > ours
            }
            if better:
                ahead = ", ".join(
                    f"{METHODS[m].label} {v:.4f}"
                    for m, v in sorted(better.items(), key=lambda i: -i[1])
                )
                rows.append([name, data, f"{ours:.4f}", ahead])
    return Table(
        "Where nestmap loses",
        "Rows of the main measures in which some method is ahead, best first.",
        ["measure", "data", "nestmap", "ahead of it"],
        rows,
    )


def all_tables(book: Book) -> dict[str, list[Table]]:
    """Sections of the report, in order."""
    return {
        "Speed": [run_time(book), versus_hnne(book)],
        "Local structure": [trustworthiness(book), accuracy(book), *more_local(book)],
        "Global structure": [triplets(book), nmi(book)],
        "Where nestmap loses": [losses(book)],
        "New points": [new_points(book)],
        "Stability": [stability(book)],
        "Choices inside h-NNE": [preliminary(book), inflation(book)],
        "More dimensions": [dimensions(book)],
    }
