"""Scores of the maps that the runner left, with `nestmap.metrics`; kept in the same file of
results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.methods import kept_rows
from benchmarks.runner import Results
from nestmap import metrics
from nestmap.views.metrics._labels import kmeans_nmi

KS = (1, 2, 5, 10, 20, 50, 100, 200)  # the supplement's figure: accuracy over k
ABLATION_SAMPLE = 3000  # rows scored for each of the many ablations
KMEANS = {"n_init": 3, "max_rows": 200_000, "random_state": 0}


def evaluate_all(
    results: Results, work: Path, data: dict[str, Any], say: Callable[[str], None] = print
) -> None:
    """Score every map that has no score yet; `data`: name to Dataset."""
    for name, dataset in data.items():
        _once(results, f"score original {name}", "", lambda d=dataset: _score_original(d), say)
        rows = [
            r for r in results.rows.values() if r.get("data") == name and r.get("status") == "ok"
        ]
        for row in rows:
            folder = work / "jobs" / row["folder"]
            maps = sorted(folder.glob("*.npy"))
            if not maps:
                continue
            digest = _digest(maps)
            _once(
                results,
                f"score {row['key']}",
                digest,
                lambda r=row, d=dataset, f=folder: _score(r, d, f),
                say,
            )


def _once(
    results: Results,
    key: str,
    digest: str,
    score: Callable[[], dict[str, Any]],
    say: Callable[[str], None],
) -> None:
    known = results.rows.get(key)
    if known is not None and known["digest"] == digest:
        return
    say(f"{key} …")
    results.add({"key": key, "digest": digest, **score()})


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _ks(n_rows: int) -> tuple[int, ...]:
    return tuple(k for k in KS if k < n_rows * 0.9 / 2)


def _score_original(dataset: Any) -> dict[str, Any]:
    """What classes look like in the data itself: the line that maps are measured against."""
    if dataset.y is None:
        return {}
    X = _prepared(dataset)
    rows = np.arange(len(X))
    if len(X) > 20_000:  # brute force in hundreds of columns: a sample says enough
        rows = np.sort(np.random.RandomState(0).choice(len(X), 20_000, replace=False))
    codes = np.unique(dataset.y, return_inverse=True)[1]
    accuracy = metrics.knn_accuracy(X[rows], codes[rows], n_neighbors=_ks(len(rows)))
    nmi = kmeans_nmi(X, codes, codes.max() + 1, **KMEANS)
    return {"knn_accuracy": accuracy, "nmi": nmi, "n_rows": len(rows)}


def _prepared(dataset: Any) -> Any:
    X = np.asarray(dataset.X, dtype=np.float32)
    if dataset.metric == "cosine":
        X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-30)
    return X


def _score(row: dict[str, Any], dataset: Any, folder: Path) -> dict[str, Any]:
    if row["task"] == "new":
        return _score_new(dataset, np.load(folder / "train.npy"), np.load(folder / "placed.npy"))
    Y = np.load(folder / "map.npy")
    if row["task"] == "part":
        return _score_part(folder, Y, kept_rows(len(dataset.X), row["draw"]), row["draw"])
    if not np.isfinite(Y).all():
        return {"why": f"{(~np.isfinite(Y)).any(axis=1).sum()} rows of the map are NaN"}
    if row["n_components"] != 2:
        return {"knn_accuracy": {1: metrics.knn_accuracy(Y, dataset.y)}}
    return score_map(dataset, Y, n_sample=ABLATION_SAMPLE if row["options"] else None)


def _score_part(folder: Path, part: Any, kept: Any, draw: int) -> dict[str, Any]:
    """Where the other rows went when 1% was left out, up to a similarity (Procrustes)."""
    from scipy.spatial import procrustes

    of_whole = folder.name.replace("_part_", "_map_").removesuffix(f"_draw{draw}")
    whole = np.load(folder.with_name(of_whole) / "map.npy")
    first, second, disparity = procrustes(whole[kept], part)
    moved = np.sqrt(((first - second) ** 2).sum(axis=1))
    spread = np.sqrt((first**2).sum(axis=1).mean())
    return {"disparity": float(disparity), "median_moved": float(np.median(moved) / spread)}


def score_map(dataset: Any, Y: Any, n_sample: int | None = None) -> dict[str, Any]:
    """All scores of a map in 2-D, as plain numbers."""
    X = np.asarray(dataset.X, dtype=np.float32)
    found = metrics.map_quality(
        X, Y, dataset.y, metric=dataset.metric, n_neighbors=_ks(len(X)), n_sample=n_sample
    )
    out: dict[str, Any] = {k: v for k, v in asdict(found).items() if v is not None}
    if dataset.y is not None:
        codes = np.unique(dataset.y, return_inverse=True)[1]
        out["nmi"] = kmeans_nmi(np.asarray(Y, dtype=np.float64), codes, codes.max() + 1, **KMEANS)
    return out


def _score_new(dataset: Any, train: Any, placed: Any) -> dict[str, Any]:
    """As in the supplement: 1-NN accuracy against the training rows; the rest among the new rows."""
    from sklearn.neighbors import KNeighborsClassifier

    n = len(train)
    y = np.asarray(dataset.y)
    X_new = np.asarray(dataset.X[n:], dtype=np.float32)
    known = KNeighborsClassifier(1).fit(train, y[:n])
    trust = metrics.trustworthiness(X_new, placed, metric=dataset.metric, return_estimate=True)
    return {
        "accuracy": float(known.score(placed, y[n:])),
        "trustworthiness": asdict(trust),
        "centroid_triplets": metrics.centroid_triplet_accuracy(
            X_new, placed, y[n:], metric=dataset.metric
        ),
    }
