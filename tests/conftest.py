"""Shared data: what scikit-learn ships, or generated."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from nestmap._native import builds

BACKENDS = (*builds(), "off")


@cache
def digits() -> np.ndarray:
    return load_digits().data.astype(np.float32)


@pytest.fixture(scope="session")
def blobs() -> np.ndarray:
    return make_blobs(600, n_features=10, centers=12, cluster_std=1.5, random_state=0)[0]
