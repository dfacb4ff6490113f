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
    "embeddings": "cosine",
    "words": "cosine",
}
PACKAGES = {  # method -> what its interpreter has; "before" is nestmap as it was
    "nestmap": "nestmap",
    "before": "nestmap",
    "hnne": "hnne",
    "pynndescent": "pynndescent",
}

# What nestmap's fits are asked for, unless the command line says otherwise.
DEFAULT_OPTIONS: dict[str, Any] = {"neighbors": "auto", "target_recall": 0.9}

FIT_SAMPLE, CURVE_SAMPLE = 1000, 2000  # rows whose true first neighbours are found by brute force
GROWTH = {  # the first so many rows of each
    "patches4m": (1_000_000, 2_000_000, 4_000_000),
    "higgs": (1_000_000, 2_000_000, 4_000_000),
    "embeddings": (100_000, 1_000_000),
}
CURVE_DATA = ("fashion_mnist", "glove100_200k", "patches", "embeddings")
CURVE_ROWS = {"embeddings": 500_000}  # of the others, all
NO_EXACT = ("embeddings",)  # would take many minutes
LEAST_TARGET = {"fashion_mnist": 0.5, "patches": 0.5}  # lower ones find as much
TARGETS = (0.05, 0.2, 0.5, 0.7, 0.85, 0.9, 0.95, 0.97, 0.99, 0.995, 0.999)
BEFORE_TARGETS = (0.3, 0.5, 0.7, 0.8, 0.9)
PEER_NEIGHBORS = (2, 5, 10, 15, 20, 30)
DIMENSION_SAMPLE, DIMENSION_NEIGHBORS = 500, 20

MAP_DATA = {"words": None, "embeddings": 250_000, "patches": None}  # the first so many rows
MAP_TARGETS = (0.5, 0.7, 0.8, 0.9, 0.95)
MAP_SAMPLE = 3000  # rows of a map that are scored

GRAPH_DATA, GRAPH_NEIGHBORS = "fashion_mnist", 15
GRAPH_TARGETS = (0.8, 0.9, 0.95, 0.98)
GRAPH_ROUNDS = (1, 2, 3, 4)  # of pynndescent, beside as many as it takes by default


@dataclass(frozen=True)
class Job:
    """What is asked of one process."""

    # "fit": a map, from the start of the process; "neighbors": first neighbours, in a warm process;
    # "graph": `k` neighbours, likewise; "dimension": the intrinsic dimension of the data, no
    # process of its own
    task: str
    data: str
    method: str
    label: str = ""  # tells jobs of the same task, data and method apart
    rows: int | None = None  # the first so many
    mapped: bool = False  # read the file in place instead of into memory
    sample: int = 0  # rows whose neighbours are compared with brute force
    k: int = 1  # how many neighbours of each
    scored: int = 0  # rows of the map that are scored
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
        for data, sizes in GROWTH.items()
        for rows in sizes
    ]


def growth_label(rows: int) -> str:
    return f"{rows // 1_000_000}M" if rows >= 1_000_000 else f"{rows // 1000}k"


def _words(_: dict[str, Any]) -> list[Job]:
    """By default options, whatever is asked of the other fits."""
    return [Job("fit", "words", "nestmap", sample=CURVE_SAMPLE)]


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


def _versus(options: dict[str, Any]) -> list[Job]:
    return [
        Job("fit", "patches", "nestmap", sample=CURVE_SAMPLE, options=options),
        Job("fit", "patches", "hnne", sample=CURVE_SAMPLE),
    ]


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


def _targets(data: str, method: str, targets: Iterable[float]) -> list[Job]:
    return [
        _search(data, method, f"{t}", {"method": "approximate", "target_recall": t})
        for t in targets
    ]


def _curves(_: dict[str, Any]) -> list[Job]:
    jobs = []
    for data in CURVE_DATA:
        k = DIMENSION_NEIGHBORS
        jobs.append(
            Job("dimension", data, "numpy", rows=CURVE_ROWS.get(data), sample=DIMENSION_SAMPLE, k=k)
        )
        jobs += _targets(data, "nestmap", [t for t in TARGETS if t >= LEAST_TARGET.get(data, 0)])
        if data not in NO_EXACT:
            jobs.append(_search(data, "nestmap", "exact", {"method": "exact"}))
        jobs += [_search(data, "pynndescent", f"{k}", {"n_neighbors": k}) for k in PEER_NEIGHBORS]
    return jobs


def _before(_: dict[str, Any]) -> list[Job]:
    return [job for data in CURVE_DATA for job in _targets(data, "before", BEFORE_TARGETS)]


def _graph(_: dict[str, Any]) -> list[Job]:
    k = GRAPH_NEIGHBORS
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("nestmap", f"{t}", {"k": k, "target_recall": t}) for t in GRAPH_TARGETS
    ]
    peer = {"n_neighbors": k + 1}  # a row is its own neighbour there
    asked.append(("pynndescent", "default", peer))
    asked += [("pynndescent", f"{n}", {**peer, "n_iters": n}) for n in GRAPH_ROUNDS]
    return [
        Job("graph", GRAPH_DATA, method, label, sample=FIT_SAMPLE, k=k, options=options)
        for method, label, options in asked
    ]


TASKS = {
    "higgs": lambda options: _mapped_fit("higgs", options),
    "deformed": lambda options: _mapped_fit("deformed", options),
    "words": _words,
    "maps": _maps,
    "growth": _growth,
    "versus": _versus,
    "curves": _curves,
    "before": _before,
    "graph": _graph,
}


def jobs_of(tasks: Iterable[str], options: dict[str, Any]) -> list[Job]:
    """The measurements of these tasks; `options` go to nestmap's fits."""
    return [job for task in tasks for job in TASKS[task](options)]
