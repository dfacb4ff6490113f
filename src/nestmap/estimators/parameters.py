"""The parameters of HNNE: checked, and with every 'auto' resolved."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from ..core.arrays import Array
from ..core.habits import refuse_habits
from ..core.input.memory import Budget
from ..core.input.validate import check_number, check_option
from ..core.threads import resolve_n_jobs
from ..method.hierarchy.tree import KINDS as HIERARCHIES
from ..method.layout import LayoutSettings, layout_settings
from ..method.neighbors.choice import METHODS, Search
from ..method.neighbors.given import brings_lists
from ..method.placement import RULES
from ..model.fitted import MapSettings
from ..model.plan import Plan, plan_fit


class MapParameters(BaseEstimator):  # type: ignore[misc]  # untyped base
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
        layout = parameters.get("layout", self.layout)
        nested = [name for name in parameters if name.startswith("layout__")]
        if nested and not isinstance(layout, LayoutSettings):
            raise ValueError(
                f"{nested[0]}: layout={str(layout)[:60]!r} is a short form without settings of its "
                "own; give one that has some first, such as layout=Descent()"
            )
        found: Self = super().set_params(**parameters)
        return found

    def _check_parameters(self, n_rows: int) -> None:
        check_number("n_components", self.n_components, 1, np.inf, integer=True)
        if isinstance(self.neighbors, str):
            check_option("neighbors", self.neighbors, METHODS)
        Search(target_recall=self.target_recall)
        check_option("new_points", self.new_points, RULES)
        check_option("hierarchy", self.hierarchy, HIERARCHIES)
        self._layout().check(self.n_components, n_rows)
        resolve_n_jobs(self.n_jobs)

    def _layout(self) -> LayoutSettings:
        return layout_settings(self.layout, self.n_components)

    def _plan(self, X: Any, metric: Any, budget: Budget, n_rows: int | None = None) -> Plan:
        layout = self._layout()
        return plan_fit(
            X,
            metric,
            self._options(),
            n_components=self.n_components,
            local=layout.is_local(self.n_components),
            detail=layout.finest(n_rows or X.shape[0]) if layout.kind == "islands" else None,
            given=not isinstance(self.neighbors, str),
            budget=budget,
            n_rows=n_rows,
            layout=layout.kind,
            n_threads=resolve_n_jobs(self.n_jobs),
            kind=self.hierarchy,
            lists=brings_lists(self.neighbors),
        )

    def _options(self) -> Search:
        """How first neighbours are to be found, as far as the user says."""
        return Search(
            self.neighbors if isinstance(self.neighbors, str) else "auto", self.target_recall
        )

    def _folder(self) -> Path | None:
        """Where temporary files go."""
        if self.work_dir is None:
            return None
        folder = Path(self.work_dir).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _settings(self, n_rows: int, seed: int, start: Array | None = None) -> MapSettings:
        """What the map depends on, with every 'auto' resolved."""
        layout = self._layout()
        return MapSettings(
            self.n_components,
            layout.kind,
            layout.radius,
            layout.is_local(self.n_components),
            bool(layout.inflate),
            layout.coordinates(self.n_components, n_rows),
            seed,
            layout.finest(n_rows),
            float(layout.tightness),
            start,
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
