"""docs/large.md: the bars beside what was measured. Every figure comes from the results, none from memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.large.curves import Rows, draw, points, seconds_at
from benchmarks.large.plan import CURVE_DATA, GROWTH_DATA, GROWTH_ROWS, growth_label

NOT_MEASURED = "not measured"
FIT_BARS = {  # seconds, GB, recall
    "higgs": (745.0, 6.0, 0.6),
    "deformed": (1312.0, 8.0, None),
}
MOST_GROWTH = 4.8  # times as long for four times the rows
PEER_SHARE = 0.5  # of hnne's time and memory
PEER_RECALL = 0.15  # more than hnne's

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
  the same rows and the same rule for every method. Its standard error is stated.
"""

DATA = """
## The data

They are made by `python -m benchmarks.large generate`, because the originals cannot be fetched everywhere. So these
are not the paper's Higgs and MNIST-8M, and times on those may differ.

- **higgs**, 11,000,000 × 28, float32: the columns of the Higgs set (momenta with heavy tails, pseudorapidities,
  uniform angles, tags of three values, seven masses computed from them), drawn from a mixture of Gaussians.
- **deformed**, 8,100,000 × 784, uint8: random affine and elastic deformations of the 70,000 images of
  Fashion-MNIST, as MNIST-8M was made of MNIST's. 500 images share a deformation.
- **patches**, 1,000,000 × 196, float32, and **patches4m**, 4,000,000: patches of 14 × 14 pixels of Fashion-MNIST,
  no place twice, flat ones left out.
- **fashion_mnist**, 70,000 × 784, and **glove100_200k**, 200,000 × 100 (cosine), as they are.
"""

VERSUS = """
## Beside the authors' package

patches, read into memory by both; from the start of the process to the map. Memory here is all that was resident
(VmHWM), the data included. hnne runs with its defaults; the neighbours checked are those that its clustering used.

"""

CURVES = """
## Recall against time

`first_neighbors` beside pynndescent, both warm, with two threads. The bar: faster at each recall that pynndescent
reaches. nestmap's time at that recall is interpolated between its own points (logarithm of the time); below its
lowest point, that point's time is taken.

"""


def write_report(rows: Rows, out: Path) -> Path:
    """Write OUT/large.md and its figure."""
    out.mkdir(parents=True, exist_ok=True)
    text = [INTRODUCTION, _machine(rows), _fits(rows), _stages(rows), _growth(rows), _versus(rows), _curves(rows)]
    if any(points(rows, data, "nestmap") or points(rows, data, "pynndescent") for data in CURVE_DATA):
        draw(rows, out / "images" / "large_curves.png")
        text.append("\n![Recall against time](images/large_curves.png)\n")
    path = out / "large.md"
    path.write_text("".join([*text, DATA]))
    return path


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = list(head)
    drawn = [head, ["---"] * len(head), *lines]
    return "".join("| " + " | ".join(line) + " |\n" for line in drawn)


def _machine(rows: Rows) -> str:
    ok = [row for row in rows.values() if row["status"] == "ok"]
    machines = sorted({row["machine"] for row in ok})
    versions = sorted({f"{row['method']} {row['version']}" for row in ok})
    dates = sorted({row["date"] for row in ok})
    if not ok:
        return "- Nothing has been measured yet.\n"
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"- Machine: {'; '.join(machines)}. {when}. {', '.join(versions)}.\n"


def _verdict(value: float | None, bar: float | None, *, at_least: bool = False, below: bool = False) -> str:
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


def _fits(rows: Rows) -> str:
    lines = []
    for data, (seconds, gigabytes, recall) in FIT_BARS.items():
        row = rows.get(f"fit {data} nestmap")
        bars = f"< {seconds:.0f} s, ≤ {gigabytes:.0f} GB" + (f", recall ≥ {recall}" if recall else "")
        if row is None or row["status"] != "ok":
            lines.append([data, bars, _why_not(row), *[""] * 5])
            continue
        own = _own_recall(row)
        lines.append([
            f"{data}, {row['n_rows']:,} × {row['n_columns']}", bars,
            f"{row['seconds']:.0f} s{_verdict(row['seconds'], seconds, below=True)}",
            f"{row['own_gigabytes']:.2f} GB{_verdict(row['own_gigabytes'], gigabytes)}",
            f"{row['resident_gigabytes']:.2f} GB",
            f"{_recall(row)}{_verdict(row.get('recall', own), recall, at_least=True)}",
            "" if own is None else f"{own:.3f}",
            f"{row['cpu_seconds']:.0f} s",
        ])  # fmt: skip
    head = ("data", "bar", "start to map", "memory", "all resident", "recall", "nestmap's own estimate", "CPU")
    return '\n## A map from a file\n\n`HNNE(n_jobs=2).fit(np.load(path, mmap_mode="r"))`.\n\n' + _table(head, lines)


