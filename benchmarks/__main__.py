"""The comparison of the paper, on your machine and on your data.

    make bench                                   everything: run, score, report
    python -m benchmarks run --data digits       one data set
    python -m benchmarks run --data my.npz       your own: arrays X and, with classes, y
    python -m benchmarks report                  the page again from the results at hand

Results append to WORK/results.jsonl: a run that was stopped goes on where it was. Data are found by
`benchmarks.datasets` (set NESTMAP_DATA to a directory of files); missing ones are named and left out.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from benchmarks import datasets
from benchmarks.evaluate import evaluate_all
from benchmarks.methods import METHODS
from benchmarks.plan import make_plan
from benchmarks.runner import Limits, Results, prepare, run_all

DATA = ("digits", "pendigits", "usps", "fashion_mnist", "glove100_200k")
OFFICIAL_SPLIT = {
    "usps": 7291,
    "pendigits": 7494,
}  # training rows come first; others: as the data set says
TEST_SHARE = 0.15  # of rows held out as new ones, for data without an official split


def say(text: str) -> None:
    print(text, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("all", "run", "report"), default="all")
    parser.add_argument(
        "--data", nargs="+", default=list(DATA), help="names of benchmarks.datasets, or .npz files"
    )
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument(
        "--again", nargs="+", choices=list(METHODS), default=[], help="methods to run anew"
    )
    parser.add_argument("--only", default="", help="run jobs whose key contains this text")
    parser.add_argument("--work", type=Path, default=Path(".bench"), help="results and maps")
    parser.add_argument(
        "--out", type=Path, default=None, help="folder of the report; default: WORK/report"
    )
    parser.add_argument(
        "--download", action="store_true", help="fetch data sets that are not at hand"
    )
    parser.add_argument("--time-limit", type=float, default=900, help="seconds per job")
    parser.add_argument(
        "--memory-limit", type=float, default=_most_memory(), help="megabytes per job"
    )
    parser.add_argument(
        "--repeat-below",
        type=float,
        default=150,
        help="longest first fit that is repeated, seconds",
    )
    return parser.parse_args()


def _most_memory() -> float:
    """Three quarters of what the machine has."""
    return 0.75 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20


def find_data(names: list[str], download: bool) -> dict[str, Any]:
    """The data sets at hand, by name; says which are not."""
    found = {}
    for name in names:
        try:
            if name.endswith((".npz", ".npy")):
                dataset = datasets.load(Path(name).stem, path=name)
            else:
                dataset = datasets.load(name, download=download)
        except datasets.DatasetNotFound as error:
            say(f"left out: {error}")
            continue
        found[dataset.name] = dataset
    if not found:
        raise SystemExit(
            "no data set is at hand; set NESTMAP_DATA to a directory of .npz files, or use "
            "--download"
        )
    return found


def _n_train(dataset: Any) -> int:
    return (
        dataset.n_train
        or OFFICIAL_SPLIT.get(dataset.name)
        or int(len(dataset.X) * (1 - TEST_SHARE))
    )


def main() -> None:
    args = parse()
    data = find_data(args.data, args.download)
    results = Results(args.work / "results.jsonl")
    if args.command != "report":
        sources = {n: prepare(args.work, n, d.X, d.metric, _n_train(d)) for n, d in data.items()}
        labelled = {n for n, d in data.items() if d.y is not None}
        plan = make_plan({n: d.X.shape for n, d in data.items()}, labelled, tuple(args.methods))
        plan = [job for job in plan if args.only in job.key]
        limits = Limits(args.time_limit, args.memory_limit, args.repeat_below)
        run_all(plan, sources, results, args.work, limits, again=tuple(args.again), say=say)
    evaluate_all(results, args.work, data, say)
    from benchmarks.page import write_report
    from benchmarks.tables import Book

    write_report(
        Book(results.rows, list(data), list(args.methods)),
        args.work,
        data,
        args.out or args.work / "report",
        say,
    )


if __name__ == "__main__":
    main()
