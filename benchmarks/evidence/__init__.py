"""What README.md and docs/evidence say in figures: one file of results per page, and the pages.

`records.py` writes and reads docs/evidence/NAME.json, `measure.py` makes them, `comparison.py`,
`clusters.py`, `large.py`, `growth.py`, `distributed.py`, `tables.py` and `explorer.py` turn each into tables, and
`pages.py`
puts these between the markers of the pages. `__main__.py` is the command.
"""
