"""Finished steps of a tree in a work directory, from which another process can resume.

These are its levels of first neighbours, and the neighbour graph of the fit.
"""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from hashlib import blake2b
from importlib.metadata import version
from reprlib import repr as brief
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array
from ...core.input.validate import LARGEST, largest_value
from ...core.points.reduce import Reducer
from ...core.work.directory import WorkDir, pack, unpack
from ..neighbors import FirstNeighbors, NeighborReport
from ..neighbors.graph import NearestLists
from ..neighbors.item_graph import GraphItems, ItemGraph
from ..neighbors.metric import Metric, known_metric
from ..run import Run
from .build import LevelStep
from .merge import Links


def identity(
    X: Any, hashes: Array, metric: Metric, run: Run, given: FirstNeighbors | None
) -> dict[str, Any]:
    """All that a finished step depends on: a fit with another identity must not resume from it."""
    if metric.takes_distances:
        raise ValueError(
            "work_dir: distances without rows are in memory as a whole; fit them without a work_dir"
        )
    if metric.key is None:
        raise ValueError(
            "work_dir: a callable metric cannot be recognised later; use a metric with a name, or "
            "no work_dir"
        )
    parameters: dict[str, Any] = {
        "metric": metric.key,
        "neighbors": run.plan.nodes.method,
        "target_recall": run.plan.nodes.target_recall,
    }
    if given is not None:
        parameters["neighbors"] = f"given, {_checksum(given.ids)}"
    elif run.plan.search(0).method == "approximate":
        parameters["columns"] = run.plan.columns  # exact searches find the same with any
        parameters["n_listed"] = run.plan.n_listed
        parameters["parts"] = run.plan.n_parts
    data = {"shape": list(X.shape), "dtype": str(X.dtype), "checksum": _checksum(hashes)}
    return {"data": data, **parameters, "nestmap": version("nestmap")}


def _checksum(values: Array) -> str:
    return blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).hexdigest()


_GRAPH = "graph"  # the piece that holds it


class Steps:
    """Loads and saves the steps of `build_hierarchy`, and the graph.

    Checksums only protect the bytes, so loaded steps are also checked for what later stages assume.
    """

    def __init__(self, work: WorkDir) -> None:
        self.work = work
        self._sizes: dict[int, Array] = {}  # of the nodes of each step that was loaded

    def load(self, k: int) -> LevelStep | None:
        """LevelStep k, if it is finished, after those below; its centroids are mapped from disk."""
        found = self.work.load(f"level-{k}")
        if found is None:
            return None
        n_rows, n_features = self.work.identity["data"]["shape"]
        below = self._sizes[k - 1] if k else None
        try:
            step = _make_step(*found)
            _check_groups(step, n_rows if below is None else len(below), below)
            if step.sizes is not None:
                _check_centroids(step.centroids, (len(step.sizes), n_features))
                self._sizes[k] = step.sizes
            if step.reducer is not None:
                norm = known_metric(self.work.identity["metric"]).norm
                _check_reducer(step.reducer, n_features, norm)
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(f"level-{k}", error) from error
        return step

    def save(self, k: int, step: LevelStep) -> None:
        """Keep step k."""
        arrays = {
            "members": step.members,
            "link_ids": step.links.ids,
            "link_ranks": step.links.ranks,
        }
        meta = {"link": step.link, "far_distance": step.far_distance, "report": asdict(step.report)}
        if step.sizes is not None:
            arrays |= {"sizes": step.sizes, **pack(step.centroids)}
        if step.reducer is not None:
            arrays |= {"mean": step.reducer.mean, "directions": step.reducer.directions}
            meta["norm"] = step.reducer.norm
        self.work.save(f"level-{k}", arrays, meta)

    def load_graph(self, items: GraphItems) -> ItemGraph | None:
        """The neighbour graph of these items, if it is finished."""
        found = self.work.load(_GRAPH)
        if found is None:
            return None
        arrays, meta = found
        try:
            ids = np.array(arrays["ids"])
            distances = np.array(arrays["distances"])
            _require(meta["level"] == items.level, f"it must be of level {items.level}")
            _check_graph(ids, distances, items.n)
            return items.linked(NearestLists(ids, distances, _make_report(meta["report"])))
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(_GRAPH, error) from error

    def save_graph(self, graph: ItemGraph) -> None:
        """Keep the graph."""
        arrays = {"ids": graph.ids, "distances": graph.distances}
        self.work.save(_GRAPH, arrays, {"level": graph.level, "report": asdict(graph.report)})

    def _damaged(self, piece: str, error: Exception) -> OSError:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        return self.work.damaged(piece, reason)


