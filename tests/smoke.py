"""What must work wherever nestmap was installed: python tests/smoke.py [--kernels | --no-kernels]

Needs nestmap and what it depends on, nothing else: no pytest, no compiler, no network. `make
release-check` and the workflows run it on every wheel, from a folder without the sources.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import nestmap
from nestmap.core.native import builds, core

LIMIT = 300.0  # seconds that a process may take: an emulated one is slow
N_ROWS, N_COLUMNS, N_CLOUDS = 600, 16, 6


def make_rows() -> np.ndarray:
    """Clouds of points around centres far apart."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=12.0, size=(N_CLOUDS, N_COLUMNS))
    rows = centres[np.arange(N_ROWS) % N_CLOUDS] + rng.normal(size=(N_ROWS, N_COLUMNS))
    return rows.astype(np.float32)


def check_kernels(wanted: bool | None) -> None:
    """Whether the compiled modules are there, where it is said that they must or must not be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nestmap.NativeMissingWarning)
        found = core() is not None
    if wanted is not None and found != wanted:
        raise SystemExit(f"compiled kernels: {builds() or 'none'}; wanted: {wanted}")
    if sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled():
        raise SystemExit("a compiled module has turned the GIL on")


def check_maps(rows: np.ndarray, folder: Path) -> None:
    """Every layout; new rows; files; the same bits again, and in several threads at once."""
    for layout in ("islands", "descent", "mosaic"):
        model = nestmap.HNNE(layout=layout).fit(rows)
        assert model.embedding_.shape == (N_ROWS, 2), model.embedding_.shape
        assert np.isfinite(model.embedding_).all(), layout
        clouds = model.labels(n_clusters=N_CLOUDS)
        for cloud in range(N_CLOUDS):
            assert len(np.unique(clouds[cloud::N_CLOUDS])) == 1, f"{layout}: a torn cloud"
        path = folder / f"{layout}.nestmap"
        model.save(path)
        loaded = nestmap.load(path)
        assert np.array_equal(loaded.embedding_, model.embedding_), layout
        assert np.array_equal(loaded.transform(rows), model.embedding_), layout
    wanted = nestmap.HNNE().fit(rows).embedding_
    with ThreadPoolExecutor(4) as pool:
        fits = pool.map(lambda _: nestmap.HNNE().fit(rows).embedding_, range(4))
        assert all(np.array_equal(found, wanted) for found in fits), "threads change a map"


def check_command(rows: np.ndarray, folder: Path) -> None:
    """The command, as a user runs it."""
    np.save(folder / "rows.npy", rows)
    for arguments in (["--version"], ["fit", "rows.npy", "-o", "run", "--quiet"], ["info", "run"]):
        done = subprocess.run(
            [sys.executable, "-m", "nestmap", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )
        assert done.returncode == 0, f"nestmap {' '.join(arguments)}: {done.stderr}"
        if arguments == ["--version"]:
            assert nestmap.__version__ in done.stdout, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--kernels", action="store_true", default=None, help="they must be there")
    either.add_argument(
        "--no-kernels", dest="kernels", action="store_false", help="they must not be there"
    )
    check_kernels(parser.parse_args().kernels)
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", nestmap.NativeMissingWarning)
    rows = make_rows()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        check_maps(rows, Path(folder))
        check_command(rows, Path(folder))
    build = core().isa if core() else "NumPy"
    print(f"nestmap {nestmap.__version__} works on {build}, Python {sys.version}")


if __name__ == "__main__":
    main()
