"""One fit, from validated rows to a fitted tree or map; estimators and dask only adapt it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from scipy import sparse

from ..core.arrays import Array
from ..core.input.validate import largest_value
from ..core.progress import Progress
from ..method.hierarchy.tree import Hierarchy
from ..method.neighbors.item_graph import ItemGraph
from ..method.neighbors.metric.matrix import MedoidDistances
from ..method.placement import FittedTree
from ..method.run import Run
from .fitted import FittedMap, RowWork, fit_map
from .growth.like import OldModel, match_old
from .plan import Plan, expect, make_run, plan_fit
from .settings import FitSettings
from .tree import fit_tree

# times the largest value of the rows: no centroid is there; rows that were forgotten are not so far
_FARTHER = 1e30


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
    plan = plan or plan_fit(X, metric, settings, run.n_threads)
    run = _decide(plan, settings, run)
    find = None
    hashes = None
    if elsewhere is not None:
        hashes = elsewhere.hashes
        if elsewhere.n_parts > 1:
            run = replace(run, rows=replace(run.rows, parts=elsewhere.n_parts))
            find = partial(elsewhere.find, metric, run)
    tree, graph = fit_tree(X, metric, run, settings, hashes=hashes, find=find)
    return Grown(tree, graph, run)


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
    own = settings.map(settings.layout.draw_seed())
    if old is not None:
        tree = old.renumber(tree)
        own = old.settings(tree.hierarchy, own)
    work = None if elsewhere is None else elsewhere.work
    return fit_map(X, tree, own, grown.run, work, grown.graph)


def lay_again(
    fitted: FittedMap, X: Any, settings: FitSettings, run: Run, *, is_seeded: bool = False
) -> FittedMap:
    """Another map of the same tree and rows; `is_seeded`: by the seed of the settings."""
    _refuse_far_centroids(fitted.tree.hierarchy, X, run.n_threads)
    settings.check(X.shape[0])
    assert settings.layout is not None
    seed = settings.layout.draw_seed() if is_seeded else fitted.seed
    own = settings.map(seed, fitted.layout.start)
    return fit_map(X, fitted.tree, own, run, graph=fitted.graph)


def _refuse_far_centroids(hierarchy: Hierarchy, X: Any, n_threads: int) -> None:
    """Raise where centroids of a file cannot be means of the rows.

    A layout, in units of the rows, would overflow.
    """
    rows = largest_value(X.data if sparse.issparse(X) else X, n_threads)
    for level in hierarchy.levels:
        if isinstance(level.centroids, MedoidDistances):
            return
        own = level.centroids.data if sparse.issparse(level.centroids) else level.centroids
        if (largest := largest_value(own, n_threads)) > _FARTHER * (rows or 1.0):
            raise ValueError(
                f"X: its values are up to {rows:g}, but centroids of the model up to "
                f"{largest:g}: the file of the model was changed; fit a new one"
            )
