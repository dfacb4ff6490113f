"""Model files: a container of named arrays, and the schema of a fitted model (docs/files.md)."""
