"""Which measurements there are, on which data, with which options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

N_JOBS = 2
METRICS = {
    "higgs": "euclidean",
    "deformed": "euclidean",
    "patches": "euclidean",
    "fashion_mnist": "euclidean",
    "glove100_200k": "cosine",
    "embeddings": "cosine",
    "words": "cosine",
}
PACKAGES = {"nestmap": "nestmap", "pynndescent": "pynndescent"}  # method -> what it needs

# What nestmap's fits are asked for, unless the command line says otherwise.
DEFAULT_OPTIONS: dict[str, Any] = {"neighbors": "auto", "target_recall": 0.9}

FIT_SAMPLE, CURVE_SAMPLE = 1000, 2000  # rows whose true first neighbours are found by brute force
FITS = {  # the first so many rows of each; None: all
    "higgs": (1_000_000, None),
    "deformed": (None,),
    "patches": (None,),
    "embeddings": (None,),
    "words": (None,),
}
CURVE_DATA = ("fashion_mnist", "glove100_200k", "embeddings")
CURVE_ROWS = {"embeddings": 250_000}  # of the others, all
NO_EXACT = ("embeddings",)  # would take many minutes
TARGETS = (0.5, 0.7, 0.85, 0.9, 0.95, 0.99, 0.999)
PEER_NEIGHBORS = (5, 10, 15, 30)

MAP_DATA = {"words": None, "embeddings": 250_000}  # the first so many rows
MAP_TARGETS = (0.5, 0.8, 0.9, 0.95)
MAP_SAMPLE = 3000  # rows of a map that are scored


@dataclass(frozen=True)
class Job:
    """What is asked of one process."""

    # "fit": a map, from the start of the process; "neighbors": first neighbours, in a warm process
    task: str
    data: str
    method: str
    label: str = ""  # tells jobs of the same task, data and method apart
    rows: int | None = None  # the first so many
    mapped: bool = False  # read the file in place instead of into memory
    sample: int = 0  # rows whose neighbours are compared with brute force
    scored: int = 0  # rows of the map that are scored
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return " ".join(p for p in (self.task, self.data, self.method, self.label) if p)

    @property
    def metric(self) -> str:
        return METRICS[self.data]


def _fits(options: dict[str, Any]) -> list[Job]:
    """Maps from a file, that is read in place."""
    return [
        Job(
            "fit",
            data,
            "nestmap",
            "" if rows is None else size_label(rows),
            rows=rows,
            mapped=True,
            sample=FIT_SAMPLE,
            options=options,
        )
        for data, sizes in FITS.items()
        for rows in sizes
    ]


def size_label(rows: int) -> str:
    return f"{rows // 1_000_000}M" if rows >= 1_000_000 else f"{rows // 1000}k"


def map_label(target: float | None) -> str:
    return "map exact" if target is None else f"map {target}"


def _maps(_: dict[str, Any]) -> list[Job]:
    """What the recall of first neighbours does to the map."""
    jobs = []
    for data, rows in MAP_DATA.items():
        for target in (*MAP_TARGETS, None):
            how = (
                {"neighbors": "approximate", "target_recall": target}
                if target
                else {"neighbors": "exact"}
            )
            jobs.append(
                Job(
                    "fit",
                    data,
                    "nestmap",
                    map_label(target),
                    rows=rows,
                    scored=MAP_SAMPLE,
                    options=how,
                )
            )
    return jobs


def _search(data: str, method: str, label: str, options: dict[str, Any]) -> Job:
    return Job(
        "neighbors",
        data,
        method,
        label,
        rows=CURVE_ROWS.get(data),
        sample=CURVE_SAMPLE,
        options=options,
    )


def _curves(_: dict[str, Any]) -> list[Job]:
    jobs = []
    for data in CURVE_DATA:
        for target in TARGETS:
            how = {"method": "approximate", "target_recall": target}
            jobs.append(_search(data, "nestmap", f"{target}", how))
        if data not in NO_EXACT:
            jobs.append(_search(data, "nestmap", "exact", {"method": "exact"}))
        jobs += [_search(data, "pynndescent", f"{k}", {"n_neighbors": k}) for k in PEER_NEIGHBORS]
    return jobs


TASKS = {"fits": _fits, "maps": _maps, "curves": _curves}


def jobs_of(tasks: Iterable[str], options: dict[str, Any]) -> list[Job]:
    """The measurements of these tasks; `options` go to nestmap's fits."""
    return [job for task in tasks for job in TASKS[task](options)]
