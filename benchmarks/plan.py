"""Which jobs make up the comparison: the paper's section 4 and its supplement, on the data at hand."""

from __future__ import annotations

from typing import Any

from benchmarks.methods import METHODS
from benchmarks.runner import Job

DIMENSIONS = (2, 4, 8, 32, 64)  # the paper's figure on target dimensions
HIGHER = ("nestmap", "hnne-v1", "umap", "pacmap", "pca")  # methods that go beyond three
PRELIMINARY = ("random", "random_projection", "pca", "pca_centroids")
SEEDS = range(5)  # the paper averages random starts over five runs
SLOW = ("fit-sne", "t-sne")  # last, so that a report is worth reading before they end


STABLE = ("nestmap", "nestmap-descent", "nestmap-mosaic", "hnne-v1", "umap", "fit-sne")
STABLE_ROWS = 20_000  # stability is measured on data sets of up to this size
DRAWS = range(5)  # of the rows that are left out


def make_plan(
    shapes: dict[str, tuple[int, int]], labelled: set[str], methods: tuple[str, ...]
) -> list[Job]:
    """All jobs for these data sets, the quick ones first.

    shapes: rows and columns of each data set; labelled: those with classes, which accuracies need.
    """
    quick = [m for m in methods if m not in SLOW]
    jobs = [Job(data, method) for data in shapes for method in quick]
    known = [data for data in shapes if data in labelled]
    if "nestmap" in methods:
        for data in known:
            jobs += _variants(data)
    jobs += [Job(data, m, task="new") for data in known for m in quick if METHODS[m].transforms]
    jobs += [
        Job(data, method, n_components=d)
        for data in known
        for d in DIMENSIONS[1:]
        for method in HIGHER
        if d <= shapes[data][1] and method in methods
    ]
    small = [data for data, (n_rows, _) in shapes.items() if n_rows <= STABLE_ROWS]
    jobs += [
        Job(data, m, task="part", draw=i)
        for data in small
        for m in STABLE
        if m in methods
        for i in DRAWS
    ]
    for method in (m for m in SLOW if m in methods):
        jobs += [Job(data, method) for data in shapes]
        jobs += [Job(data, method, task="new") for data in known if METHODS[method].transforms]
    return jobs


def _variants(data: str) -> list[Job]:
    """The supplement's ablations: preliminary embeddings, and inflation on and off."""
    jobs = [
        Job(
            data,
            "nestmap",
            options={
                "layout": "descent",
                "arrangement": "global",
                "preliminary": kind,
                "random_state": seed,
            },
        )
        for kind in PRELIMINARY
        for seed in (SEEDS if kind.startswith("random") else (0,))
    ]
    inside: list[dict[str, Any]] = [
        {},
        *({"arrangement": "global", "inflate": on} for on in (True, False)),
    ]
    return jobs + [
        Job(data, "nestmap", options={"layout": "descent", **options}) for options in inside
    ]
