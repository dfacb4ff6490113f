"""Hashes of clusters, maps and new rows, compared between ways to run the same fit.

    python -m tools.same_bits write hashes.json           # of this machine, as it is
    python -m tools.same_bits check hashes.json           # of another one, against a file
    python -m tools.same_bits vary                        # of this machine, in other ways to run
    python -m tools.same_bits vary --stages --only digits # which step differs first

A case is a data set with a layout. The data are made of whole numbers and sums: no function of the
C library, which differs between machines, takes part.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import nestmap
from nestmap.errors import DominantColumnsWarning

from .golden import digest

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden_bits.json"
CORE_TYPES = ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
NEW_ROWS = 40
EXTRA_ROWS = 60


def groups(n: int, columns: int, n_groups: int, seed: int) -> np.ndarray:
    """Rows about some centres, spread as sums of four uniform numbers; float64."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(-6, 7, (n_groups, columns)).astype(np.float64)
    rows = centres[rng.integers(n_groups, size=n)]
    for _ in range(4):
        rows += rng.random((n, columns)) - 0.5
    return rows


@lru_cache
def data(name: str) -> np.ndarray:
    """The rows of a data set."""
    made: dict[str, Callable[[], np.ndarray]] = {
        "digits": lambda: load_digits().data,
        "cancer": lambda: load_breast_cancer().data,
        "groups": lambda: groups(5000, 20, 30, 1).astype(np.float32),  # an approximate graph
        "cosine": lambda: np.abs(groups(900, 50, 12, 2)).astype(np.float32),
        "wide": lambda: groups(700, 300, 9, 3),
    }
    return made[name]()


DATA = ("digits", "cancer", "groups", "cosine", "wide")
LAYOUTS: dict[str, Callable[[], Any]] = {
    "islands": lambda: "islands",
    "leaves": lambda: nestmap.Islands(detail="leaves"),
    "descent": lambda: "descent",
    "mosaic": lambda: "mosaic",
}
QUICK = ("digits islands", "cancer leaves", "cosine descent", "wide mosaic")


def take(name: str, layout: str, n_jobs: int) -> dict[str, str]:
    """The hashes of one case."""
    rows = data(name)
    metric = "cosine" if name == "cosine" else "euclidean"
    train = rows[EXTRA_ROWS:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DominantColumnsWarning)
        model = nestmap.HNNE(metric=metric, layout=LAYOUTS[layout](), n_jobs=n_jobs).fit(train)
    tree = model.hierarchy_
    levels = [np.asarray(tree.labels(k)) for k in range(tree.n_levels)]
    found = {
        "clusters": digest(np.asarray(model.labels_), *levels),
        "map": digest(np.asarray(model.embedding_)),
        "new": digest(np.asarray(model.transform(rows[:NEW_ROWS]))),
    }
    model.extend(rows[:EXTRA_ROWS])
    found["extended"] = digest(np.asarray(model.embedding_), np.asarray(model.labels_))
    return {f"{name} {layout}: {key}": value for key, value in found.items()}


def cases(only: list[str], quick: bool) -> Iterator[tuple[str, str]]:
    for name in DATA:
        for layout in LAYOUTS:
            full = f"{name} {layout}"
            if (full in QUICK or not quick) and (not only or any(part in full for part in only)):
                yield name, layout


# -- stages: functions whose results are hashed in the order of their calls -----------------------

STAGES = (
    "core.points.point_set:make_points",
    "core.points.reduce:fit_reducer",
    "core.points.point_set:power_of_two",
    "method.neighbors.cells:fine_partition",
    "method.neighbors.prepared:prepare_rows",
    "method.neighbors.graph:nearest_points",
    "method.neighbors.item_graph:fit_item_graph",
    "method.hierarchy.build:merge_items",
    "method.preliminary.eigen:leading_eigenvectors",
    "method.preliminary.pca:fit_pca",
    "method.preliminary.build:seen_by",
    "method.arrangement.local:make_local",
    "method.arrangement.local:turn_frames",
    "method.arrangement.local:nearest_orthogonal",
    "method.layout.balls:make_placement",
    "method.layout.regions:circles",
    "method.layout.islands.graph:weigh_neighbors",
    "method.layout.islands.graph:contract",
    "method.layout.islands.graph:smooth",
    "method.layout.islands.optimise:optimise",
    "method.layout.islands.forces:repulsion",
    "method.layout.islands.leaves:fit_rows",
    "core.native.kernels:project",
    "core.native.kernels:group_means",
    "core.native.kernels:alignments",
    "core.native.kernels:calibrate",
    "core.native.kernels:spread",
    "core.native.kernels:move",
    "core.native.kernels:divide_regions",
    "core.native.kernels:outside",
)
MOST_CALLS = 40  # of one stage that are told apart


def parts_of(value: Any, depth: int = 0) -> Iterator[Any]:
    """The arrays and plain numbers that a result holds."""
    if isinstance(value, np.ndarray | float | int | np.number):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from parts_of(each, depth)
    elif hasattr(value, "indptr"):
        yield from (value.indptr, value.indices, value.data)
    elif hasattr(value, "__dataclass_fields__") and depth < 3:
        for key in value.__dataclass_fields__:
            if key not in ("seconds", "report", "index", "n_threads"):
                yield from parts_of(getattr(value, key), depth + 1)


