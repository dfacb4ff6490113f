"""Model files: a container of named arrays, and the schema of what a fitted model keeps
(docs/files.md).
"""
