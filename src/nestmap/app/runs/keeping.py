"""What people put into a run that is replaced: names that they typed, and files of their own."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

from ...core.work.records import write_json
from ...errors import ModelFileError
from ...method.hierarchy import Hierarchy
from ...views.explore.names import SavedNames
from .extras import IMAGES, TRUST
from .naming import FILE as CLUSTER_NAMES

STORE = "explorer"
TYPED_NAMES = "names.json"
_OURS = (
    "run.json",
    "map-*d.nestmap",
    "rows.nestmap",
    CLUSTER_NAMES,
    TRUST,
    IMAGES,
    STORE,
    TYPED_NAMES,
    "*.lock",
)


def keep_what_people_made(
    old: Path,
    new: Path,
    before: Callable[[], Hierarchy],
    now: Hierarchy,
    tell: Callable[[str], None],
) -> Path | None:
    """Carry names over to the run that replaces another; where the old folder stays, if it has to.

    It stays, under another name, if it holds names of clusters that are no more, or files that
    nestmap did not write.
    """
    why = [f"it holds {_listed(others)}"] if (others := _foreign(old)) else []
    try:
        typed = SavedNames(old / TYPED_NAMES, writable=False).read()
        names = [
            (level, cluster, name) for level, own in typed.items() for cluster, name in own.items()
        ]
        n_kept = _carry(new, names, before(), now) if names else 0
    except (ModelFileError, OSError) as error:
        why.append(f"its names cannot be carried over ({error})")
    else:
        if n_kept:
            tell(
                f"kept {n_kept} of {len(names)} names that were typed in the explorer: "
                "these clusters are the same"
            )
        if n_kept < len(names):
            why.append(
                f"{len(names) - n_kept} of its {len(names)} typed names are of "
                "clusters that are no more"
            )
    if not why:
        return None
    kept = _free(old)
    tell(f"the old run is kept as {kept}: {'; '.join(why)}")
    return kept


def _foreign(folder: Path) -> list[str]:
    """Names in a run that are not ours."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if not any(fnmatch(path.name, ours) for ours in _OURS)
    )


def _listed(names: list[str], most: int = 3) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _carry(new: Path, names: list[tuple[int, int, str]], before: Hierarchy, now: Hierarchy) -> int:
    """Write names whose clusters are there again, on the same level if possible; tells how many.

    The key of a cluster is the sum of the hashes of its rows, so equal keys are equal rows, in
    whatever order.
    """
    places: dict[int, list[tuple[int, int]]] = {}
    for level in range(len(now.levels)):
        for cluster, key in enumerate(_keys(now, level)):
            places.setdefault(key, []).append((level, cluster))
    found: dict[str, dict[str, str]] = {}
    n_kept = 0
    for level, cluster, name in names:
        keys = _keys(before, level)
        if cluster < len(keys) and (same := places.get(keys[cluster])):
            at, node = min(same, key=lambda place: abs(place[0] - level))
            found.setdefault(str(at), {})[str(node)] = name
            n_kept += 1
    if found:
        write_json(new / TYPED_NAMES, found)
    return n_kept


def _keys(hierarchy: Hierarchy, level: int) -> list[int]:
    """Of the clusters of a level; none if there is no such level, or rows have no values."""
    if level >= len(hierarchy.levels):
        return []
    keys = hierarchy.levels[level].keys
    return [] if keys is None else [int(key) for key in keys]


def _free(folder: Path) -> Path:
    """A name beside a folder that nothing has."""
    tries = (
        folder.with_name(f"{folder.name}.old{number}")
        for number in ("", *(f"-{i}" for i in range(2, 10_000)))
    )
    return next(path for path in tries if not path.exists())
