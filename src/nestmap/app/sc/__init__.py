"""Single cells: maps of AnnData objects in scanpy's conventions (docs/use/single-cells.md).

`nestmap.sc.tl.hnne(adata)` computes, `nestmap.sc.pl.hnne(adata)` draws. Neither imports scanpy or
anndata.
"""
