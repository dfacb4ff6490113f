"""The parameters of HNNE, as scikit-learn knows them, and as a fit takes them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

from sklearn.base import BaseEstimator

from ..core.habits import refuse_habits
from ..method.layout import LayoutSettings
from ..method.layout.settings import layout_settings
from ..method.neighbors import known_metric
from ..model.settings import FitSettings
from ..tables.encoder import TableEncoder

# Parameters that may have parameters of their own: of which type they are then, and one of those.
_OWNERS: tuple[tuple[str, type, str], ...] = (
    ("layout", LayoutSettings, "Descent()"),
    ("encoder", TableEncoder, "TableEncoder()"),
)


class MetricEstimator(BaseEstimator):
    """An estimator whose metric says what kind of data it takes."""

    metric: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        metric = known_metric(self.metric)
        tags.input_tags.sparse = metric.accepts_sparse
        tags.input_tags.pairwise = metric.takes_distances
        tags.input_tags.positive_only = metric.needs_nonnegative
        return tags


class MapParameters(MetricEstimator):
    """What users can choose; `HNNE` documents it."""

    @refuse_habits
    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        hierarchy: str = "graph",
        layout: Any = "auto",
        encoder: Any = None,
        neighbors: Any = "auto",
        target_recall: float = 0.9,
        new_points: str = "centroid",
        max_memory: int | str | None = None,
        work_dir: Any = None,
        callback: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.hierarchy = hierarchy
        self.layout = layout
        self.encoder = encoder
        self.neighbors = neighbors
        self.target_recall = target_recall
        self.new_points = new_points
        self.max_memory = max_memory
        self.work_dir = work_dir
        self.callback = callback
        self.n_jobs = n_jobs
        self.verbose = verbose

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; `layout__radius=0.1` is one of the layout's settings."""
        for owner, kind, example in _OWNERS:
            value = parameters.get(owner, getattr(self, owner))
            nested = [name for name in parameters if name.startswith(f"{owner}__")]
            if nested and not isinstance(value, kind):
                raise ValueError(
                    f"{nested[0]}: {owner}={str(value)[:60]!r} is a short form without settings of "
                    f"its own; give one that has some first, such as {owner}={example}"
                )
        found: Self = super().set_params(**parameters)
        return found

    def _asked(self) -> FitSettings:
        """What a fit with these parameters is asked for."""
        return FitSettings(
            self.n_components,
            self.metric,
            self.metric_params,
            self.hierarchy,
            layout=layout_settings(self.layout, self.n_components),
            neighbors=self.neighbors,
            target_recall=self.target_recall,
            new_points=self.new_points,
            max_memory=self.max_memory,
            work_dir=self.work_dir,
        )

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        lines = super().__repr__(N_CHAR_MAX).split("\n")
        # parameters may be arrays
        return "\n".join(lines if len(lines) <= 20 else [*lines[:18], "…", lines[-1]])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "callback": None}  # functions of a session do not travel

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other: Self = object.__new__(type(self))
        other.__dict__ = {**deepcopy(self.__getstate__(), memo), "callback": self.callback}
        return other
