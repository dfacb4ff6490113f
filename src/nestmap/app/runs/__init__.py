"""Runs: what `nestmap fit` wrote, in one folder (docs/use/files.md).

- `run.json`: the record
- `map-2d.nestmap`, …: a model file per map; the hierarchy is in each of them
- `rows.nestmap`: names and metadata of the rows, names of the columns, words of texts
- `trust.nestmap`: true neighbours and scores of the rows, if they were asked for
- `images.nestmap`: a thumbnail per row, if the columns are pixels
- `names.json`: names that readers gave to clusters in the explorer
- `tour.json`: an author's tour of the map, made in the explorer
- `selections.json`: selections of rows that readers kept in the explorer
- `explorer/`: what the explorer shows, made from the others when it is first needed
"""
