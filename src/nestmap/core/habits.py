"""Parameters that other libraries have and nestmap does not: what to do instead, and typos."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_FIRST = "the hierarchy needs first neighbours only, and there is no number to choose"
_FORCES = "the islands find their own steps, and the same data give the same map"
_START = (
    "layout=Descent(preliminary=…) says where a descent starts: 'pca_centroids', 'pca', "
    "'random_projection', 'random' or coordinates"
)
_SEARCH = (
    "neighbors='auto', 'exact' or 'approximate' says how neighbours are found, "
    "target_recall= how well"
)
_TIGHT = (
    "layout=Islands(tightness=…) says how close rows lie (1 is about t-SNE's balance, more makes "
    "smaller islands with wider seas)"
)
_LEVELS = (
    "hierarchy_.labels(level) and hierarchy_.labels(n_clusters=K) give coarser and finer "
    "clusters of one fit"
)
_SUPERVISED = (
    "labels are used for nothing; compare them afterwards, with nestmap.metrics or "
    "plot(model, color=y)"
)
_GIVEN = (
    "neighbors= takes an (n, k) array of indices, a pair (indices, distances) or a "
    "sparse matrix of distances"
)

# What people who know umap-learn, openTSNE, scikit-learn, PaCMAP, hnne, FINCH or HDBSCAN ask for.
INSTEAD = {
    **dict.fromkeys(
        ("n_neighbors", "perplexity", "local_connectivity", "n_neighbours", "k"), _FIRST
    ),
    **dict.fromkeys(
        (
            "min_dist",
            "spread",
            "a",
            "b",
            "repulsion_strength",
            "exaggeration",
            "early_exaggeration",
            "dof",
            "set_op_mix_ratio",
        ),
        _TIGHT,
    ),
    **dict.fromkeys(
        (
            "learning_rate",
            "lr",
            "n_iter",
            "n_iters",
            "num_iters",
            "max_iter",
            "n_epochs",
            "theta",
            "angle",
            "early_exaggeration_iter",
            "n_iter_without_progress",
            "min_grad_norm",
            "method",
            "negative_gradient_method",
            "negative_sample_rate",
            "initial_momentum",
            "final_momentum",
            "momentum",
            "max_grad_norm",
            "max_step_norm",
            "MN_ratio",
            "FP_ratio",
            "batch_size",
        ),
        _FORCES,
    ),
    **dict.fromkeys(("init", "initialization", "preliminary_embedding", "apply_pca"), _START),
    **dict.fromkeys(
        (
            "ann_threshold",
            "low_memory",
            "force_approximation_algorithm",
            "angular_rp_forest",
            "algorithm",
            "use_ann_above_samples",
            "nn_method",
            "knn_backend",
            "save_tree",
        ),
        _SEARCH,
    ),
    **dict.fromkeys(
        ("precomputed_knn", "knn", "pair_neighbors", "initial_rank", "knn_indices"), _GIVEN
    ),
    **dict.fromkeys(
        (
            "min_cluster_size",
            "min_samples",
            "eps",
            "req_clust",
            "distance_threshold",
            "linkage",
            "cluster_selection_method",
            "cluster_selection_epsilon",
        ),
        _LEVELS,
    ),
    **dict.fromkeys(("target_metric", "target_weight", "target_n_neighbors", "y"), _SUPERVISED),
    **dict.fromkeys(
        ("dim", "n_dims", "ndim", "n_dim", "dims", "d"), "n_components= is the number of dimensions"
    ),
    **dict.fromkeys(
        ("distance", "affinity"), "metric= is the distance: 'euclidean', 'cosine', 'manhattan', …"
    ),
    **dict.fromkeys(
        ("metric_kwds", "metric_kwargs", "metric_args"),
        "metric_params= takes parameters of the metric",
    ),
    **dict.fromkeys(
        ("seed", "ann_random_state", "transform_seed", "rng"),
        "layout=Descent(preliminary='random', random_state=…) seeds a random start; nothing else "
        "is random",
    ),
    **dict.fromkeys(
        ("n_threads", "num_threads", "threads", "workers"), "n_jobs= is the number of threads"
    ),
    **dict.fromkeys(
        ("callbacks", "callbacks_every_iters", "tqdm_kwds", "progress"),
        "callback= is called with a ProgressEvent, and verbose=1 tells the stages",
    ),
    **dict.fromkeys(
        ("densmap", "dens_lambda", "dens_frac", "output_dens", "dens_var_shift"),
        "layout='mosaic' gives clusters area by their rows; no layout keeps local density",
    ),
    **dict.fromkeys(("output_metric", "output_metric_kwds"), "maps are euclidean"),
    **dict.fromkeys(
        ("unique", "disconnection_distance"),
        "equal rows lie in one place; transform(X, return_distance=True) tells which rows are far",
    ),
}

# Where parameters of a layout, and of a fit, are, which other libraries give to the estimator.
ELSEWHERE = {
    "radius": "layout=Descent(radius=…), or Islands(detail='leaves', radius=…)",
    "tightness": "layout=Islands(tightness=…)",
    "detail": "layout=Islands(detail=…)",
    **{
        name: f"layout=Descent({name}=…)"
        for name in ("arrangement", "preliminary", "inflate", "random_state")
    },
    "like": "fit(X, like=…)",
    "standardize": "scale the columns before the fit, with sklearn.preprocessing.StandardScaler",
}


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """' (did you mean 'cosine'?)', or nothing.

    Examples
    --------
    >>> did_you_mean("cosin", ["cosine", "euclidean"]), did_you_mean("x", ["cosine"])
    (" (did you mean 'cosine'?)", '')
    """
    near = get_close_matches(name.lower(), [*options], 1, 0.6)
    return f" (did you mean {near[0]!r}?)" if near else ""


def refuse_habits(init: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method: its TypeError for a parameter that it does not have names the substitute.

    The signature stays as it is, so that scikit-learn finds the parameters.
    """
    known = [name for name in signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        unknown = [name for name in kwargs if name not in known]
        if unknown:
            own = type(args[0]).__name__
            name = own if init.__name__ == "__init__" else f"{own}.{init.__name__}"
            raise TypeError(_advice(name, unknown, known))
        return init(*args, **kwargs)

    return checked


def _advice(estimator: str, unknown: list[str], known: list[str]) -> str:
    """One line for all that was wrong."""
    said: dict[str, list[str]] = {}
    advice = INSTEAD | (ELSEWHERE if "layout" in known else {})
    for name in unknown:
        instead = f": {advice[name]}" if name in advice else did_you_mean(name, known)
        said.setdefault(instead, []).append(name)
    parts = [f"{', '.join(names)}{text}" for text, names in said.items()]
    if "" in said:
        parts.append(f"it has {', '.join(known) or 'none'}")
    return f"{estimator} has no parameter {'; '.join(parts)}"


def refuse_cells(X: Any, name: str) -> None:
    """Raise for an AnnData object, whose matrices and neighbours have a function of their own."""
    if all(hasattr(X, attribute) for attribute in ("obs", "obsm", "var", "uns", "X")):
        raise TypeError(
            f"{name} is an AnnData object: call nestmap.sc.tl.hnne(adata), which puts the map into "
            f"adata.obsm['X_hnne'], or pass one of its matrices, such as {name}.obsm['X_pca'] or "
            f"{name}.X"
        )
