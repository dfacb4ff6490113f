"""What maps need of AnnData objects: rows, neighbours, columns; by attributes, without imports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.habits import did_you_mean


def check_cells(adata: Any) -> None:
    """Raise unless this is an AnnData object."""
    if not all(hasattr(adata, name) for name in ("obs", "obsm", "obsp", "uns", "X", "layers")):
        raise TypeError(
            f"adata is {type(adata).__name__}, not an AnnData object; "
            "for arrays and frames use nestmap.HNNE().fit(X)"
        )


def choose_rows(
    adata: Any, use_rep: str | None, layer: str | None, n_pcs: int | None
) -> tuple[Any, str]:
    """The rows to map and their name: a representation, a layer or X."""
    if layer is not None and use_rep not in (None, "X"):
        raise ValueError(f"use_rep={use_rep!r} and layer={layer!r}: give one of them")
    if layer is not None:
        rows = entry_of(adata.layers, "layer", layer)
        source = f"layers/{layer}"
    elif use_rep == "X" or (use_rep is None and "X_pca" not in adata.obsm):
        rows = adata.X
        source = "X"
        if rows is None:
            raise ValueError(f"adata.X is empty; use_rep= names one of {_listed(adata.obsm)}")
    else:
        source = use_rep or "X_pca"
        rows = entry_of(adata.obsm, "use_rep", source)
    if n_pcs is None:
        return rows, source
    if not 1 <= n_pcs <= rows.shape[1]:
        raise ValueError(f"n_pcs={n_pcs}: {source} has {rows.shape[1]} columns")
    return rows[:, :n_pcs] if not hasattr(rows, "iloc") else rows.iloc[:, :n_pcs], source


def entry_of(entries: Any, argument: str, name: str) -> Any:
    """An entry of layers, obsm or obsp, or an error that lists what is there."""
    if name not in entries:
        hint = did_you_mean(name, entries)
        raise ValueError(f"{argument}={name!r} is not there{hint}; adata has {_listed(entries)}")
    return entries[name]


def _listed(entries: Iterable[str]) -> str:
    return ", ".join(map(repr, entries)) or "none"


def in_memory(rows: Any) -> Any:
    """Rows as `HNNE.fit` takes them: sparse matrices of a backed object are read, arrays stay."""
    if hasattr(rows, "to_memory"):
        rows = rows.to_memory()
    return rows.to_numpy() if hasattr(rows, "iloc") else rows


def find_distances(adata: Any, neighbors_key: str | None) -> Any:
    """The sparse matrix of distances that scanpy.pp.neighbors made."""
    key = neighbors_key or "neighbors"
    if key not in adata.uns and "distances" not in adata.obsp:
        raise ValueError(
            f"use_neighbors=True: uns[{key!r}] is not there; "
            "run scanpy.pp.neighbors(adata) first, or leave it out"
        )
    place = adata.uns[key].get("distances_key", "distances") if key in adata.uns else "distances"
    return entry_of(adata.obsp, "use_neighbors=True: distances_key", place)


def read_levels(adata: Any, key: str) -> dict[int, Any]:
    """The categories of the levels that `tl.hnne` has left, the finest first."""
    names = {
        c.removeprefix(f"{key}_"): c for c in map(str, adata.obs.columns) if c.startswith(f"{key}_")
    }
    levels = {
        int(number): adata.obs[column] for number, column in names.items() if number.isdigit()
    }
    check_mapped(adata, key)
    if not levels:
        raise ValueError(_not_mapped(key))
    return dict(sorted(levels.items()))


def check_mapped(adata: Any, key: str) -> None:
    """Raise unless `tl.hnne` has been there."""
    if key not in adata.uns or f"X_{key}" not in adata.obsm:
        raise ValueError(_not_mapped(key))


def _not_mapped(key: str) -> str:
    return f"obsm['X_{key}'] is not there; run nestmap.sc.tl.hnne(adata, key_added={key!r}) first"


def is_of_map(column: str, key: str) -> bool:
    """Whether a column of obs is what the tool has left: clusters, or distances of new cells."""
    rest = column.removeprefix(f"{key}_")
    return column == key or (rest != column and (rest.isdigit() or rest == "distance"))
