"""nestmap's global map beside that of the authors' package (hnne, version 1), number by number.

python -m benchmarks.versus_paper [name …] [--metric cosine] [--python ENVIRONMENT/bin/python]

Names are those of benchmarks.datasets (NESTMAP_DATA: a directory of .npz files). The authors' package
runs in its own environment, which is made if it is missing, on the hierarchy that nestmap found;
whether its own is the same is said. Maps are compared as they are: not moved, turned, mirrored or
scaled.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("digits", "usps")
RADIUS = 0.4  # the authors' default

# what is compared, components, nestmap's inflate, and what is taken out of the authors' code
CASES: tuple[tuple[str, int, bool, tuple[str, ...]], ...] = (
    ("inflated", 2, True, ()),
    ("inflated", 3, True, ()),
    ("not inflated", 2, False, ("inflation",)),
    ("not inflated, centred by rows", 2, False, ("inflation", "centring")),
    ("not inflated", 4, False, ()),
    ("not inflated, centred by rows", 4, False, ("centring",)),
)


def authors_maps(folder: Path) -> None:
    """In the authors' environment: their maps on the hierarchy in the folder, one per case."""
    import hnne.v1.hierarchical_projection as steps
    from hnne import HNNE
    from hnne.projector import HierarchyParameters

    given = np.load(folder / "given.npz")
    X, labels, metric = given["X"], given["labels"], str(given["metric"])
    sizes = [int(n) for n in labels.max(axis=0) + 1]
    parents = [given[f"parents{k}"] for k in range(1, len(sizes))]
    settings = {"metric": metric, "radius": RADIUS, "hnne_version": "v1", "random_state": 0}
    found = HNNE(**settings).fit_only_hierarchy(X)[0]
    (folder / "same.json").write_text(json.dumps(bool(np.array_equal(found, labels))))
    originals = {name: getattr(steps, name) for name in ("norm_angles", "cool_mean")}
    weights = {len(X): np.ones(len(X))} | {
        n: np.bincount(of) for n, of in zip(sizes, labels.T, strict=True)
    }

    def mean_of_rows(points: Any, groups: Any) -> Any:
        own = weights[len(points)]
        sums = [np.bincount(groups, own * column) for column in points.T]
        return np.stack(sums, axis=1) / np.bincount(groups, own)[:, None]

    changes = {
        "inflation": ("norm_angles", lambda points, angles, groups: (points, [])),
        "centring": ("cool_mean", mean_of_rows),
    }
    for i, (_, d, _, left_out) in enumerate(CASES):
        for name, function in originals.items():
            setattr(steps, name, function)
        for what in left_out:
            setattr(steps, *changes[what])
        model = HNNE(n_components=d, **settings)
        model.hierarchy_parameters = HierarchyParameters(labels, None, sizes, parents, None, None)
        np.save(folder / f"map{i}.npy", model.fit(X))


def compare(name: str, X: Any, metric: str, python: str) -> None:
    """The largest difference between two coordinates of a row, for each case."""
    from sklearn.base import clone
    from sklearn.preprocessing import StandardScaler

    from nestmap import HNNE, Descent

    # the authors' settings: full PCA of standardized columns; of these, the tree is made, too
    X = StandardScaler().fit_transform(X)
    layout = Descent(RADIUS, arrangement="global", preliminary="pca")
    model = HNNE(metric=metric, layout=layout).fit(X)
    tree = model.hierarchy_
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        parents = {f"parents{k}": tree.levels[k].members for k in range(1, tree.n_levels)}
        labels = np.stack([tree.labels(k) for k in range(tree.n_levels)], axis=1)
        np.savez(folder / "given.npz", X=X, labels=labels, metric=metric, **parents)
        subprocess.run([python, __file__, "--authors", str(folder)], check=True)
        same = json.loads((folder / "same.json").read_text())
        for i, (case, d, inflate, _) in enumerate(CASES):
            ours, theirs = (
                model.relayout(
                    n_components=d, layout=clone(layout).set_params(inflate=inflate)
                ).embedding_,
                np.load(folder / f"map{i}.npy"),
            )
            cells = (
                name,
                d,
                case,
                f"{np.abs(ours - theirs).max():.1e}",
                f"{np.ptp(theirs, axis=0).max():.1f}",
            )
            print(
                "| " + " | ".join(map(str, (*cells, "same" if same else "other"))) + " |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--metric", default="euclidean")
    parser.add_argument("--python", help="interpreter of an environment that has hnne")
    parser.add_argument("--authors", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.authors:
        authors_maps(args.authors)
        return
    from benchmarks.datasets import load
    from benchmarks.runner import ENVIRONMENT_FOLDER, install

    if args.python is None:
        failed = install("hnne", lambda text: print(text, file=sys.stderr))
        if failed:
            raise SystemExit(failed)
    python = args.python or str(ENVIRONMENT_FOLDER / "hnne" / "bin" / "python")
    print(
        "| data | components | map | largest difference | extent of the map | hierarchy of its "
        "own |"
    )
    print("|---|---|---|---|---|---|")
    for name in args.names:
        compare(name, np.asarray(load(name).X, dtype=np.float64), args.metric, python)


if __name__ == "__main__":
    main()
