"""Shared data: what scikit-learn ships, or generated. Tests do not depend on their order, nor on chance."""

from __future__ import annotations

import os
import signal
from functools import cache
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_digits

from nestmap import _parallel
from nestmap._native import builds

BACKENDS = (*builds(), "off")
if "TEST_CORES" in os.environ:  # `make test-elsewhere` counts more cores than there are
    _parallel.cpu_count = lambda: int(os.environ["TEST_CORES"])

settings.register_profile("same examples each time", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None, print_blob=True)  # `make test-elsewhere` looks at others
settings.load_profile("same examples each time")


@pytest.fixture(autouse=True)
def _own_random_numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test draws the same numbers from its module's RNG whichever tests run before it, in whichever process."""
    if hasattr(request.node, "module") and hasattr(request.node.module, "RNG"):
        monkeypatch.setattr(request.node.module, "RNG", np.random.default_rng(crc32(request.node.name.encode())))


@cache
def digits() -> np.ndarray:
    X = load_digits().data.astype(np.float32)
    X.flags.writeable = False  # one array for all tests
    return X


def heed_ctrl_c() -> None:
    """For `preexec_fn`: a process started by tests in the background would ignore SIGINT, as they do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
