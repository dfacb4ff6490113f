"""Maps of AnnData objects, in scanpy's conventions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT, digits
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

import nestmap
from nestmap import HNNE, Descent

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
X, KINDS = digits()[:300], load_digits().target[:300].astype(str)


def cells(rows: Any = X) -> Any:
    return anndata.AnnData(
        rows.copy(),
        obs=pandas.DataFrame(
            {"kind": pandas.Categorical(KINDS)}, index=[f"c{i}" for i in range(300)]
        ),
    )


@pytest.fixture(autouse=True)
def _no_window() -> None:
    pytest.importorskip("matplotlib").use("Agg")


def test_what_a_map_leaves() -> None:
    adata, model = cells(), HNNE().fit(X)
    assert nestmap.sc.tl.hnne(adata) is None
    np.testing.assert_array_equal(adata.obsm["X_hnne"], model.embedding_)
    assert adata.obs["hnne"].astype(int).tolist() == model.labels_.tolist()
    for k, n in enumerate(model.hierarchy_.level_sizes):
        column = adata.obs[f"hnne_{k}"]
        assert column.cat.categories.tolist() == [str(i) for i in range(n)]
        assert column.astype(int).tolist() == model.hierarchy_.labels(k).tolist()
    found = adata.uns["hnne"]
    assert (
        found["n_clusters"].tolist() == [*model.hierarchy_.level_sizes]
        and found["params"]["use_rep"] == "X"
    )
    assert found["label_level"] == model.label_level_


def test_parameters_keys_and_copies() -> None:
    adata = cells()
    other = nestmap.sc.tl.hnne(
        adata,
        key_added="deep",
        n_components=3,
        metric="cosine",
        layout=Descent(radius=0.2),
        copy=True,
    )
    assert [*adata.obs] == ["kind"] and other.obsm["X_deep"].shape == (300, 3)
    params = other.uns["deep"]["params"]
    assert params["layout__radius"] == 0.2 and params["metric"] == "cosine"
    nestmap.sc.tl.hnne(other, key_added="deep")
    other.obs["deep_9"] = other.obs["deep_99x"] = "old"
    nestmap.sc.tl.hnne(other, key_added="deep", n_pcs=20)
    assert (
        "deep_9" not in other.obs and "deep_99x" in other.obs
    )  # of an earlier map with more levels
    np.testing.assert_array_equal(other.obsm["X_deep"], HNNE().fit(X[:, :20]).embedding_)


def test_representations() -> None:
    adata = cells()
    adata.obsm["X_pca"] = X[:, 10:30]
    adata.obsm["frame"] = pandas.DataFrame(X[:, :9], index=adata.obs_names, columns=[*"abcdefghi"])
    adata.layers["counts"] = X * 2
    for options, rows, name in (
        ({}, X[:, 10:30], "X_pca"),
        ({"use_rep": "X"}, X, "X"),
        ({"use_rep": "frame"}, X[:, :9], "frame"),
        ({"layer": "counts"}, X * 2, "layers/counts"),
    ):
        nestmap.sc.tl.hnne(adata, **options)
        np.testing.assert_array_equal(adata.obsm["X_hnne"], HNNE().fit(rows).embedding_)
        assert adata.uns["hnne"]["params"]["use_rep"] == name


def test_sparse_and_backed(tmp_path: Path) -> None:
    for name, rows in (("dense", X), ("sparse", sparse.csr_matrix(X))):
        adata = cells(rows)
        nestmap.sc.tl.hnne(adata)
        np.testing.assert_array_equal(adata.obsm["X_hnne"], HNNE().fit(rows).embedding_)
        cells(rows).write_h5ad(tmp_path / f"{name}.h5ad")
        backed = anndata.read_h5ad(tmp_path / f"{name}.h5ad", backed="r")
        nestmap.sc.tl.hnne(backed)
        np.testing.assert_array_equal(backed.obsm["X_hnne"], adata.obsm["X_hnne"])
        assert (
            nestmap.sc.tl.hnne(backed, copy=True).obs["hnne"].tolist() == adata.obs["hnne"].tolist()
        )
        backed.file.close()
        adata.write_h5ad(tmp_path / "again.h5ad")  # all that was added can be written
        again = anndata.read_h5ad(tmp_path / "again.h5ad")
        assert again.uns["hnne"]["n_clusters"].tolist() == adata.uns["hnne"]["n_clusters"].tolist()


def test_neighbors_of_scanpy() -> None:
    adata = cells()
    adata.obsp["far_distances"] = kneighbors_graph(X[:, ::-1] ** 2, 7, mode="distance")
    adata.uns["far"] = {"distances_key": "far_distances"}
    nestmap.sc.tl.hnne(adata, use_neighbors=True, neighbors_key="far")
    expected = HNNE(neighbors=adata.obsp["far_distances"]).fit(X)
    np.testing.assert_array_equal(adata.obsm["X_hnne"], expected.embedding_)
    assert (
        adata.uns["hnne"]["neighbors"].startswith("given: 300 rows")
        and adata.uns["hnne"]["params"]["use_neighbors"]
    )


def test_refusals() -> None:
    adata = cells()
    for options, said in (
        ({"use_rep": "X_pc"}, "use_rep='X_pc' is not there; adata has none"),
        ({"layer": "raw"}, "layer='raw'"),
        ({"use_neighbors": True}, "run scanpy.pp.neighbors"),
        ({"n_pcs": 99}, "n_pcs=99: X has 64 columns"),
        ({"use_rep": "X_pca", "layer": "a"}, "give one of them"),
    ):
        with pytest.raises(ValueError, match=said):
            nestmap.sc.tl.hnne(adata, **options)
    with pytest.raises(TypeError, match="use_neighbors=True"):
        nestmap.sc.tl.hnne(adata, neighbors="exact")
    with pytest.raises(TypeError, match="n_neighbors: the hierarchy needs first neighbours only"):
        nestmap.sc.tl.hnne(adata, n_neighbors=15)
    with pytest.raises(TypeError, match=r"adata is ndarray.*HNNE\(\)\.fit"):
        nestmap.sc.tl.hnne(X)
    with pytest.raises(ValueError, match=r"run nestmap\.sc\.tl\.hnne"):
        nestmap.sc.pl.hnne(adata)
    for call in (HNNE().fit, nestmap.FINCH().fit, HNNE().plan, nestmap.first_neighbors):
        with pytest.raises(TypeError, match=r"AnnData object: call nestmap\.sc\.tl\.hnne\(adata\)"):
            call(adata)
    assert [*adata.obs] == ["kind"]


def texts_of(axes: Any) -> set[str]:
    return {text.get_text() for text in axes.texts}


def test_plots(tmp_path: Path) -> None:
    adata = cells()
    adata.var_names = [f"g{i}" for i in range(64)]
    nestmap.sc.tl.hnne(adata)
    axes = nestmap.sc.pl.hnne(adata, save=tmp_path / "map.png")
    assert (
        texts_of(axes) <= {*adata.obs["hnne"].cat.categories}
        and (tmp_path / "map.png").stat().st_size > 10_000
    )
    named = nestmap.sc.pl.hnne(adata, color="kind")
    assert {text.get_text() for text in named.get_legend().get_texts()} == {*KINDS}
    assert named.get_legend().get_title().get_text() == "kind" and texts_of(named) <= {
        *KINDS,
        "",
    } | {name for name in texts_of(named) if "/" in name}
    several = nestmap.sc.pl.hnne(adata, color=["kind", "g20"], labels="kind", level=0)
    assert [each.get_title() for each in several] == ["kind", "g20"]
    with pytest.raises(ValueError, match="color='kin' is neither a column of obs nor a gene"):
        nestmap.sc.pl.hnne(adata, color="kin")
    with pytest.raises(ValueError, match="2 colours need as many axes, got 1"):
        nestmap.sc.pl.hnne(adata, color=["kind", "g20"], ax=axes)


def test_a_part_of_the_cells_keeps_the_names_of_its_clusters() -> None:
    adata = cells(sparse.csr_matrix(X))
    nestmap.sc.tl.hnne(adata)
    part = adata[adata.obs["kind"].isin(["1", "2", "3"])]
    axes = nestmap.sc.pl.hnne(part, color=None)
    assert texts_of(axes) <= {*part.obs["hnne"].cat.remove_unused_categories().cat.categories}
    assert texts_of(axes) and len(axes.collections[-1].get_offsets()) == len(part)
    broken = adata.copy()
    broken.obs["hnne_1"] = broken.obs["hnne_1"].to_numpy()[::-1]
    broken.obs["hnne_1"] = broken.obs["hnne_1"].astype("category")
    with pytest.raises(ValueError, match="level 1: a cluster of level 0 lies in several"):
        nestmap.sc.pl.hnne(broken)


@pytest.mark.slow
def test_nothing_is_imported_for_it() -> None:
    code = (
        "import sys, sklearn.base; early = set(sys.modules); import nestmap; nestmap.sc.tl.hnne;"
        "assert not {'anndata', 'scanpy', 'matplotlib'} & (set(sys.modules) - early)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
