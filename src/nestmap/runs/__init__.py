"""Runs: what `nestmap fit` wrote, in one folder (docs/files.md).

- `run.json`: the record
- `map-2d.nestmap`, …: a model file per map; the hierarchy is in each of them
- `rows.nestmap`: names and metadata of the rows, names of the columns, words of texts
"""
