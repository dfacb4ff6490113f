"""Millions of rows on a laptop.

    python -m benchmarks.large generate higgs deformed patches patches4m
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.large.generate import RECIPES, generate

FOLDER = Path(".bench/large")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.large", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("generate", help="write data sets")
    make.add_argument("names", nargs="+", choices=list(RECIPES), metavar="NAME", help=", ".join(RECIPES))
    make.add_argument("--rows", type=int, default=None, help="fewer than the data set has")
    make.add_argument("--folder", type=Path, default=FOLDER)
    return parser.parse_args()


def main() -> None:
    args = parse()
    for name in args.names:
        path, seconds = generate(name, args.folder, args.rows)
        print(f"{path}: {path.stat().st_size / 1e9:.2f} GB in {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
