"""Tables that `HNNE` is given raw: which encoder takes them, and when that cannot be."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ..core.habits import did_you_mean
from ..distributed.inputs import is_dask
from ..tables.encoded import EncodedTable
from ..tables.encoder import TableEncoder

WORD = "table"  # stands for an encoder with its defaults


def make_encoder(asked: Any) -> TableEncoder | None:
    """An encoder as the parameter asks for it, not fitted; None: rows are numbers."""
    if asked is None:
        return None
    if isinstance(asked, TableEncoder):
        found: TableEncoder = clone(asked)
        return found
    if asked != WORD:
        hint = did_you_mean(asked, [WORD]) if isinstance(asked, str) else ""
        raise ValueError(
            f"encoder={str(asked)[:60]!r}{hint}: must be None (X holds numbers), {WORD!r} (a table "
            "of any columns) or nestmap.tables.TableEncoder(…)"
        )
    return TableEncoder()


def encode_training(
    X: Any, asked: Any, metric: Any, known: TableEncoder | None = None
) -> EncodedTable | None:
    """The rows of a fit, where they are to be encoded.

    `known`: of the older model that the fit follows, which then encodes them.
    """
    if isinstance(X, EncodedTable):
        return X
    encoder = make_encoder(asked)
    if encoder is None:
        if known is not None:
            raise ValueError(
                "like: the old model was fitted on a table that it encoded: "
                "HNNE(encoder='table') takes the new one in the same way"
            )
        return None
    if metric == "precomputed":
        raise ValueError(
            "encoder: metric='precomputed' takes distances, which are no table; leave the encoder "
            "out"
        )
    if is_dask(X):
        raise ValueError(
            "encoder: tables of dask are not encoded; compute them (X.compute()), or encode them "
            "with a fitted TableEncoder, chunk by chunk, and fit the numbers"
        )
    if known is None:
        return EncodedTable(encoder.fit_transform(X), encoder)
    if isinstance(asked, TableEncoder) and asked.get_params() != known.get_params():
        raise ValueError(
            "like: the new rows are encoded as the old model's were, and this encoder has other "
            "parameters; give encoder='table', or fit without like"
        )
    return EncodedTable(known.transform(X), known)
