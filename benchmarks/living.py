"""Maps that grow: `python -m benchmarks.living [--data DIR] [--umap PYTHON] [--opentsne PYTHON] [name …]`.

80% of the rows are fitted and 20% come later; then one class is left out of the fit and comes later. Peers do
the same by their `transform`, each by an interpreter that has it (`python -m benchmarks` makes them in .venv-bench).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PEERS = {
    "umap": "import umap; m = umap.UMAP(random_state=0).fit(A); P, Q = m.embedding_, m.transform(B)",
    "opentsne": "import openTSNE; m = openTSNE.TSNE(n_jobs=2, random_state=0).fit(A); P, Q = m, m.transform(B)",
}


def load(folder: Path, name: str) -> tuple[Any, Any]:
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    with np.load(folder / f"{name}.npz") as file:
        return file["X"].astype(np.float32), file["y"]


def by_nestmap(A: Any, B: Any) -> tuple[Any, Any, float, Any]:
    from nestmap import HNNE

    model = HNNE().fit(A)
    start = time.perf_counter()
    more = model.extend(B)
    seconds = time.perf_counter() - start
    assert (more.embedding_[: len(A)] == model.embedding_).all()
    new = [
        more.hierarchy_.labels(k)[len(A) :] >= n for k, n in enumerate(model.hierarchy_.level_sizes)
    ]  # rows in clusters that did not exist before
    return model.embedding_, more.embedding_[len(A) :], seconds, new


def by_peer(python: str, name: str, A: Any, B: Any) -> tuple[Any, Any]:
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/in.npz", A=A, B=B)
        code = (
            f"import numpy as np; d = np.load({folder!r} + '/in.npz'); A, B = d['A'], d['B']; {PEERS[name]}; "
            f"np.savez({folder!r} + '/out.npz', P=np.asarray(P), Q=np.asarray(Q))"
        )
        subprocess.run([python, "-W", "ignore", "-c", code], check=True)
        with np.load(f"{folder}/out.npz") as file:
            return file["P"], file["Q"]


def score(A: Any, B: Any, P: Any, Q: Any, y: Any) -> str:
    from nestmap.metrics import knn_accuracy, trustworthiness

    X, Y = np.concatenate([A, B]), np.concatenate([P, Q])
    n_sample = None if len(X) <= 20_000 else 5000
    trust = trustworthiness(X, Y, n_sample=n_sample)
    return f"trustworthiness {trust:.4f}, 1-NN accuracy {knn_accuracy(Y, y):.4f}"


def on_top(P: Any, Q: Any) -> float:
    """Share of the rows of the new class whose nearest row in the map is of the new class, too."""
    from scipy.spatial import cKDTree

    return float((cKDTree(np.concatenate([P, Q])).query(Q, k=[2])[1][:, 0] >= len(P)).mean())


def run(name: str, X: Any, y: Any, peers: dict[str, str]) -> None:
    from nestmap import HNNE

    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    n = int(0.8 * len(X))
    print(f"{name}: {n} rows, then {len(X) - n}")
    P, Q, seconds, _ = by_nestmap(X[:n], X[n:])
    print(f"  nestmap      {score(X[:n], X[n:], P, Q, y)}; extend {seconds:.2f} s")
    fresh = HNNE().fit(X).embedding_
    print(f"  a fresh fit  {score(X[:n], X[n:], fresh[:n], fresh[n:], y)}")
    for peer, python in peers.items():
        P, Q = by_peer(python, peer, X[:n], X[n:])
        print(f"  {peer:12} {score(X[:n], X[n:], P, Q, y)}")
    held = np.unique(y)[3]
    own = y == held
    print(f"{name}: without class {held}, then {own.sum()} rows of it")
    P, Q, _, new = by_nestmap(X[~own], X[own])
    shares = " ".join(f"{level.mean():.3f}" for level in new)
    print(f"  nestmap      {on_top(P, Q):.3f} beside their own; in new clusters, per level: {shares}")
    for peer, python in peers.items():
        print(f"  {peer:12} {on_top(*by_peer(python, peer, X[~own], X[own])):.3f} beside their own")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["digits"])
    parser.add_argument("--data", type=Path, default=Path("."))
    for peer in PEERS:
        parser.add_argument(f"--{peer}", metavar="PYTHON", help="an interpreter that has it")
    asked = parser.parse_args(sys.argv[1:])
    for name in asked.names:
        run(name, *load(asked.data, name), {peer: python for peer in PEERS if (python := getattr(asked, peer))})


if __name__ == "__main__":
    main()
