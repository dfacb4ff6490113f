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
    "patches4m": "euclidean",
    "fashion_mnist": "euclidean",
    "glove100_200k": "cosine",
}

# What nestmap's fits are asked for, unless the command line says otherwise.
DEFAULT_OPTIONS: dict[str, Any] = {"neighbors": "auto", "target_recall": 0.9}

FIT_SAMPLE, CURVE_SAMPLE = 1000, 2000  # rows whose true first neighbours are found by brute force
GROWTH_DATA = ("patches4m", "higgs")
GROWTH_ROWS = (1_000_000, 2_000_000, 4_000_000)
CURVE_DATA = ("fashion_mnist", "glove100_200k", "patches")
TARGETS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
PEER_NEIGHBORS = (2, 5, 10)


@dataclass(frozen=True)
class Job:
    """What is asked of one process."""

    task: str  # "fit": a map, from the start of the process; "neighbors": first neighbours, in a warm process
    data: str
    method: str
    label: str = ""  # tells jobs of the same task, data and method apart
    rows: int | None = None  # the first so many
    mapped: bool = False  # read the file in place instead of into memory
    sample: int = 0  # rows whose neighbours are compared with brute force
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return " ".join(p for p in (self.task, self.data, self.method, self.label) if p)

    @property
    def metric(self) -> str:
        return METRICS[self.data]


def _mapped_fit(data: str, options: dict[str, Any]) -> list[Job]:
    return [Job("fit", data, "nestmap", mapped=True, sample=FIT_SAMPLE, options=options)]


def _growth(options: dict[str, Any]) -> list[Job]:
    return [
        Job("fit", data, "nestmap", growth_label(rows), rows=rows, mapped=True, options=options)
        for data in GROWTH_DATA
        for rows in GROWTH_ROWS
    ]


def growth_label(rows: int) -> str:
    return f"{rows // 1_000_000}M"


def _versus(options: dict[str, Any]) -> list[Job]:
    return [
        Job("fit", "patches", "nestmap", sample=CURVE_SAMPLE, options=options),
        Job("fit", "patches", "hnne", sample=CURVE_SAMPLE),
    ]


def _curves(_: dict[str, Any]) -> list[Job]:
    jobs = []
    for data in CURVE_DATA:
        for target in TARGETS:
            options = {"method": "approximate", "target_recall": target}
            jobs.append(Job("neighbors", data, "nestmap", f"{target}", sample=CURVE_SAMPLE, options=options))
        jobs.append(
            Job("neighbors", data, "nestmap", "exact", sample=CURVE_SAMPLE, options={"method": "exact"}),
        )
        jobs += [
            Job("neighbors", data, "pynndescent", f"{k}", sample=CURVE_SAMPLE, options={"n_neighbors": k})
            for k in PEER_NEIGHBORS
        ]
    return jobs


TASKS = {
    "higgs": lambda options: _mapped_fit("higgs", options),
    "deformed": lambda options: _mapped_fit("deformed", options),
    "growth": _growth,
    "versus": _versus,
    "curves": _curves,
}


def jobs_of(tasks: Iterable[str], options: dict[str, Any]) -> list[Job]:
    """The measurements of these tasks; `options` go to nestmap's fits."""
    return [job for task in tasks for job in TASKS[task](options)]