def _make_step(arrays: dict[str, Array], meta: dict[str, Any]) -> LevelStep:
    link = meta["link"]
    far = meta["far_distance"]
    _require(
        isinstance(link, float | int) and isinstance(far, float | int),
        "link and far_distance must be numbers",
    )
    links = Links(np.array(arrays["link_ids"]), np.array(arrays["link_ranks"]))
    step = LevelStep(np.array(arrays["members"]), link, far, _make_report(meta["report"]), links)
    parts: dict[str, Any] = {}
    if "sizes" in arrays:
        parts |= {"centroids": unpack(arrays), "sizes": np.array(arrays["sizes"])}
    if "directions" in arrays:
        parts["reducer"] = Reducer(
            np.array(arrays["mean"]), np.array(arrays["directions"]), meta["norm"]
        )
    return replace(step, **parts)


def _make_report(record: Any) -> NeighborReport:
    kinds = {"str": str, "bool": bool, "int": int, "float": float | int, "dict[str, float]": dict}
    known = {field.name: kinds[str(field.type)] for field in fields(NeighborReport)}
    _require(
        isinstance(record, dict) and record.keys() == known.keys(), "the report has other fields"
    )
    for name, kind in known.items():
        _require(isinstance(record[name], kind), f"{name} of the report is {brief(record[name])}")
    seconds = record["seconds"].values()
    _require(
        all(isinstance(value, float | int) for value in seconds),
        "seconds of the report must be numbers",
    )
    return NeighborReport(**record)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _check_groups(step: LevelStep, n_items: int, weights: Array | None) -> None:
    """Check members, links and sizes of n_items items; `weights`: rows below each item."""
    members = step.members
    sizes = step.sizes
    ids = step.links.ids
    _require(
        ids.shape == (n_items,) and ids.min() >= 0 and ids.max() < n_items,
        f"{n_items} links must name items",
    )
    ranks = step.links.ranks
    _require(
        ranks.shape == (n_items,) and ranks.min() > 0, f"{n_items} links must have ranks from 1"
    )
    _require(
        members.shape == (n_items,) and members.dtype == np.int64,
        f"members must be {n_items} int64",
    )
    n_nodes = n_items
    if sizes is not None:
        n_nodes = len(sizes) if sizes.ndim == 1 else 0
        _require(n_nodes and sizes.dtype == np.int64, "sizes must be int64, one per node")
    _require(
        members.min() >= 0 and members.max() < n_nodes,
        f"members must lie between 0 and {n_nodes - 1}",
    )
    if sizes is not None:
        counts = np.bincount(members, weights, n_nodes)
        _require(
            counts.min() > 0 and np.array_equal(counts, sizes),
            "sizes must be the rows below each node",
        )


def _check_graph(ids: Array, distances: Array, n: int) -> None:
    """Check neighbours of n items, nearest first."""
    _require(
        ids.ndim == 2 and len(ids) == n and ids.shape[1] and ids.dtype == np.int32,
        f"neighbours must be int32, some of each of {n} items",
    )
    own = np.arange(n)[:, None]
    _require(
        ids.min() >= 0 and ids.max() < n and (ids != own).all(), "neighbours must be other items"
    )
    _require(
        distances.shape == ids.shape
        and distances.dtype == np.float32
        and np.isfinite(distances).all()
        and (distances[:, 0] >= 0).all()
        and (np.diff(distances, axis=1) >= 0).all(),
        "distances must be float32, one per neighbour, ascending from 0",
    )


def _check_centroids(centroids: Any, shape: tuple[int, int]) -> None:
    _require(
        centroids.shape == shape and centroids.dtype in (np.float32, np.float64),
        f"centroids must be float32 or float64 of shape {shape}",
    )
    values = centroids
    if sparse.issparse(centroids):
        centroids.check_format(full_check=True)
        _require(centroids.has_canonical_format, "centroids must be sorted by columns")
        values = centroids.data
    _require(largest_value(values) <= LARGEST, "centroids must be finite")


def _check_reducer(reducer: Reducer, n_features: int, norm: str) -> None:
    """Check what bounds rely on: orthonormal directions, or groups that partition the columns."""
    mean = reducer.mean
    directions = reducer.directions
    _require(
        mean.shape == (n_features,) and mean.dtype == np.float64,
        f"mean must be {n_features} float64",
    )
    _require(
        directions.ndim == 2
        and len(directions) == n_features
        and directions.size
        and directions.dtype == np.float64,
        f"directions must be float64, {n_features} per column",
    )
    _require(
        np.isfinite(mean).all() and np.isfinite(directions).all(),
        "mean and directions must be finite",
    )
    _require(reducer.norm == norm, f"norm is {brief(reducer.norm)} instead of {norm!r}")
    if norm == "L1":
        grouped = np.isin(directions, (0, 1)).all() and (directions.sum(axis=1) == 1).all()
        _require(grouped, "directions must hold each column in one group")
    else:
        products = directions.T @ directions
        _require(
            np.allclose(products, np.eye(len(products)), atol=1e-8),
            "directions must be orthonormal",
        )
