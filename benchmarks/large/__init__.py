"""Millions of rows on a laptop: data of the size, and what nestmap needs for them."""
