"""Clusters beside those of other programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.evidence import markdown
from benchmarks.evidence.markdown import NONE, best_of, bold, listed, number
from benchmarks.evidence.records import Record

# keys of a data set's "scores", and what the table calls them
COLUMNS = {
    "labels": "`labels_`",
    "best": "best level",
    "told": "`labels(n_clusters)`",
    "leiden 1": "Leiden 1",
    "leiden best": "Leiden, best of 4",
    "evoc": "EVoC, best layer",
    "hdbscan": "HDBSCAN on UMAP",
    "k-means": "k-means",
    "ward": "Ward",
    "genie": "Genie",
    "finch": "FINCH",
}
PEERS = ("leiden 1", "leiden best", "evoc", "hdbscan", "k-means", "ward", "genie", "finch")
AS_GOOD = 0.0005  # AMI: less is equal as printed


def _ami(row: dict[str, Any], key: str) -> float | None:
    score = row["scores"].get(key)
    return None if score is None else float(score["ami"])


def table(record: Record) -> str:
    """Adjusted mutual information with the classes, and the number of clusters.

    A column that a run has not measured is left out.
    """
    lines = []
    rows = record["data"]
    keys = [key for key in COLUMNS if any(key in row["scores"] for row in rows.values())]
    for name, row in rows.items():
        values = [_ami(row, key) for key in keys]
        cells = []
        for key, value, mark in zip(keys, values, best_of(values, 3), strict=True):
            text = number(value, 3)
            n = "" if value is None else f" ({row['scores'][key]['n_clusters']})"
            cells.append(bold(text, mark) + n)
        lines.append([name, f"{row['rows']:,}", str(row["classes"]), *cells])
    means = [_mean(record, key) for key in keys]
    lines.append(["*mean*", "", "", *(number(value, 3) for value in means)])
    return markdown.table(["data", "rows", "classes", *(COLUMNS[key] for key in keys)], lines)


def _mean(record: Record, key: str) -> float | None:
    values = [_ami(row, key) for row in record["data"].values()]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def losses(record: Record) -> str:
    """The data sets on which a peer is ahead of `labels_`, per peer."""
    said = []
    for key in PEERS:
        ahead = [
            f"{name} ({_ami(row, key):.3f} against {_ami(row, 'labels'):.3f})"
            for name, row in record["data"].items()
            if (_ami(row, key) or 0) > (_ami(row, "labels") or 0) + AS_GOOD
        ]
        if ahead:
            said.append(f"- **{COLUMNS[key]}** is ahead of `labels_` on {listed(ahead)}.")
    return "\n".join(said) or "No peer is ahead of `labels_` on any of these data."


def coverage(record: Record) -> str:
    """AMI on the rows that a peer keeps, and ours on as many of our most sure rows."""
    lines = []
    for name, row in record["data"].items():
        cells = []
        for peer in ("evoc", "hdbscan"):
            found = row["coverage"][peer]
            cells += [f"{found['kept']:.1%}", *(number(found[k], 3) for k in _SURE)]
        lines.append([name, *cells])
    head = ["data"]
    for peer in ("EVoC", "HDBSCAN"):
        head += [f"{peer} keeps", peer, "`labels_`", "best level"]
    return markdown.table(head, lines)


_SURE = ("theirs", "labels", "best")


def maps(record: Record) -> str:
    """Adjusted Rand index, wholeness on the map, and what 1% of the rows less change."""
    head = [
        "data",
        "clusters per level",
        "ARI",
        "ARI of Leiden 1",
        "whole",
        "whole on UMAP's map",
        "labels stay",
        "rows move",
    ]
    keys = ("ari", "ari leiden 1", "whole", "whole on umap", "labels stay", "rows move")
    lines = []
    for name, row in record["data"].items():
        sizes = " → ".join(map(str, row["levels"])) or NONE
        lines.append([name, sizes, *(number(row["maps"][key], 3) for key in keys)])
    return markdown.table(head, lines)