class Trace:
    """Hashes of what each stage returns or fills; calls from other threads are left out."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.case = ""
        self.counts: dict[str, int] = {}

    def begin(self, case: str) -> None:
        self.case = case
        self.counts = {}

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            if threading.current_thread() is threading.main_thread():
                number = self.counts.get(name, 0)
                self.counts[name] = number + 1
                if number < MOST_CALLS:
                    seen = (
                        [a for a in args if isinstance(a, np.ndarray)] if value is None else value
                    )
                    where = f"{self.case}: {name} #{number}"
                    self.found[where] = digest(*parts_of(seen))
            return value

        return traced

    def attach(self) -> None:
        """Replaces the functions wherever a module of nestmap holds them."""
        for name in STAGES:
            where, function = name.split(":")
            try:
                original = getattr(importlib.import_module(f"nestmap.{where}"), function)
            except (ImportError, AttributeError):
                continue
            traced = self.wrap(function, original)
            for module in list(sys.modules.values()):
                if isinstance(module, types.ModuleType) and module.__name__.startswith("nestmap"):
                    for key, value in list(vars(module).items()):
                        if value is original:
                            setattr(module, key, traced)


def hashes(asked: argparse.Namespace) -> dict[str, str]:
    """Of all cases, in this process."""
    trace = Trace()
    if asked.stages:
        trace.attach()
    found = {}
    for name, layout in cases(asked.only, asked.quick):
        trace.begin(f"{name} {layout}")
        try:
            result = take(name, layout, asked.threads)
        except Exception as error:  # what fails is a result, too
            result = {f"{name} {layout}: error": repr(error)[:300]}
        found |= trace.found | result
        trace.found = {}
    return found


# -- other ways to run ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """One way to run: variables of the environment and a number of threads."""

    name: str
    variables: dict[str, str]
    threads: int = 2


def numpy_features() -> list[str]:
    """Instruction sets beyond its baseline that this NumPy has code for and this CPU runs."""
    from numpy._core import _multiarray_umath as core  # NumPy has no public name for it

    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


def ways() -> list[Way]:
    features = numpy_features()
    found = [
        Way("one thread", {}, 1),
        Way("eight threads", {}, 8),
        Way("baseline", {"NESTMAP_NATIVE": "baseline"}),
        Way("twins", {"NESTMAP_NATIVE": "off"}),
    ]
    found += [Way(f"OpenBLAS {kind}", {"OPENBLAS_CORETYPE": kind}) for kind in CORE_TYPES]
    if features:
        found.append(Way("plain NumPy", {"NPY_DISABLE_CPU_FEATURES": " ".join(features)}))
        found.append(
            Way(f"NumPy without {features[-1]}", {"NPY_DISABLE_CPU_FEATURES": features[-1]})
        )
    return found


def run_way(way: Way, asked: argparse.Namespace) -> dict[str, str]:
    """The hashes of a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hashes.json"
        command = [sys.executable, "-m", "tools.same_bits", "write", str(path)]
        command += ["--threads", str(way.threads)]
        command += ["--stages"] * asked.stages + ["--quick"] * asked.quick
        command += ["--only", *asked.only] if asked.only else []
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **way.variables},
            capture_output=True,
            timeout=3600,
        )
        if done.returncode:
            return {"error": done.stderr.decode()[-500:]}
        return dict(json.loads(path.read_text()))


def tell(name: str, before: dict[str, str], found: dict[str, str], *, first: bool) -> bool:
    """Whether all are the same; prints what is not, of each case the `first` difference alone."""
    changed = [key for key in {**before, **found} if before.get(key) != found.get(key)]
    for key in found:
        if key.endswith("error"):
            print(f"    {key}: {found[key]}")
            changed.append(key)
    print(f"{name}: {len({**before, **found}) - len(changed)} of {len(before)} are the same")
    seen = set()
    for key in changed:
        case = key.split(":")[0]
        if not first or case not in seen:
            print(f"    {key}: {before.get(key)} -> {found.get(key)}")
        seen.add(case)
    sys.stdout.flush()
    return not changed


def vary(asked: argparse.Namespace) -> int:
    here = run_way(Way("as it is", {}), asked)
    chosen = [way for way in ways() if not asked.ways or any(w in way.name for w in asked.ways)]
    same = [tell(way.name, here, run_way(way, asked), first=asked.stages) for way in chosen]
    return 0 if all(same) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["write", "check", "vary"])
    parser.add_argument("file", type=Path, nargs="?", default=GOLDEN)
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names hold one of these")
    parser.add_argument("--ways", nargs="*", default=[], help="ways whose names hold one of these")
    parser.add_argument("--stages", action="store_true", help="hash the steps of a fit, too")
    parser.add_argument("--quick", action="store_true", help="a case of each layout")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    if asked.action == "vary":
        return vary(asked)
    found = hashes(asked)
    if asked.action == "write":
        asked.file.write_text(json.dumps(found, indent=1) + "\n")
        print(f"wrote {len(found)} hashes")
        return 0
    before = json.loads(asked.file.read_text())
    chosen = {f"{name} {layout}" for name, layout in cases(asked.only, asked.quick)}
    before = {key: value for key, value in before.items() if key.split(":")[0] in chosen}
    return 0 if tell(str(asked.file), before, found, first=False) else 1


if __name__ == "__main__":
    raise SystemExit(main())
