"""Clusters beside those of other programs: docs/evidence/clusters.md, by `make evidence`.

`data.py` makes the data sets and `peers.py` runs the others, both in an environment of their own;
`__main__.py` measures all of it.
"""
