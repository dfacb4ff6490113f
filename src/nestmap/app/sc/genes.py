"""Genes as columns: those that users name, or those that vary most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.habits import did_you_mean
from ...core.input.validate import check_number
from .cells import entry_of

MOST = 50  # genes that are taken where none are named
# how scanpy.pp.highly_variable_genes scores genes, by its flavours
_SCORES = ("variances_norm", "dispersions_norm")


def read_genes(
    adata: Any, names: Iterable[str], layer: str | None = None, use_raw: bool = False
) -> dict[str, Array]:
    """The expression of some genes, one array per gene."""
    source = adata.raw if use_raw and adata.raw is not None else adata
    wanted = list(names)
    for name in wanted:
        if name not in source.var_names:
            hint = did_you_mean(name, map(str, source.var_names))
            raise ValueError(f"{name!r} is no gene of adata{hint}")
    if not wanted:
        return {}
    at = [int(source.var_names.get_loc(name)) for name in wanted]
    rows = (
        source.X if layer is None or source is adata.raw else entry_of(adata.layers, "layer", layer)
    )
    values = rows[:, at]
    dense = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    return {name: dense[:, i].astype(np.float64) for i, name in enumerate(wanted)}


def columns_of(
    adata: Any, obs: Iterable[str], genes: Any, layer: str | None, use_raw: bool
) -> dict[str, Any]:
    """Columns of obs and genes, by name; a gene with the name of a column is told apart."""
    found = {name: entry_of(adata.obs, "obs", name) for name in obs}
    for name, values in read_genes(adata, choose_genes(adata, genes), layer, use_raw).items():
        found[f"{name} (gene)" if name in found else name] = values
    return found


def choose_genes(adata: Any, genes: Any) -> list[str]:
    """Names of genes: those that are given, or so many that vary most.

    Of the genes that `scanpy.pp.highly_variable_genes` has marked those with the highest score,
    else those with the largest variance in X.
    """
    if isinstance(genes, str):
        return [genes]
    if isinstance(genes, Iterable):
        return [str(name) for name in genes]
    check_number("genes", genes, 0, np.inf, integer=True)
    if genes == 0 or adata.X is None:
        return []
    order = np.argsort(-_scores(adata), kind="stable")[: int(genes)]
    return [str(adata.var_names[i]) for i in np.sort(order)]


def _scores(adata: Any) -> Array:
    """How much each gene varies; those that scanpy did not mark come last."""
    name = next((name for name in _SCORES if name in adata.var.columns), None)
    if name is not None:
        scores = np.nan_to_num(np.asarray(adata.var[name], dtype=np.float64), nan=-np.inf)
    else:
        scores = _variances(adata.X)
    if "highly_variable" in adata.var.columns:
        marked = np.asarray(adata.var["highly_variable"], dtype=bool)
        scores = np.where(marked, scores, -np.inf)
    return scores


def _variances(rows: Any) -> Array:
    """Variance of each column, of an array or a sparse matrix."""
    rows = rows.to_memory() if hasattr(rows, "to_memory") else rows
    if hasattr(rows, "toarray"):
        mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
        squares = np.asarray(rows.multiply(rows).mean(axis=0), dtype=np.float64).ravel()
        return np.asarray(squares - mean**2)
    return np.asarray(np.asarray(rows, dtype=np.float64).var(axis=0))
