"""Shared data: what scikit-learn ships, or generated. Tests do not depend on their order, nor on
chance.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from threading import Thread, Timer
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from nestmap import HNNE, Descent, Hierarchy
from nestmap.core import threads as _parallel
from nestmap.core.native import builds, core, using
from nestmap.method.preliminary.build import Preliminary
from nestmap.method.rows import RowsHere
from nestmap.method.run import Run
from nestmap.model.fitted import see_rows
from nestmap.model.settings import FitSettings

pytest.register_assert_rewrite("page_fixtures", "digit_page")  # before a test imports them

# Tests choose a build of the kernels by these: this is the one place that knows where the choice is
# made.
__all__ = ["builds", "core", "using"]
BACKENDS = (*builds(), "off")
# seconds that a test waits for another process or thread: a few would do, but machines may be slow
LIMIT = 240.0
if "TEST_CORES" in os.environ:  # `make test-elsewhere` counts more cores than there are
    _parallel.cpu_count = lambda: int(os.environ["TEST_CORES"])

settings.register_profile("same examples each time", derandomize=True, deadline=None)
settings.register_profile(
    "new", deadline=None, print_blob=True
)  # `make test-elsewhere` looks at others
settings.load_profile("same examples each time")


def make_preliminary(
    X: Any,
    tree: Hierarchy,
    n_components: int,
    kind: Any = "pca_centroids",
    *,
    seed: int = 0,
    n_threads: int = 1,
) -> Preliminary:
    """The preliminary embedding of rows, as a fit makes it."""
    asked = FitSettings(n_components, layout=Descent(preliminary=kind))
    return see_rows(RowsHere(X, Run(n_threads)), tree, asked, n_threads, seed)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For `--dist loadgroup`: tests of a file run in one process, where they share models, browsers
    and clusters.
    """
    for item in items:
        name = item.path.name
        item.add_marker(
            pytest.mark.xdist_group("dask" if name.startswith("test_distributed") else name)
        )


@pytest.fixture(autouse=True)
def _own_random_numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test draws the same numbers from its module's RNG whichever tests run before it, in
    whichever process.
    """
    if hasattr(request.node, "module") and hasattr(request.node.module, "RNG"):
        monkeypatch.setattr(
            request.node.module, "RNG", np.random.default_rng(crc32(request.node.name.encode()))
        )


@pytest.fixture(scope="module")
def one_blas_thread() -> Iterator[None]:
    """For tests that multiply outside of the library, which limits BLAS itself: threads that wait
    for work spin.
    """
    with threadpool_limits(1, user_api="blas"):
        yield


@cache
def digits() -> np.ndarray:
    X = load_digits().data.astype(np.float32)
    X.flags.writeable = False  # one array for all tests
    return X


@cache
def fitted_digits(n: int = 1797, **parameters: Any) -> HNNE:
    """A model of the first n digits, one for all tests: none may change it."""
    return HNNE(**parameters).fit(digits()[:n])


def heed_ctrl_c() -> None:
    """For `preexec_fn`: a process started by tests in the background would ignore SIGINT, as they
    do.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints; '' if it ends before. One that hangs is killed, and the
    test fails.
    """
    assert process.stdout is not None
    watchdog = Timer(LIMIT, process.kill)
    watchdog.daemon = True
    watchdog.start()
    line = process.stdout.readline()
    assert watchdog.is_alive(), f"{process.args} said nothing for {LIMIT} s"
    watchdog.cancel()
    return line


def run_together(threads: Iterable[Thread]) -> None:
    """Start all of them and wait until they have ended."""
    threads = [*threads]
    for thread in threads:
        thread.daemon = True  # one that hangs must not keep the process of the tests alive
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in threads)
