"""The work directory: pieces of a fit that are whole or absent, for one process at a time."""
