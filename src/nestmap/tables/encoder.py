"""`TableEncoder`: tables of any columns as rows of numbers, one decision per column."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import Array
from ..core.arrays import blocks as cuts
from ..core.habits import did_you_mean
from ..core.threads import single_threaded_blas
from ..errors import ModelFileError
from .balance import fit_balance
from .blocks import Block, fit_block, owners_of
from .cells import Cells, read_cells, read_known
from .decide import Decisions, decide_cells
from .encoders import LevelEncoder
from .filling import fit_filler
from .profiles import read_levels, read_values
from .records import (
    VERSION,
    checked,
    read_blocks,
    read_decisions,
    read_filler,
    write_blocks,
    write_decisions,
)

_TEXTS = ("names", "tfidf")
_MISSING = ("expected", "mean", "keep")
_IN_CACHE = 2**17  # numbers of rows that are hashed at once
_TOLD = 3  # new categories that a warning names


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode tables of numbers, categories, dates, texts and gaps as rows to map.

    Each column gets one decision (`print(encoder.decisions_)`), and weighs as one column; of what
    columns have in common, half is scaled away.

    Parameters
    ----------
    columns : dict of str to str, optional
        Kinds for columns by name, where the decision should be another: 'number', 'category',
        'boolean', 'date', 'text', 'vector', 'identifier' (kept beside the map), 'drop'.
    weights : dict of str to float, optional
        Weights of columns by name: 2 counts as two columns, 0 leaves it out of distances.
    texts : {'names', 'tfidf'}
        Texts serve only for names of clusters, or are mapped by their words.
    missing : {'expected', 'mean', 'keep'}
        What stands for an empty cell: what the row's other columns let expect, the mean of the
        column, or NaN, for metrics that know it; columns are then not balanced.

    Attributes
    ----------
    decisions_ : Decisions
        One per column, and how many rows are distinct.
    blocks_ : tuple of Block
        How mapped columns are encoded.
    filler_ : Filler
        The model of expected values.
    balance_ : Balance
        What columns have in common, and how much of it is scaled away.
    feature_names_in_ : array of str
    n_features_in_ : int

    Examples
    --------
    >>> from nestmap.tables import TableEncoder
    >>> table = {"size": [1.0, 2.0, None, 4.0], "kind": ["a", "b", "a", "NA"]}
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'kind=a', 'kind=b']
    >>> encoder.transform(table).shape
    (4, 3)
    >>> encoder.decisions_["kind"].missing
    0.25
    """

    def __init__(
        self,
        columns: Mapping[str, str] | None = None,
        weights: Mapping[str, float] | None = None,
        texts: str = "names",
        missing: str = "expected",
    ) -> None:
        self.columns = columns
        self.weights = weights
        self.texts = texts
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:
        """Decide on the columns of a table.

        Parameters
        ----------
        X : DataFrame, pyarrow table, dict of columns or 2-D array
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is nothing to map, or parameters do not fit the table.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """`fit(X).transform(X)`, in one pass.

        Parameters
        ----------
        X : DataFrame, pyarrow table, dict of columns or 2-D array
        y : ignored
        **fit_params : ignored

        Returns
        -------
        array of shape (n_rows, n_numbers), float32
        """
        return self._fit(X)

    def _fit(self, X: Any) -> Array:
        _check_choice("texts", self.texts, _TEXTS)
        _check_choice("missing", self.missing, _MISSING)
        table = read_cells(X)
        if not table or not len(table[0].values):
            raise ValueError("the table is empty: there is nothing to decide on")
        decisions = decide_cells(table, self.columns, self.texts)
        weights = _check_weights(self.weights, [cells.name for cells in table])
        with single_threaded_blas():  # bits that do not depend on the number of cores
            blocks = tuple(
                fit_block(cells, decision, weights.get(cells.name, 1.0))
                for cells, decision in zip(table, decisions, strict=True)
                if decision.mapped
            )
        if not blocks:
            raise ValueError(f"no column can be mapped; columns={{…}} changes that\n{decisions}")
        rows = _encode(blocks, {cells.name: cells for cells in table})
        with single_threaded_blas():  # small matrices: threads would only wait for each other
            self.filler_ = fit_filler(rows, owners_of(blocks))
        self.balance_ = fit_balance(self.filler_, blocks)
        self._complete(rows)
        self.decisions_ = Decisions(decisions.decisions, len(rows), count_distinct(rows))
        self.blocks_ = blocks
        self.feature_names_in_ = np.array([cells.name for cells in table], dtype=object)
        self.n_features_in_ = len(table)
        return rows

    def transform(self, X: Any) -> Array:
        """Encode rows as those of the fit were.

        The order of columns does not matter, columns that were not in the fit are ignored, and so
        are absent ones that the map does not depend on. Categories that the fit did not see are
        about as far from each known one as these from another, and a warning names them.

        Parameters
        ----------
        X : DataFrame, pyarrow table, dict of columns or 2-D array

        Returns
        -------
        array of shape (n_rows, n_numbers), float32

        Raises
        ------
        ValueError
            If a column that the map depends on is absent.
        """
        check_is_fitted(self)
        table = read_known(X, [block.name for block in self.blocks_])
        _warn_of_news(self.blocks_, table)
        rows = _encode(self.blocks_, table)
        self._complete(rows)
        return rows

    def _complete(self, rows: Array) -> None:
        """Put something in place of NaN, and balance columns, in place."""
        if self.missing == "keep":
            return
        with single_threaded_blas():
            if self.missing == "mean":
                np.nan_to_num(rows, copy=False, nan=0.0)
            else:
                self.filler_.fill(rows)
            self.balance_.apply(rows)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the numbers: 'size', 'kind=a', 'released_month_cos', …

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        return np.array([name for block in self.blocks_ for name in block.names], dtype=object)

    def to_record(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The fitted encoder as plain values, for JSON, and arrays by name: for model files.

        Returns
        -------
        record : dict
        arrays : dict of str to array
        """
        check_is_fitted(self)
        arrays: dict[str, Array] = {}
        parameters = {
            "columns": None if self.columns is None else dict(self.columns),
            "weights": None
            if self.weights is None
            else {name: float(weight) for name, weight in self.weights.items()},
            "texts": self.texts,
            "missing": self.missing,
        }
        record = {
            "version": VERSION,
            "parameters": parameters,
            "decisions": write_decisions(self.decisions_),
            **write_blocks(self.blocks_, self.filler_, arrays),
        }
        return record, arrays

    @classmethod
    def from_record(cls, record: Mapping[str, Any], arrays: Mapping[str, Array]) -> TableEncoder:
        """The encoder that `to_record` wrote.

        Parameters
        ----------
        record : dict
        arrays : dict of str to array

        Returns
        -------
        TableEncoder

        Raises
        ------
        ModelFileError
            If they are damaged, or of a newer nestmap.

        Examples
        --------
        >>> table = {"size": [1.0, 2.0, 7.0], "kind": ["a", "b", "a"]}
        >>> encoder = TableEncoder().fit(table)
        >>> again = TableEncoder.from_record(*encoder.to_record())
        >>> bool((again.transform(table) == encoder.transform(table)).all())
        True
        """
        version = record.get("version")
        if version != VERSION:
            raise ModelFileError(f"a table encoder of version {version!r}; this nestmap reads 1")
        found = checked(
            lambda: cls(**{name: record["parameters"][name] for name in cls().get_params()}),
            "parameters",
        )
        checked(lambda: _check_choice("texts", found.texts, _TEXTS), "texts")
        checked(lambda: _check_choice("missing", found.missing, _MISSING), "missing")
        found.decisions_ = read_decisions(record.get("decisions"))
        found.blocks_ = read_blocks(record, arrays)
        mapped = [decision.name for decision in found.decisions_.mapped]
        if mapped != [block.name for block in found.blocks_] or not mapped:
            raise ModelFileError("the record of a table encoder maps other columns than it decided")
        width = sum(block.width for block in found.blocks_)
        found.filler_ = read_filler(record, arrays, width)
        found.balance_ = fit_balance(found.filler_, found.blocks_)
        names = [decision.name for decision in found.decisions_]
        found.feature_names_in_ = np.array(names, dtype=object)
        found.n_features_in_ = len(names)
        return found


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(
            f"{name}={value!r}: takes {', '.join(map(repr, choices))}"
            f"{did_you_mean(str(value), choices)}"
        )


