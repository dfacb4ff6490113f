"""The version of nestmap."""

__version__ = "0.1.0"
