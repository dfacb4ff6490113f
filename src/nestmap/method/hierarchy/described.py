"""The training rows that a user gives to be described; raw tables where an encoder made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.input.source import load_rows
from ...core.input.validate import as_rows
from ...tables.cells import name_columns
from ...tables.encoded import EncodedTable
from ..describe.tables import Column, named_columns, read_columns

if TYPE_CHECKING:
    from .tree import Hierarchy


def read_described(
    hierarchy: Hierarchy, X: Any, feature_names: Any = None
) -> tuple[Any, tuple[Column, ...]]:
    """The rows as they were mapped, and their columns, where these have names.

    Where an encoder made the rows of the fit, X is the raw table, and its columns are described.
    """
    n_rows = hierarchy.n_rows
    if X is None or hierarchy.encoder is None:
        columns = named_columns(X, feature_names, n_rows)
        return None if X is None else as_rows(load_rows(X)), columns
    if feature_names is not None:
        raise ValueError(
            "feature_names: the columns of the table that X is have names; leave it out"
        )
    rows = EncodedTable.of(X, hierarchy.encoder).rows
    if isinstance(X, EncodedTable):
        return rows, ()
    return rows, read_columns(dict(name_columns(X)), n_rows)
