"""Metrics: what `check_metric` gives back, one file for each kind."""

from .base import Metric, refuse_bad_distances
from .check import check_metric, known_metric
from .kernel import EUCLIDEAN

__all__ = ["EUCLIDEAN", "Metric", "check_metric", "known_metric", "refuse_bad_distances"]
