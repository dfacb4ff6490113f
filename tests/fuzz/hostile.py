"""Hostile files one after the other, in processes that may crash."""

from __future__ import annotations

import argparse
import linecache
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from nestmap import ModelFileError
from nestmap.errors import FileFormatError, MemoryBudgetError

from .batches import Violation, forked

_DOCUMENTED = (ValueError, ModelFileError, FileFormatError, MemoryBudgetError)


@dataclass(frozen=True)
class HostileCase:
    """A file with something wrong in it: of what it was made, what was done to it, and its bytes."""

    number: int
    source: str
    told: str
    data: bytes

    def __str__(self) -> str:
        return f"case {self.number}: {self.source}: {self.told}"


MakeCase = Callable[[int, int], HostileCase]
RunCase = Callable[[HostileCase], list[tuple[str, str]]]


def complaint(error: BaseException) -> str:
    """What is wrong with an error, and where it came from; empty if the library has raised it on
    purpose.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    on_purpose = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise")
    if type(error) in _DOCUMENTED and on_purpose and len(str(error).split()) > 3:
        return ""
    ours = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "nestmap" in frame.filename
    ]
    frame = ours[-1] if ours else last
    return f"{type(error).__name__} in {frame.filename.rpartition('/')[2]}:{frame.name}"


def run_all(
    make: MakeCase, run: RunCase, seed: int, first: int, stop: int, seconds: float = 60
) -> list[Violation]:
    """Violations of the cases first … stop - 1; a crash, or a case that takes too long, is one."""
    found: list[Violation] = []
    make(seed, first)  # what cases are made of is made once, before processes part
    while first < stop:
        told = forked(run, (make(seed, number) for number in range(first, stop)), seconds)  # type: ignore[arg-type]
        found += told.violations
        if not told.end:
            break
        last = max(told.last, first)
        found.append(Violation(last, told.end, f"{make(seed, last)}{told.noise}"))
        first = last + 1
    return found


def run_cases(about: str, make: MakeCase, run: RunCase) -> int:
    """The command line of a fuzzer."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=300, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="run this one only, in this process")
    asked = parser.parse_args()
    if asked.case is not None:
        case = make(asked.seed, asked.case)
        print(case)
        found = run(case)
        for kind, details in found:
            print(f"- {kind}\n    {details}")
        return 1 if found else 0
    start = time.monotonic()
    violations = run_all(make, run, asked.seed, asked.first, asked.first + asked.cases)
    for violation in violations:
        print(violation)
    for kind, count in sorted(Counter(v.kind for v in violations).items()):
        print(f"{count:5} x {kind}")
    print(
        f"seed {asked.seed}: {asked.cases} cases in {time.monotonic() - start:.0f} s, "
        f"{len(violations)} violations"
    )
    return 1 if violations else 0
