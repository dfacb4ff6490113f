"""How long a csv takes to read, beside pandas: python -m benchmarks.reading [ROWS]

A table of 42 columns (numbers, whole numbers, categories, dates, texts, codes; every fourth column
with 10% empty cells) is written to a temporary folder and read in turns, all in one process: by
pandas.read_csv, by nestmap through pyarrow, and by nestmap as it is without pyarrow.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from unittest.mock import patch

import numpy as np
import pandas as pd

from nestmap.app.readers import arrow_csv
from nestmap.readers import read_table

ROWS = 500_000
TURNS = 3
EMPTY = 0.1  # of the cells of every fourth column
WORDS = np.array(["alpha", "beta", "gamma", "delta", "epsilon,", '"zeta"'])


def make_columns(n: int) -> dict[str, list[str]]:
    """Cells of 42 columns by name."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[str]] = {}
    for i in range(24):
        columns[f"number{i}"] = [f"{v:.4f}" for v in rng.normal(size=n) * 10.0 ** (i % 5)]
    for i in range(4):
        columns[f"count{i}"] = rng.integers(0, 1000, n).astype(str).tolist()
    for i in range(8):
        columns[f"category{i}"] = [f"kind {k}" for k in rng.integers(0, 5 * (i + 1), n)]
    for i in range(3):
        days = np.datetime64("2001-01-01") + rng.integers(0, 9000, n)
        columns[f"date{i}"] = days.astype(str).tolist()
    columns["title"] = [" ".join(words) for words in WORDS[rng.integers(0, len(WORDS), (n, 4))]]
    columns["code"] = [f"R{i:07d}" for i in range(n)]
    columns["flag"] = np.array(["yes", "no"])[rng.integers(0, 2, n)].tolist()
    for cells in [*columns.values()][1::4]:
        for i in np.flatnonzero(rng.random(n) < EMPTY):
            cells[i] = ""
    return columns


def write_table(path: Path, n: int) -> None:
    """The table as a csv."""
    columns = make_columns(n)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def read_without_arrow(path: Path) -> None:
    """By Python's csv module."""
    with patch.object(arrow_csv, "_WORTH_BYTES", np.inf):
        read_table(path, missing="mean")


READERS: dict[str, Callable[[Path], object]] = {
    "pandas.read_csv": pd.read_csv,
    "nestmap, with pyarrow": lambda path: read_table(path, missing="mean"),
    "nestmap, without": read_without_arrow,
}


def measure(path: Path) -> dict[str, list[tuple[float, float]]]:
    """Seconds by the clock and of CPU, per reader and turn."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in READERS}
    for _ in range(TURNS):
        for name, read in READERS.items():
            clock, cpu = perf_counter(), process_time()
            read(path)
            found[name].append((perf_counter() - clock, process_time() - cpu))
    return found


def main(n: int) -> None:
    """Write the table, read it, print the medians."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_table(path, n)
        print(
            f"{n:,} rows, 42 columns, {path.stat().st_size / 1e6:.0f} MB; medians of {TURNS} turns\n"
        )
        print("| reader | seconds | CPU seconds |\n|---|---|---|")
        for name, turns in measure(path).items():
            clock, cpu = (median(each) for each in zip(*turns, strict=True))
            print(f"| {name} | {clock:.2f} | {cpu:.2f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else ROWS)
