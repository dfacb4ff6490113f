"""Rows of a table beside the encoder that made them: handed over, so that none encodes twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import Array
from .encoder import TableEncoder
from .gower import GowerEncoder

Encoder = TableEncoder | GowerEncoder


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """A table as numbers.

    Attributes
    ----------
    rows : array of shape (n_rows, n_numbers), float32
    encoder : TableEncoder or GowerEncoder
        The fitted encoder that gave them.
    """

    rows: Array
    encoder: Encoder

    @classmethod
    def of(cls, table: Any, encoder: Encoder) -> EncodedTable:
        """New rows, encoded by a fitted encoder, unless they are already."""
        if not isinstance(table, EncodedTable):
            return cls(_bare(encoder.transform(table)), encoder)
        if table.encoder is not encoder:
            raise ValueError("X was encoded by another encoder than that of the model")
        return table


def encode_and_fit(table: Any, encoder: Encoder) -> EncodedTable:
    """The rows of a fit, with the encoder, which is fitted to them."""
    return EncodedTable(_bare(encoder.fit_transform(table)), encoder)


def _bare(rows: Any) -> Array:
    """Rows without the frame that scikit-learn's `set_output` puts around them."""
    return np.asarray(rows)


def n_numbers(encoder: Encoder) -> int:
    """How many numbers a fitted encoder makes of a row.

    Examples
    --------
    >>> n_numbers(TableEncoder().fit({"size": [1.0, 2.0], "kind": ["a", "b"]}))
    3
    """
    return len(encoder.get_feature_names_out())


def describe_columns(encoder: Encoder) -> dict[str, Any]:
    """The attributes by which scikit-learn knows the columns of the table."""
    return {
        "n_features_in_": encoder.n_features_in_,
        "feature_names_in_": np.array(encoder.feature_names_in_, dtype=object),
        "encoder_": encoder,
    }
