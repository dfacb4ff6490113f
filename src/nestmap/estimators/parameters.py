"""The parameters of HNNE: checked, and with every 'auto' resolved."""

from __future__ import annotations

from copy import deepcopy
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..core.arrays import Array
from ..core.habits import refuse_habits
from ..core.input.memory import Budget
from ..core.input.validate import check_number, check_option
from ..core.threads import resolve_n_jobs
from ..method.arrangement import ARRANGEMENTS, MOST_LOCAL
from ..method.hierarchy.tree import KINDS as HIERARCHIES
from ..method.layout import DETAILS, LAYOUTS
from ..method.neighbors.choice import METHODS, Search
from ..method.neighbors.given import brings_lists
from ..method.neighbors.item_graph import MOST_ROWS
from ..method.placement import RULES
from ..method.preliminary import KINDS, check_coordinates
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
        layout: str = "auto",
        detail: str = "auto",
        tightness: float = 1.0,
        radius: float = 1 / 3,
        arrangement: str = "auto",
        preliminary: Any = "pca_centroids",
        inflate: bool = False,
        neighbors: Any = "auto",
        target_recall: float = 0.9,
        max_memory: int | str | None = None,
        work_dir: Any = None,
        callback: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        standardize: bool = False,
        new_points: str = "centroid",
        like: Any = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.hierarchy = hierarchy
        self.layout = layout
        self.detail = detail
        self.tightness = tightness
        self.radius = radius
        self.arrangement = arrangement
        self.preliminary = preliminary
        self.inflate = inflate
        self.neighbors = neighbors
        self.target_recall = target_recall
        self.max_memory = max_memory
        self.work_dir = work_dir
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.standardize = standardize
        self.new_points = new_points
        self.like = like

    def _check_parameters(self, n_rows: int) -> None:
        check_number("n_components", self.n_components, 1, np.inf, integer=True)
        check_number("radius", self.radius, 1e-6, 0.5)
        if not isinstance(self.preliminary, np.ndarray | list):
            check_option("preliminary", self.preliminary, KINDS)
        if isinstance(self.neighbors, str):
            check_option("neighbors", self.neighbors, METHODS)
        Search(target_recall=self.target_recall)
        check_option("new_points", self.new_points, RULES)
        check_option("hierarchy", self.hierarchy, HIERARCHIES)
        check_option("arrangement", self.arrangement, ARRANGEMENTS)
        check_option("layout", self.layout, LAYOUTS)
        check_option("detail", self.detail, DETAILS)
        check_number("tightness", self.tightness, 0.1, 100)
        if self.layout in ("mosaic", "islands") and self.n_components != 2:
            raise ValueError(
                f"layout={self.layout!r} is for the plane: it needs n_components=2, not "
                f"{self.n_components}; use layout='descent' for other dimensions"
            )
        if not isinstance(self.inflate, bool | np.bool_):
            raise ValueError(f"inflate={self.inflate!r}: use True or False")
        if self.inflate and self._is_local():
            raise ValueError(
                "inflate=True is for arrangement='global'; local frames need none: use "
                "inflate=False"
            )
        if self.inflate and self.n_components not in (2, 3):
            raise ValueError(
                f"inflate=True works in 2 or 3 dimensions, not n_components={self.n_components}; "
                "use inflate=False"
            )
        if not (
            self.like is None or isinstance(self.like, str | PathLike) or self._is_fitted(self.like)
        ):
            raise ValueError(
                f"like={str(self.like)[:60]}: must be a fitted HNNE, the path of a model file, or "
                "None"
            )
        self._kind(n_rows)
        resolve_n_jobs(self.n_jobs)

    def _kind(self, n_rows: int) -> Any:
        if isinstance(self.preliminary, str):
            return self.preliminary
        return check_coordinates(self.preliminary, n_rows, self.n_components)

    @staticmethod
    def _is_fitted(model: Any) -> bool:
        return isinstance(model, MapParameters) and hasattr(model, "hierarchy_")

    def _plan(self, X: Any, metric: Any, budget: Budget, n_rows: int | None = None) -> Plan:
        return plan_fit(
            X,
            metric,
            self._options(),
            n_components=self.n_components,
            local=self._is_local(),
            detail=self._detail(n_rows or X.shape[0]) if self._layout() == "islands" else None,
            given=not isinstance(self.neighbors, str),
            budget=budget,
            n_rows=n_rows,
            layout=self._layout(),
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
        return MapSettings(
            self.n_components,
            self._layout(),
            self.radius,
            self._is_local(),
            bool(self.inflate),
            self._kind(n_rows),
            self.standardize,
            seed,
            self._detail(n_rows),
            float(self.tightness),
            start,
        )

    def _layout(self) -> str:
        if self.layout == "auto":
            return "islands" if self.n_components == 2 else "descent"
        return self.layout

    def _detail(self, n_rows: int) -> str:
        if self.detail == "auto":
            return "rows" if n_rows <= MOST_ROWS else "leaves"
        return self.detail

    def _draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _is_local(self) -> bool:
        if self.arrangement == "auto":
            return self.n_components <= MOST_LOCAL
        return self.arrangement == "local"

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        lines = super().__repr__(N_CHAR_MAX).split("\n")
        # parameters may be arrays
        return "\n".join(lines if len(lines) <= 20 else [*lines[:18], "…", lines[-1]])

    def __getstate__(self) -> dict[str, Any]:
        state = {**super().__getstate__(), "callback": None}  # functions of a session do not travel
        # a fit has made use of it
        return {**state, "like": None} if hasattr(self, "hierarchy_") else state

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other: Self = object.__new__(type(self))
        state = {**self.__getstate__(), "like": None}
        other.__dict__ = {**deepcopy(state, memo), "callback": self.callback, "like": self.like}
        return other

    def __sklearn_clone__(self) -> Self:
        """An unfitted copy. `like` is the same fitted model: a clone of it would know nothing."""
        other: Self = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, "like": None}
        found: Self = BaseEstimator.__sklearn_clone__(other)
        found.like = self.like
        return found
