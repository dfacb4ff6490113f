"""nestmap beside the authors' hnne 2.0.1, in one run on one machine.

    make bench DATA=fashion_mnist.npz      # makes .venv-bench/nestmap and .venv-bench/hnne

The data: an .npz file with X (rows x columns) and y; the last 10,000 rows serve as new rows.
Writes benchmarks/results/versus_hnne.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.quality import quality
from nestmap import first_neighbors

N_NEW = 10_000


def run(python: str, method: str, data: Path, folder: Path, turn: int) -> dict[str, float]:
    with np.load(data, allow_pickle=False) as file:
        n = len(file["y"])
    out = folder / f"{method}{turn}.npz"
    command = [python, str(Path(__file__).with_name("worker.py")), method, str(data), str(out), str(n - N_NEW)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{method} failed:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    print(method, {k: round(v, 3) for k, v in found.items()}, flush=True)
    return found


def import_ratio(python: str, turns: int = 7) -> tuple[float, float]:
    """Median seconds of `import nestmap` and `import sklearn.base`, each in fresh processes, in turn."""
    times: dict[str, list[float]] = {"nestmap": [], "sklearn.base": []}
    for _ in range(turns):
        for name, seconds in times.items():
            code = f"import time; t=time.perf_counter(); import {name}; print(time.perf_counter()-t)"
            seconds.append(float(subprocess.check_output([python, "-c", code])))
    return float(np.median(times["nestmap"])), float(np.median(times["sklearn.base"]))


def recall_of_first_neighbours(X: np.ndarray, n_sample: int = 2000) -> float:
    """Share of sampled rows whose neighbour is as near as the brute-force one (float64)."""
    rows = np.random.RandomState(0).choice(len(X), n_sample, replace=False)
    found = first_neighbors(X)
    right = 0
    centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    sizes = np.einsum("ij,ij->i", centred, centred)
    for start in range(0, n_sample, 100):
        part = rows[start : start + 100]
        distances = sizes[part, None] + sizes - 2 * centred[part] @ centred.T
        distances[np.arange(len(part)), part] = np.inf
        best = np.sqrt(np.maximum(distances.min(axis=1), 0))
        right += int((found.distances[part] <= best * (1 + 1e-9) + 1e-6).sum())
    return right / n_sample


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--environments", type=Path, default=Path(".venv-bench"))
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--n-sample", type=int, default=10_000)
    args = parser.parse_args()
    with np.load(args.data, allow_pickle=False) as file:
        X, y = file["X"].astype(np.float32), file["y"]
    pythons = {name: str(args.environments / name / "bin" / "python") for name in ("nestmap", "hnne")}
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs: dict[str, list[dict[str, float]]] = {m: [] for m in pythons}
        for turn in range(args.turns):
            for method, python in pythons.items():
                runs[method].append(run(python, method, args.data, folder, turn))
        for method in pythons:
            rows[method] = {k: float(np.median([r[k] for r in runs[method]])) for k in runs[method][0]}
            with np.load(folder / f"{method}0.npz", allow_pickle=False) as maps:
                rows[method] |= quality(X, maps["embedding"], y, n_sample=args.n_sample)
                known = KNeighborsClassifier(1).fit(maps["train"], y[:-N_NEW])
                rows[method]["acc1_new"] = float(known.score(maps["placed"], y[-N_NEW:]))
    text = table(rows, X, recall_of_first_neighbours(X), import_ratio(pythons["nestmap"]), args.n_sample)
    print(text)
    out = Path(__file__).with_name("results") / "versus_hnne.md"
    out.write_text(text)


def table(
    rows: dict[str, dict[str, float]], X: np.ndarray, recall: float, imports: tuple[float, float], n: int
) -> str:
    ours, theirs = rows["nestmap"], rows["hnne"]
    for row in (ours, theirs):
        row["total"] = row["import"] + row["first_fit"]
    lines = [
        ("process start to map (import + first fit)", "total", "total", "{:.2f} s", 1.0),
        ("the same, against its second fit", "total", "second_fit", "{:.2f} s", 1.0),
        ("second fit", "second_fit", "second_fit", "{:.2f} s", 1.0),
        ("peak memory of the process", "megabytes", "megabytes", "{:.0f} MB", 1.0),
        ("10,000 new rows", "transform", "transform", "{:.2f} s", 1.0),
        ("one new row", "transform_one", "transform_one", "{:.1f} ms", 1e3),
    ]
    text = ["| | nestmap | hnne 2.0.1 (v1) | ratio |", "|---|---|---|---|"]
    for what, a, b, form, unit in lines:
        values = f"{form.format(unit * ours[a])} | {form.format(unit * theirs[b])}"
        text.append(f"| {what} | {values} | {ours[a] / theirs[b]:.2f} |")
    names = {"trust": "trustworthiness (k=5)", "recall": "10-NN recall", "acc1": "1-NN accuracy, 10-fold",
             "triplets": "centroid triplets", "acc1_new": "1-NN accuracy of new rows"}  # fmt: skip
    text += [f"| {label} | {ours[k]:.4f} | {theirs[k]:.4f} | |" for k, label in names.items()]
    size = X.nbytes / 2**20
    text += [
        "",
        f"X: {X.shape[0]:,} x {X.shape[1]}, float32, {size:.0f} MB; peak / X = {ours['megabytes'] / size:.2f}. "
        f"First neighbours: recall {recall:.4f} on 2,000 rows by brute force. "
        f"`import nestmap` {imports[0]:.2f} s, `import sklearn.base` {imports[1]:.2f} s: "
        f"ratio {imports[0] / imports[1]:.2f}. "
        f"Trustworthiness and recall on {n:,} rows against all. 2 threads; medians of alternating runs.",
    ]
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
