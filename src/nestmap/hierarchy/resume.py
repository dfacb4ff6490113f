"""Steps of a hierarchy in a work directory: what a fit has finished, another process can go on from."""

from __future__ import annotations

from dataclasses import asdict, replace
from hashlib import blake2b
from importlib.metadata import version
from typing import Any

import numpy as np

from .._arrays import Array
from .._points.reduce import Reducer
from .._run import Run
from .._work.directory import WorkDir, pack, unpack
from ..neighbors import FirstNeighbors, NeighborReport
from .build import Step


def identity(X: Any, hashes: Array, metric: Any, run: Run, given: FirstNeighbors | None) -> dict[str, Any]:
    """What a finished step depends on: another fit must not go on from it."""
    if callable(metric):
        raise ValueError(
            "work_dir: a callable metric cannot be recognised later; use a metric with a name, or no work_dir"
        )
    parameters = {"metric": metric, "neighbors": run.nodes.method, "target_recall": run.nodes.target_recall}
    if given is not None:
        parameters["neighbors"] = f"given, {_checksum(given.ids)}"
    elif run.rows.method == "approximate":
        parameters["columns"] = run.rows.columns  # exact searches find the same with any
    data = {"shape": list(X.shape), "dtype": str(X.dtype), "checksum": _checksum(hashes)}
    return {"data": data, **parameters, "nestmap": version("nestmap")}


def _checksum(values: Array) -> str:
    return blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).hexdigest()


class Steps:
    """Loads and saves the steps of `build_hierarchy`."""

    def __init__(self, work: WorkDir) -> None:
        self.work = work

    def load(self, k: int) -> Step | None:
        """Step k, if it is finished; its arrays are mapped from disk."""
        found = self.work.load(f"level-{k}")
        if found is None:
            return None
        arrays, meta = found
        step = Step(np.array(arrays["members"]), meta["link"], meta["far_distance"], NeighborReport(**meta["report"]))
        parts: dict[str, Any] = {}
        if "sizes" in arrays:
            parts |= {"centroids": unpack(arrays), "sizes": np.array(arrays["sizes"])}
        if "directions" in arrays:
            directions = np.array(arrays["directions"])
            parts["reducer"] = Reducer(np.array(arrays["mean"]), directions, meta["norm"])
        return replace(step, **parts)

    def save(self, k: int, step: Step) -> None:
        """Keep step k."""
        arrays = {"members": step.members}
        meta = {"link": step.link, "far_distance": step.far_distance, "report": asdict(step.report)}
        if step.sizes is not None:
            arrays |= {"sizes": step.sizes, **pack(step.centroids)}
        if step.reducer is not None:
            arrays |= {"mean": step.reducer.mean, "directions": step.reducer.directions}
            meta["norm"] = step.reducer.norm
        self.work.save(f"level-{k}", arrays, meta)
