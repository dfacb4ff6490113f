"""What docs/evidence/large.json holds, from the results of the measurements."""

from __future__ import annotations

from typing import Any

from benchmarks.large.curves import Rows, points, seconds_at
from benchmarks.large.plan import CURVE_DATA, MAP_DATA, MAP_TARGETS, METRICS, map_label


def record_of(rows: Rows) -> dict[str, Any]:
    return {"fits": _fits(rows), "curves": _curves(rows), "maps": _maps(rows)}


def _fits(rows: Rows) -> list[dict[str, Any]]:
    """Maps from a file: those of the whole data, and of their first rows."""
    done = [row for row in rows.values() if row["status"] == "ok" and row["task"] == "fit"]
    plain = [
        row for row in done if row["method"] == "nestmap" and not row["label"].startswith("map")
    ]
    found = [
        {
            "data": row["data"],
            "rows": row["n_rows"],
            "columns": row["n_columns"],
            "metric": METRICS[row["data"]],
            "seconds": row["seconds"],
            "gigabytes": row["own_gigabytes"],
            "resident": row["resident_gigabytes"],
            "recall": row.get("recall", _estimate(row)),
        }
        for row in plain
    ]
    return sorted(found, key=lambda row: -row["rows"])


def _estimate(row: dict[str, Any]) -> float | None:
    reports = row.get("reports") or [{}]
    return reports[0].get("recall")


def _curves(rows: Rows) -> list[dict[str, Any]]:
    """Each search of pynndescent, and our time at its recall."""
    return [
        {
            "data": data,
            "k": int(point.label),
            "recall": point.recall,
            "pynndescent": point.seconds,
            "nestmap": seconds_at(points(rows, data, "nestmap"), point.recall),
        }
        for data in CURVE_DATA
        for point in points(rows, data, "pynndescent")
    ]


def _maps(rows: Rows) -> list[dict[str, Any]]:
    """Maps by the recall of their first neighbours."""
    found = []
    for data in MAP_DATA:
        for target in (*MAP_TARGETS, None):
            row = rows.get(f"fit {data} nestmap {map_label(target)}")
            if row is not None and row["status"] == "ok":
                scores = {"recall": row["recall10"], "accuracy": row.get("accuracy")}
                found.append(
                    {
                        "data": data,
                        "rows": row["n_rows"],
                        "target": target or "exact",
                        "found": _estimate(row),
                        "seconds": row["seconds"],
                        "trustworthiness": row["trustworthiness"],
                        **scores,
                    }
                )
    return found
