"""Model files: a container of named arrays, the schema of a fitted model (docs/use/files.md)."""
