"""Clusters beside those of other programs: `make bench-clusters` writes docs/clusters.md.

`data.py` makes the data sets and `peers.py` runs the others, both in an environment of their own;
`__main__.py` runs all of it and writes the page.
"""
