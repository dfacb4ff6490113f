"""Embed scikit-learn's digits, print what came out, and write a picture coloured on two levels."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from nestmap import HNNE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    out = parser.parse_args().out
    X, y = load_digits(return_X_y=True)

    start = time.perf_counter()
    model = HNNE().fit(X)
    fitted = time.perf_counter()
    model.transform(X[:1] + 0.5)
    placed = time.perf_counter()

    tree = model.hierarchy_
    print(f"{tree}")
    for k in range(tree.n_levels):
        print(f"  level {k}: {tree.level_sizes[k]:4d} clusters")
    print(f"fit {fitted - start:.2f} s, one new row {1e3 * (placed - fitted):.1f} ms")
    for stage, seconds in model.neighbor_report_.seconds.items():
        print(f"  {stage}: {1e3 * seconds:.0f} ms")
    print(f"neighbours: {model.neighbor_report_}")
    accuracy = cross_val_score(KNeighborsClassifier(1), model.embedding_, y, cv=10).mean()
    print(f"trustworthiness {trustworthiness(X, model.embedding_):.4f}, 1-NN accuracy {accuracy:.3f} (10-fold)")
    print(model.relayout(radius=0.2).audit())
    print(f"wrote {draw(model, y, out)}")


def draw(model: HNNE, y: np.ndarray, out: Path) -> Path:
    """The map twice: coloured by the top level, and by the level below it; digits written on clusters."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tree, Y = model.hierarchy_, model.embedding_
    figure, axes = plt.subplots(1, 2, figsize=(15, 7.5), layout="constrained")
    for axis, level in zip(axes, (-1, -2), strict=True):
        labels = tree.labels(level)
        n = len(np.unique(labels))
        colours = plt.get_cmap("turbo")(np.random.default_rng(1).permutation(n) / max(1, n - 1))
        axis.scatter(*Y.T, c=colours[labels], s=9, linewidths=0)
        anchors = model.layout_.placements[level].anchors
        for node in range(n):
            members = labels == node
            digit, count = np.unique(y[members], return_counts=True)
            text = " ".join(str(d) for d in digit[np.argsort(-count)][:3] if count[digit == d] > 0.15 * members.sum())
            axis.annotate(
                text, anchors[node], ha="center", va="center", fontsize=13 if level == -1 else 10, weight="bold",
                bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": colours[node], "alpha": 0.85},
            )  # fmt: skip
        axis.set_title(f"level {level}: {n} clusters", fontsize=14)
        axis.set_aspect("equal")
        axis.axis("off")
    figure.suptitle("1,797 handwritten digits; clusters named by the digits that they hold (labels were not used)")
    out.mkdir(parents=True, exist_ok=True)
    path = out / "digits.png"
    temporary = out / ".digits.png"
    figure.savefig(temporary, dpi=110)
    temporary.replace(path)
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
