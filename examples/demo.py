"""Embed scikit-learn's digits, print what came out, draw two layouts, and write a page to explore
in a browser.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from nestmap import HNNE, Descent, plot_layouts
from nestmap.metrics import map_quality


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    out = parser.parse_args().out
    digits = load_digits()
    X, y = digits.data, digits.target

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
    print(model.relayout(layout=Descent(radius=0.2)).audit())
    mosaic = model.relayout(layout="mosaic")
    for name, each in (("islands", model), ("mosaic", mosaic)):
        print(f"\n{name}\n{map_quality(X, each.embedding_, y)}")
    print(f"\nwrote {draw(model, mosaic, y, out)}")
    page = model.explore(
        path=out / "explorer",
        metadata={"digit": y},
        images=digits.images,
        trust=True,
        compare={"mosaic": mosaic},
        title="Handwritten digits",
    )
    print(f"wrote {page / 'index.html'}: open it in a browser")


def draw(islands: HNNE, mosaic: HNNE, y: np.ndarray, out: Path) -> Path:
    """Two layouts of one hierarchy, clusters named by the digits they hold."""
    import matplotlib

    matplotlib.use("Agg")
    maps = {"layout='islands'": islands, "layout='mosaic'": mosaic}
    axes = plot_layouts(islands, maps, metadata={"digit": y})
    out.mkdir(parents=True, exist_ok=True)
    path = out / "digits.png"
    temporary = out / ".digits.png"
    axes[0].figure.savefig(temporary, dpi=110)
    temporary.replace(path)
    return path


if __name__ == "__main__":
    main()
