"""Embed scikit-learn's digits, print what came out, and draw both layouts: the faithful one and the full one."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from nestmap import HNNE
from nestmap.metrics import map_quality


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
    print(model.relayout(layout="descent", radius=0.2).audit())
    mosaic = model.relayout(layout="mosaic")
    for name, each in (("descent", model), ("mosaic", mosaic)):
        print(f"\n{name}\n{map_quality(X, each.embedding_, y)}")
    print(f"\nwrote {draw(model, mosaic, y, out)}")


def draw(descent: HNNE, mosaic: HNNE, y: np.ndarray, out: Path) -> Path:
    """Both layouts, coloured by cluster, with the regions of two levels on the right; digits written on clusters."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.collections import PolyCollection

    figure, axes = plt.subplots(1, 2, figsize=(15, 7.2), layout="constrained")
    for axis, model, level in zip(axes, (descent, mosaic), (-1, -2), strict=True):
        labels = model.hierarchy_.labels(level)
        n = len(np.unique(labels))
        colours = plt.get_cmap("turbo")(np.random.default_rng(1).permutation(n) / max(1, n - 1))
        axis.scatter(*model.embedding_.T, c=colours[labels], s=9, linewidths=0)
        for node, place in enumerate(model.layout_.outlines(level).centres):
            text = name_cluster(y[labels == node])
            axis.annotate(
                text, place, ha="center", va="center", fontsize=13 if level == -1 else 10, weight="bold",
                bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": colours[node], "alpha": 0.8},
            )  # fmt: skip
        axis.set_title(f"layout={model.layout_.kind!r}: the {n} clusters of level {level}", fontsize=13)
        axis.set_aspect("equal")
        axis.axis("off")
    for level, width in ((-1, 1.6), (-2, 0.6)):
        outlines = PolyCollection(
            list(mosaic.layout_.outlines(level)), facecolors="none", edgecolors="#333333", lw=width
        )
        axes[1].add_collection(outlines)
    figure.suptitle("1,797 handwritten digits; clusters named by the digits that they hold (labels were not used)")
    out.mkdir(parents=True, exist_ok=True)
    path = out / "digits.png"
    temporary = out / ".digits.png"
    figure.savefig(temporary, dpi=110)
    temporary.replace(path)
    plt.close(figure)
    return path


def name_cluster(digits: np.ndarray) -> str:
    """The digits that make up more than 15% of a cluster, most frequent first."""
    digit, count = np.unique(digits, return_counts=True)
    order = np.argsort(-count)[:3]
    return " ".join(str(digit[i]) for i in order if count[i] > 0.15 * len(digits))


if __name__ == "__main__":
    main()