def _stages(rows: Rows) -> str:
    """What the search of the rows spent its time on."""
    text = ""
    for data in FIT_BARS:
        row = rows.get(f"fit {data} nestmap", {"status": ""})
        reports = row.get("reports") or [{}]
        seconds = reports[0].get("seconds")
        if row["status"] != "ok":
            continue
        levels = " → ".join(f"{n:,}" for n in row["level_sizes"])
        method = reports[0].get("method", "?")
        asked = ", ".join(f"{k}={v!r}" for k, v in row["options"].items())
        text += f"\n{data}: {asked}; rows searched by “{method}”; levels of {levels} nodes."
        if isinstance(seconds, dict) and seconds:
            text += " Search: " + ", ".join(f"{k} {v:.0f} s" for k, v in seconds.items()) + "."
        text += "\n"
    return text


def _growth(rows: Rows) -> str:
    lines = []
    for data in GROWTH_DATA:
        found = [rows.get(f"fit {data} nestmap {growth_label(n)}") for n in GROWTH_ROWS]
        times = [row["seconds"] if row and row["status"] == "ok" else None for row in found]
        cells = [_why_not(row) if t is None else f"{t:.1f} s" for t, row in zip(times, found, strict=True)]
        ratio = times[-1] / times[0] if times[0] and times[-1] else None
        said = NOT_MEASURED if ratio is None else f"{ratio:.2f}{_verdict(ratio, MOST_GROWTH)}"
        memory = [f"{row['own_gigabytes']:.2f}" for row in found if row and row["status"] == "ok"]
        lines.append([data, *cells, said, " → ".join(memory)])
    head = ("data", *(growth_label(n) for n in GROWTH_ROWS), f"4M / 1M, bar ≤ {MOST_GROWTH}", "memory, GB")
    return "\n## Growth\n\nThe first rows of the same files, from the start of the process.\n\n" + _table(head, lines)


def _versus(rows: Rows) -> str:
    ours, theirs = rows.get("fit patches nestmap"), rows.get("fit patches hnne")
    lines = []
    for name, row in (("nestmap", ours), ("hnne v1", theirs)):
        if row is None or row["status"] != "ok":
            lines.append([name, _why_not(row), "", ""])
        else:
            lines.append([name, f"{row['seconds']:.1f} s", f"{row['resident_gigabytes']:.2f} GB", _recall(row)])
    if ours and theirs and ours["status"] == theirs["status"] == "ok":
        time, memory = (ours[k] / theirs[k] for k in ("seconds", "resident_gigabytes"))
        more = ours["recall"] - theirs["recall"] if "recall" in ours and "recall" in theirs else None
        shares = [f"{share:.2f}{_verdict(share, PEER_SHARE)}" for share in (time, memory)]
        said = NOT_MEASURED if more is None else f"{more:+.3f}{_verdict(more, PEER_RECALL, at_least=True)}"
        lines.append(["nestmap to hnne", *shares, said])
    lines.append(["bar", f"≤ {PEER_SHARE}", f"≤ {PEER_SHARE}", f"≥ +{PEER_RECALL}"])
    return VERSUS + _table(("", "start to map", "memory", "first-neighbour recall"), lines)


def _curves(rows: Rows) -> str:
    lines, beaten, compared = [], 0, 0
    for data in CURVE_DATA:
        curve = points(rows, data, "nestmap")
        for p in points(rows, data, "pynndescent"):
            ours = seconds_at(curve, p.recall)
            cells = [data, f"k={p.label}", f"{p.recall:.3f}", f"{p.seconds:.2f} s"]
            if not curve:
                lines.append([*cells, NOT_MEASURED, ""])
                continue
            compared += 1
            beaten += ours is not None and ours < p.seconds
            if ours is None:
                lines.append([*cells, "not reached **missed**", ""])
            else:
                said = f"{ours:.2f} s{_verdict(ours, p.seconds, below=True)}"
                lines.append([*cells, said, f"{p.seconds / ours:.1f}"])
    head = ("data", "pynndescent", "its recall", "its time", "nestmap at that recall", "times faster")
    summary = f"\nFaster at {beaten} of {compared}.\n" if compared else "\nThe two have not been compared yet.\n"
    return CURVES + (_table(head, lines) if lines else "") + summary + _our_points(rows)


def _our_points(rows: Rows) -> str:
    lines = []
    for data in CURVE_DATA:
        chosen = [r for r in rows.values() if (r["task"], r["data"], r["method"]) == ("neighbors", data, "nestmap")]
        for row in chosen:
            name = "exact" if row["label"] == "exact" else f"target {row['label']}"
            cells = [f"{row['seconds']:.2f} s", _recall(row)] if row["status"] == "ok" else [_why_not(row), ""]
            lines.append([data, name, *cells])
    return "\n" + _table(("data", "nestmap", "time", "recall"), lines) if lines else ""
