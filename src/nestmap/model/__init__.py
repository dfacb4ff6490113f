"""Fits: what was asked and decided, the fitted state, its files, growing and comparing maps."""
