"""Maps that live with their data (docs/use/living.md).

Rows come and go, and what was published stays where it is.
"""
