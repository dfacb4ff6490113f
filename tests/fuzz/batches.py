"""Cases in processes of their own: a crash ends a process, and is told with the case that it came
in.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
from scipy import sparse

from nestmap import HNNE
from tools.flat import flat

from .cases import Case, make_case

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Violation:
    """What went wrong in which case."""

    case: int
    kind: str
    details: str = ""

    def __str__(self) -> str:
        return f"case {self.case}: {self.kind}" + (
            f": {self.details.splitlines()[0]}" if self.details else ""
        )


# --- in a process that has everything loaded, and forks
# ----------------------------------------------


Run = Callable[[Case], list[tuple[str, str]]]


def prepared(everything: bool = False) -> Run:
    """`run_case`, with imports done, and with cores counted once instead of several times per fit."""
    import scipy.linalg  # noqa: F401  # loads its own BLAS
    import sklearn.metrics  # noqa: F401

    from nestmap.core import threads as _parallel

    from .checks import run_case

    _parallel.cpu_count = lambda: 2  # type: ignore[attr-defined]
    return partial(run_case, everything=everything)


@dataclass
class Told:
    """What a fork told about its cases before it ended."""

    last: int  # the case that it was at
    violations: list[Violation]
    end: str = ""  # empty if all went well
    noise: str = ""  # what else it wrote: the stack of a crash


def forked(run: Run, cases: Iterable[Case], seconds: float) -> Told:
    """Run cases in a fork of this process, which may crash, or take longer than this for a case."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of threads: BLAS has some, and knows about forks
        child = os.fork()
    if child == 0:
        os.close(read)
        _tell(run, cases, write)
    os.close(write)
    told, text = Told(-1, []), b""
    while ready := select.select([read], [], [], seconds)[0]:  # since the last news
        if not (piece := os.read(read, 65536)):
            break
        text += piece
    if not ready:
        os.kill(child, signal.SIGKILL)
        told.end = f"time: more than {seconds:g} s"
    os.close(read)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for line in text.decode(errors="replace").splitlines():
        if line.startswith("[") and line.endswith("]"):
            told.last, *found = json.loads(line)
            told.violations += [Violation(told.last, *found)] if found else []
        elif line.strip():
            told.noise += f"\n    {line.strip()}"
    if status and not told.end:
        told.end = "crash" if status < 0 else "harness: an error of its own"
    return told


def _tell(run: Run, cases: Iterable[Case], to: int) -> NoReturn:
    """The life of a fork: a line when a case begins, and one for each violation."""
    code = 1
    os.dup2(to, sys.stderr.fileno())
    faulthandler.enable()
    try:
        for case in cases:
            os.write(to, json.dumps([case.number]).encode() + b"\n")
            for kind, details in run(case):
                os.write(to, json.dumps([case.number, kind, details]).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def run_batch(run: Run, seed: int, first: int, stop: int, seconds: float) -> list[Violation]:
    """Violations of the cases first … stop - 1, whatever they do to their process."""
    found: list[Violation] = []
    while first < stop:
        told = forked(run, (make_case(seed, number) for number in range(first, stop)), seconds)
        if not told.end:
            return found + told.violations
        told.last = max(told.last, first)  # it may not even have begun
        found += [v for v in told.violations if v.case < told.last]
        found += _blame(run, seed, first, told, seconds)
        first = told.last + 1
    return found


def _blame(run: Run, seed: int, first: int, told: Told, seconds: float) -> list[Violation]:
    """Which case made a fork end: memory may have been spoilt before, so each runs by itself."""
    for number in range(told.last, first - 1, -1):
        alone = forked(run, [make_case(seed, number)], seconds)
        if alone.end:
            return [*alone.violations, Violation(number, alone.end, _place(alone.noise))]
    where = f"{_place(told.noise)}, not by itself, but after cases {first} to {told.last - 1}"
    return [Violation(told.last, told.end, where)]


def _place(noise: str) -> str:
    """The innermost line of the library in the stack of a crash, and the stack."""
    own = [line for line in noise.splitlines() if f"src{os.sep}nestmap" in line]
    return f"{own[0].strip() if own else ''}{noise}"


def work(
    seed: int, first: int, stop: int, size: int, part: int, parts: int, seconds: float
) -> None:
    """Every parts-th batch of cases; violations become lines of JSON."""
    run = prepared()
    for start in range(first + part * size, stop, parts * size):
        for violation in run_batch(run, seed, start, min(stop, start + size), seconds):
            print(json.dumps([violation.case, violation.kind, violation.details]), flush=True)


# --- in the process that counts
# --------------------------------------------------------------------


def start_work(*arguments: float) -> Iterator[Violation]:
    """`work` in a process of its own."""
    command = [sys.executable, "-m", "tests.fuzz", "--work", *map(str, arguments)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Violation(*json.loads(line))
    if process.returncode:
        yield Violation(-1, f"harness: exit code {process.returncode}, see above")


# --- smaller cases


def shrink(case: Case, kind: str) -> Case:
    """Fewer rows and columns that still have a violation of this kind."""
    run = prepared(everything=True)

    def still(smaller: Case) -> bool:
        told = forked(run, [smaller], 600)
        return kind in (told.end, *(v.kind for v in told.violations))

    for name in [*case.parameters]:
        plain = {
            "layout": "descent",
            "arrangement": "auto",
            "preliminary": "pca_centroids",
            "neighbors": "auto",
            "new_points": "centroid",
            "inflate": False,
            "n_jobs": 1,
        }
        if name in plain and case.parameters[name] != plain[name]:
            simpler = replace(case, parameters={**case.parameters, name: plain[name]})
            case = simpler if still(simpler) else case
    for axis in (0, 1, 0):
        size = case.X.shape[axis] // 2
        while size:
            smaller = next((c for c in _without(case, axis, size) if still(c)), None)
            case, size = (smaller, size) if smaller else (case, size // 2)
    return case


def _without(case: Case, axis: int, size: int) -> Iterator[Case]:
    for start in range(0, case.X.shape[axis] - size + 1, size):
        keep = [i for i in range(case.X.shape[axis]) if not start <= i < start + size]
        if keep:
            yield replace(case, X=case.X[keep] if axis == 0 else case.X[:, keep])


def as_code(case: Case) -> str:
    """Lines of Python that make the model of a case."""
    plain = HNNE().get_params() | {"n_jobs": 1}
    own = flat(**case.parameters)
    text = ", ".join(f"{k}={v!r}" for k, v in own.items() if not np.array_equal(v, plain[k]))
    X = case.X.toarray() if sparse.issparse(case.X) else case.X
    made = f"np.array({X.tolist()}, dtype={str(X.dtype)!r})"
    return f"X = {f'csr_matrix({made})' if sparse.issparse(case.X) else made}\nmodel = HNNE({text}).fit(X)"
