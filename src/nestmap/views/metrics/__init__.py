"""Measures of maps by any method; `nestmap.metrics` lists those for users."""
