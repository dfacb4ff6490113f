"""The explorer on ten million points: time to build the store, memory of the server, what a first picture takes.

    python -m benchmarks.explore --rows 10000000 --out /tmp/explorer-10m

The run is synthetic: a random tree with points around its nodes; no fit. With Chromium and Playwright at hand, the
page is opened and timed, too.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from nestmap._progress import Progress
from nestmap.explore import write_store
from nestmap.hierarchy.tree import Hierarchy, Level

_BRANCHING = 4.6  # items per node, as fits of real data have them
_TOP = 8  # nodes of the top level, about


def make_model(n_rows: int, seed: int = 0) -> Any:
    """What the explorer needs of a fitted model: a random tree, and rows around its leaves."""
    rng = np.random.default_rng(seed)
    sizes = [n_rows]
    while sizes[-1] > _TOP * _BRANCHING:
        sizes.append(max(2, int(sizes[-1] / _BRANCHING)))
    places, spread = rng.normal(size=(sizes[-1], 2)) * 100, 40.0
    members: list[np.ndarray] = []
    centroids = [places]
    for n in reversed(sizes[:-1]):
        n_above = len(places)
        weights = rng.pareto(1.5, n_above) + 0.3
        own = np.concatenate([np.arange(n_above), rng.choice(n_above, n - n_above, p=weights / weights.sum())])
        if n == n_rows:
            rng.shuffle(own)  # the user's rows come in no order
        spread *= 0.45
        places = places[own] + spread * rng.normal(size=(n, 2))
        members.append(own)
        centroids.append(places)
    members, centroids = members[::-1], centroids[::-1]
    below = np.ones(n_rows, dtype=np.int64)
    levels = []
    for own, centre in zip(members, centroids[1:], strict=True):
        below = np.bincount(own, below, len(centre)).astype(np.int64)
        levels.append(Level(centre, below, own, 1.0, 1.0))
    label = next(k for k, level in enumerate(levels) if level.n_nodes <= 200)
    return SimpleNamespace(
        hierarchy_=Hierarchy(tuple(levels), "euclidean"), embedding_=places, label_level_=label,
        layout_=SimpleNamespace(kind="islands"),
    )  # fmt: skip


def make_metadata(model: Any, seed: int = 0) -> dict[str, Any]:
    """A category that follows the tree, and a number."""
    rng = np.random.default_rng(seed)
    tree = model.hierarchy_
    kinds = np.array([f"kind {i}" for i in range(12)], dtype=object)
    top = tree.labels(-1) % 12
    noisy = np.where(rng.random(tree.n_rows) < 0.1, rng.integers(0, 12, tree.n_rows), top)
    return {"kind": kinds[noisy], "height": model.embedding_[:, 1] + rng.normal(size=tree.n_rows)}


def build(n_rows: int, out: Path) -> None:
    start = perf_counter()
    model = make_model(n_rows)
    metadata = make_metadata(model)
    names = [f"point {i}" for i in range(n_rows)]
    print(f"made {model.hierarchy_} in {perf_counter() - start:.1f} s", flush=True)
    start, used = perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    scores = np.random.default_rng(1).random(n_rows)
    write_store(
        out, model, names=names, metadata=metadata, quality={"trustworthiness": scores},
        title=f"{n_rows:,} synthetic points", progress=Progress(1),
    )  # fmt: skip
    now = resource.getrusage(resource.RUSAGE_SELF)
    files = [path.stat().st_size for path in out.rglob("*.gz")]
    print(
        f"store: {perf_counter() - start:.1f} s, {now.ru_utime - used.ru_utime:.1f} s of CPU, peak memory "
        f"{now.ru_maxrss / 1e6:.1f} GB, {len(files):,} files, {sum(files) / 1e6:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--out", type=Path, default=Path("/tmp/explorer-10m"))
    options = parser.parse_args()
    build(options.rows, options.out)


if __name__ == "__main__":
    main()
