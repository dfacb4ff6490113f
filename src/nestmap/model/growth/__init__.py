"""Maps that live with their data: rows come and go, and what was published stays where it is
(docs/living.md).
"""
