"""Tables that `HNNE` is given raw: which encoder takes them, and when that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.habits import did_you_mean
from ..distributed.inputs import is_dask
from ..method.neighbors.metric.gower import GowerMetric
from ..model.settings import FitSettings
from ..tables.encoded import EncodedTable, Encoder, encode_and_fit
from ..tables.encoder import TableEncoder
from ..tables.gower import GowerEncoder

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


def _is_gower(metric: Any) -> bool:
    return isinstance(metric, str) and metric == GowerMetric.name


def takes_tables(asked: Any, metric: Any) -> bool:
    """Whether rows are encoded, so that a table may hold anything."""
    return asked is not None or _is_gower(metric)


def settings_of_rows(settings: FitSettings, encoded: EncodedTable | None) -> FitSettings:
    """The settings by which rows are compared: encoded ones have a metric of their own.

    Gower's distance is 'manhattan' between rows of a table without gaps.
    """
    if encoded is None or not isinstance(encoded.encoder, GowerEncoder):
        return settings
    metric = GowerMetric() if encoded.encoder.has_gaps_ else "manhattan"
    return replace(settings, metric=metric, metric_params=None)


def _make(asked: Any, metric: Any, params: Mapping[str, Any]) -> Encoder | None:
    """The encoder that the parameters ask for, not fitted."""
    if not _is_gower(metric):
        return make_encoder(asked)
    if asked is not None:
        raise ValueError(
            "metric='gower' encodes tables in its own way; leave the encoder out, or take another "
            "metric (an encoder with metric='manhattan' is near to it)"
        )
    GowerMetric().check_parameters(params)
    return GowerEncoder(**params)


def encode_training(
    X: Any,
    asked: Any,
    metric: Any,
    known: Encoder | None = None,
    params: Mapping[str, Any] | None = None,
) -> EncodedTable | None:
    """The rows of a fit, where they are to be encoded.

    `known`: of the older model that the fit follows, which then encodes them.
    """
    if isinstance(X, EncodedTable):
        return X
    encoder = _make(asked, metric, params or {})
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
        return encode_and_fit(X, encoder)
    has_own = isinstance(asked, TableEncoder) or (_is_gower(metric) and bool(params))
    _check_known(known, encoder, has_own=has_own)
    return EncodedTable.of(X, known)


def _check_known(known: Encoder, encoder: Encoder, *, has_own: bool) -> None:
    """Raise where the encoder of an older model is not the one that is asked for.

    `has_own`: whether parameters were given.
    """
    if isinstance(known, GowerEncoder) != isinstance(encoder, GowerEncoder):
        raise ValueError(
            "like: the old model encoded its table for another metric; take the same metric and "
            "encoder, or fit without like"
        )
    if has_own and _parameters(encoder) != _parameters(known):
        raise ValueError(
            "like: the new rows are encoded as the old model's were, and this encoder has other "
            "parameters; leave them out (encoder='table', or metric='gower' alone), or fit without "
            "like"
        )


def _parameters(encoder: Encoder) -> dict[str, Any]:
    """Parameters that can be compared: a list may have been a tuple or an array."""
    found = encoder.get_params()
    return {name: [*v] if isinstance(v, tuple | np.ndarray) else v for name, v in found.items()}
