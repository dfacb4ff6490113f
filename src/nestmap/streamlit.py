"""The explorer in Streamlit apps: `nestmap.streamlit.explorer` (docs/use/explorer.md)."""

from .views.explore.component import Choice, Prepared, explorer, prepare

__all__ = ["Choice", "Prepared", "explorer", "prepare"]
