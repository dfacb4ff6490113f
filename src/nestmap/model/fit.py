"""One fit, from validated rows to a fitted tree or map; estimators and dask only adapt it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..core.arrays import Array
from ..core.input.memory import Budget, memory_budget
from ..core.input.validate import check_number, check_option
from ..core.progress import Progress
from ..method.hierarchy.tree import KINDS as HIERARCHIES
from ..method.layout import IslandsLayout, LayoutSettings
from ..method.neighbors import FirstNeighbors, check_metric, given_neighbors
from ..method.neighbors.choice import METHODS, Search
from ..method.neighbors.given import brings_lists, given_lists
from ..method.neighbors.item_graph import ItemGraph
from ..method.placement import RULES, FittedTree
from ..method.run import Run
from .fitted import FittedMap, MapSettings, RowWork, TreeSettings, fit_map, fit_tree
from .growth.like import OldModel, match_old
from .plan import Plan, expect, make_run, plan_fit


@dataclass(frozen=True, eq=False)
class FitSettings:
    """What was asked of a fit, as users say it; `check` raises for what cannot be."""

    n_components: int = 0  # of the map; 0: a tree alone
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    hierarchy: str = "first_neighbors"
    min_nodes: int = 3  # of a level
    layout: LayoutSettings | None = None  # None: a tree alone
    neighbors: Any = "auto"
    target_recall: float = 0.9
    new_points: str = "centroid"
    max_memory: int | str | None = None
    work_dir: Any = None

    def check(self, n_rows: int) -> None:
        """Raise for parameters that cannot be."""
        if self.layout is not None:
            check_number("n_components", self.n_components, 1, np.inf, integer=True)
        if self.finds_neighbors:
            check_option("neighbors", self.neighbors, METHODS)
        Search(target_recall=self.target_recall)
        check_option("new_points", self.new_points, RULES)
        check_option("hierarchy", self.hierarchy, HIERARCHIES)
        if self.layout is not None:
            self.layout.check(self.n_components, n_rows)

    @property
    def finds_neighbors(self) -> bool:
        """Whether neighbours are searched, not given."""
        return isinstance(self.neighbors, str)

    @property
    def is_seeded(self) -> bool:
        """Whether the layout has a seed of its own."""
        return self.layout is not None and self.layout.random_state is not None

    @property
    def search(self) -> Search:
        """How first neighbours are to be found, as far as the user says."""
        return Search(self.neighbors if self.finds_neighbors else "auto", self.target_recall)

    def metric_of(self, X: Any) -> Any:
        """The metric, checked against the rows."""
        return check_metric(self.metric, X, self.metric_params)

    def folder(self) -> Path | None:
        """Where temporary files go; it is made."""
        if self.work_dir is None:
            return None
        folder = Path(self.work_dir).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def plan(
        self,
        X: Any,
        metric: Any,
        n_threads: int,
        budget: Budget | None = None,
        n_rows: int | None = None,
    ) -> Plan:
        """What a fit will need; `n_rows`: where X is only a sample of the rows."""
        layout = self.layout
        is_islands = layout is not None and layout.kind == "islands"
        return plan_fit(
            X,
            metric,
            self.search,
            n_components=self.n_components,
            local=layout is not None and layout.is_local(self.n_components),
            detail=layout.finest(n_rows or X.shape[0]) if layout and is_islands else None,
            given=not self.finds_neighbors,
            budget=memory_budget(self.max_memory) if budget is None else budget,
            n_rows=n_rows,
            layout="" if layout is None else layout.kind,
            n_threads=n_threads,
            kind=self.hierarchy,
            lists=brings_lists(self.neighbors),
        )

    def tree(self, n_rows: int) -> TreeSettings:
        """What the tree depends on, beside the rows and their metric."""
        given: FirstNeighbors | None = None
        lists: Array | None = None
        if not self.finds_neighbors:
            given = given_neighbors(self.neighbors, n_rows)
            if self.hierarchy == "graph":
                lists = given_lists(self.neighbors, n_rows)
        return TreeSettings(
            self.hierarchy, self.min_nodes, self.new_points, given, lists, self.work_dir
        )

    def map(self, n_rows: int, seed: int, start: Array | None = None) -> MapSettings:
        """What the map depends on, with every 'auto' resolved."""
        layout = self.layout
        assert layout is not None
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


class Elsewhere(Protocol):
    """Rows that others than this process know and work on: the same as they would get here."""

    @property
    def hashes(self) -> Array:
        """As `hash_points` gives them."""

    @property
    def work(self) -> RowWork | None:
        """What a map needs of each row; None: it is done here."""

    @property
    def n_parts(self) -> int:
        """Parts that the rows are searched in; 1: they are searched here."""

    def find(self, metric: Any, run: Run, *level: Any) -> Any:
        """First neighbours of the items below a level, or None (see `Finder`)."""


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree, the graph behind it, and how it was made."""

    tree: FittedTree
    graph: ItemGraph | None
    settings: TreeSettings
    run: Run


