"""Files of all kinds as rows to map: numbers, names and metadata.

| files | what is read |
|---|---|
| .npy, .npz, .mat, idx | arrays; labels and words beside them |
| .csv, .tsv, .txt (.gz, .bz2, .xz, .zip) | tables: columns of numbers, others become metadata |
| .json, .jsonl, .ndjson (the same) | records, columns or rows; lists of numbers are vectors |
| .xlsx | sheets (openpyxl) |
| .parquet, .arrow, .feather | tables, also with columns of vectors (pyarrow) |
| .h5, .h5ad, .zarr | arrays and cells (h5py, anndata, zarr) |
| .fvecs, .bvecs | vectors |
| a folder of pictures | rows of pixels (pillow) |
| .bin, .vec, GloVe's .txt | words and their vectors; words become names |
| texts, one per line, or a column | TF-IDF |
"""