def _check_weights(weights: Mapping[str, float] | None, names: list[str]) -> Mapping[str, float]:
    for name, weight in (weights or {}).items():
        if name not in names:
            raise ValueError(f"weights={{{name!r}: …}}: no such column{did_you_mean(name, names)}")
        if not isinstance(weight, int | float | np.number) or not 0 <= weight < np.inf:
            raise ValueError(f"weights={{{name!r}: {weight!r}}}: takes a number from 0")
    return weights or {}


def _encode(blocks: tuple[Block, ...], table: Mapping[str, Cells]) -> Array:
    """All blocks side by side, NaN where cells are missing."""
    n_rows = len(table[blocks[0].name].values)
    rows = np.empty((n_rows, sum(block.width for block in blocks)), dtype=np.float32)
    start = 0
    for block in blocks:
        block.encode(table[block.name], rows[:, start : start + block.width])
        start += block.width
    return rows


def count_distinct(rows: Array) -> int:
    """Different rows, by a hash of their bits: wrong once in 2⁶⁴ / n² tables.

    Examples
    --------
    >>> count_distinct(np.array([[1, 2], [1, 3], [1, 2]], dtype=np.float32))
    2
    """
    rng = np.random.default_rng(0)
    width = rows.shape[1]
    factors = np.asarray(rng.integers(1, 2**63, (width, 1), dtype=np.uint64) * 2 + 1)
    places = np.arange(1, width + 1, dtype=np.uint64)[:, None]
    keys = np.empty(len(rows), dtype=np.uint64)
    for part in cuts(len(rows), width, _IN_CACHE):
        mixed = (rows[part].T + np.float32(0)).view(np.uint32).astype(np.uint64)  # -0 is 0
        mixed += places
        mixed *= factors
        mixed ^= mixed >> np.uint64(29)
        keys[part] = mixed.sum(axis=0)
    return len(np.unique(keys))


def _warn_of_news(blocks: tuple[Block, ...], table: Mapping[str, Cells]) -> None:
    """Warn of categories that the fit did not see, and of cells that cannot be read."""
    for block in blocks:
        cells = table[block.name]
        encoder = block.encoder
        if isinstance(encoder, LevelEncoder):
            if encoder.shared:
                continue  # rare categories come and go
            coded = read_levels(cells)
            known = set(encoder.levels)
            new = [level for level in coded.texts if level not in known]
            if new:
                told = ", ".join(map(repr, new[:_TOLD])) + (", …" if len(new) > _TOLD else "")
                warnings.warn(
                    f"column {block.name!r}: the fit saw no {told}; as far from each known "
                    "category as these from another",
                    UserWarning,
                    stacklevel=3,
                )
        elif hasattr(encoder, "reading"):
            unread = int(np.isnan(read_values(cells, encoder.reading)).sum() - cells.missing.sum())
            if unread > 0.1 * len(cells.values):
                warnings.warn(
                    f"column {block.name!r}: {unread:,} cells cannot be read as in the fit; they "
                    "count as missing",
                    UserWarning,
                    stacklevel=3,
                )