def grow_tree(
    X: Any,
    settings: FitSettings,
    run: Run,
    plan: Plan | None = None,
    elsewhere: Elsewhere | None = None,
) -> Grown:
    """Plan the fit and build its tree; `run` says the threads and where progress is told."""
    metric = settings.metric_of(X)
    own = settings.tree(X.shape[0])
    plan = plan or settings.plan(X, metric, run.n_threads)
    run = _decide(plan, settings, run)
    find = None
    hashes = None
    if elsewhere is not None:
        hashes = elsewhere.hashes
        if elsewhere.n_parts > 1:
            run = replace(run, rows=replace(run.rows, parts=elsewhere.n_parts))
            find = partial(elsewhere.find, metric, run)
    tree, graph = fit_tree(X, metric, run, own, hashes=hashes, find=find)
    return Grown(tree, graph, own, run)


def _decide(plan: Plan, settings: FitSettings, run: Run) -> Run:
    """The run with what the plan has decided."""
    progress: Progress = run.progress
    if settings.layout is not None:
        progress.note(str(plan))
    expect(plan, progress)
    return make_run(plan, settings.search, run.n_threads, progress, settings.folder())


def fit(
    X: Any,
    settings: FitSettings,
    run: Run,
    *,
    plan: Plan | None = None,
    like: OldModel | None = None,
    elsewhere: Elsewhere | None = None,
) -> FittedMap:
    """The hierarchy of validated rows and its map.

    Parameters
    ----------
    run : Run
        Threads and progress; the rest is decided here.
    plan : Plan, optional
        If it was made before.
    like : OldModel, optional
        An older map that the new one is to lie on.
    elsewhere : Elsewhere, optional
        What a cluster does with the rows.
    """
    settings.check(X.shape[0])
    assert settings.layout is not None
    old = None
    if like is not None:
        hashes = None if elsewhere is None else elsewhere.hashes
        old = match_old(like, X, hashes, settings.n_components, run.n_threads)
    grown = grow_tree(X, settings, run, plan, elsewhere)
    tree = grown.tree
    own = settings.map(X.shape[0], settings.layout.draw_seed())
    if old is not None:
        tree = old.renumber(tree)
        own = old.settings(tree.hierarchy, own)
    work = None if elsewhere is None else elsewhere.work
    return fit_map(X, tree, own, grown.run, work, grown.graph)


def lay_again(
    fitted: FittedMap, X: Any, settings: FitSettings, run: Run, *, is_seeded: bool = False
) -> FittedMap:
    """Another map of the same tree and rows; `is_seeded`: by the seed of the settings."""
    settings.check(X.shape[0])
    assert settings.layout is not None
    seed = settings.layout.draw_seed() if is_seeded else fitted.seed
    start = fitted.layout.first if isinstance(fitted.layout, IslandsLayout) else None
    start = None if start is None or len(start) == 0 else start
    own = settings.map(X.shape[0], seed, start)
    return fit_map(X, fitted.tree, own, run, graph=fitted.graph)
