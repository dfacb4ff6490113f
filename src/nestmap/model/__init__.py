"""Fits: what was asked, what was decided, the fitted state, its files, growing and comparing maps."""
