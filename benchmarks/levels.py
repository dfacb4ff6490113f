"""Which level does `labels_` take, and what would the others have given? The measurement behind
docs/explain/tree.md.

python -m benchmarks.levels [name …]     # names of benchmarks.datasets; NESTMAP_DATA: a directory of
.npz files A name may end in ":cosine" or another metric, and in ":standardized".
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import load
from nestmap import build_hierarchy

NAMES = ("digits", "pendigits", "usps", "texture", "fashion_mnist")
NEAR = 0.05  # of the best level's score: as good


def measure(name: str) -> str:
    """A row of the table."""
    base, *options = name.split(":")
    data = load(base)
    X = np.asarray(data.X, dtype=np.float32)
    if "standardized" in options:
        X = StandardScaler().fit_transform(X)
    metric = next((option for option in options if option != "standardized"), "euclidean")
    tree = build_hierarchy(X, metric)
    start = time.perf_counter()
    picked = tree.default_level()
    seconds = time.perf_counter() - start
    cells = [
        ", ".join(options) or "as it is",
        " → ".join(map(str, tree.level_sizes)),
        str(tree.level_sizes[picked]),
    ]
    if data.y is None:
        return "| " + " | ".join([base, *cells, "–", "–", f"{seconds:.2f} s"]) + " |"
    scores = [adjusted_mutual_info_score(data.y, tree.labels(k)) for k in range(tree.n_levels)]
    best = max(scores)
    verdict = "" if scores[picked] >= best - NEAR else " **miss**"
    found = f"{best:.3f} ({tree.level_sizes[int(np.argmax(scores))]})"
    return (
        "| "
        + " | ".join([base, *cells, f"{scores[picked]:.3f}{verdict}", found, f"{seconds:.2f} s"])
        + " |"
    )


def main() -> None:
    print(
        "| data | rows | clusters per level | picked | AMI | best AMI (clusters) | time of the "
        "rule |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or NAMES:
        print(measure(name), flush=True)


if __name__ == "__main__":
    main()
