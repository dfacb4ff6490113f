"""Metrics that the compiled search serves: rows become a `PointSet`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.arrays import Array
from ....core.points.point_set import NATIVE_METRICS
from .base import Metric


@dataclass(frozen=True, eq=False, repr=False)
class KernelMetric(Metric):
    """A metric of `make_points`."""

    name: str

    @property
    def has_kernels(self) -> bool:
        return True

    @property
    def norm(self) -> str:
        return "L1" if self.name == "manhattan" else "L2"

    @property
    def is_squared(self) -> bool:
        return self.normalizes_rows

    @property
    def normalizes_rows(self) -> bool:
        return self.name in ("cosine", "correlation")

    @property
    def weighs_by_spread(self) -> bool:
        return not self.normalizes_rows

    @property
    def accepts_sparse(self) -> bool:
        return self.name != "correlation"  # centred rows are dense

    def distances_to(self, others: Any) -> Callable[[Any], Array]:
        from sklearn.metrics import pairwise_distances

        return lambda rows: np.asarray(pairwise_distances(rows, others, metric=self.name))


METRICS = tuple(KernelMetric(name) for name in NATIVE_METRICS)
EUCLIDEAN = METRICS[0]
