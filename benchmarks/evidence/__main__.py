"""All figures of README.md and docs/evidence, by one command.

    make evidence                              comparison and clusters, then the pages: 45 minutes
    make evidence ARGS="--parts comparison"    one of them
    make evidence ARGS="--parts tables"        mixed tables with gaps: 15 minutes
    make evidence ARGS=--large                 also millions of rows, living maps and dask: hours
    make pages                                 the pages again, from the files of results

NESTMAP_DATA names a directory of data (usps.npz, fashion_mnist.npz, mnist.npz, … with X and y);
pendigits, texture and others come with packages. What is not at hand is named and left out. Peers
run in environments of their own under .venv-bench, which are made first.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.evidence import records
from benchmarks.evidence.pages import write_pages
from benchmarks.methods import METHODS

QUICK = ("comparison", "clusters")


def say(text: str) -> None:
    print(text, flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.evidence",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--parts", nargs="+", choices=records.NAMES, help="default: the quick two")
    parser.add_argument("--large", action="store_true", help="all parts: hours")
    parser.add_argument("--pages", action="store_true", help="only write the pages")
    parser.add_argument("--data", nargs="+", help="names of data sets, of comparison and clusters")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), help="of the comparison")
    parser.add_argument(
        "--resume", action="store_true", help="keep results of nestmap that are at hand, too"
    )
    parser.add_argument("--dry", action="store_true", help="print results, and write no page")
    return parser.parse_args()


def main() -> None:
    args = parse()
    parts = args.parts or (records.NAMES if args.large else QUICK)
    if not args.pages:
        from benchmarks.evidence.measure import MEASURED

        for part in parts:
            command = f'make evidence ARGS="--parts {part}"'
            start = time.monotonic()
            found = MEASURED[part](args, say)
            if args.dry:
                say(str(records.rounded(found)))
            else:
                say(f"wrote {records.write(part, command, found)}")
            say(f"{part}: {time.monotonic() - start:.0f} s")
    if not args.dry:
        for page in write_pages():
            say(f"wrote {page}")


if __name__ == "__main__":
    main()
