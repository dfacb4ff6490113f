"""Rows to their parts: through the shared folder, as fits do it, or by dask's own shuffle (P2P);
which one is better?

    python -m benchmarks.cluster_shuffle --data .bench/cluster higgs:1000000 deformed:200000

reads each set on 2 workers with 1 thread and 1.5 GB each, finds the part of each row by the same
cells, brings the rows of a part together and reads them once. Each way in a process of its own;
Prints a line per run.
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

from benchmarks.cluster import Peaks, _pid, make

N_PARTS = 16


def read_part(store: Any, first: int, last: int) -> int:
    """What a task does first that searches a part."""
    return len(store.parted.read(first, last))


def by_folder(client: Any, X: Any, division: Any, folder: str) -> int:
    """Check, sort, spread, as a fit does; then each part is read."""
    from nestmap.core.input.validate import row_dtype
    from nestmap.core.progress import Progress
    from nestmap.distributed.fit import _load
    from nestmap.distributed.level_search import LevelSearch
    from nestmap.distributed.phases import Phases
    from nestmap.distributed.store import Store
    from nestmap.method.neighbors.choice import Search
    from nestmap.method.run import Run

    phases, store = Phases(client, Progress(0)), Store(folder, *X.shape, str(row_dtype(X.dtype)))
    hashes = _load(X, phases, store, Run(), 0).hashes
    found, _ = LevelSearch(phases, store, "rows", Search("exact"), False)._spread(
        division, hashes, hashes
    )
    ends = zip(found.begins[:-1].tolist(), found.begins[1:].tolist(), strict=True)
    return sum(client.gather(phases.submit("read", read_part, [(store, a, b) for a, b in ends])))


def by_dask(X: Any, division: Any) -> int:
    """The rows as columns of numbers beside that of their part, shuffled by it; then each part is
    counted.
    """
    import dask
    import dask.dataframe as dd
    import pandas as pd

    def with_part(rows: np.ndarray) -> Any:
        part = division.part_of_cell[division.cells_of(division.short(division.points(rows)))]
        values = (
            rows.view(np.int64) if rows.dtype == np.uint8 else rows
        )  # eight bytes are one column: quicker
        return pd.DataFrame(values, columns=[str(i) for i in range(values.shape[1])]).assign(
            part=part
        )

    parts = [dask.delayed(with_part)(chunk) for chunk in X.to_delayed().ravel()]
    frame = dd.from_delayed(
        parts, meta=with_part(np.zeros((1, X.shape[1]), X.dtype)), verify_meta=False
    )
    with dask.config.set({"dataframe.shuffle.method": "p2p"}):
        return int(
            frame.shuffle("part", npartitions=division.n_parts).map_partitions(len).compute().sum()
        )


def measure(path: Path, way: str) -> None:
    import psutil
    from distributed import Client, LocalCluster

    from nestmap.core.points.point_set import make_points
    from nestmap.distributed.division import divide
    from nestmap.distributed.files import open_files

    division = divide(make_points(np.load(path, mmap_mode="r"), "euclidean"), N_PARTS, 128)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="1.5GB", dashboard_address=":0"
    )
    with cluster, Client(cluster) as client, tempfile.TemporaryDirectory(dir=path.parent) as folder:
        X, watch = open_files(str(path))[0], Peaks(client.run(_pid))
        written = -_written(watch)
        sent, start = -psutil.net_io_counters().bytes_sent, time.perf_counter()
        n = by_folder(client, X, division, folder) if way == "folder" else by_dask(X, division)
        seconds, peaks = time.perf_counter() - start, watch.end()
        sent, written = sent + psutil.net_io_counters().bytes_sent, written + _written(watch)
    assert n == X.shape[0]
    print(
        f"{path.stem:18} {way:7} {seconds:6.1f} s ({watch.cpu:.1f} of the workers' CPU), "
        f"largest worker {max(peaks.values()) / 1e9:.2f} GB, written {written / X.nbytes:.2f} and "
        f"sent {sent / X.nbytes:.2f} x the rows"
    )


def _written(watch: Peaks) -> int:
    """Bytes that workers have written to files."""
    return int(sum(process.io_counters().write_chars for process in watch.processes.values()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", help="name of a set, or name:rows")
    parser.add_argument("--data", type=Path, default=Path(".bench/cluster"))
    parser.add_argument("--once", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        return measure(Path(options.once[0]), options.once[1])
    for name in options.sets:
        path = make(options.data, name)
        for way in ("folder", "p2p"):
            own = [sys.executable, "-m", "benchmarks.cluster_shuffle", "--once", str(path), way]
            subprocess.run(own, check=True)


if __name__ == "__main__":
    main()
