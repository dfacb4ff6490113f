"""The model that `sc.tl.hnne` leaves in an AnnData object, and what is done with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from sklearn.datasets import load_digits

import nestmap
from nestmap import HNNE
from nestmap.errors import FarRowsWarning, ModelFileError

anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
X, KINDS = digits()[:400], load_digits().target[:400].astype(str)
GENES = [f"g{i}" for i in range(64)]


def cells(rows: Any = X, kinds: Any = KINDS, **names: Any) -> Any:
    obs = pandas.DataFrame(
        {"kind": pandas.Categorical(kinds)}, index=[f"c{i}" for i in range(len(kinds))]
    )
    return anndata.AnnData(rows.copy(), obs=obs, var=pandas.DataFrame(index=GENES), **names)


@pytest.fixture(scope="module")
def mapped() -> Any:
    adata = cells()
    nestmap.sc.tl.hnne(adata)
    return adata


def test_a_model_comes_back_from_a_file(mapped: Any, tmp_path: Path) -> None:
    mapped.write_h5ad(tmp_path / "cells.h5ad", compression="gzip")
    for adata in (mapped, mapped.copy(), anndata.read_h5ad(tmp_path / "cells.h5ad")):
        model = nestmap.sc.model(adata)
        fresh = HNNE().fit(X)
        np.testing.assert_array_equal(model.embedding_, fresh.embedding_)
        np.testing.assert_array_equal(model.transform(X + 0.25), fresh.transform(X + 0.25))
        assert model.label_level_ == fresh.label_level_
    entry = mapped.uns["hnne"]["model"]
    assert entry.dtype == np.uint8 and entry.ndim == 1


def test_sparse_rows_and_other_keys() -> None:
    adata = cells(sparse.csr_matrix(X))
    nestmap.sc.tl.hnne(adata, key_added="own", metric="cosine", n_components=3)
    model = nestmap.sc.model(adata, "own")
    assert model.embedding_.shape == (400, 3) and model.metric == "cosine"
    np.testing.assert_array_equal(model.transform(adata.X), adata.obsm["X_own"])


def test_a_model_that_cannot_be_kept_leaves_the_cells_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_: Any) -> Any:
        raise ValueError("cannot be saved")

    monkeypatch.setattr(nestmap.sc.tl, "kept_model", fails)
    adata = cells()
    with pytest.raises(ValueError, match="cannot be saved"):
        nestmap.sc.tl.hnne(adata)
    assert [*adata.obs.columns] == ["kind"] and not [*adata.obsm] and not adata.uns


def test_what_holds_no_model() -> None:
    adata = cells()
    with pytest.raises(ValueError, match=r"run nestmap\.sc\.tl\.hnne"):
        nestmap.sc.model(adata)
    nestmap.sc.tl.hnne(adata, keep_model=False)
    for use in (nestmap.sc.model, nestmap.sc.tl.describe, nestmap.sc.pl.explore):
        with pytest.raises(ValueError, match=r"holds no model.*keep_model=True"):
            use(adata)
    few = cells(X[:40], KINDS[:40])
    nestmap.sc.tl.hnne(few, metric=lambda a, b: float(np.abs(a - b).sum()))
    assert "model" not in few.uns["hnne"]
    nestmap.sc.tl.hnne(few)
    few.uns["hnne"]["model"] = few.uns["hnne"]["model"][:-5]
    with pytest.raises(ModelFileError):
        nestmap.sc.model(few)


def test_clusters_are_described_by_genes_without_a_fit(
    mapped: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HNNE, "fit", None)
    told = nestmap.sc.tl.describe(mapped, genes=["g20", "g42"])
    traits = {str(trait).split()[0] for cluster in told for trait in cluster.traits}
    assert traits and all(trait.startswith(("g20", "g42")) for trait in traits)
    by_kind = nestmap.sc.tl.describe(mapped, -1, obs=["kind"], genes=0)
    assert {*"".join(by_kind.names)} & {*KINDS}
    assert len(nestmap.sc.tl.describe(mapped, 0)) == mapped.uns["hnne"]["n_clusters"][0]
    with pytest.raises(ValueError, match=r"'g422' is no gene of adata \(did you mean 'g42'\?\)"):
        nestmap.sc.tl.describe(mapped, genes=["g422"])
    with pytest.raises(ValueError, match="obs='kin' is not there"):
        nestmap.sc.tl.describe(mapped, obs=["kin"])
    with pytest.raises(ValueError, match="genes=-1: must be a whole number"):
        nestmap.sc.tl.describe(mapped, genes=-1)


def read_store(folder: Path) -> dict[str, Any]:
    import gzip

    return dict(json.loads(gzip.decompress((folder / "meta.json.gz").read_bytes())))


def colors(adata: Any, path: Path, **options: Any) -> list[str]:
    """What the explorer colours by."""
    with nestmap.sc.pl.explore(adata, **options) as explorer:
        meta = read_store(explorer._folder / "store")
    return [column["name"] for column in meta["columns"]]


def test_genes_colour_the_explorer(
    mapped: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HNNE, "fit", None)
    assert colors(mapped, tmp_path, genes=["g42", "g20"]) == ["kind", "g42", "g20", "membership"]
    own = X.var(axis=0).argsort()[::-1][:3]
    assert colors(mapped, tmp_path, genes=3) == [
        "kind",
        *(f"g{i}" for i in sorted(own)),
        "membership",
    ]
    assert colors(mapped, tmp_path, genes="g5", obs=[]) == ["g5", "membership"]
    marked = mapped.copy()
    marked.var["highly_variable"] = [name in ("g1", "g2", "g5") for name in GENES]
    marked.var["dispersions_norm"] = -np.arange(64.0)
    assert colors(marked, tmp_path, genes=2) == ["kind", "g1", "g2", "membership"]
    clash = mapped.copy()
    clash.obs["g5"] = 1.5
    assert "g5 (gene)" in colors(clash, tmp_path, genes=["g5"])
    page = nestmap.sc.pl.explore(mapped, genes=["g42"], path=tmp_path / "page")
    assert (page / "index.html").exists()


def test_new_cells_on_the_map_of_others(mapped: Any, tmp_path: Path) -> None:
    new = cells(digits()[400:500], load_digits().target[400:500].astype(str))
    model = HNNE().fit(X)
    expected = model.transform(digits()[400:500])
    shuffled = new[:, GENES[::-1]].copy()
    for adata in (new, shuffled):
        nestmap.sc.tl.transform(adata, mapped)
        np.testing.assert_array_equal(adata.obsm["X_hnne"], expected)
        labels = model.predict(digits()[400:500])
        assert adata.obs["hnne"].astype(int).tolist() == labels.tolist()
        assert adata.obs["hnne"].cat.categories.equals(mapped.obs["hnne"].cat.categories)
        assert (adata.obs["hnne_distance"] > 0).all()
    pytest.importorskip("matplotlib").use("Agg")
    assert nestmap.sc.pl.hnne(new) is not None
    new.write_h5ad(tmp_path / "new.h5ad")
    with pytest.raises(ValueError, match=r"holds no model.*their reference"):
        nestmap.sc.model(new)
    nestmap.sc.tl.hnne(new)
    assert "hnne_distance" not in new.obs
    with pytest.raises(ValueError, match="lacks 60 genes of the reference, such as 'g4'"):
        nestmap.sc.tl.transform(new[:, :4].copy(), mapped)
    far = cells(X + 500)
    with pytest.warns(FarRowsWarning):
        nestmap.sc.tl.transform(far, mapped)


def test_new_cells_by_a_representation() -> None:
    adata = cells()
    adata.obsm["X_pca"] = X[:, 10:40]
    adata.layers["twice"] = X * 2
    new = cells(X[:50] + 0.25, KINDS[:50])
    new.obsm["X_pca"] = X[:50, 10:40] + 0.25
    new.obsm["other"] = new.obsm["X_pca"][:, ::-1]
    new.layers["twice"] = new.X * 2
    nestmap.sc.tl.hnne(adata, n_pcs=20)
    model = HNNE().fit(X[:, 10:30])
    nestmap.sc.tl.transform(new, adata)
    np.testing.assert_array_equal(new.obsm["X_hnne"], model.transform(X[:50, 10:30] + 0.25))
    nestmap.sc.tl.transform(new, adata, use_rep="other")
    np.testing.assert_array_equal(new.obsm["X_hnne"], model.transform(new.obsm["other"][:, :20]))
    new.obsm["X_pca"] = new.obsm["X_pca"][:, :9]
    with pytest.raises(ValueError, match="has 9 columns, and the reference was mapped by 20"):
        nestmap.sc.tl.transform(new, adata)
    nestmap.sc.tl.hnne(adata, layer="twice")
    nestmap.sc.tl.transform(new, adata)
    model = HNNE().fit(X * 2)
    np.testing.assert_array_equal(new.obsm["X_hnne"], model.transform(new.layers["twice"]))


def test_a_part_of_the_cells_is_not_the_model(mapped: Any) -> None:
    part = mapped[::2].copy()
    assert nestmap.sc.model(part).embedding_.shape == (400, 2)
    for use in (nestmap.sc.tl.describe, nestmap.sc.pl.explore):
        with pytest.raises(ValueError, match="adata has 200 cells, which are not the 400"):
            use(part)
        with pytest.raises(ValueError, match="adata has 400 cells, which are not the 400"):
            use(mapped[::-1].copy())
