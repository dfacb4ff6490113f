"""From options to a model: the one place that knows how they reach `HNNE` and its layout."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DominantColumnsWarning
from .options import MODEL_OPTIONS
from .talk import Talk

_MANY = 1_000_000  # rows: parameters are checked before it is known how many there are

if TYPE_CHECKING:
    from ...method.layout import LayoutSettings
    from ...tables.encoder import TableEncoder
    from ..readers.table import Table


def given_parameters(options: Namespace) -> dict[str, Any]:
    """Parameters that were given, of the model and of its layout; paths of arrays are read."""
    found = {}
    for name, option in MODEL_OPTIONS.items():
        value = getattr(options, option.dest)
        if value is None:
            continue
        if name in ("neighbors", "preliminary") and value.endswith(".npy"):
            value = np.load(value, allow_pickle=False)
        elif name == "neighbors" and value.endswith(".npz"):
            value = _read_graph(value)
        found[name] = value
    return found


def build_model(
    options: Namespace,
    given: dict[str, Any],
    talk: Talk,
    work: Path | None,
    encoder: TableEncoder | None = None,
) -> Any:
    """The model of the first map; `given`: parameters, `work`: where finished levels are kept.

    `encoder`: that the table was encoded by.
    """
    from sklearn.base import clone

    from ...estimators.hnne import HNNE

    refuse_idle_options(given, options.dims)
    own = {name: value for name, value in given.items() if name in signature(HNNE).parameters}
    own["layout"] = make_layout(given, options.dims[0])
    own["encoder"] = None if encoder is None else clone(encoder)
    return HNNE(options.dims[0], **own, work_dir=work, callback=talk, n_jobs=options.threads)


def check_parameters(options: Namespace, given: dict[str, Any]) -> None:
    """Raise for what no data can make right, before data are read."""
    from ...core.input.memory import memory_budget
    from ...core.threads import resolve_n_jobs
    from ...method.neighbors.metric.check import known_metric
    from ...method.neighbors.metric.gower import GowerMetric
    from ...method.neighbors.metric.library import LibraryMetric
    from ...model.settings import FitSettings

    refuse_idle_options(given, options.dims)
    resolve_n_jobs(options.threads)
    memory_budget(given.get("max_memory"))
    metric = known_metric(given.get("metric", "euclidean"))
    parameters = given.get("metric_params") or {}
    metric.check_parameters(parameters)
    is_checked_by_fit = isinstance(metric, LibraryMetric) and not parameters
    if is_checked_by_fit or isinstance(metric, GowerMetric):
        metric.fit(np.eye(2), {})  # which tells whether there is such a metric, here
    plain: dict[str, Any] = {
        name: value for name, value in given.items() if isinstance(value, str | int | float)
    }
    asked = {name: plain[name] for name in signature(FitSettings).parameters if name in plain}
    asked["layout"] = make_layout(plain, options.dims[0])
    FitSettings(options.dims[0], **asked).check(_MANY)


def make_layout(given: dict[str, Any], n_components: int) -> LayoutSettings:
    """The settings of a layout from the options that are for it."""
    from ...method.layout.settings import layout_settings

    layout = layout_settings(given.get("layout", "auto"), n_components)
    own = layout.get_params(deep=False)
    layout.set_params(**{name: given[name] for name in own if name in given})
    return layout


def refuse_idle_options(given: dict[str, Any], dims: list[int]) -> None:
    """Raise for an option that none of the layouts has."""
    from ...method.layout.settings import SETTINGS

    homes = {kind: {*home().get_params(deep=False)} for kind, home in SETTINGS.items()}
    layouts = [make_layout(own, n) for n, own in _by_dims(given, dims).items()]
    used = {name for layout in layouts for name in homes[layout.kind]}
    idle = sorted(given.keys() & set().union(*homes.values()) - used)
    if idle:
        name = idle[0]
        others = " or ".join(repr(kind) for kind, names in homes.items() if name in names)
        raise ValueError(
            f"{name}={given[name]!r} is for layout={others}, and this is "
            f"layout={layouts[0].kind!r}: leave it out, or choose that layout"
        )


def _by_dims(given: dict[str, Any], dims: list[int]) -> dict[int, dict[str, Any]]:
    """What each map is made with; a layout for the plane is that of further maps only there."""
    from ...method.layout.settings import SETTINGS

    layout = given.get("layout", "auto")
    is_free = layout == "auto" or SETTINGS[layout].is_plane
    return {
        n: {**given, "layout": "auto"} if k and n != 2 and is_free else given
        for k, n in enumerate(dims)
    }


def fit_maps(model: Any, table: Table, dims: list[int], given: dict[str, Any]) -> dict[int, Any]:
    """Models by their dimensions: the first is fitted, the others are layouts of its hierarchy."""
    with _told_on(model.callback):
        model.fit(table.given, like=given.get("like"))
    models = {model.n_components: model}
    for n, own in [*_by_dims(given, dims).items()][1:]:
        models[n] = model.relayout(n_components=n, layout=make_layout(own, n))
    return models


@contextmanager
def _told_on(talk: Talk) -> Iterator[None]:
    """Columns that decide all distances are a note of the command, with the option that helps."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DominantColumnsWarning)
        show = warnings.showwarning

        def tell(message: Any, *others: Any, **more: Any) -> None:
            if isinstance(message, DominantColumnsWarning):
                talk.note(f"{message.finding}; --metric seuclidean gives each the same weight")
            else:
                show(message, *others, **more)

        warnings.showwarning = tell
        yield


def _read_graph(path: str) -> Any:
    """A sparse matrix of distances, or the arrays indices and distances."""
    from scipy import sparse

    try:
        with np.load(path, allow_pickle=False) as arrays:
            if {"indices", "distances"} <= {*arrays}:
                return arrays["indices"], arrays["distances"]
        return sparse.load_npz(path)
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"--neighbors {path}: holds neither a matrix of scipy.sparse.save_npz nor "
            "arrays indices and distances"
        ) from error
