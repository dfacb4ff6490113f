"""One fit, from validated rows to a fitted tree or map; estimators and dask only adapt it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scipy import sparse

from ..core.input.validate import largest_value
from ..method.hierarchy.tree import Hierarchy
from ..method.layout.base import Origin
from ..method.neighbors.item_graph import ItemGraph
from ..method.neighbors.metric.matrix import MedoidDistances
from ..method.placement import FittedTree
from ..method.rows import RowsHere, TrainingRows
from ..method.run import Run
from .fitted import FittedMap, fit_map
from .growth.like import OldModel, match_old
from .plan import Plan
from .planning import expect, plan_fit
from .settings import FitSettings
from .tree import fit_tree

# times the largest value of the rows: no centroid is there; rows that were forgotten are not so far
_FARTHER = 1e30


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree, the graph behind it, and how it was made."""

    tree: FittedTree
    graph: ItemGraph | None
    run: Run


def grow_tree(
    rows: TrainingRows, settings: FitSettings, run: Run, plan: Plan | None = None
) -> Grown:
    """Plan the fit and build its tree; `run` says the threads and where progress is told."""
    metric = settings.metric_of(rows.X)
    plan = plan or plan_fit(rows.X, metric, settings, run.n_threads)
    if settings.layout is not None:
        run.progress.note(str(plan))
    expect(plan, run.progress)
    run = replace(run, plan=plan, folder=settings.folder())
    tree, graph = fit_tree(rows, metric, run, settings)
    return Grown(tree, graph, run)


def fit(
    rows: TrainingRows,
    settings: FitSettings,
    run: Run,
    *,
    plan: Plan | None = None,
    like: OldModel | None = None,
) -> FittedMap:
    """The hierarchy of validated rows and its map.

    Parameters
    ----------
    rows : TrainingRows
        `RowsHere(X, run)`, or rows that others work on.
    run : Run
        Threads and progress; the rest is decided here.
    plan : Plan, optional
        If it was made before.
    like : OldModel, optional
        An older map that the new one is to lie on.
    """
    settings.check(rows.X.shape[0])
    assert settings.layout is not None
    old = None if like is None else match_old(like, rows, settings.n_components)
    grown = grow_tree(rows, settings, run, plan)
    tree = grown.tree
    origin = Origin(settings.layout.draw_seed())
    if old is not None:
        tree = old.renumber(tree)
        origin = old.origin(tree.hierarchy, settings, origin.seed)
    return fit_map(rows, tree, settings, grown.run, origin, grown.graph)


def lay_again(
    fitted: FittedMap, X: Any, settings: FitSettings, run: Run, *, is_seeded: bool = False
) -> FittedMap:
    """Another map of the same tree and rows; `is_seeded`: by the seed of the settings."""
    _refuse_far_centroids(fitted.tree.hierarchy, X, run.n_threads)
    settings.check(X.shape[0])
    assert settings.layout is not None
    seed = settings.layout.draw_seed() if is_seeded else fitted.seed
    origin = Origin(seed, fitted.layout.start)
    return fit_map(RowsHere(X, run), fitted.tree, settings, run, origin, fitted.graph)


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
