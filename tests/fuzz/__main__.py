"""`python -m tests.fuzz --cases 20000`: random cases, violations with their numbers, and how many
there were.

A case is named by its number (and the seed, 0 if not given): `python -m tests.fuzz --case 123
--shrink`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from .batches import Violation, as_code, forked, prepared, shrink, start_work, work
from .cases import make_case


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--batch", type=int, default=250, help="cases per process")
    parser.add_argument("--seconds", type=float, default=60, help="most time for a case")
    parser.add_argument("--case", type=int, help="run this one only, and tell everything about it")
    parser.add_argument("--shrink", action="store_true", help="with --case: look for a smaller one")
    parser.add_argument("--work", nargs=7, help=argparse.SUPPRESS)
    return parser.parse_args()


def tell_one(seed: int, number: int, smaller: bool) -> int:
    """Details of one case."""
    case = make_case(seed, number)
    print(case)
    told = forked(prepared(everything=True), [case], 600)
    findings = [*told.violations, *([Violation(number, told.end)] if told.end else [])]
    for violation in findings:
        print(f"- {violation.kind}" + (f"\n    {violation.details}" if violation.details else ""))
        if smaller:
            small = shrink(case, violation.kind)
            print(f"{small}\n{as_code(small)}")
    print(f"1 case, {len(findings)} violations")
    return 1 if findings else 0


def main() -> int:
    asked = options()
    if asked.work:
        work(*map(int, asked.work[:-1]), float(asked.work[-1]))
        return 0
    if asked.case is not None:
        return tell_one(asked.seed, asked.case, asked.shrink)
    stop, start = asked.first + asked.cases, time.monotonic()
    violations: list[Violation] = []

    def watch(part: int) -> None:
        for found in start_work(
            asked.seed, asked.first, stop, asked.batch, part, asked.jobs, asked.seconds
        ):
            print(found, flush=True)
            violations.append(found)

    with ThreadPoolExecutor(asked.jobs) as pool:
        [*pool.map(watch, range(asked.jobs))]
    print()
    for kind, count in sorted(Counter(v.kind for v in violations).items()):
        numbers = sorted(v.case for v in violations if v.kind == kind)[:5]
        print(
            f"{count:5} x {kind} (cases {', '.join(map(str, numbers))}{', …' if count > 5 else ''})"
        )
    rate = asked.cases / (time.monotonic() - start)
    print(f"seed {asked.seed}, {rate:.0f} cases per second")
    print(f"{asked.cases} cases, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
