"""From options to a model: the one place that knows how parameters reach `HNNE`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from .options import MODEL_OPTIONS
from .talk import Talk


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


def build_model(options: Namespace, given: dict[str, Any], talk: Talk, work: Path | None) -> Any:
    """The model of the first map; `given`: parameters, `work`: where finished levels are kept."""
    from ...estimators.hnne import HNNE

    return HNNE(options.dims[0], **given, work_dir=work, callback=talk, n_jobs=options.threads)


def fit_maps(model: Any, table: Any, dims: list[int]) -> dict[int, Any]:
    """Models by their dimensions: the first is fitted, the others are layouts of its hierarchy."""
    model.fit(table.X)
    models = {model.n_components: model}
    for n in dims[1:]:
        # islands and mosaics are for the plane: elsewhere the layout is chosen anew
        other = {} if n == 2 or model.layout == "descent" else {"layout": "auto"}
        models[n] = model.relayout(n_components=n, **other)
    return models


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
