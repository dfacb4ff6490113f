"""What ties cost, and what deciding them by values does: python -m benchmarks.ties [DATA.npz …]

For integer data, whose distances tie often: first neighbours that are tied, and how much of the
hierarchy and of the map changes with the order of the rows, with ties decided by values (as nestmap
does) and by the lower index.
"""

from __future__ import annotations

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from nestmap import HNNE
from nestmap.core.points import point_set
from nestmap.metrics import knn_accuracy, trustworthiness

PointSet = point_set.PointSet


def without_keys(*arguments: object) -> PointSet:
    """A point set whose ties go to the lower index."""
    return PointSet(*arguments[:6])  # type: ignore[arg-type]


def tied(X: np.ndarray, n: int = 2000) -> float:
    """The share of rows with more than one nearest other row (of a sample)."""
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    x = X.astype(np.float64)
    count = 0
    for i in rows:
        d = ((x - x[i]) ** 2).sum(axis=1)
        d[i] = np.inf
        count += int((d == d.min()).sum() > 1 and d.min() > 0)
    return count / len(rows)


def report(name: str, X: np.ndarray, y: np.ndarray | None) -> None:
    """One line per rule."""
    for rule in ("values", "index"):
        with patch.object(point_set, "PointSet", PointSet if rule == "values" else without_keys):
            model = HNNE().fit(X)
            changed, tops = [], [model.hierarchy_.level_sizes[-1]]
            for seed in range(3):
                order = np.random.default_rng(seed).permutation(len(X))
                other = HNNE().fit(X[order])
                levels = zip(
                    range(model.hierarchy_.n_levels), range(other.hierarchy_.n_levels), strict=False
                )
                changed.append(
                    [
                        adjusted_rand_score(
                            model.hierarchy_.labels(a)[order], other.hierarchy_.labels(b)
                        )
                        for a, b in levels
                    ]
                )
                tops.append(other.hierarchy_.level_sizes[-1])
        agreement = np.mean([[row[0], row[-1]] for row in changed], axis=0)
        accuracy = "–" if y is None else f"{knn_accuracy(model.embedding_, y):.4f}"
        print(
            f"| {name} | {100 * tied(X):.0f}% | {rule} | {agreement[0]:.3f} | {agreement[1]:.3f} "
            f"| {tops} "
            f"| {trustworthiness(X, model.embedding_, n_sample=1500):.4f} | {accuracy} |",
            flush=True,
        )


def main() -> None:
    print(
        "| data | rows with ties | decided by | ARI of level 0 | ARI of the top | top clusters | "
        "trust | 1-NN |"
    )
    print("|---|---|---|---|---|---|---|---|")
    digits = load_digits()
    report("digits", digits.data, digits.target)
    rng = np.random.default_rng(0)
    report(
        "integers 0 to 3, 5,000 x 19 (made)",
        rng.integers(0, 4, (5000, 19)).astype(np.float64),
        None,
    )
    for path in sys.argv[1:]:
        with np.load(path, allow_pickle=False) as data:
            report(Path(path).stem, data["X"], data["y"])


if __name__ == "__main__":
    main()
