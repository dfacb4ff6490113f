"""Plots of what the tools have left in an AnnData object, by `nestmap.plot`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.habits import did_you_mean
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.tree import Level
from ...method.neighbors.metric import EUCLIDEAN
from ...views.plots import plot
from ...views.plots.backend import load_matplotlib, new_axes
from ...views.plots.colors import get_theme
from .cells import check_cells, is_of_map, read_levels
from .genes import MOST, columns_of, read_genes
from .models import own_model


@dataclass(frozen=True, eq=False)
class CellMap:
    """Coordinates and clusters of cells, as far as `plot` needs them of a model."""

    embedding_: Array
    hierarchy_: Hierarchy
    label_level_: int


def hnne(
    adata: Any,
    color: str | Sequence[str] | None = None,
    *,
    labels: Any = True,
    level: int | None = None,
    key: str = "hnne",
    layer: str | None = None,
    use_raw: bool = False,
    title: str | Sequence[str] | None = None,
    theme: str = "light",
    ax: Any = None,
    show: bool | None = None,
    save: Any = None,
    **options: Any,
) -> Any:
    """Draw the map that `nestmap.sc.tl.hnne` made; of more than two dimensions the first two.

    Parameters
    ----------
    adata : AnnData
        Or a part of it: clusters that have no cells in it are left out.
    color : str or list of str, optional
        Columns of `obs` or genes, a picture each. None: clusters.
    labels : optional
        What clusters are named by. True: by the column that cells are coloured by, if it has
        categories, else the clusters' numbers. A column of `obs`: by what most cells have.
        False: no names.
    level : int, optional
        Whose clusters are coloured, outlined and named; default: that of `obs['hnne']`.
    key : str
        The `key_added` of the tool.
    layer, use_raw
        Where the expression of a gene is taken from.
    title, theme, ax, **options
        As in `nestmap.plot`; several titles for several colours.
    show : bool, optional
        Show the figure at once and return nothing.
    save : path, optional
        Where to write the figure.

    Returns
    -------
    matplotlib Axes, or a list of them for several colours

    Examples
    --------
    >>> import anndata, nestmap
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> adata = anndata.AnnData(digits.data, obs={"digit": digits.target.astype(str)})
    >>> nestmap.sc.tl.hnne(adata)
    >>> axes = nestmap.sc.pl.hnne(adata, color="digit")
    """
    check_cells(adata)
    load_matplotlib()
    model, names = map_of(adata, key)
    several = not (color is None or isinstance(color, str))
    colors = [color] if color is None or isinstance(color, str) else list(color)
    values = [
        None if each is None else _named(each, _find_values(adata, each, layer, use_raw))
        for each in colors
    ]
    given = adata.obs[labels] if isinstance(labels, str) and labels in adata.obs.columns else labels
    axes = _axes(ax, len(colors), theme)
    titles = _each(title, len(colors))
    for each, drawn, name, text in zip(values, axes, colors, titles, strict=True):
        own = names if given is True and not _is_category(each) else given
        shown = {"labels": _at_level(own, model, level), "level": level, "theme": theme}
        about = text or (name if several else None)
        plot(model, level if each is None else each, title=about, ax=drawn, **shown, **options)
    if save is not None:
        axes[0].figure.savefig(save, facecolor=axes[0].figure.get_facecolor())
    if show:
        import_module("matplotlib.pyplot").show()
        return None
    return axes if several else axes[0]


def explore(
    adata: Any,
    *,
    genes: Any = MOST,
    obs: Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    key: str = "hnne",
    **options: Any,
) -> Any:
    """Show the map that `nestmap.sc.tl.hnne` made in the browser, without another fit.

    Cells are searched by their names, and coloured by columns of obs and by genes: choose one in
    the list of colours, where typing finds it.

    Parameters
    ----------
    adata : AnnData
        What `tl.hnne` has seen.
    genes : int or list of str
        The genes that the explorer knows: names, or so many that vary most (of those that
        `scanpy.pp.highly_variable_genes` has marked, if it was run). Others are not there to be
        chosen: name them here.
    obs : list of str, optional
        Columns of obs; default: all but the clusters of this map.
    layer, use_raw
        Where the expression of a gene is taken from.
    key : str
        The `key_added` of the tool.
    **options
        As in `HNNE.explore`: path (a static folder instead), cluster_names, compare, title, ….

    Returns
    -------
    Explorer, or the path
    """
    fitted = own_model(adata, key)
    if obs is None:
        obs = [name for name in map(str, adata.obs.columns) if not is_of_map(name, key)]
    columns = columns_of(adata, obs, genes, layer, use_raw)
    names = [str(name) for name in adata.obs_names]
    return fitted.explore(**{"names": names, "metadata": columns, **options})


def _find_values(adata: Any, name: str, layer: str | None, use_raw: bool) -> Any:
    """A column of obs, or the expression of a gene."""
    if name in adata.obs.columns:
        return adata.obs[name]
    genes = adata.raw if use_raw and adata.raw is not None else adata
    if name not in genes.var_names:
        hint = did_you_mean(name, [*map(str, adata.obs.columns), *map(str, genes.var_names)])
        raise ValueError(f"color={name!r} is neither a column of obs nor a gene{hint}")
    return read_genes(adata, [name], layer, use_raw)[name]


def _each(title: str | Sequence[str] | None, n: int) -> list[str | None]:
    """A title for each of n pictures."""
    return [title] * n if title is None or isinstance(title, str) else list(title)


def _axes(ax: Any, n: int, theme: str) -> list[Any]:
    if ax is None:
        width, height = (9.0, 9.0) if n == 1 else (6.5, 6.8)
        return list(np.atleast_1d(new_axes(get_theme(theme), width, height, n)))
    found = list(np.atleast_1d(ax))
    if len(found) != n:
        raise ValueError(f"ax: {n} colours need as many axes, got {len(found)}")
    return found


def _named(name: str, values: Any) -> Any:
    """Values that know what a legend calls them."""
    from pandas import Series

    return values if hasattr(values, "name") else Series(values, name=name)


def _is_category(values: Any) -> bool:
    return values is not None and values.dtype.kind not in "fiu"


def _at_level(labels: Any, model: CellMap, level: int | None) -> Any:
    """Of names of all levels, those of the one that is drawn."""
    if not isinstance(labels, dict):
        return labels
    number = model.label_level_ if level is None else model.hierarchy_.check_level(level)
    return {number: labels[number]}


def map_of(adata: Any, key: str = "hnne") -> tuple[CellMap, dict[int, list[str]]]:
    """The map that `tl.hnne` left, and the names of its clusters on each level."""
    columns = read_levels(adata, key)
    codes = []
    names = {}
    for number, column in enumerate(columns.values()):
        used = column.cat.remove_unused_categories().cat
        codes.append(np.asarray(used.codes, dtype=np.int64))
        names[number] = [str(name) for name in used.categories]
    if any((each < 0).any() for each in codes):
        raise ValueError(
            f"obs['{key}_0']: cells without a cluster; run nestmap.sc.tl.hnne(adata) again"
        )
    label = int(adata.uns[key]["label_level"])
    return CellMap(np.asarray(adata.obsm[f"X_{key}"])[:, :2], tree_of(codes), label), names


def tree_of(labels: Sequence[Array]) -> Hierarchy:
    """A hierarchy from the clusters of rows on each level, the finest first; without centroids."""
    levels = []
    for k, own in enumerate(labels):
        sizes = np.bincount(own)
        if k == 0:
            members = own
        else:
            members = np.empty(int(labels[k - 1].max()) + 1, dtype=np.int64)
            members[labels[k - 1]] = own
            if (members[labels[k - 1]] != own).any():
                raise ValueError(f"level {k}: a cluster of level {k - 1} lies in several of them")
        levels.append(Level(np.zeros((len(sizes), 0)), sizes, members, np.nan, np.nan))
    return Hierarchy(tuple(levels), EUCLIDEAN)
